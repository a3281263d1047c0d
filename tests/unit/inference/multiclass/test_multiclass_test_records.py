"""The record of a split."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from evenodds.inference.multiclass.crossing import Finding
from evenodds.inference.multiclass.multiclass_test import all_counted, boundless
from evenodds.inference.multiclass.multiclass_test import tested_record as record_of
from evenodds.inference.multiclass.result import SplitRecord

BEFORE = SplitRecord(
    name="cat | rest",
    positive=("cat",),
    negative=("dog", "fox", "owl"),
    left_out=(),
    null_ratio=3.0,
    n_rows=100,
    n_anchors=2,
)


def test_flip_rates_are_those_of_uniform_noise_and_half_the_asymmetry():
    record = record_of(BEFORE, Finding(2.0, 0.05, 0.02, 0.01, 0.05), 0.2, ())
    assert record.alpha == pytest.approx(3 * 0.05 - 0.01)
    assert record.beta == pytest.approx(0.05 + 0.01)


@pytest.mark.parametrize("asymmetry", [-0.3, 0.3, 0.02])
def test_flip_rates_differ_by_the_asymmetry_beside_them(asymmetry):
    pair = replace(BEFORE, positive=("cat",), negative=("dog",), null_ratio=1.0)
    record = record_of(pair, Finding(2.0, 0.05, asymmetry, 0.01, 0.05), 0.2, ())
    assert record.beta - record.alpha == pytest.approx(record.asymmetry)
    assert record.beta + record.alpha == pytest.approx(0.1)


def test_a_split_withheld_has_the_reason_and_no_number():
    record = record_of(BEFORE, "Only about 2 rows lie between the two sides.", np.nan, ())
    assert not record.tested
    assert not record.rejected()
    assert not record.pvalue < 1
    assert np.isnan([record.statistic, record.pvalue, record.adjusted_pvalue]).all()
    numbers = (record.asymmetry, record.standard_error, record.alpha, record.beta)
    assert numbers == (None, None, None, None)
    with pytest.raises(eo.InputError, match=r"'cat \| rest' has no interval\. Only about 2 rows"):
        record.confidence_interval()


@pytest.mark.parametrize("asymmetry", [-0.2, 0.2])
@pytest.mark.parametrize("z", [0.0, 0.5, 1.9, 1.99, 3.0])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_an_interval_holds_zero_where_the_pvalue_does_not_reject(asymmetry, z, level):
    """Also where the test at 0 is weaker than the standard error says."""
    pvalue = float(2 * stats.norm.sf(z))
    z = z if asymmetry > 0 else -z
    record = record_of(BEFORE, Finding(z, pvalue, asymmetry, 0.05, 0.05), pvalue, ())
    interval = record.confidence_interval(level)
    assert (interval.low <= 0 <= interval.high) == (pvalue >= 1 - level)
    assert interval.low <= asymmetry <= interval.high


@pytest.mark.parametrize(
    ("asymmetry", "error", "reason"),
    [
        (1.2, 0.3, "No possible asymmetry"),
        (float("nan"), 0.3, "No possible asymmetry"),
        (0.3, 0.7, "Asymmetries of any size and sign"),
        (0.3, float("nan"), "Asymmetries of any size and sign"),
    ],
)
def test_numbers_that_say_nothing_are_withheld(asymmetry, error, reason):
    assert boundless(Finding(1.0, 0.3, asymmetry, error, 0.1)).startswith(reason)


def test_an_interval_with_one_end_is_no_reason_to_withhold():
    assert boundless(Finding(1.0, 0.3, 0.6, 0.6, 0.1)) is None


def test_splits_withheld_are_not_counted():
    """Also those that turn out to be steps only where other flips are free."""
    known = Finding(2.0, 0.04, 0.3, 0.1, 0.1)
    assert all_counted(["A step.", known, "No end.", replace(known, pvalue=0.5)]) == pytest.approx(
        [np.nan, 0.08, np.nan, 0.5], nan_ok=True
    )
    assert np.isnan(all_counted(["A step."])).all()
