"""Local fits: what they must not depend on, and where they must refuse."""

import numpy as np
import pytest
from tests.local_posteriors import local_posteriors

import evenodds as eo
from evenodds.errors import ConvergenceError, RankError
from evenodds.model import neighbours
from evenodds.model.local_fit import (
    LADDER,
    LocalRows,
    choose_bandwidth,
    fit_bandwidths,
    fit_local,
    undersmoothing,
    widest_as_good,
)
from evenodds.model.neighbours import REACH, Standard, Surroundings, kernel_weights

POINTS = np.array([[0.0, 0.0], [0.6, -0.6], [-0.5, 0.4]])


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 2))
    y = (rng.random(900) < 1 / (1 + np.exp(-2 * X.sum(axis=1)))).astype(float)
    return X, y


def same(found, expected, rtol=1e-8):
    np.testing.assert_allclose(found.posterior, expected.posterior, rtol=rtol)
    # The information is that of one step before the last, off by up to 1e-7.
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=100 * rtol)


@pytest.mark.parametrize("kernel", ["gaussian", "tricube"])
def test_a_kernel_is_one_at_the_point_and_zero_beyond_its_reach(kernel):
    reach = REACH[kernel]
    weights = kernel_weights(np.array([0.0, 0.5, 0.99 * reach, 1.01 * reach]) ** 2, 1.0, kernel)
    assert weights[0] == 1
    assert weights[3] == 0
    assert (np.diff(weights) < 0).all()


def test_row_order_does_not_matter(noisy):
    X, y = noisy
    order = np.random.default_rng(1).permutation(len(y))
    expected = local_posteriors(X, y, POINTS, bandwidth=0.5)
    same(local_posteriors(X[order], y[order], POINTS, bandwidth=0.5), expected)


def test_units_of_the_features_do_not_matter(noisy):
    X, y = noisy
    scale, shift = np.array([1e-3, 1e4]), np.array([5.0, -1e6])
    expected = local_posteriors(X, y, POINTS)
    same(local_posteriors(X * scale + shift, y, POINTS * scale + shift), expected, rtol=1e-6)


def test_swapping_the_labels_mirrors_the_posterior(noisy):
    X, y = noisy
    found, mirrored = (local_posteriors(X, labels, POINTS) for labels in (y, 1 - y))
    np.testing.assert_allclose(found.posterior, 1 - mirrored.posterior, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, mirrored.covariance, rtol=1e-7)


def test_a_row_of_weight_three_is_three_rows(noisy):
    X, y = noisy
    weights = np.random.default_rng(2).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    expected = local_posteriors(X[repeated], y[repeated], POINTS, bandwidth=0.5)
    same(local_posteriors(X, y, POINTS, bandwidth=0.5, weights=weights.astype(float)), expected)


def test_copies_in_groups_say_no_more_than_one(noisy):
    X, y = noisy
    times = 40
    groups = np.repeat(np.arange(len(y)), times)
    once = local_posteriors(X, y, POINTS, bandwidth=0.5)
    copied = local_posteriors(X[groups], y[groups], POINTS, bandwidth=0.5, groups=groups)
    # All that differs is the prior row: one of 900 or one of 36,000.
    np.testing.assert_allclose(copied.covariance, once.covariance, rtol=0.05)


def test_a_tree_finds_the_rows_that_measuring_finds(noisy, monkeypatch):
    X, y = noisy
    settings = {"bandwidth": 0.2, "kernel": "tricube"}
    points = POINTS[:1] + np.array([[0.0, 0.0], [0.1, 0.1]])
    expected = local_posteriors(X, y, points, **{**settings, "bandwidth": 0.8})
    monkeypatch.setattr(neighbours, "TREE_FROM", 10)
    rows = LocalRows.of(X, y)
    assert rows.around.tree is not None
    same(rows.posteriors(points, 0.8, "tricube"), expected)


def test_blocks_of_points_do_not_matter(noisy, monkeypatch):
    X, y = noisy
    points = np.random.default_rng(5).normal(size=(40, 2)) / 3
    expected = local_posteriors(X, y, points, bandwidth=0.5)
    monkeypatch.setattr(neighbours, "BLOCK_CELLS", 3 * len(y))
    same(local_posteriors(X, y, points, bandwidth=0.5), expected)


def test_a_ladder_of_bandwidths_ends_where_single_fits_do(noisy):
    X, y = noisy
    rows = LocalRows.of(X, y)
    points = rows.standard(POINTS)
    ladder = fit_bandwidths(rows.around, points, [1.0, 0.5, 0.25], "tricube")
    for fits in ladder:
        alone = fit_local(rows.around, points, fits.bandwidth, "tricube")
        np.testing.assert_allclose(fits.log_odds, alone.log_odds, atol=1e-9)
        np.testing.assert_allclose(fits.effective_rows, alone.effective_rows)


