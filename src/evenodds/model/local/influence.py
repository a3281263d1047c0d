r"""How the local fits vary together: rows that count at two points correlate them.

A row moves the log-odds at a by its influence
``psi_i(a) = K_i(a) e_1' J(a)^{-1} (1, x_i - a) (y_i - p_i(a))``, so the covariance of two
points is ``sum_i w_i psi_i(a) psi_i(b)``, and with groups the sum over groups of the products
of summed influences (theory page, "Local likelihood").
"""

from itertools import pairwise

import numpy as np

from evenodds.model.local.fits import LocalFits
from evenodds.model.local.kernels import kernel_weights
from evenodds.model.local.neighbourhood import prior_places
from evenodds.model.local.surroundings import Surroundings, squared_distances
from evenodds.rows.base import IntArray
from evenodds.validation import FloatArray

# Influences of all points on a run of rows are held at a time; this many numbers at most.
MOST_CELLS = 1_000_000


def log_odds_covariance(around: Surroundings, fits: LocalFits) -> FloatArray:
    """Return the joint covariance of the fitted log-odds."""
    n_points = len(fits.points)
    first = np.zeros((n_points, fits.coefficients.shape[1], 1))
    first[:, 0] = 1.0
    levers: FloatArray = np.linalg.solve(fits.information, first)[..., 0].astype(float)
    covariance = np.diag(_prior_variances(fits, levers))
    order, ends = _runs(around, max(MOST_CELLS // n_points, 1))
    for start, stop in pairwise(ends):
        rows = slice(start, stop) if order is None else order[start:stop]
        influences = _influences(around, fits, levers, rows)
        if around.groups is None:
            counted = influences if around.weights is None else influences * around.weights[rows]
            covariance += counted @ influences.T
            continue
        if around.weights is not None:
            influences *= around.weights[rows]
        groups = around.groups[rows]
        firsts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
        summed = np.add.reduceat(influences, firsts, axis=1)
        covariance += summed @ summed.T
    return (covariance + covariance.T) / 2


def _runs(around: Surroundings, most_rows: int) -> tuple[IntArray | None, list[int]]:
    """Return an order of the rows that keeps groups together, and where to cut it."""
    n_rows = len(around)
    cuts = list(range(0, n_rows, most_rows))
    if around.groups is None:
        return None, [*cuts, n_rows]
    order: IntArray = np.argsort(around.groups, kind="stable")
    ordered = around.groups[order]
    # A cut moves to where its group begins; a group longer than a run is taken whole.
    begins = np.searchsorted(ordered, ordered[cuts], side="left")
    return order, [*np.unique(begins).tolist(), n_rows]


def _influences(
    around: Surroundings, fits: LocalFits, levers: FloatArray, rows: slice | IntArray
) -> FloatArray:
    """Return the influence of each row on each point's log-odds, one line a point."""
    features, points = around.features[rows], fits.points
    distances = squared_distances(features.T, points)
    influences: FloatArray = kernel_weights(distances, fits.bandwidth, fits.kernel).astype(float)
    influences *= _line(levers, features, points)
    with np.errstate(over="ignore"):
        shares = 1 / (1 + np.exp(-_line(fits.coefficients, features, points)))
    influences *= around.labels[rows] - shares
    return influences


def _prior_variances(fits: LocalFits, levers: FloatArray) -> FloatArray:
    """Return what the prior row, half of either label, adds to each variance."""
    places = prior_places(fits.points.shape[1], fits.bandwidth, fits.kernel)
    design = np.column_stack([np.ones(len(places)), places])
    shares = 1 / (1 + np.exp(-fits.coefficients @ design.T))
    squared_residuals = ((1 - shares) ** 2 + shares**2) / 2
    variances: FloatArray = ((levers @ design.T) ** 2 * squared_residuals).mean(axis=1)
    return variances


def _line(coefficients: FloatArray, features: FloatArray, points: FloatArray) -> FloatArray:
    """Return ``c_0 + c'(x - a)`` for each point a and row x."""
    slopes = coefficients[:, 1:]
    intercepts = coefficients[:, 0] - np.einsum("ij,ij->i", slopes, points)
    line: FloatArray = slopes @ features.T
    line += intercepts[:, None]
    return line
