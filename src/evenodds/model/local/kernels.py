"""How much a row counts at a point, by its distance in bandwidths."""

from typing import Literal

import numpy as np

from evenodds.validation import FloatArray

Kernel = Literal["gaussian", "tricube"]

# Beyond this many bandwidths a row does not count. The Gaussian is 0.0003 there.
REACH: dict[str, float] = {"gaussian": 4.0, "tricube": 1.0}
# Standard deviation of each kernel along one feature, in bandwidths.
SPREAD: dict[str, float] = {"gaussian": 1.0, "tricube": float(np.sqrt(35 / 243))}


def kernel_weights(squared_distances: FloatArray, kernel: str) -> FloatArray:
    """Return 1 at the point itself, falling to 0; distances are in bandwidths.

    The argument is overwritten: it is the largest array of a fit.
    """
    beyond = squared_distances > REACH[kernel] ** 2
    if kernel == "gaussian":
        squared_distances *= -0.5
        np.exp(squared_distances, out=squared_distances)
    else:
        np.minimum(squared_distances, 1.0, out=squared_distances)
        squared_distances **= 1.5
        np.subtract(1.0, squared_distances, out=squared_distances)
        squared_distances **= 3
    squared_distances[beyond] = 0.0
    return squared_distances
