"""Boundary and joint statistics against the theory page, by numerical optimisation and loops."""

import numpy as np
import pytest
from scipy import optimize

import evenodds as eo
from evenodds.simulation.worlds import find_world, two_bells

CASES = {
    "strict": {"tolerance": 0.0, "shared_tolerance": 0.0},
    "tolerance": {"tolerance": 0.08, "shared_tolerance": 0.0},
    "shared": {"tolerance": 0.05, "shared_tolerance": 0.06},
    "other posteriors": {
        "posterior": np.array([0.4, 0.5, 0.6]),
        "tolerance": 0.05,
        "shared_tolerance": 0.0,
    },
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(21)
    world = find_world("skewed")
    X, y = world.draw_rows(1500, rng)
    points = world.draw_anchors(3, rng).points
    return X, eo.ClassConditionalNoise(0.1, 0.15).flip(y, rng), points


def _curve(D, theta, tau, delta):
    s = 1 / (1 + np.exp(-D @ theta))
    return s, tau + delta / 2 + (1 - 2 * tau) * s


def _log_likelihood(D, y, theta, tau, delta):
    _, p = _curve(D, theta, tau, delta)
    return np.sum(y * np.log(p) + (1 - y) * np.log1p(-p))


def _null_fit(D, y, delta, penalty, constraint=None):
    """Maximise the penalised likelihood by a general optimiser, from several starts."""

    def loss(psi):
        return -_log_likelihood(D, y, psi[:-1], psi[-1], delta) + penalty(psi[:-1])

    constraints = () if constraint is None else [{"type": "eq", "fun": constraint}]
    bounds = [(None, None)] * D.shape[1] + [(abs(delta) / 2 + 1e-9, 0.49)]
    plain = eo.fit_logistic(D[:, 1:], y).coefficients
    best = None
    for tau in (0.05, 0.15, 0.25):
        start = np.append(plain / (1 - 2 * tau), tau)
        options = {"ftol": 1e-14, "maxiter": 1000}
        found = optimize.minimize(
            loss, start, method="SLSQP", bounds=bounds, constraints=constraints, options=options
        )
        best = found if best is None or found.fun < best.fun else best
    return best.x[:-1], best.x[-1]


def _derivatives(D, y, theta, tau, delta):
    s, p = _curve(D, theta, tau, delta)
    J = np.column_stack(
        [((1 - 2 * tau) * s * (1 - s))[:, None] * D, 1 - 2 * s, np.full(len(y), 0.5)]
    )
    W = 1 / (p * (1 - p))
    return J.T @ (W * (y - p)), (J * W[:, None]).T @ J


def _anchor_numbers(points, settings):
    k = len(points)
    stated = np.broadcast_to(settings.get("posterior", 0.5), (k,)).astype(float)
    own, shared = settings["tolerance"], settings["shared_tolerance"]
    G = np.diag(1 / (stated * (1 - stated)))
    V = G @ (np.eye(k) * own**2 / 3 + np.full((k, k), shared**2 / 3)) @ G
    return np.column_stack([np.ones(k), points]), np.log(stated / (1 - stated)), V


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("name", CASES)
def test_boundary(data, name, delta):
    X, y, points = data
    D = np.column_stack([np.ones(len(X)), X])
    A, t, V = _anchor_numbers(points, CASES[name])
    u = np.full(len(A), 1 / len(A))
    c, target, variance = u @ A, u @ t, u @ V @ u
    if variance == 0:
        theta, tau = _null_fit(D, y, delta, lambda _: 0.0, lambda psi: c @ psi[:-1] - target)
    else:
        theta, tau = _null_fit(D, y, delta, lambda b: (c @ b - target) ** 2 / (2 * variance))
    U, information = _derivatives(D, y, theta, tau, delta)
    inverse = np.linalg.inv(information[:-1, :-1])
    contrast = np.append(c, 0.0)
    estimate = c @ theta + contrast @ inverse @ U[:-1]
    expected = (estimate - target) / np.sqrt(contrast @ inverse @ contrast + variance)
    result = eo.asymmetry_test(X, y, eo.Anchors(points, **CASES[name]))
    found = result.statistic if delta == 0 else result.profile(delta)
    # Between the knots of the profile the value is interpolated.
    assert found == pytest.approx(expected, abs=2e-4 if delta == 0 else 5e-3)


@pytest.mark.parametrize("name", ["tolerance", "shared", "other posteriors"])
def test_joint(data, name):
    X, y, points = data
    D = np.column_stack([np.ones(len(X)), X])
    A, t, V = _anchor_numbers(points, CASES[name])
    precision = np.linalg.inv(V)
    # Places err: those beyond the coefficients have the length of the slopes, on standardised
    # columns, for a factor.
    spreads, found = X.std(axis=0), max(np.linalg.matrix_rank(V) - A.shape[1], 0)

    def penalty(b):
        off = A @ b - t
        return off @ precision @ off / 2 - found * np.log(np.linalg.norm(b[1:] * spreads))

    theta, tau = _null_fit(D, y, 0.0, penalty)
    U, information = _derivatives(D, y, theta, tau, 0.0)
    information[: D.shape[1], : D.shape[1]] += A.T @ precision @ A
    slopes = np.append(0.0, theta[1:] * spreads**2) / ((theta[1:] * spreads) ** 2).sum()
    information[: D.shape[1], : D.shape[1]] += found * np.outer(slopes, slopes)
    mixed = information[-1, :-1]
    variance = information[-1, -1] - mixed @ np.linalg.solve(information[:-1, :-1], mixed)
    result = eo.asymmetry_test(X, y, eo.Anchors(points, **CASES[name]), method="joint")
    assert result.statistic == pytest.approx(U[-1] / np.sqrt(variance), abs=2e-3)


def test_swapping_the_classes_flips_the_sign(data):
    X, y, points = data
    anchors = eo.Anchors(points)
    one = eo.asymmetry_test(X, y, anchors)
    other = eo.asymmetry_test(X, y, anchors, positive=0)
    ours = (one.statistic, one.asymmetry, one.alpha, one.beta)
    theirs = (-other.statistic, -other.asymmetry, other.beta, other.alpha)
    assert ours == pytest.approx(theirs, abs=1e-6)


def test_repeated_rows_count_as_weights_do(data):
    X, y, points = data
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    anchors = eo.Anchors(points)
    weighted = eo.asymmetry_test(X, y, anchors, sample_weight=weights)
    repeated = eo.asymmetry_test(np.repeat(X, weights, axis=0), np.repeat(y, weights), anchors)
    ours = (weighted.statistic, weighted.asymmetry, weighted.n_rows)
    theirs = (repeated.statistic, repeated.asymmetry, repeated.n_rows)
    assert ours == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("shared", [0, 0.05])
def test_many_rows_give_the_statistic_of_the_plain_climb(shared, monkeypatch):
    """Samples and cheap passes are a short cut to the same optimum."""
    rng = np.random.default_rng(5)
    world = two_bells(0.3)
    X, y = world.draw_rows(130_000, rng)
    labels = eo.ClassConditionalNoise(0.1, 0.12).flip(y, rng)
    drawn = world.draw_anchors(4, rng, tolerance=0.02)
    anchors = eo.Anchors(drawn.points, tolerance=0.02, shared_tolerance=shared)
    short = {m: eo.asymmetry_test(X, labels, anchors, method=m) for m in ("boundary", "joint")}
    monkeypatch.setattr("evenodds.model.noisy_likelihood.MANY_ROWS", 10**9)
    for method, result in short.items():
        full = eo.asymmetry_test(X, labels, anchors, method=method)
        ends = full.confidence_interval(), result.confidence_interval()
        assert result.statistic == pytest.approx(full.statistic, abs=1e-4)
        assert result.asymmetry == pytest.approx(full.asymmetry, abs=1e-5)
        assert ends[1].low == pytest.approx(ends[0].low, abs=1e-4)
        assert ends[1].high == pytest.approx(ends[0].high, abs=1e-4)
