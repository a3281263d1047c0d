"""Audits within strata: cases along a score, strata by name, and the line beside them."""

import json

import numpy as np
import pytest

import evenodds as eo
from evenodds.inference.audit.audit_test import better_than_chance


def _world(n=4000, seed=1, alpha=0.1, beta=0.2, hard=0.0):
    rng = np.random.default_rng(seed)
    x = 2.2 * rng.normal(size=n) - 1
    eta = 1 / (1 + np.exp(-x))
    true = rng.random(n) < eta
    harder = hard * np.exp(-np.abs(x)) if hard else 1.0
    given = true ^ (rng.random(n) < np.clip(np.where(true, alpha, beta) * harder, 0, 1))
    words = np.array(["well", "ill"])
    return words[true.astype(int)], words[given.astype(int)], eta * (1 - alpha) + (1 - eta) * beta


@pytest.fixture(scope="module")
def world():
    return _world()


@pytest.fixture(scope="module")
def audited(world):
    true, given, scores = world
    cases = eo.choose_cases(scores, n_cases=150, given=given)
    result = eo.audit_test(true[cases.rows], given, strata=cases, scores=scores, positive="ill")
    return cases, result


def _by_columns(world, cases, **settings):
    """Return the same audit, told by strata and counts."""
    true, given, scores = world
    strata, rows = cases.strata_of(scores), cases.rows
    counts = {
        int(name): {label: int(((strata == name) & (given == label)).sum()) for label in set(given)}
        for name in np.unique(strata)
    }
    settings = {"given_counts": counts, "positive": "ill", "sampled_by": "given", **settings}
    return eo.audit_test(true[rows], given[rows], strata=strata[rows], **settings)


def test_rates_are_weighted_means_of_the_strata(world, audited):
    true, given, scores = world
    cases, result = audited
    strata, rows = cases.strata_of(scores), cases.rows
    shares = []
    for label, truth in (("well", "ill"), ("ill", "well")):
        of_label = 0.0
        for name in np.unique(strata):
            cell = (strata == name) & (given == label)
            drawn = cell[rows]
            of_label += cell.mean() * (true[rows][drawn] == truth).mean() if cell.any() else 0.0
        shares.append(of_label)
    prior = shares[0] + (given == "ill").mean() - shares[1]
    assert result.alpha == pytest.approx(shares[0] / prior)
    assert result.beta == pytest.approx(shares[1] / (1 - prior))
    assert result.sampled_by == "given"
    assert result.n_strata == 6


def test_cases_and_columns_are_one_audit(world, audited):
    cases, result = audited
    other = _by_columns(world, cases)
    assert other.pvalue == pytest.approx(result.pvalue)
    assert other.confidence_interval() == result.confidence_interval()


def test_intervals_hold_the_rates(audited):
    _, result = audited
    for rate, interval in (("alpha", result.alpha_interval()), ("beta", result.beta_interval())):
        assert interval.low < getattr(result, rate) < interval.high
    assert result.confidence_interval().low < 0.1 < result.confidence_interval().high


def test_a_result_comes_back_from_json(audited):
    _, result = audited
    back = eo.AuditTestResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert back == result
    assert back.beta_interval() == result.beta_interval()


def test_it_prints_its_strata(audited):
    _, result = audited
    assert "drawn by given label within 6 strata" in str(result)
    assert "to 0.233" in str(result)


def test_cases_by_score_alone_are_counted_by_label_afterwards(world):
    true, given, scores = world
    cases = eo.choose_cases(scores, n_cases=150)
    result = eo.audit_test(true[cases.rows], given, strata=cases, scores=scores, positive="ill")
    assert result.sampled_by == "random"
    assert sum(one.n_rows for one in result.strata) == len(given)
    interval = result.confidence_interval()
    assert interval.low < 0.1 < interval.high


def test_cases_at_the_end_may_be_missing(world, audited):
    true, given, scores = world
    cases, _ = audited
    truth = true[cases.rows].astype(object)
    truth[90:] = None
    result = eo.audit_test(truth, given, strata=cases, scores=scores, positive="ill")
    assert result.n_rows == 90
    truth[3] = None
    with pytest.raises(eo.InputError, match="true is missing for case 4 but not for later ones"):
        eo.audit_test(truth, given, strata=cases, scores=scores, positive="ill")


def test_a_stratum_that_nobody_audited_goes_with_its_neighbour():
    counts = {name: {"no": 100, "yes": 50} for name in (1, 2, 3)}
    true = ["no", "yes", "no", "yes", "yes", "no"] * 4
    given = ["no", "no", "no", "yes", "yes", "yes"] * 4
    strata = [1, 1, 3, 1, 3, 3] * 4
    result = eo.audit_test(true, given, strata=strata, given_counts=counts)
    assert {one.stratum for one in result.strata} == {"1 + 2", "3"}
    assert sum(one.n_rows for one in result.strata) == 450
    assert result.diagnostics[0].concern


