"""Many small plain fits at once, each with rows of its own.

A simulation fits thousands of samples that share nothing. They are stacked, so one call
works on all of them: matrix products run sample by sample inside it, and everything else is
elementwise, so a fit comes out the same to the last bit whatever else is in the stack.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenodds.model.batch import LAST_STEP, LONGEST_STEP, MAX_STEPS
from evenodds.validation import FloatArray

# Numbers in one array of a stack: small enough to stay in a core's cache.
STACK_NUMBERS = 1 << 15
# Residual variance is kept above this share of the labels' variance, as for the single fit.
LEAST_RESIDUAL_SHARE = 1e-3


@dataclass(frozen=True, slots=True)
class StackFit:
    """Plain fits of many samples, each with one or more label vectors."""

    coefficients: FloatArray  # (samples, label vectors, d), intercept first
    covariance: FloatArray  # (samples, label vectors, d, d), the inverse information
    converged: NDArray[np.bool_]  # (samples, label vectors)


def samples_in_a_stack(n_rows: int) -> int:
    """Return how many samples of this length to fit together."""
    return max(1, STACK_NUMBERS // n_rows)


def fit_stack(features: FloatArray, labels: NDArray[np.generic]) -> StackFit:
    """Fit plain logistic regression to every label vector of every sample.

    Parameters
    ----------
    features : ndarray of shape (samples, rows, features)
        On comparable scales: these are simulated, not measured.
    labels : ndarray of shape (samples, label vectors, rows)
        0 or 1.
    """
    products = _pair_products(features)
    d = features.shape[2] + 1
    given = labels.astype(np.float64)
    n_samples, n_vectors, _ = given.shape
    coefficients = _least_squares_start(products, given, d)
    covariance = np.full((n_samples, n_vectors, d, d), np.nan)
    converged = np.zeros((n_samples, n_vectors), dtype=bool)
    active = np.flatnonzero(np.isfinite(coefficients).all(axis=(1, 2)))
    for _ in range(MAX_STEPS):
        if len(active) == 0:
            break
        whole = len(active) == n_samples
        here = products if whole else products[active]
        fitted = _probabilities(coefficients[active], here[:, :d])
        score = ((given if whole else given[active]) - fitted) @ here[:, :d].transpose(0, 2, 1)
        fitted -= fitted * fitted
        information = _unfold(fitted @ here.transpose(0, 2, 1), d)
        sound = np.linalg.cond(information).max(axis=1) < 1 / np.finfo(float).eps
        active, score, information = active[sound], score[sound], information[sound]
        inverse = np.linalg.inv(information)
        steps = (inverse @ score[..., None])[..., 0]
        sizes = np.abs(steps).max(axis=2)
        # Steps this long lead nowhere: the labels are (nearly) separated.
        steps *= np.minimum(1, LONGEST_STEP / np.maximum(sizes, 1e-300))[..., None]
        coefficients[active] += steps
        # The curvature before a last step of 1e-6 is that after it, to as many digits.
        covariance[active] = inverse
        converged[active] = sizes <= LAST_STEP
        active = active[~converged[active].all(axis=1)]
    return StackFit(coefficients, covariance, converged)


def _pair_products(features: FloatArray) -> FloatArray:
    """Return 1, the columns, and the products of every pair of columns: (samples, pairs, rows)."""
    n_samples, n_rows, p = features.shape
    products = np.empty((n_samples, 1 + p + p * (p + 1) // 2, n_rows))
    products[:, 0] = 1
    products[:, 1 : p + 1] = features.transpose(0, 2, 1)
    first, second = np.triu_indices(p)
    for place, (one, other) in enumerate(zip(first, second, strict=True), start=p + 1):
        np.multiply(products[:, one + 1], products[:, other + 1], out=products[:, place])
    return products


def _unfold(sums: FloatArray, d: int) -> FloatArray:
    """Return symmetric matrices from sums of pair products."""
    first, second = np.triu_indices(d)
    matrices = np.empty((*sums.shape[:-1], d, d))
    matrices[..., first, second] = sums
    matrices[..., second, first] = sums
    return matrices


def _least_squares_start(products: FloatArray, labels: FloatArray, d: int) -> FloatArray:
    """Return linear discriminants: exact if both classes were normal; nan for one class only."""
    n_rows = labels.shape[2]
    gram = _unfold(products.sum(axis=2), d)[:, None]
    by_label = labels @ products[:, :d].transpose(0, 2, 1)
    share = by_label[..., 0] / n_rows
    slopes = np.linalg.solve(gram, by_label[..., None])[..., 0]
    variance = share * (1 - share)
    explained = (slopes * by_label).sum(axis=2) / n_rows - share**2
    residual = np.maximum(variance - explained, LEAST_RESIDUAL_SHARE * variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        start: FloatArray = slopes / residual[..., None]
        start[..., 0] = (
            np.log(share / (1 - share))
            + (slopes[..., 0] - 0.5) / residual
            + (1 / share - 1 / (1 - share)) / 2
        )
    return start


def _probabilities(coefficients: FloatArray, columns: FloatArray) -> FloatArray:
    """Return the logistic curves, (samples, label vectors, rows)."""
    linear: FloatArray = -coefficients @ columns
    with np.errstate(over="ignore"):
        np.exp(linear, out=linear)
    linear += 1
    return np.reciprocal(linear, out=linear)
