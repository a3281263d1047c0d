"""Inverses of symmetric matrices that may be (nearly) singular."""

import numpy as np

from evenodds.validation import FloatArray

# Eigenvalues below this share of the largest count as zero.
ZERO = 1e-10


def symmetric_inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse, or the pseudo-inverse where the matrix is (nearly) singular."""
    scale = np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
    balanced = matrix / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(balanced)
    kept = values > ZERO * values[-1]
    inverse: FloatArray = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    inverse /= np.outer(scale, scale)
    return inverse
