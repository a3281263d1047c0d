"""The words: what they must say and must never say, not how they say it."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.unit.report.conftest import TOSS_UPS, draw

import evenodds as eo
from evenodds.inference.profile import ConfidenceInterval, Profile
from evenodds.report.asymmetry import asymmetry_sheet, next_steps, refused_margin
from evenodds.report.sheet import View, sheet_of
from evenodds.report.wording import (
    headline,
    show_interval,
    show_pvalue,
    verdict,
)

LOST = eo.ClassConditionalNoise(alpha=0.3, beta=0.05)


@pytest.fixture(scope="module")
def lost_positives(labelled, toss_ups, wald):
    given = eo.ClassConditionalNoise(0.4, 0.0).flip(labelled.y, np.random.default_rng(1))
    return wald(labelled.X, np.where(given, "ill", "healthy"), toss_ups)


@pytest.fixture(scope="module")
def clean(labelled, toss_ups, wald):
    return wald(labelled.X, labelled.y, toss_ups)


def test_a_rejection_names_the_class_that_loses_labels_first(lost_positives):
    words = verdict(lost_positives)
    assert 0 < words.index("'ill'") < words.index("'healthy'")


def test_a_failure_to_reject_never_claims_uniform_noise(clean):
    assert "does not show" in verdict(clean)


def test_the_advice_to_test_equivalence_has_a_margin_that_can_be_shown(clean):
    """Three anchors, tolerances of 0.05: 2 * 1.645 * sqrt(0.05^2 / 9 + 0.05^2 / 3) is 0.1097."""
    step = next(step for step in next_steps(clean) if "equivalence" in step)
    assert "none below 0.11 can be shown with these tolerances, however many rows" in step
    assert "--margin 0.15." in step


def test_strict_anchors_have_no_smallest_margin_to_speak_of(labelled, wald):
    strict = wald(labelled.X, labelled.y, eo.Anchors([[0.0, 0.0]], tolerance=0))
    step = next(step for step in next_steps(strict) if "equivalence" in step)
    assert "with a margin you can live with: result.equivalence(margin=0.05)" in step


def test_no_margin_is_advised_where_none_can_be_shown(labelled, wald):
    vague = wald(labelled.X, labelled.y, eo.Anchors([[0.0, 0.0]], tolerance=0.45))
    assert vague.pvalue > 0.05
    assert not any("equivalence" in step for step in next_steps(vague, significance=0.01))


def test_a_gate_is_refused_only_below_the_smallest_margin(clean):
    assert refused_margin(clean, 0.12, 0.05) is None
    assert refused_margin(clean, 0.1, 0.05) == (
        "--margin is 0.1 but 3 anchors known to ±0.05 each and ±0.05 together cannot show that, "
        "however many rows there are: give a margin above 0.11, or state surer anchors "
        "(--tolerance, --shared-tolerance)."
    )


def test_the_significance_decides_the_verdict(lost_positives):
    never = lost_positives.pvalue / 2
    assert "not rejected" in verdict(lost_positives, never)


def test_every_outcome_has_a_next_step(lost_positives, clean):
    assert all([next_steps(lost_positives), next_steps(clean)])


@pytest.mark.parametrize(
    ("pvalue", "shown"),
    [
        (0.00001, "p < 0.0001"),
        (0.00012, "p = 0.0001"),
        (0.0123, "p = 0.012"),
        (0.0499, "p = 0.050"),
        (0.5, "p = 0.50"),
        (1.0, "p = 1.00"),
    ],
)
def test_pvalues_are_shown_with_the_digits_that_matter(pvalue, shown):
    assert show_pvalue(pvalue) == shown


@pytest.mark.parametrize(
    ("null", "what"), [("uniform", "Uniform noise"), ("clean", "clean labels")]
)
def test_a_prior_verdict_names_its_null(null, what):
    assert what in sheet_of(eo.prior_test(10, 100, 0.3, null=null), View()).verdict


def test_a_prior_verdict_never_claims_that_labels_are_right():
    sheet = sheet_of(eo.prior_test(30, 100, 0.3), View())
    assert "does not show that labels are right" in sheet.verdict


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (-0.123, 0.456, "from −0.12 to +0.46"),
        (-0.0012, 0.0098, "from −0.001 to +0.010"),
        (-0.222, -0.004, "from −0.222 to −0.004"),
        (0.00012, 0.3, "from +0.0001 to +0.3000"),
        (0.0, 0.3, "from +0.00 to +0.30"),
    ],
)
def test_an_interval_has_the_digits_that_tell_its_ends_from_none(low, high, shown):
    interval = ConfidenceInterval(
        low=low, high=high, level=0.95, low_is_limit=False, high_is_limit=False
    )
    assert show_interval(interval) == shown


def _asymmetry(alternative):
    X, y = draw(2000, LOST, seed=1)
    return eo.asymmetry_test(X, y, eo.Anchors(TOSS_UPS), alternative=alternative)


def _line(alternative):
    rng = np.random.default_rng(2)
    chance = rng.random(4000)
    y = LOST.flip((rng.random(4000) < chance).astype(int), rng)
    cases = eo.choose_cases(chance, n_cases=60)
    stated = {"answers": "probability", "alternative": alternative}
    return eo.line_test(chance, y, cases, chance[cases.rows], **stated)


def _audit(alternative):
    true = np.repeat([1, 0], 200)
    return eo.audit_test(true, np.repeat([0, 1, 0, 1], [60, 140, 190, 10]), alternative=alternative)


@pytest.mark.parametrize("test", [_asymmetry, _line, _audit])
@pytest.mark.parametrize(("alternative", "how_many"), [("greater", "most"), ("less", "least")])
def test_a_one_sided_verdict_counts_flips_in_100_of_either_class(test, alternative, how_many):
    """Positives are lost, which "less" asks about; "greater" asks the wrong way round."""
    words = sheet_of(test(alternative), View()).verdict
    assert words.startswith("Not that way round" if how_many == "most" else "Uniform noise is")
    assert re.search(
        r"100 that are truly 1, about \d+ are labelled 0; of every 100 truly 0,", words
    )
    assert re.search(rf"The difference is at {how_many} \d+ in 100", words)
    assert "alpha" not in words


def without_size(result, pvalue):
    """Return a result whose size is withheld, with another p-value."""
    why = "no asymmetry that the labels allow brings the curve to the anchors"
    none = {"asymmetry": None, "alpha": None, "beta": None, "endless_z": ()}
    return replace(result, withheld=why, pvalue=pvalue, profile=Profile.unknown(), **none)


def test_a_rejection_without_a_size_stands_and_gives_none(lost_positives):
    result = without_size(lost_positives, 0.001)
    sheet = asymmetry_sheet(result, View())
    assert "rejected" in sheet.verdict
    assert "How much more often, these data cannot tell" in sheet.verdict
    assert [key.value for key in sheet.keys] == ["p = 0.001"]
    assert not any("--flips" in step or "alpha" in step for step in sheet.next_steps)
    assert any("audit_test" in step for step in sheet.next_steps)


def test_whether_a_result_without_a_size_says_anything_follows_the_significance(lost_positives):
    result = without_size(lost_positives, 0.03)
    assert "rejected" in verdict(result, 0.05)
    assert verdict(result, 0.01).startswith("These data cannot tell")
    assert headline(result, 0.01).startswith("These data cannot tell")
    assert not asymmetry_sheet(result, View(significance=0.01)).keys


def test_a_result_without_a_size_survives_json(lost_positives):
    result = without_size(lost_positives, 0.03)
    again = type(result).from_dict(json.loads(json.dumps(result.to_dict())))
    assert verdict(again) == verdict(result)
    assert again.to_dict()["asymmetry"] is None
