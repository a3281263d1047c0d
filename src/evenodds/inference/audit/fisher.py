"""Fisher's one-sided p-value for many tables at once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from evenodds.inference.choosing import log_ways
from evenodds.validation import FloatArray

Counts = NDArray[np.int64]

# Terms of a tail are summed this far out, in standard deviations and beyond.
REACH = 10.0
AT_LEAST = 40
# Up to this many rows logarithms of factorials are looked up, which is faster.
MOST_LOOKED_UP = 100_000


def fisher_tail(n_positive: int, n_negative: int, flipped: Counts, other: Counts) -> FloatArray:
    """Return the chance of at least `other` flipped negatives, given all the flips.

    The shorter tail is summed outwards from the table, where terms fall fast.
    """
    drawn = flipped + other
    total = n_positive + n_negative
    mean = drawn * (n_negative / total)
    spread = np.sqrt(mean * (n_positive / total) * (total - drawn) / max(total - 1, 1))
    upper = other > mean
    n_terms = min(int(REACH * spread.max()) + AT_LEAST, max(n_negative, n_positive) + 1)
    steps = np.arange(n_terms)
    negatives = np.where(upper[:, None], other[:, None] + steps, other[:, None] - 1 - steps)
    positives = drawn[:, None] - negatives
    possible = (negatives >= 0) & (positives >= 0)
    possible &= (negatives <= n_negative) & (positives <= n_positive)
    ways = _ways_up_to(total)
    logs = ways(n_negative, np.where(possible, negatives, 0))
    logs += ways(n_positive, np.where(possible, positives, 0))
    logs -= ways(total, drawn)[:, None]
    tails: FloatArray = np.where(possible, np.exp(logs), 0.0).sum(axis=1)
    return np.asarray(np.where(upper, tails, np.maximum(1 - tails, 0.0)))


def _ways_up_to(largest: int) -> Callable[[int, Counts], FloatArray]:
    """Return the logarithm of the number of ways to choose, as a function."""
    if largest > MOST_LOOKED_UP:
        return log_ways
    known = gammaln(np.arange(1, largest + 2))  # log 0!, log 1!, ...
    return lambda n, chosen: np.asarray(known[n] - known[chosen] - known[n - chosen])
