"""Local fits and their covariance against statsmodels, the bootstrap and the plain curve."""

import numpy as np
import pytest
import statsmodels.api as sm
from tests.local_posteriors import local_posteriors

from evenodds.model.local_fit import cross_validation
from evenodds.model.logistic import fit_logistic
from evenodds.model.neighbours import Standard, Surroundings
from evenodds.noise import ClassConditionalNoise

KERNELS = {
    "gaussian": lambda d: np.where(d <= 4, np.exp(-(d**2) / 2), 0.0),
    "tricube": lambda d: np.where(d <= 1, (1 - np.minimum(d, 1) ** 3) ** 3, 0.0),
}
SPREADS = {"gaussian": 1.0, "tricube": np.sqrt(35 / 243)}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(700, 2)) * [3.0, 0.2] + [50.0, -1.0]
    index = (X - [50.0, -1.0]) / [3.0, 0.2]
    true = rng.random(700) < 1 / (1 + np.exp(-1.5 * index.sum(axis=1)))
    given = ClassConditionalNoise(0.1, 0.2).flip(true.astype(int), rng).astype(float)
    weights = rng.integers(0, 4, size=700).astype(float)
    groups = rng.integers(0, 120, size=700)
    return X, given, weights, groups


POINTS = np.array([[50.0, -1.0], [51.0, -1.1], [48.0, -0.8]])


def by_hand(X, y, weights, point, *, bandwidth, kernel):
    """Return statsmodels' fit about a point, its design and residuals, the prior row last."""
    repeated = np.repeat(X, weights.astype(int), axis=0)
    low, high = np.quantile(repeated, [0.158655, 0.841345], axis=0, method="inverted_cdf")
    moved = (X - point) / ((high - low) / 2) / bandwidth
    counted = weights * KERNELS[kernel](np.linalg.norm(moved, axis=1))
    aside = min(SPREADS[kernel], 1 / bandwidth) * np.eye(2)
    sides = np.vstack([np.zeros(2), aside, -aside])
    design = sm.add_constant(np.vstack([moved, sides, sides]), has_constant="add")
    labels = np.concatenate([y, np.ones(5), np.zeros(5)])
    counted = np.concatenate([counted, np.full(10, 0.1)])
    model = sm.GLM(labels, design, family=sm.families.Binomial(), freq_weights=counted)
    fit = model.fit(tol=1e-14, maxiter=100)
    return fit, design, counted, labels - fit.fittedvalues


def influences_by_hand(X, y, weights, point, **settings):
    """Return the influence of each row, weight 1, on the log-odds; the prior row last."""
    fit, design, counted, residuals = by_hand(X, y, weights, point, **settings)
    shares = fit.fittedvalues
    information = design.T @ (design * (counted * shares * (1 - shares))[:, None])
    lever = np.linalg.inv(information)[0]
    unweighted = np.divide(counted, np.r_[weights, np.ones(10)], where=counted > 0, out=0 * counted)
    return unweighted * (design @ lever) * residuals


