"""Rows drawn with recorded chances."""

import json

import numpy as np
import pytest

import evenodds as eo
from evenodds.inference.audit.strata import read_inclusion


def drawn(seed=0, n=3000, audited=150, alpha=0.3, beta=0.05):
    """Return truth (None where not drawn), labels and chances; the last rows look wrong."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, n)
    flipped = rng.random(n) < np.where(true == 1, alpha, beta)
    given = np.where(flipped, 1 - true, true)
    sizes = np.where(flipped, 0.5, 0.1) + 0.2 * rng.random(n)
    chances = np.minimum(audited * sizes / sizes.sum(), 1)
    truth = np.where(rng.random(n) < chances, true.astype(object), None)
    return truth, given, chances, true


def test_suspicious_rows_may_be_drawn_more_often():
    truth, given, chances, true = drawn()
    found = eo.audit_test(truth, given, inclusion=chances)
    alpha, beta = (given[true == 1] == 0).mean(), (given[true == 0] == 1).mean()
    interval = found.confidence_interval()
    assert interval.low < beta - alpha < interval.high < 0
    known = truth != None  # noqa: E711 - an array of objects
    naive = eo.audit_test(truth[known].astype(int), given[known])
    assert abs(found.alpha - alpha) < 0.1 < naive.alpha - alpha


def test_equal_chances_are_an_audit_by_given_label():
    truth, given, _, _ = drawn()
    equal = np.full(len(given), 0.05)
    found = eo.audit_test(truth, given, inclusion=equal)
    known = truth != None  # noqa: E711
    counts = {0: int((given == 0).sum()), 1: int((given == 1).sum())}
    plain = eo.audit_test(
        truth[known].astype(int), given[known], sampled_by="given", given_counts=counts
    )
    assert (found.alpha, found.beta) == pytest.approx((plain.alpha, plain.beta))
    assert found.n_strata == 1


def test_shares_wrong_are_weighted_by_one_over_the_chance():
    chances = np.repeat([0.1, 0.15], 40)
    given = np.tile([0, 1], 40)
    truth = np.full(80, None, dtype=object)
    rows = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 40, 41, 42, 43, 44, 45]
    truth[rows] = given[rows]
    truth[[0, 40, 42, 1]] = 1 - given[[0, 40, 42, 1]]
    _, strata, counts, _ = read_inclusion(truth, given, chances)
    weights = np.array([10.0] * 5 + [1 / 0.15] * 3)
    assert counts == (40, 40)
    assert strata[0].n_wrong == 3
    assert strata[0].share_wrong == pytest.approx((10 + 2 / 0.15) / weights.sum())
    assert strata[0].worth == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_wrong_rows_of_large_weight_are_worth_less():
    chances = np.repeat([0.1, 0.19], 40)
    given = np.tile([0, 1], 40)
    truth = np.full(80, None, dtype=object)
    truth[[0, 2, 4, 40, 42, 44, 1, 3, 41, 43, 45]] = 0
    truth[[0, 1, 3, 41, 43, 45]] = 1
    _, strata, _, _ = read_inclusion(truth, given, chances)
    shares = np.repeat([10, 1 / 0.19], 3) / (30 + 3 / 0.19)
    wrong = np.array([1, 0, 0, 0, 0, 0])
    share = shares @ wrong
    variance = shares**2 @ (wrong - share) ** 2
    assert strata[0].worth == pytest.approx(share * (1 - share) / variance)
    assert strata[0].worth < 1 / (shares**2).sum()


def test_strata_have_like_chances_and_enough_audited_rows():
    truth, given, chances, _ = drawn(audited=300)
    _, strata, _, _ = read_inclusion(truth, given, chances)
    assert all(one.n_audited >= 5 for one in strata)
    assert len(strata) > 2
    assert sum(one.n_rows for one in strata) == len(given)


def test_all_rows_may_be_drawn():
    """With chances of 1, the whole of some labels, and of both."""
    rng = np.random.default_rng(1)
    for n in range(20, 40):
        true = rng.integers(0, 2, n)
        given = np.where(rng.random(n) < 0.2, 1 - true, true)
        _, strata, _, _ = read_inclusion(true, given, np.full(n, 0.3))
        assert all(one.worth <= one.n_audited for one in strata)
    interval = eo.audit_test(true, given, inclusion=np.ones(n)).confidence_interval()
    assert -1 < interval.low < interval.high < 1


def test_no_text_is_no_truth():
    truth, given, chances, _ = drawn()
    blank = np.array(["" if one is None else str(one) for one in truth])
    found = eo.audit_test(blank, given.astype(str), inclusion=chances)
    assert found.pvalue == eo.audit_test(truth, given, inclusion=chances).pvalue


def test_a_share_is_corrected_too():
    truth, given, chances, true = drawn(audited=300)
    labels = {0: int((given == 0).sum()), 1: int((given == 1).sum())}
    found = eo.corrected_share(labels, eo.audit_test(truth, given, inclusion=chances))
    interval = found.confidence_interval()
    assert interval.low < true.mean() < interval.high
    assert found.share == pytest.approx(true.mean(), abs=0.06)


def test_results_say_how_rows_were_drawn_and_survive_json():
    truth, given, chances, _ = drawn()
    found = eo.audit_test(truth, given, inclusion=chances)
    assert "drawn with recorded chances" in str(found)
    assert type(found).from_dict(json.loads(json.dumps(found.to_dict()))) == found
    interval = found.alpha_interval()
    assert interval.low < found.alpha < interval.high


def test_other_chances_than_those_of_the_draw_are_doubted():
    truth, given, chances, _ = drawn(audited=300)
    wrong = np.clip(chances.max() + chances.min() - chances, 0.01, 1)
    found = eo.audit_test(truth, given, inclusion=wrong)
    assert [check.name for check in found.diagnostics if check.concern] == ["inclusion"]
    right = eo.audit_test(truth, given, inclusion=chances)
    assert not any(check.concern for check in right.diagnostics)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inclusion": [0.5] * 9}, "inclusion has"),
        ({"inclusion": [0.0] * 10}, "row 1 of 10 has 0: give the chance with which each row was"),
        ({"inclusion": [2.0] * 10}, "row 1 of 10 has 2: give the chance"),
        ({"inclusion": [0.4] * 9 + [1e-320]}, "above 1e-300 and at most at 1 but row 10 of 10 has"),
        ({"true": [1, 0]}, "true has shape"),
        ({"true": [None] * 10}, "no row was audited"),
        ({"true": [1, 1] + [None] * 8}, "no audited row is truly 0"),
        ({"given": ["a", "b"] * 5, "true": ["b", "c", "b"] + [None] * 7}, "in the same words"),
        ({"strata": [1] * 10}, "strata goes without inclusion"),
        ({"groups": [1] * 10}, "groups goes without inclusion"),
        ({"given_counts": {0: 5, 1: 5}}, "given_counts goes without inclusion"),
        ({"sampled_by": "given"}, "sampled_by goes without inclusion"),
    ],
)
def test_what_cannot_be_read_gets_its_sentence(change, message):
    usual = {
        "true": [1, 0, 1, 0] + [None] * 6,
        "given": [0, 1] * 5,
        "inclusion": [0.4] * 10,
    }
    settings = {**usual, **change}
    with pytest.raises(eo.InputError, match=message):
        eo.audit_test(settings.pop("true"), settings.pop("given"), **settings)


def test_rows_of_which_hardly_one_could_be_drawn_raise_a_doubt():
    """Where none of 4,000 with a chance of 0.0004 was drawn, the suspicious ones stand for them.

    Equal rates are then rejected in one audit of eight, and never without a doubt.
    """
    rejected, silent, doubted = 0, 0, 0
    for run in range(40):
        rng = np.random.default_rng([2, run])
        eta = 1 / (1 + np.exp(-(2 * rng.normal(size=10_000) - 1)))
        true = rng.random(10_000) < eta
        given = true ^ (rng.random(10_000) < 0.1)
        suspicious = np.where(given, 1 - eta, eta) > 0.3
        chance = np.where(suspicious, 0.06, 0.0004)
        truth = np.where(rng.random(10_000) < chance, true.astype(int).astype(object), None)
        found = eo.audit_test(truth, given.astype(int), inclusion=chance)
        (doubt,) = (one.concern for one in found.diagnostics if one.name == "inclusion")
        rejected += found.pvalue < 0.05
        silent += found.pvalue < 0.05 and not doubt
        doubted += doubt
    assert rejected >= 2
    assert doubted < 20
    assert silent == 0
