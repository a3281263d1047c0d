import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import evenodds as eo
from evenodds.errors import InputError

TRUE = np.repeat([1, 1, 0, 0], [30, 10, 8, 152])
GIVEN = np.repeat([1, 0, 1, 0], [30, 10, 8, 152])


def test_rates_are_shares_of_the_true_classes():
    result = eo.audit_test(TRUE, GIVEN)
    assert (result.alpha, result.beta) == (10 / 40, 8 / 160)
    assert result.asymmetry == result.beta - result.alpha


@pytest.mark.parametrize(
    ("repeats", "method"), [(1, "boschloo"), (10, "score")], ids=["small", "large"]
)
def test_small_audits_are_exact(repeats, method):
    assert eo.audit_test(np.tile(TRUE, repeats), np.tile(GIVEN, repeats)).method == method


@pytest.mark.parametrize("repeats", [1, 10])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_interval_leaves_zero_out_when_the_test_rejects(repeats, alternative):
    true, given = np.tile(TRUE, repeats), np.tile(GIVEN, repeats)
    result = eo.audit_test(true, given, alternative=alternative)
    for level in (0.5, 0.9, 0.95, 0.99, 0.9999):
        interval = result.confidence_interval(level)
        assert (interval.low <= 0 <= interval.high) == (result.pvalue >= 1 - level)


@pytest.mark.parametrize("repeats", [1, 10])
def test_swapping_the_classes_flips_the_sign(repeats):
    true, given = np.tile(TRUE, repeats), np.tile(GIVEN, repeats)
    one, other = eo.audit_test(true, given), eo.audit_test(true, given, positive=0)
    assert other.statistic == pytest.approx(-one.statistic, rel=1e-6)
    assert (other.alpha, other.beta) == (one.beta, one.alpha)


@pytest.mark.parametrize(
    "as_column",
    [
        list,
        pd.Series,
        pl.Series,
        lambda x: x.astype(bool),
        lambda x: np.where(x, "ill", "healthy"),
        lambda x: pd.Categorical(np.where(x, "ill", "healthy")),
        lambda x: x[:, None].astype(float),
    ],
)
def test_labels_come_in_any_kind(as_column):
    expected = eo.audit_test(TRUE, GIVEN).statistic
    assert eo.audit_test(as_column(TRUE), as_column(GIVEN)).statistic == expected


def test_results_survive_json():
    for counts in (None, {0: 7000, 1: 3000}):
        design = "random" if counts is None else "given"
        result = eo.audit_test(TRUE, GIVEN, sampled_by=design, given_counts=counts)
        again = eo.AuditTestResult.from_dict(json.loads(json.dumps(result.to_dict())))
        assert again == result


def test_rate_intervals_hold_their_rates():
    for design, counts in (("random", None), ("given", (7000, 3000))):
        result = eo.audit_test(TRUE, GIVEN, sampled_by=design, given_counts=counts)
        assert result.alpha_interval().low < result.alpha < result.alpha_interval().high
        assert result.beta_interval().low < result.beta < result.beta_interval().high


def test_equivalence_is_shown_by_many_equal_flips():
    true = np.repeat([1, 1, 0, 0], [4500, 500, 500, 4500])
    given = np.repeat([1, 0, 1, 0], [4500, 500, 500, 4500])
    result = eo.audit_test(true, given)
    assert result.equivalence(0.05).pvalue < 1e-6
    assert result.pvalue == 1.0


def test_any_margin_can_be_asked_of_a_small_audit():
    result = eo.audit_test(TRUE, GIVEN)
    pvalues = [result.equivalence(margin).pvalue for margin in (0.2, 0.4, 0.6, 0.9, 0.999)]
    assert pvalues == sorted(pvalues, reverse=True)
    assert pvalues[-1] < 1e-6


def test_counts_by_label_or_in_order_say_the_same():
    named = eo.audit_test(TRUE, GIVEN, sampled_by="given", given_counts={1: 3000, 0: 7000})
    ordered = eo.audit_test(TRUE, GIVEN, sampled_by="given", given_counts=(7000, 3000))
    assert named == ordered


def test_no_flips_reject_nothing():
    result = eo.audit_test([1] * 30 + [0] * 40, [1] * 30 + [0] * 40)
    assert result.pvalue == 1
    assert result.confidence_interval().high < 0.12


def test_swapped_columns_are_doubted():
    result = eo.audit_test(TRUE, 1 - GIVEN)
    assert "alpha + beta is 1.70" in result.diagnostics[-1].message
    assert "worse than a coin: they look reversed" in result.diagnostics[-1].message


def test_labels_that_say_nothing_are_no_better_than_a_coin():
    result = eo.audit_test(TRUE, np.arange(len(TRUE)) % 2)
    assert "no better than a coin" in result.diagnostics[-1].message


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
@pytest.mark.parametrize(
    ("repeats", "wrong", "method", "said"),
    [
        (1, 1, "exact", "exact for the counts given, and cautious"),
        (5, 1, "likelihood", "which is approximate here; audit more rows of that label"),
        (5, 80, "score", "enough for the score test"),
    ],
)
def test_few_wrong_labels_by_given_class_are_told(repeats, wrong, method, said, alternative):
    rows = [60 * repeats, 20 * repeats, wrong, 80 * repeats - wrong]
    result = eo.audit_test(
        np.repeat([1, 0, 1, 0], rows),
        np.repeat([1, 1, 0, 0], rows),
        sampled_by="given",
        given_counts=(4000, 2000),
        alternative=alternative,
    )
    assert result.method == method
    assert result.diagnostics[0].concern == (method == "likelihood")
    assert said in result.diagnostics[0].message
    interval = result.confidence_interval()
    assert (interval.low <= 0 <= interval.high) == (result.pvalue >= 0.05)


