"""Rows on one scale, and which of them lie around a point."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError, RankError
from evenodds.rows.base import IntArray, name_column
from evenodds.validation import FloatArray

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

Floats = NDArray[np.floating[Any]]

# From here on a tree finds the rows around a point faster than measuring every distance.
TREE_FROM = 50_000
# Points are fitted together up to this many points x rows: more fall out of the cache, and of
# the quick path that BLAS has for small products.
BLOCK_CELLS = 160_000
# Spreads from the median beyond which it does not matter how far.
FARTHEST = 1e6
# One standard deviation below the median of a normal column, the median, and one above.
MIDDLE = (0.158655, 0.5, 0.841345)


@dataclass(frozen=True, slots=True)
class Standard:
    """Columns in units of their own spread, which a few wild values cannot stretch."""

    centre: FloatArray
    spread: FloatArray

    @classmethod
    def of(
        cls,
        features: FloatArray,
        weights: FloatArray | None = None,
        feature_names: tuple[str, ...] | None = None,
    ) -> "Standard":
        """Measure columns by their median and the half-width of their middle 68 %.

        For a normal column that is its standard deviation. A column that repeats one value
        so often that its middle has no width is measured by its standard deviation.

        Raises
        ------
        RankError
            If a column is constant.
        """
        counts = np.ones(len(features)) if weights is None else weights
        low, centre, high = np.array([_middle(column, counts) for column in features.T]).T
        spread = (high - low) / 2
        with np.errstate(over="ignore"):  # which matters only where it is needed, below
            deviation = np.sqrt(counts @ (features - centre) ** 2 / counts.sum())
        flat = spread <= 1e-12 * np.abs(centre)
        endless = flat & ~np.isfinite(deviation)
        if endless.any():
            named = name_column(feature_names, int(np.argmax(endless)))
            raise InputError(
                f"column {named} has values so large that their squares overflow, and one value "
                "else: rescale or remove it."
            )
        spread = np.where(flat, deviation, spread)
        constant = spread <= 1e-14 * np.abs(centre)
        if constant.any():
            column = int(np.argmax(constant))
            raise RankError(
                f"column {name_column(feature_names, column)} is constant (always "
                f"{centre[column]:g}): it says nothing about where a row lies, so remove it."
            )
        return cls(centre, spread)

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return points on the common scale.

        Values absurdly far out are moved to where no kernel reaches: their squares must not
        overflow, not even in single precision.
        """
        scaled: FloatArray = (points - self.centre) / self.spread
        return np.clip(scaled, -FARTHEST, FARTHEST)


def _middle(column: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the ends of a column's middle 68 % and its median, rows counted with weights."""
    order = np.argsort(column)
    shares = np.cumsum(counts[order])
    places = np.searchsorted(shares, np.array(MIDDLE) * shares[-1])
    middle: FloatArray = column[order[np.minimum(places, len(order) - 1)]]
    return middle


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """Standardised rows with their labels, and a quick way to those near a point."""

    features: FloatArray
    labels: FloatArray
    weights: FloatArray | None
    groups: IntArray | None
    tree: "cKDTree | None" = field(default=None)

    @classmethod
    def of(
        cls,
        features: FloatArray,
        labels: FloatArray,
        weights: FloatArray | None = None,
        groups: IntArray | None = None,
    ) -> "Surroundings":
        """Hold rows, with a tree where they are many; rows of no weight are left out."""
        if weights is not None and not weights.all():
            counted = weights > 0
            features, labels, weights = features[counted], labels[counted], weights[counted]
            groups = None if groups is None else groups[counted]
        tree = None
        if len(features) >= TREE_FROM:
            from scipy.spatial import cKDTree

            tree = cKDTree(features)
        return cls(features, labels, weights, groups, tree)

    def __len__(self) -> int:
        return len(self.labels)

    def blocks(
        self, points: FloatArray, reach: float
    ) -> Iterator[tuple[IntArray, IntArray | None]]:
        """Return numbers of points that lie together, with the rows any of them reaches.

        None stands for (nearly) all rows.
        """
        size = max(BLOCK_CELLS // len(self), 1)
        order = _along_their_spread(points)
        for start in range(0, len(points), size):
            numbers = order[start : start + size]
            yield numbers, self._within(points[numbers], reach)

    def _within(self, points: FloatArray, reach: float) -> IntArray | None:
        """Return the rows within reach of any of the points; None for all, if not worth it."""
        if self.tree is None:
            return None
        lists = self.tree.query_ball_point(points, reach)
        rows: IntArray = np.unique(np.concatenate([*lists, []])).astype(np.int64)
        return rows


def _along_their_spread(points: FloatArray) -> IntArray:
    """Return the order of points along the direction in which they differ most."""
    _, _, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    order: IntArray = np.argsort(points @ axes[0], kind="stable")
    return order


def squared_distances(lines: Floats, points: FloatArray) -> Floats:
    """Return the squared distance of every row to every point, one line a point.

    `lines` are the features, one line each. Differences first: they keep their digits.
    """
    distances = np.zeros((len(points), lines.shape[1]), lines.dtype)
    # A point at a time: the gaps stay in the cache.
    for number, point in enumerate(points.astype(lines.dtype)):
        for line, value in zip(lines, point, strict=True):
            gaps = line - value
            gaps *= gaps
            distances[number] += gaps
    return distances
