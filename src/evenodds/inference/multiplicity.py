"""Shares and p-values of several tests: intervals, and adjustment for their number."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, ndtri

from evenodds.validation import FloatArray


def holm(pvalues: ArrayLike, least: ArrayLike | None = None) -> FloatArray:
    """Return p-values adjusted by Holm's method, in the order given.

    Rejecting where they are below the level keeps the chance of *any* false rejection
    below it, however the tests depend on each other.

    Parameters
    ----------
    pvalues : array-like
        One p-value a test.
    least : array-like, optional
        The smallest p-value that each test of few counts could have had. Tests that could not
        have come as low as another are not counted beside it ([2]_).

    References
    ----------
    .. [1] Holm, S. (1979). A simple sequentially rejective multiple test procedure.
           Scand. J. Statist. 6, 65-70.
    .. [2] Tarone, R. E. (1990). A modified Bonferroni method for discrete data. Biometrics 46,
           515-522.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    >>> holm([0.01, 0.4, 0.3], least=[0.001, 0.125, 0.25]).tolist()
    [0.01, 0.6, 0.6]
    """
    given = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    lowest = np.minimum(given, 0.0 if least is None else least)[order]
    # How many of those not yet rejected could have come as low.
    counted = np.triu(lowest <= given[order][:, None]).sum(axis=1)
    steps = given[order] * counted
    adjusted = np.empty(len(given))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


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
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(np.asarray(pvalues, dtype=np.float64)))


def wilson_interval(successes: float, trials: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for a share (Wilson 1927, J. Am. Stat. Assoc. 22, 209-212)."""
    z = float(-ndtri((1 - level) / 2))
    share = successes / trials
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    spread = math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    half_width = z / (1 + z**2 / trials) * spread
    return max(centre - half_width, 0.0), min(centre + half_width, 1.0)


def log_ways(n: int, chosen: Any) -> FloatArray:
    """Log of the binomial coefficient."""
    return np.asarray(gammaln(n + 1) - gammaln(chosen + 1) - gammaln(n - chosen + 1))
