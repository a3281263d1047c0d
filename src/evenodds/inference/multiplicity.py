"""P-values of several tests at once, adjusted for their number."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import InputError
from evenodds.validation import FloatArray, check_vector


def holm(pvalues: ArrayLike) -> FloatArray:
    """Return p-values adjusted by Holm's method, in the order given.

    Rejecting where they are below the level keeps the chance of *any* false rejection
    below it, however the tests depend on each other.

    Parameters
    ----------
    pvalues : array-like
        One p-value a test.

    References
    ----------
    .. [1] Holm, S. (1979). A simple sequentially rejective multiple test procedure.
           Scand. J. Statist. 6, 65-70.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = _checked(pvalues)
    order = np.argsort(given, kind="stable")
    steps = given[order] * np.arange(len(given), 0, -1)
    return _put_back(np.maximum.accumulate(steps), order)


def benjamini_hochberg(pvalues: ArrayLike) -> FloatArray:
    """Return p-values adjusted by the method of Benjamini and Hochberg, in the order given.

    Rejecting where they are below the level keeps the expected *share* of false rejections
    among the rejections below it, when the tests are independent.

    Parameters
    ----------
    pvalues : array-like
        One p-value a test.

    References
    ----------
    .. [1] Benjamini, Y., Hochberg, Y. (1995). Controlling the false discovery rate.
           J. R. Statist. Soc. B 57, 289-300.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.02]).round(4).tolist()
    [0.03, 0.04, 0.03]
    """
    given = _checked(pvalues)
    order = np.argsort(given, kind="stable")
    steps = given[order] * len(given) / np.arange(1, len(given) + 1)
    return _put_back(np.minimum.accumulate(steps[::-1])[::-1], order)


def _checked(pvalues: ArrayLike) -> FloatArray:
    """Return p-values as a vector of numbers between 0 and 1."""
    given = check_vector(pvalues, "pvalues", np.size(pvalues), "test", one_for_all=False)
    outside = np.flatnonzero((given < 0) | (given > 1))
    if len(outside):
        place = int(outside[0])
        raise InputError(
            f"pvalues is {given[place]:g} at test {place} but must be at least 0 and at most 1."
        )
    return given


def _put_back(steps: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    """Return sorted values, cut at 1, in the order they came in."""
    adjusted = np.empty(len(steps))
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