def test_flips_that_depend_on_the_case_are_told():
    true, given, scores = _world(n=6000, seed=5, alpha=0.5, beta=0.02, hard=1.5)
    cases = eo.choose_cases(scores, n_cases=200, given=given)
    result = eo.audit_test(true[cases.rows], given, strata=cases, scores=scores, positive="ill")
    told = [check for check in result.diagnostics if check.name == "line"]
    assert len(told) == 1
    assert told[0].concern
    assert "Flips depend on the case" in told[0].message


def test_where_audit_and_line_agree_nothing_is_said(audited):
    _, result = audited
    assert [check.name for check in result.diagnostics] == ["strata", "better than chance"]


def test_the_line_weights_both_labels(world, audited):
    true, given, scores = world
    cases, _ = audited
    truth = (true[cases.rows] == "ill").astype(float)
    line = eo.line_test(scores, given, cases, truth, answers="looked-up", positive="ill")
    assert line.confidence_interval().low < 0.1 < line.confidence_interval().high
    strata = cases.strata_of(scores)
    middle = line.strata[3]
    expected = sum(
        (given[strata == 3] == label).mean()
        * truth[(cases.strata == 3) & (given[cases.rows] == label)].mean()
        for label in ("well", "ill")
    )
    assert middle.stated == pytest.approx(expected)
    assert middle.n_rows == (strata == 3).sum()


def test_cases_by_label_are_not_for_stated_probabilities(world, audited):
    _, given, scores = world
    cases, _ = audited
    with pytest.raises(eo.InputError, match="these cases were drawn by given label"):
        eo.line_test(scores, given, cases, np.full(150, 0.3), answers="probability")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": np.zeros(150)}, "groups goes without strata"),
        ({"sampled_by": "true"}, "sampled_by is 'true' but strata are given"),
        ({"scores": [0.1]}, "scores goes with strata=cases"),
        ({"given_counts": None}, "given_counts is needed with strata"),
        (
            {"given_counts": {0: {"ill": 9, "sick": 3}}},
            "'sick', which is none of 'well' and 'ill'",
        ),
        ({"given_counts": {0: {"ill": 900, "well": 900}}}, "given_counts lacks stratum 1"),
    ],
)
def test_what_does_not_fit_is_refused(world, audited, settings, message):
    with pytest.raises(eo.InputError, match=message):
        _by_columns(world, audited[0], **settings)


def test_counts_below_those_audited_are_refused():
    counts = {name: {"no": 100, "yes": 1} for name in (1, 2)}
    with pytest.raises(eo.InputError, match="stratum '1' has 1 row labelled 'yes', but 2"):
        eo.audit_test(
            ["no", "yes", "yes", "no"],
            ["no", "yes", "yes", "no"],
            strata=[1, 1, 1, 2],
            given_counts=counts,
        )


def test_other_data_are_refused(world, audited):
    true, given, scores = world
    cases, _ = audited
    truth = true[cases.rows]
    with pytest.raises(eo.InputError, match="scores is missing"):
        eo.audit_test(truth, given, strata=cases)
    with pytest.raises(eo.InputError, match="not the given labels that the cases were drawn by"):
        eo.audit_test(truth, true, strata=cases, scores=scores)
    with pytest.raises(eo.InputError, match="given has shape"):
        eo.audit_test(truth, given[cases.rows], strata=cases, scores=scores)
    with pytest.raises(eo.InputError, match="scores goes with strata=cases"):
        eo.audit_test(truth, given[cases.rows], scores=scores)
    alone = eo.choose_cases(scores, n_cases=150)
    with pytest.raises(eo.InputError, match="the cases were drawn by score alone"):
        eo.audit_test(truth, given, strata=alone, scores=scores, sampled_by="given")


def test_the_line_averages_cases_by_their_rows(world, audited, monkeypatch):
    """Contours of the ladder have the same shares as the strata, though labels count unequally."""
    from evenodds.inference.line import ladder as module

    true, given, scores = world
    cases, _ = audited
    seen = []
    found = module.wider_noise
    monkeypatch.setattr(module, "wider_noise", lambda *parts: seen.append(parts) or found(*parts))
    truth = (true[cases.rows] == "ill").astype(float)
    eo.line_test(scores, given, cases, truth, answers="looked-up", positive="ill")
    contours, said, _ = seen[0]
    np.testing.assert_allclose(contours.averaging @ said, contours.stated)


@pytest.mark.parametrize(("rate", "doubted"), [(0.3, False), (0.45, True)])
def test_labels_that_hardly_follow_the_truth_are_doubted_within_strata(rate, doubted):
    check = better_than_chance(rate, rate, strata=True)
    assert check.concern is doubted
    assert ("Audit rows at random" in check.message) is doubted
    assert not better_than_chance(rate, rate).concern
