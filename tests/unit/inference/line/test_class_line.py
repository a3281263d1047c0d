"""The line of several classes: what is found, said and refused."""

import json

import numpy as np
import pytest

import evenodds as eo
from evenodds.report.sheet import View, sheet_of

NAMES = np.array(["cat", "dog", "fox"])


def world(n=3000, lean=0.25, seed=4):
    """Return chances, given labels and probabilities of these; cats are lost to dogs."""
    rng = np.random.default_rng(seed)
    odds = np.exp(3 * rng.normal(size=(n, 3)))
    chances = odds / odds.sum(axis=1, keepdims=True)
    flips = np.full((3, 3), 0.03) + 0.91 * np.eye(3)
    flips[0, :2] += [-lean, lean]
    true = (rng.random(n)[:, None] > chances.cumsum(axis=1)[:, :2]).sum(axis=1)
    given = (rng.random(n)[:, None] > flips[true].cumsum(axis=1)[:, :2]).sum(axis=1)
    return chances, NAMES[given], chances @ flips


@pytest.fixture(scope="module")
def judged():
    chances, given, scores = world()
    cases = eo.choose_cases(scores, n_cases=120, seed=1)
    said = chances[cases.rows]
    result = eo.line_test(scores, given, cases, said, answers="probability")
    return scores, given, cases, said, result


