"""Errors made independent of each other, and the law of their sum of squares.

Estimates of a smooth curve hardly move against each other in some directions. What little they
do there is bias, not chance: such directions are left out, by the estimates' own covariance.
"""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import chdtrc, fdtrc

from evenodds.validation import FloatArray

# Eigenvalues of the estimates' correlations below this share of the largest count as zero.
ZERO = 1e-3


def directions(covariance: FloatArray) -> FloatArray:
    """Return the directions, (kept, estimates), in which estimates of this covariance vary."""
    scale = np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept: FloatArray = vectors[:, values > ZERO * values[-1]].T / scale
    return kept


def whitener(kept: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the matrix that takes errors of this covariance to independent ones."""
    root = np.linalg.cholesky(kept @ covariance @ kept.T)
    white: FloatArray = solve_triangular(root, kept, lower=True)
    return white


def upper_tail(statistic: float, df: int, rank: int = 0, n_groups: int | None = None) -> float:
    """Return the probability of a sum of squares at least this large by chance.

    It is chi-squared where the covariance comes from rows. From groups it is estimated by their
    scatter alone, and the law is Hotelling's: `rank` errors were set against `n_groups` groups.
    """
    known = max(statistic, 0.0)
    if df == 0:
        return float(known <= 0)
    if n_groups is None:
        return float(chdtrc(df, known))
    left = n_groups - rank
    return float(fdtrc(df, left, known * left / (df * (n_groups - 1))))
