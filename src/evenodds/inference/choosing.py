"""In how many ways some can be chosen of many."""

from typing import Any

import numpy as np
from scipy.special import gammaln

from evenodds.validation import FloatArray


def log_ways(n: int, chosen: Any) -> FloatArray:
    """Return the logarithm of the number of ways to choose so many of `n`."""
    return np.asarray(gammaln(n + 1) - gammaln(chosen + 1) - gammaln(n - chosen + 1))
