"""Natural cubic splines: smooth between their knots, straight beyond them."""

import numpy as np

from evenodds.validation import FloatArray


def natural_spline(values: FloatArray, knots: FloatArray) -> FloatArray:
    """Return the basis of natural cubic splines, (values, knots): 1, the value, then the bends.

    The bends are differences of truncated cubes whose second and third derivatives vanish
    beyond the last knot.
    """
    scale = (knots[-1] - knots[0]) ** 2
    basis = np.empty((len(values), len(knots)))
    basis[:, 0] = 1
    basis[:, 1] = values
    beyond = np.maximum(values - knots[-1], 0) ** 3
    last = (np.maximum(values - knots[-2], 0) ** 3 - beyond) / (knots[-1] - knots[-2])
    for number, knot in enumerate(knots[:-2], start=2):
        cube = (np.maximum(values - knot, 0) ** 3 - beyond) / (knots[-1] - knot)
        basis[:, number] = (cube - last) / scale
    return basis
