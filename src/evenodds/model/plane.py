"""The two strongest features of a curve, and where rows lie on them."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from evenodds.model.scaling import ColumnMoments
from evenodds.model.sums import Moments, shifted
from evenodds.rows.base import Block, Rows
from evenodds.validation import FloatArray

# Cells along either feature, over this many spreads to either side of the mean.
CELLS = 16
REACH = 3.0


@dataclass(frozen=True, slots=True)
class IndexShape:
    """Mean and spread of a curve's log-odds over rows, and the moments behind them."""

    mean: float
    spread: float
    moments: ColumnMoments

    @classmethod
    def of(cls, rows: Rows, coefficients: FloatArray, shift: FloatArray | None) -> "IndexShape":
        """Measure the columns of rows, shifted as the curve's coefficients want them."""
        moments = ColumnMoments.of(rows.sum_over_rows(Moments(rows.n_features, shift)))
        slopes = coefficients[1:]
        return cls(
            mean=float(coefficients[0] + slopes @ moments.means),
            spread=_spread(slopes, moments),
            moments=moments,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Coordinates on two features: ``(x - shift) @ levers + offsets``, in the data's units.

    Features other than the two count into the second, in its units: the log-odds of the curve
    are then exactly ``intercept + slopes @ coordinates``.
    """

    features: tuple[int, int]
    levers: FloatArray  # (features, 2)
    offsets: FloatArray
    intercept: float
    slopes: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(
        cls, coefficients: FloatArray, shift: FloatArray | None, shape: IndexShape
    ) -> "Projection | None":
        """Choose the features that move the log-odds most; None without two that do."""
        slopes, moments = coefficients[1:], shape.moments
        strengths = np.abs(slopes) * moments.spreads
        if np.count_nonzero(strengths) < 2:
            return None
        first, second = (int(place) for place in np.argsort(-strengths, kind="stable")[:2])
        moved = np.zeros(len(slopes)) if shift is None else shift
        levers = np.zeros((len(slopes), 2))
        levers[:, 1] = slopes / slopes[second]
        levers[first] = (1, 0)
        others = np.delete(np.arange(len(slopes)), [first, second])
        # Others are counted as distances from their means, so a typical case stays in place.
        at_means = float(levers[others, 1] @ moments.means[others])
        offsets = np.array([moved[first], moved[second] - at_means])
        pair = slopes[[first, second]]
        means = moments.means @ levers + offsets
        spreads = np.array([_spread(lever, moments) for lever in levers.T])
        return cls(
            features=(first, second),
            levers=levers,
            offsets=offsets,
            intercept=float(coefficients[0] - pair @ offsets),
            slopes=pair,
            low=means - REACH * spreads,
            high=means + REACH * spreads,
        )

    def coordinates(self, moved: FloatArray) -> FloatArray:
        """Return where cases lie whose features are shifted already."""
        places: FloatArray = moved @ self.levers + self.offsets
        return places


class CellCounts:
    """Rows and positive labels in cells over the two features."""

    def __init__(self, projection: Projection, shift: FloatArray | None) -> None:
        self.projection, self.shift = projection, shift
        self.counts = np.zeros((2, CELLS * CELLS))

    def add(self, block: Block) -> None:
        seen = self.projection
        places = seen.coordinates(shifted(block.features, self.shift))
        steps = np.floor((places - seen.low) / (seen.high - seen.low) * CELLS)
        inside = ((steps >= 0) & (steps < CELLS)).all(axis=1)
        first, second = steps[inside].astype(np.int64).T
        cells = first * CELLS + second
        weights = np.ones(len(places)) if block.weights is None else block.weights
        for place, counted in enumerate((weights, weights * block.labels)):
            self.counts[place] += np.bincount(cells, counted[inside], CELLS * CELLS)

    def merge(self, other: Self) -> None:
        self.counts += other.counts


def _spread(lever: FloatArray, moments: ColumnMoments) -> float:
    """Return the standard deviation of a combination of columns."""
    variance = float(lever @ moments.products @ lever) / moments.weight
    return math.sqrt(max(variance, 1e-300))