def test_cases_are_drawn_equally_by_predicted_class_and_confidence(judged):
    scores, _, cases, _, _ = judged
    assert cases.given_hash is None
    np.testing.assert_array_equal(cases.strata // 3, scores[cases.rows].argmax(axis=1))
    present = cases.strata_of(scores)
    counts = np.bincount(cases.strata, minlength=9)[np.unique(present)]
    assert counts.max() - counts.min() <= 1
    early = np.bincount(cases.strata[:45], minlength=9)[np.unique(present)]
    assert early.min() >= 3


def test_small_strata_give_half_of_their_rows_and_tiny_ones_none():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([3, 3, 1], size=2000)
    predicted = scores.argmax(axis=1)
    rare = np.flatnonzero(predicted == 2)
    keep = np.concatenate([np.flatnonzero(predicted != 2), rare[:20]])
    cases = eo.choose_cases(scores[keep], n_cases=90, n_strata=1)
    assert np.bincount(cases.strata).tolist() == [40, 40, 10]
    fewer = np.concatenate([np.flatnonzero(predicted != 2), rare[:14]])
    assert (
        np.bincount(eo.choose_cases(scores[fewer], n_cases=90, n_strata=1).strata, minlength=3)[2]
        == 0
    )


def test_the_pair_that_leans_is_named_and_covered(judged):
    result = judged[-1]
    pair = result.leading
    assert (pair.first, pair.second) == ("cat", "dog")
    assert result.pvalue == pair.adjusted < 0.01
    assert all(other.adjusted > 0.05 for other in result.pairs if other is not pair)
    interval = result.asymmetry_interval("cat", "dog")
    assert interval.low < -0.25 < interval.high < 0
    turned = result.asymmetry_interval("dog", "cat")
    assert turned.low == pytest.approx(-interval.high, abs=1e-3)
    assert result.flip_rates()[0, 1] == pytest.approx(0.28, abs=0.06)
    assert result.noise_rate == pytest.approx(0.15, abs=0.03)


def test_it_is_written_down_and_read_back(judged):
    result = judged[-1]
    again = eo.ClassLineResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again == result
    frame = result.to_frame()
    assert list(frame["first"]) == ["cat", "cat", "dog"]
    inside = (frame["low"] < frame["asymmetry"]) & (frame["asymmetry"] < frame["high"])
    assert inside.all()


def test_the_verdict_names_what_it_takes_for_granted(judged):
    assert "a flip depends on the true class alone" in " ".join(str(judged[-1]).split())


def test_experts_are_averaged_and_those_who_lean_apart_are_told(judged):
    scores, given, cases, said, result = judged
    both = np.stack([said, said], axis=2)
    same = eo.line_test(scores, given, cases, both, answers="probability")
    assert same.n_experts == 2
    assert same.statistic == pytest.approx(result.statistic, abs=1e-3)
    leaning = 0.8 * said + 0.2 * np.array([1.0, 0.0, 0.0])
    apart = np.stack([said, leaning], axis=2)
    doubted = eo.line_test(scores, given, cases, apart, answers="probability")
    assert any("Expert 2 states" in check.message for check in doubted.diagnostics)


def test_the_first_answers_are_a_smaller_draw(judged):
    scores, given, cases, said, _ = judged
    some = said.copy()
    some[60:] = np.nan
    result = eo.line_test(scores, given, cases, some, answers="probability")
    assert result.n_cases == 60


def test_scores_that_saw_their_own_labels_cannot_tell():
    chances, given, scores = world(lean=0.0)
    own = 0.3 * scores + 0.7 * (given[:, None] == NAMES)
    cases = eo.choose_cases(own, n_cases=120)
    result = eo.line_test(own, given, cases, chances[cases.rows], answers="probability")
    assert any(check.name == "own labels" for check in result.diagnostics)
    assert (np.isnan(result.pvalue), result.rates, result.noise_rate) == (True, None, None)


@pytest.mark.parametrize(
    ("seed", "why"),
    [
        (3, "labels follow the scores more steeply than the answers do"),
        (2, "answers about 'cat' do not rise with the given labels"),
    ],
)
def test_random_numbers_for_answers_cannot_tell(judged, seed, why):
    scores, given, cases, said, _ = judged
    random = np.random.default_rng(seed).dirichlet([1, 1, 1], len(said))
    result = eo.line_test(scores, given, cases, random, answers="probability")
    assert why in result.withheld
    found = json.loads(json.dumps(result.to_dict()))
    assert (found["pvalue"], found["rates"]) == (None, None)
    sheet = sheet_of(result, View())
    assert sheet.headline.startswith(f"These cases cannot tell: {why}")
    assert result.withheld in sheet.verdict
    assert sheet.next_steps[0].startswith("Check that each answer stands beside its own case")


def test_a_score_that_knows_nothing_cannot_tell():
    chances, given, scores = world()
    blind = np.random.default_rng(0).permutation(scores)
    cases = eo.choose_cases(blind, n_cases=120)
    result = eo.line_test(blind, given, cases, chances[cases.rows], answers="probability")
    assert np.isnan(result.pvalue)
    assert result.rates is None
    assert "These cases cannot tell" in str(result)
    assert result.to_frame()["low"].isna().all()
    with pytest.raises(eo.InputError, match="there is no interval: some classes are labelled"):
        result.asymmetry_interval("cat", "dog")
    with pytest.raises(eo.InputError, match="there are no flip rates"):
        result.flip_rates()
    assert json.loads(json.dumps(result.to_dict()))["pvalue"] is None


def test_fewer_strata_than_classes_cannot_tell():
    chances, given, scores = world()
    two = scores @ np.array([[0.5, 0.5, 0.0], [0.5, 0.45, 0.05], [0.0, 0.0, 1.0]])
    two /= two.sum(axis=1, keepdims=True)
    cases = eo.choose_cases(two, n_cases=60, n_strata=1)
    result = eo.line_test(two, given, cases, chances[cases.rows], answers="probability")
    assert "cases are in 2 strata, and the flips of 3 classes need as many" in result.withheld


def test_a_pair_that_the_answers_hardly_tell_has_no_estimate():
    chances, given, scores = world(n=20_000)
    rng = np.random.default_rng(1)
    vague = 0.15 * scores + 0.85 * rng.permutation(scores)
    cases = eo.choose_cases(vague, n_cases=24, n_strata=1)
    said = rng.dirichlet([0.5, 0.5, 0.5], 24) * 0.5 + 0.5 * chances[cases.rows]
    result = eo.line_test(vague, given, cases, said, answers="probability")
    assert not np.isnan(result.pvalue)
    assert any(pair.asymmetry is None for pair in result.pairs)
    assert "asymmetries of very different size" in result.withheld
    assert "withheld" in str(result)
    told = [pair.asymmetry is not None for pair in result.pairs]
    ends = [interval.low for interval in result.asymmetry_intervals()]
    np.testing.assert_array_equal(np.isfinite(ends), told)
    unknown = result.pairs[told.index(False)]
    with pytest.raises(eo.InputError, match="there is no interval: asymmetries of very different"):
        result.asymmetry_interval(unknown.first, unknown.second)


def _changed(said, case, values):
    said = said.copy()
    said[case] = values
    return said


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: s[:, :2],
            r"shape \(120, 2\) but cases are of 3 classes: .* 'cat', 'dog' and 'fox'",
        ),
        (lambda s: _changed(s, 4, [0.5, 0.6, 0.2]), "stated of case 5 add up to 1.3 but must to 1"),
        (lambda s: _changed(s, 4, [1.5, -0.5, 0.0]), "stated is 1.5 for case 5"),
        (lambda s: _changed(s, 4, [0.5, np.nan, 0.5]), "lacks the chance of a class for case 5"),
        (lambda s: _changed(s, 4, np.nan), "no answer for case 5 but has some for later ones"),
        (lambda s: np.eye(3)[s.argmax(axis=1)], "all answers are 0 and 1: as probabilities these"),
        (lambda s: s[:20], "stratum . of 9 has . answers? and needs 5"),
        (lambda s: s.astype(str) + "x", "stated must hold numbers"),
    ],
)
def test_what_is_no_probability_of_classes_is_refused(judged, change, message):
    scores, given, cases, said, _ = judged
    with pytest.raises(eo.InputError, match=message):
        eo.line_test(scores, given, cases, change(said), answers="probability")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"answers": "looked-up"}, "what was looked up goes to confusion_test"),
        ({"positive": "cat"}, "every pair is tested, both ways"),
        ({"alternative": "less"}, "every pair is tested, both ways"),
        ({"groups": np.arange(3000)}, "every row counts as one"),
        ({"sample_weight": np.ones(3000)}, "every row counts as one"),
    ],
)
def test_settings_that_several_classes_do_not_know_are_refused(judged, settings, message):
    scores, given, cases, said, _ = judged
    with pytest.raises(eo.InputError, match=message):
        eo.line_test(scores, given, cases, said, **{"answers": "probability", **settings})


def test_other_labels_and_draws_are_refused(judged):
    scores, given, cases, said, _ = judged
    with pytest.raises(eo.InputError, match="y has 2,999 labels of 3 classes but the cases were"):
        eo.line_test(scores, given[1:], cases, said, answers="probability")
    by_label = eo.choose_cases(scores, n_cases=120, given=given)
    with pytest.raises(eo.InputError, match="drawn by given label, for truths"):
        eo.line_test(scores, given, by_label, said, answers="probability")
    with pytest.raises(eo.InputError, match="without groups and sample_weight"):
        eo.choose_cases(scores, n_cases=60, groups=np.arange(len(scores)))


def test_cases_drawn_by_score_alone_may_be_looked_up_too(judged):
    scores, given, cases, said, _ = judged
    true = NAMES[said.argmax(axis=1)]
    found = eo.confusion_test(true, given, strata=cases, scores=scores)
    assert found.n_audited == 120
