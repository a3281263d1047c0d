"""Tests of a whole confusion matrix."""

import json

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import SquareTable

import evenodds as eo
from evenodds.simulation.classes import relabel


def unrolled(counts):
    """Return true and given labels with these counts."""
    table = np.array(counts)
    true, given = np.nonzero(table >= 0)
    return np.repeat(true, table.ravel()), np.repeat(given, table.ravel())


COUNTS = [[90, 12, 9, 15], [10, 80, 14, 11], [13, 7, 95, 12], [21, 11, 9, 88]]


def test_symmetry_and_homogeneity_agree_with_statsmodels():
    result = eo.confusion_test(*unrolled(COUNTS))
    reference = SquareTable(np.array(COUNTS), shift_zeros=False)
    for ours, theirs in (
        (result.symmetry, reference.symmetry()),
        (result.homogeneity, reference.homogeneity()),
    ):
        assert ours.statistic == pytest.approx(theirs.statistic)
        assert ours.pvalue == pytest.approx(theirs.pvalue)
        assert ours.degrees_of_freedom == theirs.df


def test_uniform_is_pearson_against_equal_cells():
    """The same by scipy: expected counts given, one parameter and the row totals fitted."""
    result = eo.confusion_test(*unrolled(COUNTS))
    table = np.array(COUNTS)
    sizes, rate = table.sum(axis=1), 1 - table.trace() / table.sum()
    expected = np.repeat(sizes[:, None] * rate / 3, 4, axis=1)
    expected[np.diag_indices(4)] = sizes * (1 - rate)
    chi2 = stats.chisquare(table.ravel(), expected.ravel(), ddof=4)
    assert result.uniform.statistic == pytest.approx(chi2.statistic)
    assert result.uniform.degrees_of_freedom == 11
    assert result.uniform.pvalue == pytest.approx(chi2.pvalue)
    assert result.noise_rate == pytest.approx(rate)


def test_few_rows_are_compared_with_draws_that_agree_with_many():
    few = [[18, 2, 1], [0, 22, 1], [1, 2, 13]]
    result = eo.confusion_test(*unrolled(few))
    assert result.uniform.reference == "Monte Carlo"
    twice = eo.confusion_test(*unrolled(few), seed=1)
    assert result.uniform.pvalue == pytest.approx(twice.uniform.pvalue, abs=0.02)


def test_the_drawn_level_holds_in_small_audits():
    rng = np.random.default_rng(5)
    flips = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
    runs, rejected = 300, 0
    for run in range(runs):
        true = rng.choice(3, 60, p=[0.6, 0.3, 0.1])
        true[:6] = [0, 0, 1, 1, 2, 2]
        rejected += (
            eo.confusion_test(true, relabel(true, flips, rng), draws=199, seed=run).pvalue < 0.05
        )
    assert rejected <= stats.binom.ppf(1 - 1e-4, runs, 0.05)


def test_labels_without_a_flip_speak_against_nothing():
    result = eo.confusion_test([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2])
    assert [t.pvalue for t in (result.uniform, result.symmetry, result.homogeneity)] == [1, 1, 1]


def test_uniform_noise_breaks_symmetry_where_classes_differ_in_size():
    counts = [[1800, 100, 100], [10, 180, 10], [10, 10, 180]]
    result = eo.confusion_test(*unrolled(counts))
    assert result.uniform.pvalue > 0.9
    assert result.symmetry.pvalue < 1e-6


def test_a_result_survives_json():
    result = eo.confusion_test(*unrolled(COUNTS))
    assert eo.ConfusionTestResult.from_dict(json.loads(json.dumps(result.to_dict()))) == result


def test_another_schema_is_refused():
    with pytest.raises(eo.InputError, match="schema version 9"):
        eo.ConfusionTestResult.from_dict({"schema_version": 9})


@pytest.mark.parametrize(
    ("true", "given", "message"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], "true has two labels only"),
        ([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 3], "given has label 3, which is none of 0, 1 and 2"),
        ([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2], "true has 6 rows but given has 5"),
        ([0, 0, 1, 1, 2], [0, 0, 1, 1, 2], "label 2 is seen once in true, in row 4"),
        ([0, 0, 1, 1, 2, None], [0, 0, 1, 1, 2, 2], "true has 1 missing value, the first in row 5"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(true, given, message):
    with pytest.raises(eo.InputError, match=message):
        eo.confusion_test(true, given)


def test_too_few_draws_are_refused():
    with pytest.raises(eo.InputError, match="draws is 10 but must be"):
        eo.confusion_test(*unrolled(COUNTS), draws=10)
