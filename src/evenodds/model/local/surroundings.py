"""Rows on one scale, and which of them lie around a point."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evenodds.errors import RankError
from evenodds.rows.base import IntArray
from evenodds.validation import FloatArray

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

# From here on a tree finds the rows around a point faster than measuring every distance.
TREE_FROM = 50_000
# Points are fitted together as long as points x rows stays in a core's cache.
BLOCK_CELLS = 65_536
# A normal column has this share of its rows within one standard deviation below the median.
ONE_DEVIATION = (0.158655, 0.841345)


@dataclass(frozen=True, slots=True)
class Standard:
    """Columns in units of their own spread, which a few wild values cannot stretch."""

    centre: FloatArray
    spread: FloatArray

    @classmethod
    def of(cls, features: FloatArray) -> "Standard":
        """Measure columns by their median and the half-width of their middle 68 %.

        For a normal column that is its standard deviation. A column that repeats one value
        so often that its middle has no width is measured by its standard deviation.

        Raises
        ------
        RankError
            If a column is constant.
        """
        low, centre, high = np.quantile(features, [ONE_DEVIATION[0], 0.5, ONE_DEVIATION[1]], axis=0)
        spread = (high - low) / 2
        deviation = features.std(axis=0)
        flat = spread <= 1e-12 * np.maximum(deviation, np.abs(centre))
        spread = np.where(flat, deviation, spread)
        constant = spread <= 1e-14 * np.abs(centre)
        if constant.any():
            column = int(np.argmax(constant))
            raise RankError(
                f"column {column} is constant (always {centre[column]:g}): it says nothing about "
                "where a row lies, so remove it."
            )
        return cls(centre, spread)

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return points on the common scale."""
        scaled: FloatArray = (points - self.centre) / self.spread
        return scaled


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
            from scipy.spatial import cKDTree  # noqa: PLC0415 - slow to load, rarely needed

            tree = cKDTree(features)
        return cls(features, labels, weights, groups, tree)

    def __len__(self) -> int:
        return len(self.labels)

    def blocks(self, points: FloatArray, reach: float) -> Iterator["PointBlock"]:
        """Return points by the block, each with the rows that any of its points reaches."""
        size = max(BLOCK_CELLS // len(self), 1)
        for start in range(0, len(points), size):
            numbers = slice(start, min(start + size, len(points)))
            yield PointBlock(numbers, points[numbers], self._within(points[numbers], reach))

    def _within(self, points: FloatArray, reach: float) -> IntArray | None:
        """Return the rows within reach of any of the points; None for (nearly) all."""
        if self.tree is not None:
            lists = self.tree.query_ball_point(points, reach)
            found = np.asarray(lists[0] if len(points) == 1 else np.unique(np.concatenate(lists)))
            rows: IntArray = found.astype(np.int64)
            return np.sort(rows)
        near = (squared_distances(self.features, points) <= reach**2).any(axis=0)
        return None if near.mean() > 0.8 else np.flatnonzero(near)


@dataclass(frozen=True, slots=True, eq=False)
class PointBlock:
    """Some of the points, and the rows that count at any of them (None: all rows)."""

    numbers: slice
    points: FloatArray
    rows: IntArray | None


def squared_distances(features: FloatArray, points: FloatArray) -> FloatArray:
    """Return the squared distance of every row to every point, one line a point."""
    products = points @ features.T
    products *= -2
    products += np.einsum("ij,ij->i", features, features)
    products += np.einsum("ij,ij->i", points, points)[:, None]
    return np.maximum(products, 0.0, out=products)
