"""How anchors are averaged."""

from typing import Literal

import numpy as np
from scipy.optimize import nnls

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError
from evenodds.validation import FloatArray

Weights = Literal["equal", "optimal"]


def equal_weights(n_anchors: int) -> FloatArray:
    """Return the same weight for every anchor."""
    return np.full(n_anchors, 1 / n_anchors)


def optimal_weights(covariance: FloatArray, design: FloatArray) -> FloatArray:
    """Return the non-negative weights, summing to one, with the smallest variance.

    Minimising ``u' A C A' u`` on the simplex is non-negative least squares: with
    ``C = R R'`` and ``R b = e_1`` (every anchor has a leading 1) the minimiser of
    ``|R' A' v - b|`` over ``v >= 0`` is proportional to it.
    """
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise AnchorError(
            "weights='optimal' needs a curve whose slopes are all determined, and these rows do "
            "not determine them: use weights='equal', or more rows."
        ) from None
    leading = np.zeros(design.shape[1])
    leading[0] = 1
    weights, _ = nnls(root.T @ design.T, np.linalg.solve(root, leading))
    normalised: FloatArray = weights / weights.sum()
    return normalised


def check_weights(weights: Weights, anchors: Anchors) -> None:
    """Refuse optimal weights for anchors with a tolerance."""
    if weights == "optimal" and not anchors.strict:
        raise AnchorError(
            "weights='optimal' needs strict anchors (tolerance 0): with a tolerance it favours "
            "misplaced anchors and loses power. Use weights='equal'."
        )
