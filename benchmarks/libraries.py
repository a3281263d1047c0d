"""The same job in four libraries: exact maximum likelihood and the inverse information.

Each function goes from features without an intercept column to coefficients, intercept first,
and their covariance. scikit-learn has the loosest tolerance, in steps of 100, that brings it within
1e-10 of the optimum. glum stops at about 1e-8: with a tighter tolerance its line search, which
compares log-likelihoods, can stall in rounding for a hundred iterations.
"""

import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.data import FloatArray

Answer = tuple[FloatArray, FloatArray]

SCIKIT_LEARN_TOLERANCE = 1e-10
GLUM_TOLERANCE = 1e-8
OURS = "evenodds"


def with_evenodds(X: FloatArray, y: FloatArray) -> Answer:
    from evenodds import fit_logistic

    fit = fit_logistic(X, y)
    return fit.coefficients, fit.covariance


def with_scikit_learn(X: FloatArray, y: FloatArray) -> Answer:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=SCIKIT_LEARN_TOLERANCE).fit(
        X, y
    )
    return _with_covariance(model, X)


def with_lbfgs(X: FloatArray, y: FloatArray) -> Answer:
    """Fit by scikit-learn's default solver, to where it stops improving."""
    from sklearn.linear_model import LogisticRegression

    return _with_covariance(LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, y), X)


def _with_covariance(model: Any, X: FloatArray) -> Answer:
    """Return scikit-learn's coefficients and their covariance, which it leaves to the user."""
    fitted = model.predict_proba(X)[:, 1]
    curvature = fitted * (1 - fitted)
    # The border of ones apart: a design matrix with an intercept would cost one more copy of X.
    weighted = X * curvature[:, None]
    information = np.empty((X.shape[1] + 1, X.shape[1] + 1))
    information[0, 0] = curvature.sum()
    information[0, 1:] = information[1:, 0] = weighted.sum(axis=0)
    information[1:, 1:] = X.T @ weighted
    return np.concatenate([model.intercept_, model.coef_[0]]), np.linalg.inv(information)


def with_statsmodels(X: FloatArray, y: FloatArray) -> Answer:
    from statsmodels.api import Logit, add_constant

    fit = Logit(y, add_constant(X)).fit(method="newton", disp=0)
    return fit.params, fit.cov_params()


def with_glum(X: FloatArray, y: FloatArray) -> Answer:
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(
        family="binomial", alpha=0, solver="irls-ls", gradient_tol=GLUM_TOLERANCE
    ).fit(X, y)
    # glum would estimate a dispersion; that of a 0/1 label is 1.
    covariance = model.covariance_matrix(X, y, robust=False, dispersion=1.0)
    return np.concatenate([[model.intercept_], model.coef_]), covariance


LIBRARIES: dict[str, Callable[[FloatArray, FloatArray], Answer]] = {
    OURS: with_evenodds,
    "scikit-learn": with_scikit_learn,
    "statsmodels": with_statsmodels,
    "glum": with_glum,
}


def versions() -> dict[str, str]:
    """Return the versions of everything that decides the figures."""
    return {name: version(name) for name in ("numpy", "scipy", *LIBRARIES)}


def refuse_half_done() -> None:
    """Turn a library's warning that it did not converge into an error: it is no comparison."""
    warnings.filterwarnings("error", message=".*converge")
    # glum says so of its fitted values on heavy tails; the parity table shows what it costs.
    warnings.filterwarnings("ignore", message="Sigmoid function too close to 0 or 1")