def _audit(true=TRUE, given=GIVEN, **options):
    return eo.audit_test(true, given, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: _audit(sampled_by="given"),
            r"^given_counts is missing: rows audited by given class say nothing of how many rows "
            r"have each label\. Give the counts of the whole data, as \{0: \.\.\., 1: \.\.\.\}\.$",
        ),
        (
            lambda: _audit(given_counts=(1, 2)),
            r"^given_counts is used with sampled_by='given' only, and sampled_by is 'random'",
        ),
        (
            lambda: _audit(sampled_by="given", given_counts=(100, 300)),
            r"^given_counts says that the data have 100 rows labelled 0, but 162 such rows were "
            r"audited: count the whole data, audited rows included\.$",
        ),
        (
            lambda: _audit(sampled_by="given", given_counts=(100, 300, 5)),
            r"^given_counts holds 3 numbers but must hold 2: rows labelled 0, then rows labelled 1",
        ),
        (
            lambda: _audit(sampled_by="given", given_counts={0: 500, 2: 300}),
            r"^given_counts names 0 and 2 but the labels are 0 and 1: give one count for each\.$",
        ),
        (
            lambda: _audit(sampled_by="given", given_counts={}),
            r"^given_counts names no label but the labels are 0 and 1: give one count for each\.$",
        ),
        (
            lambda: _audit(sampled_by="given", given_counts={0: 500, "0": 500, 1: 300}),
            r"^given_counts names 0, '0' and 1 but the labels are 0 and 1: give one count for each",
        ),
        (
            lambda: _audit(sampled_by="given", given_counts=(10**400, 300)),
            r"^given_counts of 0 is a number of more than 30 digits but must be at most 1,000,000,",
        ),
        (
            lambda: _audit(sampled_by="given", given_counts=(500, 2e13)),
            r"^given_counts of 1 is 20000000000000\.0 but must be at most 1,000,000,000,000\.$",
        ),
        (
            lambda: _audit(np.array([1, "1"], dtype=object), np.array([1, "1"], dtype=object)),
            r"^true and given hold both .* and .*, which print alike: write them in one way\.$",
        ),
        (
            lambda: _audit(sampled_by="given", given_counts=(300.5, 300)),
            r"^given_counts of 0 is 300\.5 but must be a whole number of at least 1\.$",
        ),
        (
            lambda: _audit(sampled_by="label"),
            r"^sampled_by is 'label' but must be one of 'random', 'true' or 'given'\.$",
        ),
        (
            lambda: _audit(TRUE[:-1]),
            r"^true has 199 labels but given has 200: give both labels of each audited row, in the "
            r"same order\.$",
        ),
        (lambda: _audit([], []), r"^true is empty: give the labels of at least one audited row\.$"),
        (
            lambda: _audit(TRUE, GIVEN.reshape(100, 2)),
            r"^given has shape \(100, 2\) but must be one column of labels\.$",
        ),
        (
            lambda: _audit([1, None, 0], [1, 1, 0]),
            r"^true has 1 missing value, the first in row 1: drop the rows without one\.$",
        ),
        (
            lambda: _audit([1, 0, 0], [1, np.nan, np.nan]),
            r"^given has 2 missing values, the first in row 1: drop the rows without one\.$",
        ),
        (
            lambda: _audit(["a", "b", "c"], ["a", "b", "b"]),
            r"^true has 3 distinct labels \('a', 'b' and 'c'\) but this test needs 2: keep the "
            r"rows of two of them, or use confusion_test\.$",
        ),
        (
            lambda: _audit([0, 1, 1], ["no", "yes", "no"]),
            r"^true has 0 and 1 but given has 'no' and 'yes': write the two classes in the same "
            r"words in both\.$",
        ),
        (
            lambda: _audit([1, 1], [1, 1]),
            r"^true and given hold one label only \(1\): audit rows of both classes\.$",
        ),
        (
            lambda: _audit([1, 1, 1], [1, 0, 1]),
            r"^no audited row is truly 0, so nothing is known of how often that class is flipped: "
            r"audit rows until both classes are there\.$",
        ),
        (
            lambda: _audit([1, 0, 1], [1, 1, 1], sampled_by="given", given_counts=(5, 5)),
            r"^no audited row is labelled 0: an audit by given class needs rows of both labels\.$",
        ),
        (
            lambda: _audit(positive="ill"),
            r"^positive is 'ill' but the labels are 0 and 1: name one of these\.$",
        ),
    ],
)
def test_bad_input_gets_its_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_the_interval_of_a_class_that_is_hardly_flipped_holds_its_rate():
    """Exact coverage: all counts of 30 positives, beside negatives of whom many are flipped."""
    negatives = [600, 400]
    intervals = []
    for flipped in range(31):
        rows = np.repeat([1, 1, 0, 0], [30 - flipped, flipped, *negatives])
        given = np.repeat([1, 0, 0, 1], [30 - flipped, flipped, *negatives])
        result = eo.audit_test(rows, given)
        assert result.method == "score"
        intervals.append(result.alpha_interval())
    low, high = np.array([(one.low, one.high) for one in intervals]).T
    for alpha in (0.002, 0.0058, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 0.995):
        chances = stats.binom.pmf(np.arange(31), 30, alpha)
        assert chances[(low <= alpha) & (alpha <= high)].sum() > 0.93
