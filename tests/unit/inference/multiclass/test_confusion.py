"""Tests of a whole confusion matrix."""

import json
import tracemalloc

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import SquareTable
from tests.class_worlds import relabel

import evenodds as eo


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
        ([0, 0, 1, 1], [0, 0, 1, 1], "true has two labels only .* for two use audit_test"),
        ([0, "0", 1] * 2, [0, "0", 1] * 2, "true has labels 0 and '0', which print alike"),
        ([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 3], "given has label 3, which is none of 0, 1 and 2"),
        ([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2], "true has 6 labels but given has 5"),
        ([0, 1, 2], [0, 1], "true has 3 labels but given has 2"),
        ([0, 0, 1, 1, 2], [0, 0, 1, 1, 2], "label 2 is seen once in true: merge it"),
        ([0, 0, 1, 1, 2, None], [0, 0, 1, 1, 2, 2], "true has 1 missing value, the first in row 5"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(true, given, message):
    with pytest.raises(eo.InputError, match=message):
        eo.confusion_test(true, given)


def test_too_few_draws_are_refused():
    with pytest.raises(eo.InputError, match="draws is 10 but must be"):
        eo.confusion_test(*unrolled(COUNTS), draws=10)


@pytest.mark.parametrize("seed", [-1, "a", 0.5])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(eo.InputError, match=f"seed is {seed!r} but must be"):
        eo.confusion_test(*unrolled(COUNTS), seed=seed)


def whole_tables(counts, draws, seed):
    """Return the three drawn p-values from all tables at once."""
    counts, rng = np.array(counts), np.random.default_rng(seed)
    n_classes, sizes = len(counts), counts.sum(axis=1)
    flipped = counts.sum() - counts.trace()
    out = rng.multivariate_hypergeometric(sizes, flipped, size=draws)
    tables = np.zeros((draws + 1, n_classes, n_classes))
    tables[0] = counts
    for k in range(n_classes):
        others = np.arange(n_classes) != k
        even = np.full(n_classes - 1, 1 / (n_classes - 1))
        tables[1:, k, others] = rng.multinomial(out[:, k], even)
        tables[1:, k, k] = sizes[k] - out[:, k]
    rate = flipped / counts.sum()
    expected = np.repeat(sizes[:, None] * rate / (n_classes - 1), n_classes, axis=1)
    np.fill_diagonal(expected, sizes * (1 - rate))
    drawn = [((tables - expected) ** 2 / expected).sum(axis=(1, 2))]
    upper = np.triu_indices(n_classes, 1)
    both = (counts + counts.T)[upper]
    for name in ("symmetry", "homogeneity"):
        forth = np.vstack([counts[upper], rng.binomial(both, 0.5, size=(draws, len(both)))])
        swapped = np.zeros((draws + 1, n_classes, n_classes))
        swapped[:, *upper] = forth
        swapped[:, upper[1], upper[0]] = both - forth
        margins = (swapped.sum(axis=2) - swapped.sum(axis=1))[:, 1:]
        spread = np.diag((counts + counts.T).sum(axis=1) - 2 * counts.diagonal())
        spread = (spread - counts - counts.T + 2 * np.diag(counts.diagonal()))[1:, 1:]
        drawn.append(
            ((2 * forth - both) ** 2 / both).sum(axis=1)
            if name == "symmetry"
            else np.einsum("ti,ij,tj->t", margins, np.linalg.inv(spread), margins)
        )
    return [(values >= values[0] * (1 - 1e-9)).mean() for values in drawn]


def test_draws_in_blocks_are_those_of_whole_tables():
    few = [[18, 2, 1], [1, 22, 1], [1, 3, 13]]
    result = eo.confusion_test(*unrolled(few), draws=1200, seed=3)
    found = [test.pvalue for test in (result.uniform, result.symmetry, result.homogeneity)]
    assert found == pytest.approx(whole_tables(few, 1200, 3))


def test_fifty_classes_do_not_fill_the_memory():
    rng = np.random.default_rng(0)
    true = np.repeat(np.arange(50), 20)
    given = np.where(rng.random(1000) < 0.3, rng.integers(0, 50, 1000), true)
    tracemalloc.start()
    result = eo.confusion_test(true, given, draws=2000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {result.uniform.reference, result.symmetry.reference} == {"Monte Carlo"}
    # Whole tables of 2,000 draws take 40 MB, and their expected counts as much again.
    assert peak < 30e6


def test_a_part_of_a_result_is_refused():
    values = eo.confusion_test(*unrolled(COUNTS)).to_dict()
    del values["uniform"]
    with pytest.raises(eo.InputError, match="has no 'uniform': it is not a whole test result"):
        eo.ConfusionTestResult.from_dict(values)


def test_a_row_of_labels_is_a_column():
    true, given = unrolled(COUNTS)
    expected = eo.confusion_test(true, given)
    assert eo.confusion_test(np.array(true)[None, :], given) == expected
    with pytest.raises(eo.InputError, match="must be one column of labels"):
        eo.confusion_test(np.array(5), given)