@pytest.mark.parametrize(("kernel", "bandwidth"), [("gaussian", 0.6), ("tricube", 1.7)])
def test_log_odds_match_statsmodels(data, kernel, bandwidth):
    X, y, weights, _ = data
    found = local_posteriors(X, y, POINTS, bandwidth=bandwidth, kernel=kernel, weights=weights)
    expected = [
        by_hand(X, y, weights, point, bandwidth=bandwidth, kernel=kernel)[0].params[0]
        for point in POINTS
    ]
    np.testing.assert_allclose(found.log_odds, expected, atol=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
def test_covariance_matches_influences_by_hand(data, grouped):
    X, y, weights, groups = data
    found = local_posteriors(
        X,
        y,
        POINTS,
        bandwidth=0.7,
        kernel="gaussian",
        weights=weights,
        groups=groups if grouped else None,
    )
    psi = np.array(
        [
            influences_by_hand(X, y, weights, point, bandwidth=0.7, kernel="gaussian")
            for point in POINTS
        ]
    )
    rows, prior = psi[:, :-10], psi[:, -10:]
    if grouped:
        totals = np.array([np.bincount(groups, weights * line) for line in rows])
        expected = totals @ totals.T
    else:
        expected = (rows * weights) @ rows.T
    # Each of the ten pieces of the prior row weighs a tenth, which its influence holds already.
    expected += np.diag(10 * (prior**2).sum(axis=1))
    np.testing.assert_allclose(found.log_odds_covariance, expected, rtol=1e-8)


def test_covariance_matches_the_bootstrap(data):
    X, y, _, _ = data
    rng = np.random.default_rng(5)
    found = local_posteriors(X, y, POINTS, bandwidth=0.8, kernel="gaussian")
    draws = []
    for _ in range(600):
        counts = rng.multinomial(len(y), np.full(len(y), 1 / len(y))).astype(float)
        # The scale of the features is that of the data: it is not what varies here.
        kept = local_posteriors(X, y, POINTS, bandwidth=0.8, kernel="gaussian", weights=counts)
        draws.append(kept.posterior)
    drawn = np.cov(np.array(draws).T)
    np.testing.assert_allclose(
        np.sqrt(found.covariance.diagonal()), np.sqrt(drawn.diagonal()), rtol=0.1
    )
    correlation = found.covariance[0, 1] / np.sqrt(found.covariance[0, 0] * found.covariance[1, 1])
    assert correlation == pytest.approx(drawn[0, 1] / np.sqrt(drawn[0, 0] * drawn[1, 1]), abs=0.07)


def test_a_bandwidth_without_end_is_the_plain_curve_with_its_sandwich(data):
    X, y, _, groups = data
    # The prior row is one of 70,000 here, so that what remains is the plain fit.
    many, labels, clusters = np.tile(X, (100, 1)), np.tile(y, 100), np.tile(groups, 100)
    plain = fit_logistic(many, labels, groups=clusters)
    found = local_posteriors(
        many, labels, POINTS, bandwidth=1e4, kernel="gaussian", groups=clusters
    )
    np.testing.assert_allclose(found.log_odds, plain.log_odds(POINTS), atol=1e-4)
    np.testing.assert_allclose(
        found.log_odds_covariance, plain.log_odds_covariance(POINTS), rtol=1e-3
    )


def test_cross_validation_leaves_the_own_row_out(data):
    X, y, _, _ = data
    X, y = X[:300], y[:300]
    scaled = Standard.of(X)(X)
    bandwidth = 0.8
    scores = cross_validation(Surroundings.of(scaled, y), "gaussian", [1.2, bandwidth])
    likelihoods = []
    for row in range(300):
        others = np.arange(300) != row
        fit = by_hand_on_scale(scaled[others], y[others], scaled[row], bandwidth)
        share = 1 / (1 + np.exp(-fit.params[0]))
        likelihoods.append(np.log(share if y[row] else 1 - share))
    # Bandwidths are compared in single precision.
    np.testing.assert_allclose(scores[bandwidth], likelihoods, atol=1e-4)


def by_hand_on_scale(scaled, y, point, bandwidth):
    """Return statsmodels' fit about a point of features that have a scale already."""
    moved = (scaled - point) / bandwidth
    sides = np.vstack([np.zeros(2), np.eye(2), -np.eye(2)])
    design = sm.add_constant(np.vstack([moved, sides, sides]), has_constant="add")
    counted = np.r_[KERNELS["gaussian"](np.linalg.norm(moved, axis=1)), np.full(10, 0.1)]
    labels = np.concatenate([y, np.ones(5), np.zeros(5)])
    model = sm.GLM(labels, design, family=sm.families.Binomial(), freq_weights=counted)
    return model.fit(tol=1e-14, maxiter=100)
