"""The line test through its public function."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtr

import evenodds as eo
from evenodds.inference.line.line_test import Judged

N = 3000


@pytest.fixture(scope="module")
def world():
    """Scores of a poor model, labels with flips, cases and what an expert states of them."""
    rng = np.random.default_rng(3)
    index = rng.normal(size=N)
    eta = expit(2 * index)
    true = (rng.random(N) < eta).astype(int)
    given = eo.ClassConditionalNoise(alpha=0.05, beta=0.3).flip(true, rng)
    scores = expit(index + 0.5 * rng.normal(size=N))
    cases = eo.choose_cases(scores, n_cases=60)
    stated = np.clip(eta[cases.rows] + rng.normal(0, 0.07, 60), 0, 1)
    return scores, np.where(given, "ill", "well"), cases, stated, true


@pytest.fixture(scope="module")
def found(world):
    return eo.line_test(*world[:4], answers="probability", positive="ill", shared_tolerance=0)


def test_it_finds_what_is_there(found):
    assert found.pvalue < 0.001
    interval = found.confidence_interval()
    assert interval.low < 0.25 < interval.high
    assert found.beta - found.alpha == pytest.approx(found.asymmetry)
    assert (found.positive, found.negative) == ("ill", "well")


def test_looked_up_answers_take_no_tolerance(world):
    scores, y, cases, _, true = world
    result = eo.line_test(scores, y, cases, true[cases.rows], answers="looked-up", positive="ill")
    assert result.shared_tolerance == 0
    assert result.asymmetry == pytest.approx(0.25, abs=0.2)


def test_a_shared_tolerance_weakens_the_evidence(world, found):
    lenient = eo.line_test(*world[:4], answers="probability", positive="ill")
    assert lenient.shared_tolerance == 0.05
    assert abs(lenient.statistic) < abs(found.statistic)
    assert lenient.asymmetry == found.asymmetry
    assert lenient.smallest_margin > 0


def test_unanswered_cases_at_the_end_are_left_out(world):
    scores, y, cases, stated, _ = world
    some = np.where(np.arange(60) < 45, stated, np.nan)
    whole = eo.line_test(scores, y, cases, some, answers="probability", positive="ill")
    assert whole.n_cases == 45
    assert (
        whole.pvalue
        == eo.line_test(scores, y, cases, stated[:45], answers="probability", positive="ill").pvalue
    )


@pytest.mark.parametrize(("answered", "doubted"), [(35, True), (60, False)])
def test_few_answers_in_a_stratum_are_doubted(world, answered, doubted):
    scores, y, cases, stated, _ = world
    result = eo.line_test(scores, y, cases, stated[:answered], answers="probability")
    assert ("answers" in {check.name for check in result.diagnostics}) == doubted


def test_weights_are_copies_of_rows(world):
    scores, y, cases, stated, _ = world
    weights = np.full(N, 2.0)
    heavy = eo.line_test(
        scores, y, cases, stated, answers="probability", positive="ill", sample_weight=weights
    )
    plain = eo.line_test(scores, y, cases, stated, answers="probability", positive="ill")
    assert sum(one.n_rows for one in heavy.strata) == 2 * sum(one.n_rows for one in plain.strata)
    assert heavy.asymmetry == pytest.approx(plain.asymmetry, abs=0.02)


def test_groups_widen_the_variance(world):
    scores, _, cases, stated, _ = world
    groups = np.arange(N) // 30
    y = np.random.default_rng(4).random(100)[groups] < scores  # a group has much in common
    result = eo.line_test(scores, y, cases, stated, answers="probability", groups=groups)
    assert result.design_effect > 1.5


def test_experts_who_lean_apart_are_named(world):
    scores, y, cases, stated, _ = world
    two = np.column_stack([stated, np.clip(stated + 0.1, 0, 1)])
    result = eo.line_test(scores, y, cases, two, answers="probability", positive="ill")
    assert result.n_experts == 2
    assert [check.name for check in result.diagnostics if check.concern] == ["experts"]


def test_points_off_any_line_are_doubted(world):
    scores, _, cases, stated, _ = world
    bent = np.random.default_rng(5).random(N) < 0.5 + 0.45 * np.sin(9 * scores)
    result = eo.line_test(scores, bent, cases, stated, answers="probability")
    assert result.line_pvalue < 1e-4
    assert "line" in [check.name for check in result.diagnostics]


def test_the_ladder_never_says_less_than_the_test(world):
    """Its own test of uniform noise looks everywhere and may miss what the test has found."""
    scores, y, cases, stated, _ = world
    for n_cases in (30, 45, 60):
        result = eo.line_test(
            scores, y, cases, stated[:n_cases], answers="probability", positive="ill"
        )
        two_sided = 2 * ndtr(-abs(result.statistic))
        for significance in (0.2, 0.05, 0.001):
            if two_sided < significance:
                assert result.not_rejected(significance) in {
                    "class-conditional",
                    "instance-dependent",
                }


def test_scores_that_saw_their_own_labels_are_doubted():
    rng = np.random.default_rng(14)
    eta = rng.beta(1, 1, 3000)
    y = rng.random(3000) < eta
    own = np.clip(0.5 * y + 0.5 * eta, 0, 1)  # half of it is the row's own label
    cases = eo.choose_cases(own)
    result = eo.line_test(own, y, cases, eta[cases.rows], answers="probability")
    assert "own labels" in [check.name for check in result.diagnostics]
    assert "Either the answers are unreliable or shy away from 0 and 1" in " ".join(
        str(result).split()
    )
    assert result.withheld.index("unreliable") < result.withheld.index("scores have seen")
    assert "Check that each answer stands beside its own case" in str(result)
    assert "Make a score" not in str(result)
    honest = eo.choose_cases(eta)
    result = eo.line_test(eta, y, honest, eta[honest.rows], answers="probability")
    assert not result.diagnostics


def test_the_ladder_says_what_would_have_gone_unseen(found):
    """Few cases never tell a line from flips that depend on the case; many do."""
    assert found.reached() == "cannot tell"
    assert found.not_rejected() == "class-conditional"
    assert found.not_ruled_out()
    rng = np.random.default_rng(13)
    eta = rng.beta(0.7, 0.7, 400_000)
    y = rng.random(len(eta)) < 0.1 + 0.8 * eta
    cases = eo.choose_cases(eta, n_cases=4000, n_strata=8)
    many = eo.line_test(eta, y, cases, eta[cases.rows], answers="probability", shared_tolerance=0)
    assert many.reached() == "uniform"
    assert not many.not_ruled_out()


def test_no_flips_of_a_class_are_a_rate_of_zero():
    """On its bound a rate is 0, and not a rounding error below it."""
    eta = np.random.default_rng(15).beta(1, 1, 3000)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = rng.random(3000) < 0.2 + 0.8 * eta
        cases = eo.choose_cases(eta, seed=seed)
        stated = np.clip(eta[cases.rows] - 0.05, 0, 1)
        found = eo.line_test(eta, y, cases, stated, answers="probability")
        assert found.alpha >= 0
        assert found.beta >= 0
        assert "-0" not in str(found)


def test_strata_that_say_nothing_show_no_numbers():
    rng = np.random.default_rng(6)
    scores, y = rng.uniform(0.2, 0.8, 400), rng.random(400) < 0.4
    cases = eo.choose_cases(scores, n_cases=15)
    # All strata look alike, far from one half: what flips do there could be anything.
    result = eo.line_test(scores, y, cases, rng.uniform(0.02, 0.15, 15), answers="probability")
    assert result.asymmetry is None
    assert result.alpha is None
    assert "cannot tell" in str(result)


def test_cases_are_audited_within_their_strata_only(found):
    advice = " ".join(str(found).split())
    assert "audit_test(true, given, strata=cases, scores=scores)" in advice


def test_it_goes_through_json(found):
    assert eo.LineTestResult.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_the_verdict_names_its_assumption(found):
    assert "This assumes that a flip depends on the true class alone" in " ".join(
        str(found).split()
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answers": "guess"}, "answers is 'guess' but must be one of"),
        (
            {"stated": np.full(60, 1.0)},
            "all answers are 0 and 1: as probabilities these",
        ),
        ({"stated": np.tile([0.0, 0.5, 1.0], 20)}, "all answers are 0, 1/2 and 1"),
        ({"stated": np.full(60, 1.5)}, "stated is 1.5 for case 1 but must lie between"),
        ({"stated": np.full(61, 0.5)}, "but there are 60 cases"),
        ({"stated": ["a"] * 60}, "stated must hold numbers"),
        ({"stated": np.linspace(0.1, 0.9, 60) + 0.1j}, "stated must hold numbers"),
        ({"stated": np.tile(np.linspace(0.1, 0.9, 60), (2, 1))}, r"stated has shape \(2, 60\) but"),
        (
            {"stated": np.r_[np.nan, np.full(59, 0.4)]},
            "no answer for case 1 but",
        ),
        ({"stated": np.r_[np.full(5, 0.4), np.full(55, np.nan)]}, "needs 5: 5 of 60 cases"),
        ({"y": np.arange(5) % 2}, "y has 5 labels but the cases were drawn"),
        ({"shared_tolerance": 0.7}, "shared_tolerance is 0.7 but must be"),
        ({"groups": [1, 2]}, "groups has shape"),
        ({"sample_weight": np.full(N, -1.0)}, "must not be negative"),
        ({"sample_weight": np.zeros(N)}, "has no rows left to count labels in"),
    ],
)
def test_what_cannot_be_is_refused(world, change, message):
    scores, y, cases, stated, _ = world
    given = {"y": y, "stated": stated, "answers": "probability", **change}
    with pytest.raises(eo.InputError, match=message):
        eo.line_test(scores, given.pop("y"), cases, given.pop("stated"), **given)


@pytest.mark.parametrize("cases", [None, "cases.json", [1, 2]])
def test_cases_are_a_draw(world, cases):
    scores, y, _, stated, _ = world
    with pytest.raises(eo.InputError, match=r"give what choose_cases returned, or Cases.read"):
        eo.line_test(scores, y, cases, stated, answers="probability")


def test_probabilities_are_no_truth(world):
    scores, y, cases, stated, _ = world
    with pytest.raises(eo.InputError, match="looked-up answers are 0 or 1"):
        eo.line_test(scores, y, cases, stated, answers="looked-up")


def test_a_score_that_tells_nothing_of_the_labels_is_no_ground_for_a_verdict():
    """Its strata are alike, the slope of the line is chance: uniform noise was rejected in 0.2."""
    tested, rejected = 0, 0
    for run in range(60):
        rng = np.random.default_rng([17, run])
        true = (rng.random(N) < 0.15).astype(int)
        given = eo.UniformNoise(0.1).flip(true, rng)
        scores = rng.random(N)
        cases = eo.choose_cases(scores, n_cases=60)
        result = eo.line_test(scores, given, cases, true[cases.rows], answers="looked-up")
        tested += result.withheld is None
        rejected += result.pvalue < 0.05
    assert tested <= 10
    assert rejected <= 3


def test_what_is_not_tested_has_no_numbers_and_says_so():
    rng = np.random.default_rng(5)
    given, scores = rng.integers(0, 2, N), rng.random(N)
    cases = eo.choose_cases(scores, n_cases=60)
    result = eo.line_test(scores, given, cases, rng.random(60), answers="probability")
    assert "labels are much the same in all strata of the score" in result.withheld
    assert str(result).startswith("These data cannot tell")
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (record["pvalue"], record["statistic"], record["asymmetry"]) == (None, None, None)
    assert eo.LineTestResult.from_dict(record).withheld == result.withheld
    assert result.reached() == "cannot tell"
    assert np.isnan(result.equivalence(0.05).pvalue)


def test_chances_of_the_other_class_are_not_tested(world):
    """They once rejected uniform noise at p = 0.0002, with alpha = 0.59 and beta = 0.41."""
    scores, y, cases, stated, _ = world
    result = eo.line_test(scores, y, cases, 1 - stated, answers="probability", positive="ill")
    assert "they state the chance of 'well' instead of 'ill'" in result.withheld
    assert np.isnan(result.pvalue)
    assert result.asymmetry is None


def test_answers_beside_other_cases_are_not_tested(world):
    """A column that is sorted alone in a sheet once passed equivalence at p < 0.0001."""
    scores, y, cases, stated, _ = world
    result = eo.line_test(scores, y, cases, np.sort(stated), answers="probability", positive="ill")
    assert "check that each stands beside its own case" in result.withheld
    assert np.isnan(result.equivalence(0.15).pvalue)


def test_scores_that_saw_their_labels_are_not_tested(world):
    scores, y, *_ = world
    own = np.clip(0.02 + 0.96 * (y == "ill") + 0.01 * (scores - 0.5), 0, 1)
    drawn = eo.choose_cases(own, n_cases=60)
    eta = expit(2 * np.log(scores / (1 - scores)))
    result = eo.line_test(own, y, drawn, eta[drawn.rows], answers="probability", positive="ill")
    assert "the scores have seen the labels of their own rows" in result.withheld
    assert np.isnan(result.equivalence(0.1).pvalue)


def test_cases_know_the_weights_that_they_were_drawn_with(world):
    scores, y, cases, stated, _ = world
    weights = np.random.default_rng(3).uniform(0.5, 2, N)
    how = {"answers": "probability", "positive": "ill"}
    with pytest.raises(eo.InputError, match="drawn without weights"):
        eo.line_test(scores, y, cases, stated, sample_weight=weights, **how)
    drawn = eo.Cases.from_dict(eo.choose_cases(scores, n_cases=60, sample_weight=weights).to_dict())
    with pytest.raises(eo.InputError, match="drawn with weights"):
        eo.line_test(scores, y, drawn, stated[:60], **how)
    with pytest.raises(eo.InputError, match="drawn by other weights"):
        eo.line_test(scores, y, drawn, stated[:60], sample_weight=weights[::-1], **how)


def test_a_record_whose_strata_were_moved_is_damaged(world):
    scores, y, cases, stated, _ = world
    record = cases.to_dict()
    record["strata"] = record["strata"][::-1]
    with pytest.raises(eo.InputError, match="damaged"):
        eo.line_test(scores, y, eo.Cases.from_dict(record), stated, answers="probability")


def test_answers_indexed_by_row_are_in_the_order_of_the_draw(world):
    scores, y, cases, stated, _ = world
    told = pd.Series(stated, index=cases.rows)
    how = {"answers": "probability", "positive": "ill"}
    plain = eo.line_test(scores, y, cases, stated, **how)
    assert eo.line_test(scores, y, cases, told, **how).pvalue == plain.pvalue
    with pytest.raises(eo.InputError, match=r"give stated.loc\[cases.rows\]"):
        eo.line_test(scores, y, cases, told.sort_index(), **how)
    truth = pd.Series((stated > 0.5).astype(int), index=cases.rows).sort_index()
    with pytest.raises(eo.InputError, match=r"give true.loc\[cases.rows\]"):
        eo.audit_test(truth, y, strata=cases, scores=scores)


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weighted rows"])
@pytest.mark.parametrize("judged", [True, False], ids=["all", "some left out"])
def test_labels_are_counted_in_each_stratum(weighted, judged):
    rng = np.random.default_rng(0)
    strata, given = rng.integers(0, 3, 50), rng.integers(0, 2, 50).astype(float)
    weights, rows = rng.random(50) if weighted else None, np.array([3, 17, 44])
    data = Judged(
        strata=strata,
        given=given,
        weights=weights,
        rows=rows,
        of_case=strata[rows],
        said=given[rows],
    )
    counted = weights.copy() if weighted else np.ones(50)
    counted[[] if judged else rows] = 0
    n, positive = data.labels(3, judged=judged)
    within = np.arange(3)[:, None] == strata
    np.testing.assert_allclose(n, within @ counted)
    np.testing.assert_allclose(positive, within @ (counted * given))


def test_hardly_an_answer_for_one_class_tells_nothing():
    """A lucky draw without a high statement would be trusted: .22 of uniform noise was rejected."""
    rng = np.random.default_rng(4)
    chance = 1 / (1 + np.exp(4 - 0.7 * rng.normal(size=30_000)))
    given = eo.UniformNoise(0.3).flip((rng.random(30_000) < chance).astype(int), rng)
    scores = 0.3 + 0.4 * chance
    cases = eo.choose_cases(scores, n_cases=60)
    result = eo.line_test(scores, given, cases, chance[cases.rows], answers="probability")
    assert result.withheld is not None
    assert "add up to" in result.withheld
    assert np.isnan(result.pvalue)
    assert all(one.true is None and one.fitted is None for one in result.strata)
    assert result.smallest_margin is None


def test_few_groups_are_doubted():
    rng = np.random.default_rng(3)
    chance = rng.uniform(0.05, 0.95, size=2000)
    given = eo.UniformNoise(0.1).flip((rng.random(2000) < chance).astype(int), rng)
    scores, groups = 0.1 + 0.8 * chance, np.arange(2000) // 100
    cases = eo.choose_cases(scores, n_cases=60)
    said = chance[cases.rows]
    result = eo.line_test(scores, given, cases, said, answers="probability", groups=groups)
    assert "20 groups: too few" in next(
        check.message for check in result.diagnostics if check.name == "groups"
    )
