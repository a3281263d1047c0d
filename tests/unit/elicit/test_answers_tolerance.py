"""Tolerances: each formula against simulation or by hand."""

from math import sqrt

import numpy as np
import pytest

from evenodds.elicit.answers import (
    LEAST_TOLERANCE,
    MOST_TOLERANCE,
    STATED_WIDTH,
    UNSEEN_LEAN,
    TossUp,
    agreement_of,
    judge,
)

BREADTH = 0.8


def judged(answers, **settings):
    return judge(answers, breadth=BREADTH, **settings)


@pytest.mark.parametrize("blur", [0.1, 0.3, 0.7, 1.5, 4.0])
def test_agreement_is_what_two_looks_at_evenly_spread_cases_show(blur):
    rng = np.random.default_rng(7)
    truth = rng.uniform(-30, 30, 2_000_000)
    first, second = (np.abs(truth + blur * rng.standard_normal(truth.size)) <= 1 for _ in "ab")
    assert agreement_of(blur) == pytest.approx((first & second).sum() / first.sum(), abs=0.01)


def test_without_blur_a_toss_up_stays_one():
    assert agreement_of(0.0) == 1.0


@pytest.fixture
def plan(said):
    """Return a function that has an expert of known judgement answer evenly spread cases."""

    def sit(*, width=0.1, blur=0.05, lean=0.0, expert="Ada", n=4000, slider=False, seed=1):
        rng = np.random.default_rng(seed)
        truth = np.linspace(0.1, 0.9, n)
        answers = []
        for occasion in (1, 2):
            seen = truth + lean + blur * rng.standard_normal(n)
            for case, look in enumerate(seen):
                verdict = "positive" if look > 0.5 else "negative"
                if abs(look - 0.5) <= width:
                    verdict = "toss-up"
                chance = float(np.clip(look, 0, 1)) if slider else None
                answers.append(said(case, verdict, expert=expert, occasion=occasion, chance=chance))
        return answers

    return sit


@pytest.mark.parametrize("slider", [False, True])
@pytest.mark.parametrize(("width", "blur"), [(0.1, 0.02), (0.1, 0.05), (0.15, 0.1)])
def test_width_and_blur_of_a_known_expert_are_found(plan, width, blur, slider):
    found = judged(plan(width=width, blur=blur, slider=slider))
    assert (found.width, found.blur) == (
        pytest.approx(width, rel=0.06),
        pytest.approx(blur, rel=0.1),
    )


def test_the_tolerance_is_the_true_error_of_single_toss_ups(plan):
    """Error variance width^2/3 + blur^2, as a half-width."""
    width, blur = 0.12, 0.06
    rng = np.random.default_rng(3)
    truth = rng.uniform(0, 1, 400_000)
    called = np.abs(truth + blur * rng.standard_normal(truth.size) - 0.5) <= width
    error = sqrt(3 * np.mean((truth[called] - 0.5) ** 2))
    known = judged(plan(width=width, blur=blur))
    assert known.tolerance(TossUp(0, 0.5, ("Ada",))) == pytest.approx(error, rel=0.06)


def test_more_experts_behind_a_toss_up_blur_it_less(plan):
    known = judged(plan(blur=0.1))
    alone, together = (known.tolerance(TossUp(0, 0.5, names)) for names in (("A",), ("A", "B")))
    assert together < alone


def test_a_lean_between_experts_is_found(plan):
    leans = {"Ada": -0.04, "Bob": 0.04}
    answers = [
        answer
        for seed, (name, lean) in enumerate(leans.items())
        for answer in plan(lean=lean, expert=name, seed=seed)
    ]
    # Two experts: variance (0.08)^2 / 2 and the unseen one count alike; their mean has half.
    expected = sqrt(3 * (UNSEEN_LEAN**2 / 3 + 0.08**2 / 2) / 2 / 2)
    assert judged(answers).shared_tolerance == pytest.approx(expected, rel=0.05)


def test_one_experts_lean_is_taken_as_stated(plan):
    assert judged(plan(n=200), unseen_lean=0.05).shared_tolerance == pytest.approx(0.05)


def test_experts_who_agree_share_less(plan):
    answers = [a for name in ("Ada", "Bob") for a in plan(expert=name, blur=0, n=400)]
    assert judged(answers).shared_tolerance == pytest.approx(UNSEEN_LEAN / 2)


def test_an_expert_who_named_hardly_any_counts_for_little(plan, said):
    answers = [*plan(blur=0, n=400), said(200, "toss-up", expert="Bob")]
    assert judged(answers).shared_tolerance > 0.7 * UNSEEN_LEAN


def test_without_repeats_little_is_known(said):
    found = judged([said(case, "toss-up" if case < 3 else "positive") for case in range(12)])
    assert found.consistency is None
    assert found.tolerance(TossUp(0, 0.5, ("Ada",))) > 1.5 * STATED_WIDTH


def test_a_tolerance_is_never_absurd(said):
    sure = [said(c, "toss-up", occasion=o, chance=0.5) for c in range(900) for o in (1, 2)]
    clear = [said(c, "positive") for c in range(1000, 9000)]
    torn = [said(c, "toss-up") for c in range(40)]
    torn += [said(c, "positive", occasion=2) for c in range(40)]
    widths = [judged(a).tolerance(TossUp(0, 0.5, ("Ada",))) for a in (sure + clear, torn)]
    assert widths[0] >= LEAST_TOLERANCE
    assert widths[1] == MOST_TOLERANCE


def test_no_answers_at_all_are_judged_by_what_the_page_says():
    found = judged([])
    assert (found.width, found.n_repeats, found.agreement) == (STATED_WIDTH, 0, None)