def test_points_in_one_place_agree_and_are_one(noisy):
    X, y = noisy
    found = local_posteriors(X, y, np.zeros((3, 2)), bandwidth=0.5)
    assert np.ptp(found.posterior) == pytest.approx(0, abs=1e-12)
    prior_share = found.covariance[0, 0] / found.covariance[0, 1] - 1
    assert 0 <= prior_share < 0.02


def test_labels_that_all_agree_leave_room_for_one_that_does_not():
    """0 positives of n: the posterior is near 1/(2n), and so is its error."""
    X = np.random.default_rng(1).normal(size=(400, 1))
    found = local_posteriors(X, np.zeros(400), np.zeros((1, 1)), bandwidth=50.0)
    assert found.posterior[0] == pytest.approx(0.5 / 401, rel=0.3)
    assert 0.5 / 401 < np.sqrt(found.covariance[0, 0]) < 3 / 401


def test_separated_labels_have_a_finite_fit():
    X = np.linspace(-1, 1, 200)[:, None]
    found = local_posteriors(
        X, (X[:, 0] > 0).astype(float), np.array([[0.0], [0.5]]), bandwidth=0.3
    )
    assert np.isfinite(found.log_odds).all()
    assert found.posterior[0] == pytest.approx(0.5, abs=0.02)
    assert np.sqrt(found.covariance[0, 0]) > 0.05


def test_an_anchor_between_the_levels_of_a_discrete_feature_is_refused(refused):
    rng = np.random.default_rng(4)
    X = rng.integers(0, 5, size=(2000, 1)).astype(float)
    y = (rng.random(2000) < 0.2 + 0.15 * X[:, 0]).astype(float)
    at = local_posteriors(X, y, np.array([[2.0]]), bandwidth=0.06)
    assert at.posterior[0] == pytest.approx(y[X[:, 0] == 2].mean(), abs=0.01)
    with refused("fewer than 6 effective rows nearby", eo.AnchorError):
        local_posteriors(X, y, np.array([[2.4]]), bandwidth=0.06)


def test_an_anchor_between_levels_within_reach_is_answered(noisy):
    X, y = noisy
    found = local_posteriors(np.round(X), y, np.array([[0.5, -0.5]]), bandwidth=0.25)
    assert found.posterior[0] == pytest.approx(0.5, abs=3 * np.sqrt(found.covariance[0, 0]))


def test_spread_is_that_of_the_middle_whatever_the_tails():
    column = np.random.default_rng(1).normal(size=(5000, 1))
    wild = np.vstack([column, [[1e9]] * 5])
    assert Standard.of(wild).spread[0] == pytest.approx(Standard.of(column).spread[0], rel=0.01)
    assert Standard.of(column).spread[0] == pytest.approx(1, abs=0.05)


def test_a_column_that_mostly_repeats_is_measured_by_its_deviation():
    column = np.r_[np.zeros(95), np.ones(5)][:, None]
    assert Standard.of(column).spread[0] == pytest.approx(np.sqrt(0.05))


def test_bandwidths_shrink_with_rows_and_stay_below_the_widest(noisy):
    X, y = noisy
    around = LocalRows.of(X, y).around
    widest = 1.2 * len(y) ** (-1 / 5)
    chosen = choose_bandwidth(around, "gaussian")
    assert min(abs(chosen - widest * step) for step in LADDER) < 1e-12
    assert undersmoothing(100, 2) > undersmoothing(10_000, 2)


