"""Does the fitted curve describe the labels? Score tests for bends, and shares to look at.

A score test for one more column, ``1 - 2 p``: it rises where the curve is low and
falls where it is high. Flipped labels leave the fitted curve too steep in the middle
and too extreme at the ends, which shows as a negative statistic.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from evenodds.model.logistic import LogisticFit
from evenodds.model.noisy_likelihood import NoisyPoint, NoisyProblem, squeezed
from evenodds.model.sums import (
    ColumnMoments,
    Moments,
    counts_of,
    probabilities,
    shifted,
    weigh,
)
from evenodds.rows.base import Block, Rows
from evenodds.validation import FloatArray

N_BENDS = 3  # along the index: square and cube of the linear predictor, and slower tails
# Log-odds, and spreads of a feature, beyond which a bend no longer grows: one far row must not
# decide the test.
HELD_AT = 8.0
FEATURES_HELD_AT = 4.0
# With more features than this their squares and products are too many to ask about.
MOST_FEATURES = 10


def bend_sums(
    problem: NoisyProblem, point: NoisyPoint
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return score and information of bends, and their information with everything else.

    The first bends are the square and the cube of the fitted log-odds, and tails that fall more
    slowly. Where features are few, these with their squares and products follow, added to the
    posterior itself in its standard deviations: on a plateau, where bends of the log-odds move
    nothing, they still do. The point is for features that are shifted but not scaled.
    """
    rows, shift = problem.rows, problem.scaling.shift
    columns = ColumnMoments.of(rows.sum_over_rows(Moments(rows.n_features, shift)))
    return rows.totals(partial(bends_in, point, shift, columns.means, columns.spreads))


def bends_in(
    point: NoisyPoint,
    shift: FloatArray | None,
    means: FloatArray,
    spreads: FloatArray,
    block: Block,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the part of a block in `bend_sums`."""
    features = shifted(block.features, shift)
    steps = squeezed(features, point.coefficients)
    index = np.log(steps / (1 - steps))
    log_odds = np.clip(index, -HELD_AT, HELD_AT)
    fitted = point.squeeze(steps)
    precision = 1 / (fitted * (1 - fitted))
    weigh(block, precision)
    along = (1 - 2 * point.rate) * steps * (1 - steps)
    held = np.clip((features - means) / spreads, -FEATURES_HELD_AT, FEATURES_HELD_AT)
    held = np.vstack([np.ones(len(held)), held.T])
    # A leading 1 makes the features themselves products too; that of 1 and 1 is left out.
    few = len(means) <= MOST_FEATURES
    first, second = (places[1:] for places in np.triu_indices(len(held) if few else 1))
    spread = np.sqrt(fitted * (1 - fitted))
    # Tails that fall with the index itself and not with its exponential.
    tails = np.sign(index) / (1 + np.abs(index))
    bends = np.vstack(
        [along * log_odds**2, along * log_odds**3, tails, spread * held[first] * held[second]]
    )
    weighted = bends * precision
    with_others = np.column_stack(
        [
            weighted @ along,
            (weighted * along) @ features,
            weighted @ (1 - 2 * steps),
            weighted.sum(axis=1) / 2,
        ]
    )
    return bends @ (precision * (block.labels - fitted)), weighted @ bends.T, with_others


def flattening_in(
    coefficients: FloatArray, shift: FloatArray | None, block: Block
) -> tuple[float, float, FloatArray]:
    """Return score and information of the extra column, and its information with all columns."""
    features = shifted(block.features, shift)
    fitted = probabilities(features, coefficients)
    extra = 1 - 2 * fitted
    residuals = block.labels - fitted
    curvature = fitted * (1 - fitted) * extra
    weigh(block, residuals, curvature)
    with_columns = np.append(curvature.sum(), curvature @ features)
    return float(residuals @ extra), float(curvature @ extra), with_columns


def flattening_statistic(rows: Rows, fit: LogisticFit) -> float:
    """Return a standard normal statistic if the curve is logistic, negative if flattened."""
    inside = fit.inside
    with np.errstate(over="ignore"):
        score, information, shared = rows.totals(
            partial(flattening_in, inside.coefficients, inside.shift)
        )
    variance = information - float(shared @ inside.inverse_information @ shared)
    # With one column of two values the extra column is a combination of the others.
    return score / variance**0.5 if variance > 1e-10 * information else 0.0


# Fine bins that a pass fills, and how many of about equal weight they are gathered into.
FINE_BINS = 96
BINS = 12
# Log-odds beyond which the curve is on its plateau.
PLATEAU = 8.0


def curve_bins(
    point: NoisyPoint,
    shift: FloatArray | None,
    limits: tuple[float, float],
    noisy_boundary: float | None,
    block: Block,
) -> tuple[FloatArray, float]:
    """Return weight, positive labels, log-odds and fitted shares of a block, in fine bins.

    And the weight of its rows on the other side of the noisy boundary than of the clean.
    """
    low, high = limits
    log_odds = shifted(block.features, shift) @ point.coefficients[1:] + point.coefficients[0]
    weights, between = counts_of(block), 0.0
    if noisy_boundary is not None:
        between = float(weights @ ((log_odds > 0) != (log_odds > noisy_boundary)))
    np.clip(log_odds, low, high, out=log_odds)
    fitted = point.squeeze(1 / (1 + np.exp(-log_odds)))
    bins = ((log_odds - low) * (FINE_BINS / (high - low))).astype(np.int64)
    np.minimum(bins, FINE_BINS - 1, out=bins)
    counted = (1.0, block.labels, log_odds, fitted)
    return np.array([np.bincount(bins, weights * one, FINE_BINS) for one in counted]), between


def gathered(fine: FloatArray) -> FloatArray:
    """Return the same sums in a few bins of about equal weight, one a column."""
    weights = fine[0]
    # A fine bin goes where its middle lies among all rows.
    middles = (np.cumsum(weights) - weights / 2) / weights.sum()
    bins = np.minimum((middles * BINS).astype(np.int64), BINS - 1)
    total: FloatArray = np.array([np.bincount(bins, row, BINS) for row in fine])
    return total[:, total[0] > 0]


def bin_limits(mean: float, spread: float) -> tuple[float, float]:
    """Return the log-odds to bin between: most rows, and nothing beyond the plateaus."""
    low, high = mean - 3 * spread, mean + 3 * spread
    low, high = max(low, -PLATEAU), min(high, PLATEAU)
    # All rows far out on one plateau: any bins will do.
    return (low, high) if low < high else (-PLATEAU, PLATEAU)


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
        return moved @ self.levers + self.offsets


def cell_counts(projection: Projection, shift: FloatArray | None, block: Block) -> tuple[Any, Any]:
    """Return rows and positive labels of a block in cells over the two features."""
    places = projection.coordinates(shifted(block.features, shift))
    steps = np.floor((places - projection.low) / (projection.high - projection.low) * CELLS)
    inside = ((steps >= 0) & (steps < CELLS)).all(axis=1)
    cells = steps[inside].astype(np.int64) @ (CELLS, 1)
    weights = counts_of(block)
    rows, positives = (
        np.bincount(cells, counted[inside], CELLS * CELLS).reshape(CELLS, CELLS)
        for counted in (weights, weights * block.labels)
    )
    return rows, positives


def _spread(lever: FloatArray, moments: ColumnMoments) -> float:
    """Return the standard deviation of a combination of columns."""
    variance = float(lever @ moments.products @ lever) / moments.weight
    return math.sqrt(max(variance, 1e-300))
