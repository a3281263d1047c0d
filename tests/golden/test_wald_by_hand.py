"""The wald statistic against the formulas of the theory page, written out by loops."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

import evenodds as eo
from evenodds.inference.null_fits import optimal_weights
from evenodds.simulation.worlds import two_bells

TOLERANCES = np.array([0.0, 0.03, 0.05, 0.1])
SHARED = 0.04


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    world = two_bells()
    X, y = world.draw_rows(800, rng)
    return X, eo.ClassConditionalNoise(0.2, 0.1).flip(y, rng), world.draw_anchors(4, rng).points


def _newton_fit(X, y):
    D = np.column_stack([np.ones(len(X)), X])
    theta = np.zeros(D.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-D @ theta))
        information = (D * (p * (1 - p))[:, None]).T @ D
        theta += np.linalg.solve(information, D.T @ (y - p))
    return theta, np.linalg.inv(information)


def _z_by_hand(X, y, points, tolerance, shared, weights, delta_0, source=None):
    theta, H = _newton_fit(X, y)
    k = len(points)
    a = [np.r_[1.0, point] for point in points]
    e = [1 / (1 + math.exp(-(a_j @ theta))) for a_j in a]
    g = [(1 - delta_0**2) / 4 - tolerance[j] ** 2 / 3 - shared**2 / 3 for j in range(k)]
    v = 0.0
    for i in range(k):
        for j in range(k):
            entry = g[i] * g[j] * (a[i] @ H @ a[j]) + shared**2 / 3
            entry += tolerance[i] ** 2 / 3 if i == j else 0.0
            entry += 0.0 if source is None else source[i, j]
            v += weights[i] * weights[j] * entry
    mean = sum(w * value for w, value in zip(weights, e, strict=True))
    return (mean - (1 + delta_0) / 2) / math.sqrt(v)


EQUAL = np.full(4, 0.25)


@pytest.mark.parametrize("shared", [0.0, SHARED])
@pytest.mark.parametrize("tolerance", [np.zeros(4), TOLERANCES], ids=["strict", "relaxed"])
def test_statistic_and_pvalue(data, tolerance, shared):
    X, y, points = data
    anchors = eo.Anchors(points, tolerance=tolerance, shared_tolerance=shared)
    result = eo.asymmetry_test(X, y, anchors, method="wald")
    z = _z_by_hand(X, y, points, tolerance, shared, EQUAL, 0.0)
    expected = (z, 2 * stats.norm.sf(abs(z)))
    assert (result.statistic, result.pvalue) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("tolerance", [np.zeros(4), TOLERANCES], ids=["strict", "relaxed"])
def test_interval(data, tolerance, level):
    X, y, points = data
    anchors = eo.Anchors(points, tolerance=tolerance, shared_tolerance=0)
    result = eo.asymmetry_test(X, y, anchors, method="wald")
    critical = stats.norm.isf((1 - level) / 2)

    def excess(delta, sign):
        return _z_by_hand(X, y, points, tolerance, 0.0, EQUAL, delta) - sign * critical

    low = optimize.brentq(excess, -0.99, result.asymmetry, args=(1,), xtol=1e-14)
    high = optimize.brentq(excess, result.asymmetry, 0.99, args=(-1,), xtol=1e-14)
    interval = result.confidence_interval(level)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-10)


def test_interval_between_tabulated_levels(data):
    X, y, points = data
    result = eo.asymmetry_test(
        X, y, eo.Anchors(points, tolerance=0.05, shared_tolerance=0), method="wald"
    )
    critical = stats.norm.isf((1 - 0.937) / 2)

    def excess(delta):
        return _z_by_hand(X, y, points, np.full(4, 0.05), 0.0, EQUAL, delta) - critical

    low = optimize.brentq(excess, -0.99, result.asymmetry, xtol=1e-14)
    assert result.confidence_interval(0.937).low == pytest.approx(low, abs=1e-6)


@pytest.mark.parametrize("margin", [0.05, 0.123, 0.3])
def test_equivalence(data, margin):
    X, y, points = data
    result = eo.asymmetry_test(
        X, y, eo.Anchors(points, tolerance=0.05, shared_tolerance=0), method="wald"
    )
    tolerance = np.full(4, 0.05)
    above = stats.norm.cdf(_z_by_hand(X, y, points, tolerance, 0.0, EQUAL, margin))
    below = stats.norm.sf(_z_by_hand(X, y, points, tolerance, 0.0, EQUAL, -margin))
    assert result.equivalence(margin).pvalue == pytest.approx(max(above, below), rel=1e-7)


def test_source_covariance(data):
    X, y, points = data
    root = np.random.default_rng(0).normal(size=(4, 4)) * 0.02
    source = root @ root.T
    anchors = eo.Anchors(points, tolerance=0.05, shared_tolerance=0, source_covariance=source)
    result = eo.asymmetry_test(X, y, anchors, method="wald")
    z = _z_by_hand(X, y, points, np.full(4, 0.05), 0.0, EQUAL, 0.0, source)
    assert result.statistic == pytest.approx(z, rel=1e-10)


def test_optimal_weights_minimise_the_variance(data):
    X, y, points = data
    _, H = _newton_fit(X, y)
    design = np.column_stack([np.ones(4), points])
    S = design @ H @ design.T
    best = optimize.minimize(
        lambda u: u @ S @ u * 1e3,
        EQUAL,
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda u: u.sum() - 1},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    method = eo.Wald(weights="optimal")
    result = eo.asymmetry_test(X, y, eo.Anchors(points, tolerance=0), method=method)
    assert result.standard_error**2 * 16 == pytest.approx(best.fun / 1e3, rel=1e-6)


def test_optimal_weights_are_never_negative():
    rng = np.random.default_rng(3)
    world = two_bells()
    X, y = world.draw_rows(500, rng)
    points = world.draw_anchors(40, rng).points
    design = np.column_stack([np.ones(40), points])
    weights = optimal_weights(eo.fit_logistic(X, y).covariance, design)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