def test_a_wiggly_curve_gets_a_narrower_bandwidth():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2000, 1))
    wiggly = (rng.random(2000) < 1 / (1 + np.exp(-4 * np.sin(9 * X[:, 0])))).astype(float)
    straight = (rng.random(2000) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    narrow, wide = (LocalRows.of(X, labels).bandwidth("gaussian") for labels in (wiggly, straight))
    assert narrow < 0.8 * wide


def test_groups_are_left_out_together_in_the_search(noisy):
    X, y = noisy
    groups = np.repeat(np.arange(len(y)), 4)
    copied = Surroundings.of(LocalRows.of(X, y).around.features[groups], y[groups], None, groups)
    alone = Surroundings.of(copied.features, copied.labels)
    assert choose_bandwidth(copied, "gaussian") >= choose_bandwidth(alone, "gaussian")


def test_a_point_without_rows_nearby_is_refused(noisy, refused):
    with refused("an anchor has fewer than 9 effective rows nearby (anchor 2 has", eo.AnchorError):
        local_posteriors(*noisy, np.array([[0.0, 0.0], [9.0, 9.0]]), bandwidth=0.5)


def test_several_points_without_rows_nearby_are_counted(noisy, refused):
    with refused("2 of 3 anchors have fewer than 9 effective rows nearby", eo.AnchorError):
        local_posteriors(*noisy, np.array([[0.0, 0.0], [9.0, 9.0], [8.0, 0.0]]), bandwidth=0.5)


def test_more_than_five_features_are_refused(refused):
    X = np.random.default_rng(1).normal(size=(50, 6))
    with refused("there are 6 features but a local fit takes at most 5: in more, hardly any row"):
        local_posteriors(X, np.zeros(50), X[:1])


def test_a_constant_column_is_refused(noisy, refused):
    X, y = noisy
    constant = np.column_stack([X[:, 0], np.full(len(y), 7.0)])
    with refused("column 1 is constant (always 7)", RankError):
        local_posteriors(constant, y, constant[:1])


def test_a_column_that_hardly_varies_is_not_called_constant(noisy, refused):
    X, y = noisy
    flat = np.column_stack([X[:, 0], 1e15 + np.arange(len(y)) % 2])
    text = "column 1 varies too little to compute with (from 1000000000000000.0 to 100000000000000"
    with refused(text, RankError):
        local_posteriors(flat, y, flat[:1])


@pytest.mark.parametrize(
    ("bandwidth", "text"),
    [
        (0, "is 0 but must be positive"),
        ("x", "number"),
        (1e-300, "bandwidth is 1e-300 but must lie between 1e-06 and 1e+06"),
        (1e-160, "bandwidth is 1e-160 but must lie between 1e-06 and 1e+06"),
        (1e200, "bandwidth is 1e+200 but must lie between 1e-06 and 1e+06"),
    ],
)
def test_a_bandwidth_is_a_distance(noisy, refused, bandwidth, text):
    with refused(text):
        local_posteriors(*noisy, POINTS, bandwidth=bandwidth)


@pytest.mark.parametrize("kernel", ["gaussian", "tricube"])
def test_the_widest_bandwidth_sees_all_rows_alike(noisy, kernel):
    found = local_posteriors(*noisy, POINTS, bandwidth=1e6, kernel=kernel)
    assert found.effective_rows == pytest.approx(900, rel=0.01)


def test_the_narrowest_bandwidth_sees_none(noisy, refused):
    with refused("3 of 3 anchors have fewer than 9 effective rows nearby"):
        local_posteriors(*noisy, POINTS, bandwidth=1e-6)


def test_a_kernel_has_a_name(noisy, refused):
    with refused("kernel is 'box' but must be one of 'gaussian' or 'tricube'."):
        local_posteriors(*noisy, POINTS, kernel="box")


def test_the_widest_bandwidth_that_predicts_as_well_is_taken():
    rng = np.random.default_rng(1)
    best = rng.normal(size=1000)
    scores = {0.9: best - 0.5, 0.6: best + 0.01 * rng.normal(size=1000) - 1e-4, 0.4: best}
    assert widest_as_good(scores, 1000) == 0.6
    assert widest_as_good({0.9: best - 0.5, 0.4: best}, 1000, np.ones(1000)) == 0.4


def test_wild_values_far_from_every_point_change_nothing(noisy):
    X, y = noisy
    wild = np.vstack([X, [[1e30, 0.0], [0.0, -1e200]]])
    scale = LocalRows.of(X, y).standard
    expected = LocalRows(scale, Surroundings.of(scale(X), y)).posteriors(POINTS, 0.4, "gaussian")
    labels = np.append(y, [1.0, 0.0])
    found = LocalRows(scale, Surroundings.of(scale(wild), labels))
    same(found.posteriors(POINTS, 0.4, "gaussian"), expected)
    assert np.isfinite(local_posteriors(wild, labels, POINTS).log_odds).all()


@pytest.mark.parametrize("kernel", ["gaussian", "tricube"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steep_labels_of_any_features_settle(kernel, dtype):
    rng = np.random.default_rng(9)
    for X in (
        rng.normal(size=(600, 3)),
        rng.standard_cauchy((600, 2)),
        rng.integers(0, 4, (600, 1)),
    ):
        rows = LocalRows.of(X.astype(float), (X[:, 0] > np.median(X[:, 0])).astype(float))
        points = rows.around.features[:5]
        for fits in fit_bandwidths(rows.around, points, [4.0, 1.0, 0.2], kernel, dtype=dtype):
            assert np.isfinite(fits.log_odds).all()


def test_a_column_of_one_value_and_a_wild_one_is_refused(refused):
    column = np.r_[np.zeros(99), 1e200][:, None]
    with refused("column 0 has values so large that their squares overflow, and one value else"):
        Standard.of(column)


def test_a_fit_that_does_not_settle_says_what_helps(noisy, monkeypatch):
    monkeypatch.setattr("evenodds.model.local_fit.MOST_STEPS", 1)
    message = (
        "^a local fit did not settle in 1 steps: leave out anchors with few rows nearby, or use a "
        r"method that fits one curve to all rows\.$"
    )
    with pytest.raises(ConvergenceError, match=message):
        local_posteriors(*noisy, POINTS, bandwidth=0.5)
