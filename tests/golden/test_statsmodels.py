"""Fits against statsmodels, an independent implementation, to 1e-8."""

import numpy as np
import pytest
import statsmodels.api as sm

import evenodds as eo


def _labels(log_odds, rng):
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(int)


def _random(rng):
    X = rng.normal(size=(2000, 4))
    return X, _labels(X @ [1.0, -0.5, 0.0, 2.0] - 0.3, rng)


def _badly_scaled(rng):
    Z = rng.normal(size=(2000, 3))
    return Z * [1e-6, 1e6, 1.0], _labels(Z @ [1.0, -1.0, 0.5], rng)


def _far_from_zero(rng):
    Z = rng.normal(size=(2000, 2))
    return Z * [5.0, 0.1] + [2020.0, 30.0], _labels(Z @ [1.0, -1.0], rng)


def _imbalanced(rng):
    X = rng.normal(size=(5000, 3))
    return X, _labels(X @ [1.0, 0.5, -0.5] - 4.5, rng)


def _nearly_collinear(rng):
    X = rng.normal(size=(2000, 2))
    twin = X[:, :1] + 1e-3 * rng.normal(size=(2000, 1))
    return np.column_stack([X, twin]), _labels(X @ [1.0, -1.0], rng)


def _many_rows(rng):
    """Enough for the climb that borrows its curvature from a sample."""
    X = rng.normal(size=(130_000, 3))
    return X, _labels(X @ [1.0, -0.5, 0.5] - 1, rng)


CASES = [_random, _badly_scaled, _far_from_zero, _imbalanced, _nearly_collinear, _many_rows]
SEEDS = {case: seed for seed, case in enumerate(CASES)}


@pytest.fixture(params=CASES, ids=lambda case: case.__name__.strip("_"))
def data(request):
    return request.param(np.random.default_rng(SEEDS[request.param]))


def _reference(X, y, **kwargs):
    """Fit by statsmodels on columns of spread one; return user-scale numbers.

    On the raw columns statsmodels itself loses digits, so that the comparison would
    measure its error, not ours.
    """
    centre, scale = X.mean(axis=0), X.std(axis=0)
    Z = sm.add_constant((X - centre) / scale)
    # Newton's method run to the rounding floor; the tolerance is on the gradient.
    fit = sm.Logit(y, Z).fit(
        disp=0, method="newton", maxiter=30, tol=1e-14, warn_convergence=False, **kwargs
    )
    back = np.diag(np.r_[1.0, 1 / scale])
    back[0, 1:] = -centre / scale
    return back @ fit.params, back @ fit.cov_params() @ back.T, fit.llf


def _covariance_gap(fit, theirs):
    """Largest difference in units of the two standard errors, relative to what is promised."""
    errors = np.sqrt(np.diag(theirs))
    promised = 1e-7 if fit.n_rows > 100_000 else 1e-8
    return np.abs((fit.covariance - theirs) / np.outer(errors, errors)).max() / promised


def _coefficient_gap(ours, theirs):
    """Largest difference relative to the coefficient."""
    return np.abs(ours / theirs - 1).max()


def test_coefficients(data):
    expected, _, _ = _reference(*data)
    assert _coefficient_gap(eo.fit_logistic(*data).coefficients, expected) < 1e-8


def test_log_likelihood(data):
    _, _, expected = _reference(*data)
    assert eo.fit_logistic(*data).log_likelihood == pytest.approx(expected, rel=1e-10)


def test_information_covariance(data):
    _, expected, _ = _reference(*data)
    assert _covariance_gap(eo.fit_logistic(*data), expected) < 1


def test_sandwich_covariance(data):
    _, expected, _ = _reference(*data, cov_type="HC0")
    fit = eo.fit_logistic(*data, covariance="sandwich")
    assert _covariance_gap(fit, expected) < 1


def test_covariance_by_groups(data):
    X, y = data
    groups = np.random.default_rng(9).integers(0, 200, len(y))
    settings = {"groups": groups, "use_correction": False, "df_correction": False}
    _, expected, _ = _reference(X, y, cov_type="cluster", cov_kwds=settings)
    fit = eo.fit_logistic(X, y, groups=groups)
    assert _covariance_gap(fit, expected) < 1


def test_frequency_weights(data):
    X, y = data
    weights = np.random.default_rng(10).integers(0, 4, len(y))
    expected = eo.fit_logistic(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    fit = eo.fit_logistic(X, y, sample_weight=weights)
    assert _coefficient_gap(fit.coefficients, expected.coefficients) < 1e-8
    assert _covariance_gap(fit, expected.covariance) < 1


def test_weighted_sandwich_counts_rows_not_squared_weights(data):
    X, y = data
    weights = np.random.default_rng(11).integers(0, 4, len(y))
    settings = {"covariance": "sandwich"}
    expected = eo.fit_logistic(np.repeat(X, weights, axis=0), np.repeat(y, weights), **settings)
    fit = eo.fit_logistic(X, y, sample_weight=weights, **settings)
    assert _covariance_gap(fit, expected.covariance) < 1
