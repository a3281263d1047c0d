"""The record of a split."""

from dataclasses import replace

import pytest

from evenodds.inference.multiclass.attribution import Finding
from evenodds.inference.multiclass.records import tested_record as record_of
from evenodds.inference.multiclass.results import SplitRecord

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
    record = record_of(BEFORE, Finding(2.0, 0.05, 0.2, 0.02, 0.01, 0.05), ())
    assert record.alpha == pytest.approx(3 * 0.05 - 0.01)
    assert record.beta == pytest.approx(0.05 + 0.01)


@pytest.mark.parametrize("asymmetry", [-0.3, 0.3, -1.4, 0.02])
def test_flip_rates_differ_by_the_asymmetry_beside_them(asymmetry):
    pair = replace(BEFORE, positive=("cat",), negative=("dog",), null_ratio=1.0)
    record = record_of(pair, Finding(2.0, 0.05, 0.2, asymmetry, 0.01, 0.05), ())
    assert record.beta - record.alpha == pytest.approx(record.asymmetry)
    assert record.beta + record.alpha == pytest.approx(0.1)


def test_an_estimate_beyond_the_scale_is_doubted():
    record = record_of(BEFORE, Finding(-2.0, 0.05, 0.2, -1.2, 0.6, 0.05), ())
    assert record.asymmetry == -1
    assert record.diagnostics[0].message.startswith("No possible asymmetry carries the curve")
    assert record.confidence_interval().low_is_limit


def test_a_split_that_was_not_tested_stays_as_it_is():
    assert record_of(BEFORE, None, ()) == BEFORE
