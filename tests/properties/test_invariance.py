"""What must not matter does not matter; what turns round turns round."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenodds as eo
from evenodds.model.logistic import fit_rows
from evenodds.rows.memory import read_rows

seeds = st.integers(0, 2**32 - 1)
# Units and offsets of real columns: grams or tonnes, degrees or calendar years.
exponents = st.integers(-6, 6)
offsets = st.integers(-1000, 1000)
settings_of_wald = st.sampled_from([eo.Wald(), eo.Wald(covariance="sandwich")])


def transformed(data, exponent, offset):
    """Return a factor and a shift for each column, of either sign, around those drawn."""
    width = data.X.shape[1]
    factors = 10.0**exponent * data.rng.uniform(0.5, 2, width) * data.rng.choice([-1, 1], width)
    return factors, offset * factors * data.rng.uniform(0, 1, width)


@given(seed=seeds, method=settings_of_wald)
def test_row_order_does_not_matter(draw, seed, method):
    data = draw(seed)
    order = data.rng.permutation(len(data.y))
    shuffled = data.test(X=data.X[order], y=data.y[order], method=method)
    assert shuffled.statistic == pytest.approx(data.test(method=method).statistic, rel=1e-9)


@given(seed=seeds)
def test_the_order_of_anchors_does_not_matter(draw, seed):
    data = draw(seed)
    reversed_anchors = data.anchors(data.points[::-1])
    turned = data.test(anchors=reversed_anchors)
    assert turned.statistic == pytest.approx(data.test().statistic, rel=1e-9)


@given(seed=seeds)
def test_the_order_of_columns_does_not_matter(draw, seed):
    data = draw(seed)
    turned = data.test(X=data.X[:, ::-1], anchors=data.anchors(data.points[:, ::-1]))
    assert turned.statistic == pytest.approx(data.test().statistic, rel=1e-9)


@given(
    seed=seeds,
    block_rows=st.integers(1, 500),
    covariance=st.sampled_from(["information", "sandwich"]),
)
def test_the_block_size_does_not_matter(draw, seed, block_rows, covariance):
    data = draw(seed)
    cut = fit_rows(read_rows(data.X, data.y, block_rows=block_rows), covariance=covariance)
    whole = eo.fit_logistic(data.X, data.y, covariance=covariance)
    assert cut.covariance == pytest.approx(whole.covariance, rel=1e-9, abs=1e-12)


@given(seed=seeds, block_rows=st.integers(1, 500))
def test_groups_may_be_cut_by_blocks(draw, seed, block_rows):
    data = draw(seed)
    groups = data.rng.integers(0, 20, len(data.y))
    cut = fit_rows(read_rows(data.X, data.y, groups=groups, block_rows=block_rows))
    whole = eo.fit_logistic(data.X, data.y, groups=groups)
    assert cut.covariance == pytest.approx(whole.covariance, rel=1e-9, abs=1e-12)


@given(seed=seeds, exponent=exponents, offset=offsets)
def test_slopes_follow_the_units(draw, seed, exponent, offset):
    data = draw(seed)
    factors, shifts = transformed(data, exponent, offset)
    slopes = eo.fit_logistic(data.X * factors + shifts, data.y).coefficients[1:]
    expected = eo.fit_logistic(data.X, data.y).coefficients[1:]
    assert slopes * factors == pytest.approx(expected, rel=1e-8, abs=1e-10)


@given(seed=seeds, exponent=exponents, offset=offsets)
def test_the_intercept_follows_the_offsets(draw, seed, exponent, offset):
    data = draw(seed)
    factors, shifts = transformed(data, exponent, offset)
    intercept, *slopes = eo.fit_logistic(data.X * factors + shifts, data.y).coefficients
    expected = eo.fit_logistic(data.X, data.y).coefficients[0]
    assert intercept + np.dot(slopes, shifts) == pytest.approx(expected, rel=1e-8, abs=1e-8)


@given(seed=seeds, exponent=exponents, offset=offsets, method=settings_of_wald)
def test_units_and_offsets_do_not_matter_when_anchors_follow(draw, seed, exponent, offset, method):
    data = draw(seed)
    factors, shifts = transformed(data, exponent, offset)
    moved = data.anchors(data.points * factors + shifts)
    result = data.test(X=data.X * factors + shifts, anchors=moved, method=method)
    expected = data.test(method=method).statistic
    assert result.statistic == pytest.approx(expected, rel=1e-8, abs=1e-9)


@given(seed=seeds)
def test_mixing_columns_does_not_matter_when_anchors_follow(draw, seed):
    data = draw(seed)
    width = data.X.shape[1]
    mixing = np.eye(width) + np.triu(data.rng.uniform(-1, 1, (width, width)), 1)
    result = data.test(X=data.X @ mixing, anchors=data.anchors(data.points @ mixing))
    assert result.statistic == pytest.approx(data.test().statistic, rel=1e-8)


def repeated(data):
    """Return weights 0 to 3 that keep both classes, and how often each row is repeated."""
    times = data.rng.integers(0, 4, len(data.y))
    times[:8] = 1
    return times


@given(seed=seeds, method=settings_of_wald)
def test_a_row_of_weight_three_is_three_rows(draw, seed, method):
    data = draw(seed)
    times = repeated(data)
    weighted = data.test(sample_weight=times, method=method)
    copied = data.test(X=data.X.repeat(times, axis=0), y=data.y.repeat(times), method=method)
    assert weighted.statistic == pytest.approx(copied.statistic, rel=1e-9)


@given(seed=seeds)
def test_weighted_rows_are_counted_as_rows(draw, seed):
    data = draw(seed)
    times = repeated(data)
    assert data.test(sample_weight=times).n_rows == times.sum()


@given(seed=seeds)
def test_a_weighted_row_is_as_many_rows_of_its_group(draw, seed):
    data = draw(seed)
    times, groups = repeated(data), data.rng.integers(0, 30, len(data.y))
    weighted = data.test(sample_weight=times, groups=groups)
    copied = data.test(
        X=data.X.repeat(times, axis=0), y=data.y.repeat(times), groups=groups.repeat(times)
    )
    assert weighted.statistic == pytest.approx(copied.statistic, rel=1e-9)


@given(seed=seeds)
def test_weights_leave_the_same_doubts_as_repeated_rows(draw, seed):
    data = draw(seed)
    times = repeated(data)
    weighted = data.test(sample_weight=times)
    copied = data.test(X=data.X.repeat(times, axis=0), y=data.y.repeat(times))
    statistics = [[check.statistic for check in r.diagnostics] for r in (weighted, copied)]
    assert statistics[0] == pytest.approx(statistics[1], rel=1e-6, abs=1e-6)


@given(seed=seeds, method=settings_of_wald)
def test_swapping_the_classes_flips_the_statistic(draw, seed, method):
    data = draw(seed)
    swapped, given_ = data.test(positive=0, method=method), data.test(method=method)
    assert swapped.statistic == pytest.approx(-given_.statistic, rel=1e-9)


@given(seed=seeds)
def test_swapping_the_classes_flips_the_asymmetry(draw, seed):
    data = draw(seed)
    swapped = data.test(y=1 - data.y)
    assert swapped.asymmetry == pytest.approx(-data.test().asymmetry, rel=1e-9, abs=1e-12)


@given(seed=seeds, level=st.floats(0.1, 0.999))
def test_swapping_the_classes_mirrors_the_interval(draw, seed, level):
    data = draw(seed)
    interval = data.test().confidence_interval(level)
    mirrored = data.test(positive=0).confidence_interval(level)
    assert (mirrored.low, mirrored.high) == pytest.approx(
        (-interval.high, -interval.low), rel=1e-6, abs=1e-6
    )


@given(seed=seeds)
def test_swapping_the_classes_swaps_the_one_sided_pvalues(draw, seed):
    data = draw(seed)
    greater = data.test(alternative="greater").pvalue
    less = data.test(alternative="less", positive=0).pvalue
    assert less == pytest.approx(greater, rel=1e-7)
