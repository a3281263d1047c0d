"""How much a row counts at a point, by its distance in bandwidths."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kernel = Literal["gaussian", "tricube"]
Floats = NDArray[np.floating[Any]]

# Beyond this many bandwidths a row does not count. The Gaussian is 0.0003 there.
REACH: dict[str, float] = {"gaussian": 4.0, "tricube": 1.0}
# Standard deviation of each kernel along one feature, in bandwidths.
SPREAD: dict[str, float] = {"gaussian": 1.0, "tricube": float(np.sqrt(35 / 243))}


def kernel_weights(
    squared_distances: Floats, bandwidth: float, kernel: str, out: Floats | None = None
) -> Floats:
    """Return 1 at the point itself, falling to 0."""
    weights = np.empty_like(squared_distances) if out is None else out
    reach = REACH[kernel] ** 2
    np.multiply(squared_distances, bandwidth**-2, out=weights)
    # Far rows are moved to the edge first: numbers next to zero are slow to compute with.
    np.minimum(weights, reach, out=weights)
    beyond = weights >= reach
    if kernel == "gaussian":
        weights *= -0.5
        np.exp(weights, out=weights)
    else:
        # (1 - d^3)^3 by products: powers that are not whole are slow.
        weights *= np.sqrt(weights)
        np.subtract(1.0, weights, out=weights)
        weights *= weights * weights
    np.copyto(weights, 0.0, where=beyond)
    return weights
