"""Rates at which a likelihood or a chance is looked up, before a closer search."""

import numpy as np

from evenodds.validation import FloatArray


def rates_between(low: float, high: float, n_rates: int) -> FloatArray:
    """Return rates spaced closely at both ends, where chances change fast."""
    steps = np.sin(np.linspace(0, np.pi / 2, n_rates)) ** 2
    return np.asarray(low + (high - low) * steps)
