"""All answers come from one function, so they never contradict each other."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import evenodds as eo

seeds = st.integers(0, 2**32 - 1)
alternatives = st.sampled_from(["two-sided", "greater", "less"])
one_sided = st.sampled_from(["greater", "less"])
significances = st.floats(1e-6, 0.5, exclude_max=True)
margins = st.floats(0.005, 0.95)
# How far above or below the p-value a significance is put, relative to it.
near_ones = st.sampled_from([1 - 1e-2, 1 - 1e-5, 1 + 1e-5, 1 + 1e-2])


def excludes_zero(result, significance):
    interval = result.confidence_interval(1 - significance)
    return not interval.low <= 0 <= interval.high


@given(seed=seeds, alternative=alternatives, significance=significances)
def test_the_interval_excludes_zero_when_the_test_rejects(draw, seed, alternative, significance):
    result = draw(seed).test(alternative=alternative)
    assert excludes_zero(result, significance) == (result.pvalue < significance)


@given(seed=seeds, alternative=one_sided, significance=st.floats(0.5, 0.999))
def test_one_sided_intervals_of_any_level_agree_with_the_test(
    draw, seed, alternative, significance
):
    result = draw(seed).test(alternative=alternative)
    assert excludes_zero(result, significance) == (result.pvalue < significance)


@given(seed=seeds, alternative=alternatives, near_one=near_ones)
def test_the_interval_ends_at_zero_where_the_test_just_rejects(draw, seed, alternative, near_one):
    result = draw(seed).test(alternative=alternative)
    significance = result.pvalue * near_one
    assume(1e-9 < significance < 0.5)
    assert excludes_zero(result, significance) == (result.pvalue < significance)


@given(seed=seeds, significance=st.floats(1e-6, 0.499), margin=margins)
def test_equivalence_is_shown_when_the_interval_lies_within_the_margin(
    draw, seed, significance, margin
):
    result = draw(seed).test()
    interval = result.confidence_interval(1 - 2 * significance)
    inside = -margin < interval.low and interval.high < margin
    assert inside == (result.equivalence(margin).pvalue < significance)


@given(seed=seeds, margin=margins, near_one=near_ones)
def test_the_interval_ends_at_the_margin_where_equivalence_is_just_shown(
    draw, seed, margin, near_one
):
    result = draw(seed).test()
    significance = result.equivalence(margin).pvalue * near_one
    assume(1e-9 < significance < 0.4999)
    interval = result.confidence_interval(1 - 2 * significance)
    inside = -margin < interval.low and interval.high < margin
    assert inside == (result.equivalence(margin).pvalue < significance)


@given(seed=seeds, alternative=alternatives, level=st.floats(0.5, 0.9999))
def test_the_interval_holds_the_estimate(draw, seed, alternative, level):
    result = draw(seed).test(alternative=alternative)
    interval = result.confidence_interval(level)
    assert interval.low <= result.asymmetry <= interval.high


@given(seed=seeds, level=st.floats(0.001, 0.999))
def test_a_higher_level_holds_the_lower(draw, seed, level):
    result = draw(seed).test()
    inner, outer = result.confidence_interval(level / 2), result.confidence_interval(level)
    assert outer.low <= inner.low <= inner.high <= outer.high


@given(seed=seeds)
def test_one_sided_pvalues_sum_to_one(draw, seed):
    data = draw(seed)
    greater, less = (data.test(alternative=side).pvalue for side in ("greater", "less"))
    assert greater + less == pytest.approx(1, rel=1e-12)


@given(seed=seeds, significance=st.floats(0.001, 0.999))
def test_the_retention_region_retains_what_the_test_retains(draw, seed, significance):
    result = draw(seed).test()
    region = result.retention_region(significance)
    inside = region.low <= result.mean_posterior <= region.high
    assert inside == (result.pvalue >= significance)


@given(seed=seeds, alternative=alternatives)
def test_a_result_survives_json(draw, seed, alternative):
    result = draw(seed).test(alternative=alternative)
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert eo.AsymmetryTestResult.from_dict(document) == result


@given(seed=seeds)
def test_the_same_data_give_the_same_result(draw, seed):
    assert draw(seed).test() == draw(seed).test()
