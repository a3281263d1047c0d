"""Inverses of symmetric matrices that may be (nearly) singular, and distances in them."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from evenodds.validation import FloatArray

# Eigenvalues below this share of the largest count as zero.
ZERO = 1e-10
# A matrix of unit diagonal whose pivots are all above this is far from singular.
FIRM_PIVOT = 1e-4


def symmetric_inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse, or the pseudo-inverse where the matrix is (nearly) singular."""
    scale = np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
    sides = np.multiply.outer(scale, scale)
    balanced = matrix / sides
    factor, failed = dpotrf(balanced, lower=1)
    if not failed and factor.diagonal().min(initial=1.0) ** 2 > FIRM_PIVOT:
        lower, _ = dpotri(factor, lower=1, overwrite_c=1)
        firm: FloatArray = lower + lower.T
        firm.flat[:: len(firm) + 1] /= 2
        return firm / sides
    values, vectors = np.linalg.eigh(balanced)
    kept = values > ZERO * values[-1]
    inverse: FloatArray = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return inverse / sides


def chi_squared(
    gaps: FloatArray, covariance: FloatArray, zero: float = ZERO, least: float = 0.0
) -> tuple[float, int]:
    """Return the squared size of gaps in their standard errors, and its degrees of freedom.

    Directions whose variance is no more than `zero` of the largest, or than `least`, say nothing
    and are left out.
    """
    values, vectors = np.linalg.eigh(covariance)
    kept = values > max(zero * values[-1], least)
    return float(((vectors[:, kept].T @ gaps) ** 2 / values[kept]).sum()), int(kept.sum())
