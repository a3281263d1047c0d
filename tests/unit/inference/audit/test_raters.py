"""Several raters a case: their majority, what it may hide, and what is refused."""

import re

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.inference.audit.raters import read_raters

WORDS = np.array(["well", "ill"])


@pytest.fixture(scope="module")
def rated():
    """Return true and given labels of 4,000 rows, scores, cases, and three raters of these."""
    rng = np.random.default_rng(1)
    x = 2.2 * rng.normal(size=4000) - 1
    eta = 1 / (1 + np.exp(-x))
    true = rng.random(4000) < eta
    given = true ^ (rng.random(4000) < 0.15)
    scores = 0.85 * eta + 0.15 * (1 - eta)
    cases = eo.choose_cases(scores, n_cases=120, given=given)
    wrong = rng.random((120, 3)) < 0.05
    wrong[wrong.sum(axis=1) > 1] = False  # the majority is right here
    said = WORDS[(true[cases.rows][:, None] ^ wrong).astype(int)]
    return WORDS[true.astype(int)], WORDS[given.astype(int)], scores, cases, said


def _check(result):
    return next(one for one in result.diagnostics if one.name == "raters")


def test_the_majority_is_the_truth(rated):
    true, given, scores, cases, said = rated
    one = eo.audit_test(true[cases.rows], given, strata=cases, scores=scores)
    many = eo.audit_test(pd.DataFrame(said), given, strata=cases, scores=scores)
    assert (many.pvalue, many.asymmetry) == (one.pvalue, one.asymmetry)
    assert many.confidence_interval() == one.confidence_interval()
    n_split = (said != said[:, :1]).any(axis=1).sum()
    assert f"; {n_split} of 120 are not unanimous" in _check(many).message


def test_a_third_who_settles_what_two_differ_on_says_the_same(rated):
    _, given, scores, cases, said = rated
    settled = said.astype(object)
    settled[said[:, 0] == said[:, 1], 2] = None
    settled[-20:] = ""  # not answered yet
    all_three = said.astype(object)
    all_three[-20:] = None
    found = [eo.audit_test(one, given, strata=cases, scores=scores) for one in (settled, all_three)]
    assert found[0].pvalue == found[1].pvalue
    assert found[0].n_rows == 100
    assert _check(found[0]).statistic == (said[:100, 0] == said[:100, 1]).mean()
    pairs = [(said[:100, j] == said[:100, k]).mean() for j, k in ((0, 1), (0, 2), (1, 2))]
    assert _check(found[1]).statistic == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("errs", [0.015, 0.12])
@pytest.mark.parametrize("order", [[0, 1, 2], [0, 2, 1], [2, 0, 1], [2, 1, 0]])
def test_the_column_of_a_third_where_two_differ_does_not_matter(errs, order):
    rng = np.random.default_rng(4)
    said = (rng.random((4000, 3)) < errs).astype(object)
    differ = said[:, 0] != said[:, 1]
    said[~differ, 2] = None
    rated = read_raters(said[:, order])
    assert rated.differ == pytest.approx(differ.mean())
    assert rated.errs == pytest.approx(errs, abs=0.01)


def test_raters_who_take_turns_are_all_counted():
    """Three of five raters answer each case."""
    rng = np.random.default_rng(5)
    said = (rng.random((6000, 5)) < 0.1).astype(object)
    said[rng.random((6000, 5)).argsort(axis=1) >= 3] = None
    assert read_raters(said).differ == pytest.approx(2 * 0.1 * 0.9, abs=0.01)


def test_how_often_the_majority_errs_is_that_of_binomial_votes():
    """Of many simulated cases, 3 raters who err in 0.1: the majority in 3 r^2 - 2 r^3."""
    rng = np.random.default_rng(2)
    rated = read_raters(rng.random((40_000, 3)) < 0.1)
    assert rated.errs == pytest.approx(0.1, abs=0.004)
    assert rated.majority_errs == pytest.approx(3 * 0.1**2 - 2 * 0.1**3, abs=0.003)
    assert rated.majority_errs == pytest.approx(np.mean(rated.truth.astype(bool)), abs=0.003)


def test_what_errors_of_raters_make_of_the_asymmetry_is_said():
    """30% are ill, 10% of labels are wrong in either class, and the raters guess at a fifth."""
    rng = np.random.default_rng(3)
    true = rng.random(20_000) < 0.3
    given = true ^ (rng.random(20_000) < 0.1)
    guessed = (rng.random(20_000) < 0.2)[:, None] & (rng.random((20_000, 3)) < 0.5)
    result = eo.audit_test(true[:, None] ^ guessed, given)
    assert result.asymmetry < -0.1
    check = _check(result)
    assert check.concern
    told = re.search(r"and it is ([+−][\d.]+)\. Errors", check.message).group(1)
    assert float(told.replace("−", "-")) == pytest.approx(0.0, abs=0.02)
    assert "Settle the cases that are not unanimous together" in check.message


def test_raters_who_agree_are_not_doubted(rated):
    true, given, scores, cases, _ = rated
    settled = np.column_stack([true[cases.rows]] * 3)
    check = _check(eo.audit_test(settled, given, strata=cases, scores=scores))
    assert not check.concern
    assert check.message.startswith("Two raters agree on 100% of the cases; 0 of 120")


def test_raters_go_with_looks_and_other_designs(rated):
    true, given, scores, cases, said = rated
    looked = eo.audit_test(said[:60], given, strata=cases, scores=scores, looks=(60, 120))
    alone = eo.audit_test(
        true[cases.rows[:60]], given, strata=cases, scores=scores, looks=(60, 120)
    )
    assert (looked.look, looked.pvalue) == (1, alone.pvalue)
    agree = np.mean([(said[:, j] == said[:, k]).mean() for j, k in ((0, 1), (0, 2), (1, 2))])
    assert _check(eo.audit_test(said, given[cases.rows])).statistic == pytest.approx(agree)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([[1, 1], [1, 0]], "raters are divided evenly over case 2: ask one more of it"),
        (
            [["a", "b", "c"]],
            "raters gave case 1 the labels 'a', 'b' and 'c' but this test needs two",
        ),
        ([[1, None], [0, ""]], "true has a column for each rater but no case has two answers"),
    ],
)
def test_what_is_no_majority_is_refused(said, message):
    with pytest.raises(eo.InputError, match=message):
        read_raters(said)


def test_one_column_is_no_raters():
    assert read_raters([0, 1, 1]) is None
    assert read_raters([[0, 0, 1], [1, 1, 1]]).differ == pytest.approx(1 / 3)
