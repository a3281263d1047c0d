"""Observed and fitted shares of positive labels, in bins of the clean curve's log-odds."""

from typing import Self

import numpy as np

from evenodds.model.noisy_sums import NoisyPoint
from evenodds.model.sums import shifted
from evenodds.rows.base import Block
from evenodds.validation import FloatArray

# Fine bins that a pass fills, and how many of about equal weight they are gathered into.
FINE_BINS = 96
BINS = 12
# Log-odds beyond which the curve is on its plateau.
PLATEAU = 8.0


class CurveBins:
    """Weight, positive labels, log-odds and fitted shares, summed in fine bins.

    `between` is the weight of rows on the other side of the noisy boundary than of the clean.
    """

    def __init__(
        self,
        point: NoisyPoint,
        shift: FloatArray | None,
        limits: tuple[float, float],
        noisy_boundary: float | None = None,
    ) -> None:
        self.point, self.shift = point, shift
        self.limits, self.noisy_boundary = limits, noisy_boundary
        self.sums = np.zeros((4, FINE_BINS))
        self.between = 0.0

    def add(self, block: Block) -> None:
        low, high = self.limits
        slopes, intercept = self.point.coefficients[1:], self.point.coefficients[0]
        log_odds = shifted(block.features, self.shift) @ slopes + intercept
        weights = np.ones(len(log_odds)) if block.weights is None else block.weights
        if self.noisy_boundary is not None:
            crossed = (log_odds > 0) != (log_odds > self.noisy_boundary)
            self.between += float(weights @ crossed)
        np.clip(log_odds, low, high, out=log_odds)
        fitted = self.point.squeeze(1 / (1 + np.exp(-log_odds)))
        bins = ((log_odds - low) * (FINE_BINS / (high - low))).astype(np.int64)
        np.minimum(bins, FINE_BINS - 1, out=bins)
        for place, values in enumerate((1.0, block.labels, log_odds, fitted)):
            self.sums[place] += np.bincount(bins, weights * values, FINE_BINS)

    def merge(self, other: Self) -> None:
        self.sums += other.sums
        self.between += other.between

    def gathered(self) -> FloatArray:
        """Return the same sums in a few bins of about equal weight, one a column."""
        weights = self.sums[0]
        # A fine bin goes where its middle lies among all rows.
        middles = (np.cumsum(weights) - weights / 2) / weights.sum()
        bins = np.minimum((middles * BINS).astype(np.int64), BINS - 1)
        total: FloatArray = np.array([np.bincount(bins, row, BINS) for row in self.sums])
        return total[:, total[0] > 0]


def bin_limits(mean: float, spread: float) -> tuple[float, float]:
    """Return the log-odds to bin between: most rows, and nothing beyond the plateaus."""
    low, high = mean - 3 * spread, mean + 3 * spread
    low, high = max(low, -PLATEAU), min(high, PLATEAU)
    # All rows far out on one plateau: any bins will do.
    return (low, high) if low < high else (-PLATEAU, PLATEAU)
