"""The rows around a block of points, and the derivatives of its local likelihoods.

With u = tanh(t/2) the logistic function of t is (1 + u)/2 and its slope (1 - u^2)/4, so a pass
needs one transcendental function and three matrix products for all points of the block.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.model.local.kernels import REACH, SPREAD, kernel_weights
from evenodds.model.local.surroundings import Surroundings, squared_distances
from evenodds.rows.base import IntArray
from evenodds.validation import FloatArray

Floats = NDArray[np.floating[Any]]

# How far from its point, in standard deviations of the kernel, a step's effect is measured.
WATCHED = 2.0
WIDEST_WATCHED = 1.5
# Rows are let go when less than this share of those at hand is still in reach.
WORTH_LETTING_GO = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """Which rows must not count at which point: those of its own group, or itself."""

    of_points: IntArray
    of_rows: IntArray

    def mask(self, points: IntArray, rows: IntArray | None) -> NDArray[np.bool_]:
        """Tell for some points which of some rows (None: all) must not count."""
        of_rows = self.of_rows if rows is None else self.of_rows[rows]
        same: NDArray[np.bool_] = self.of_points[points][:, None] == of_rows
        return same


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Rows as the columns of matrices, ready for products."""

    design: Floats  # 1 and the features
    products: Floats  # of all pairs of lines of the design
    by_label: Floats  # the design times label - 1/2
    counts: Floats | None

    @classmethod
    def of(cls, around: Surroundings, dtype: type[np.floating[Any]]) -> "Layout":
        """Lay out all rows."""
        design = designed(around.features, dtype)
        return cls(
            design,
            products_of(design),
            design * (around.labels - 0.5).astype(dtype),
            None if around.weights is None else around.weights.astype(dtype),
        )

    def take(self, rows: IntArray) -> "Layout":
        """Return some of the rows."""
        return Layout(
            np.take(self.design, rows, axis=1),
            np.take(self.products, rows, axis=1),
            np.take(self.by_label, rows, axis=1),
            None if self.counts is None else self.counts[rows],
        )


class Room:
    """Memory for the large arrays of a fit, made once: new memory costs more than a pass."""

    def __init__(self, dtype: type[np.floating[Any]]) -> None:
        self.dtype = dtype
        self.arrays: dict[str, Floats] = {}

    def held(self, name: str, shape: tuple[int, ...]) -> Floats:
        """Return an array of this shape, its values whatever was there before."""
        size = math.prod(shape)
        if name not in self.arrays or self.arrays[name].size < size:
            self.arrays[name] = np.empty(size, self.dtype)
        return self.arrays[name][:size].reshape(shape)


class Neighbourhood:
    """Rows near any of a block's points, and what each counts at each point."""

    def __init__(
        self,
        layout: Layout,
        points: FloatArray,
        kernel: str,
        room: "Room",
        own: NDArray[np.bool_] | None = None,
    ) -> None:
        self.rows, self.points, self.kernel, self.room = layout, points, kernel, room
        self.distances = squared_distances(layout.design[1:], points)
        if own is not None:
            self.distances[own] = np.inf
        self.nearest = self.distances.min(axis=0)
        self.n_parameters = len(layout.design)
        self.pairs = pairs_of_lines(self.n_parameters)

    def narrow(self, bandwidth: float) -> None:
        """Weigh the rows for a bandwidth no wider than the last one."""
        near = self.nearest <= (REACH[self.kernel] * bandwidth) ** 2
        if near.mean() < WORTH_LETTING_GO:
            kept = np.flatnonzero(near)
            self.rows, self.nearest = self.rows.take(kept), self.nearest[kept]
            self.distances = np.take(self.distances, kept, axis=1)
        weights = self.room.held("weights", self.distances.shape)
        kernel_weights(self.distances, bandwidth, self.kernel, out=weights)
        counts = self.rows.counts
        if counts is None:
            squares = np.einsum("ij,ij->i", weights, weights)
        else:
            squares = (weights**2) @ counts
            weights *= counts
        self.weights = weights
        self.of_labels = (self.rows.by_label @ weights.T).T
        self.of_weights = (self.rows.products @ weights.T).T
        # The first of the products is 1, so its sum is the weight of all rows. The prior row,
        # of weight 1, drowns rows that are all far off: it counts among the squares.
        self.effective_rows = self.of_weights[:, 0] ** 2 / (1.0 + squares)
        self.watched = WATCHED * min(SPREAD[self.kernel] * bandwidth, WIDEST_WATCHED)
        self._place_prior(bandwidth)

    def _place_prior(self, bandwidth: float) -> None:
        """Spread the prior row of each point over its sides."""
        n_points, n_features = self.points.shape
        sides = prior_places(n_features, bandwidth, self.kernel)
        places = (self.points[:, None, :] + sides).reshape(-1, n_features)
        design = designed(places, self.weights.dtype.type)
        shape = (n_points, len(sides), -1)
        self.prior_design = design.T.reshape(shape)
        self.prior_products = products_of(design).T.reshape(shape)
        self.share = 1 / len(sides)
        self.of_weights += self.share * self.prior_products.sum(axis=1)

    def flat_start(self) -> FloatArray:
        """Return the log-odds of the share of positives nearby, without slopes."""
        share = self.of_labels[:, 0] / self.of_weights[:, 0] + 0.5
        start = np.zeros((len(share), self.n_parameters))
        start[:, 0] = np.log(share / (1 - share))
        return start

    def derivatives(self, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return score and information."""
        halved = (coefficients / 2).astype(self.weights.dtype)
        pulls, bends = self._sums(halved)
        prior_pulls, prior_bends = self._prior_sums(halved)
        score = self.of_labels - (pulls + prior_pulls) / 2
        packed = (self.of_weights - bends - prior_bends) / 4
        information = np.empty((len(packed), self.n_parameters, self.n_parameters))
        information[:, self.pairs[0], self.pairs[1]] = packed
        information[:, self.pairs[1], self.pairs[0]] = packed
        return score.astype(float), information

    def _sums(self, halved: Floats) -> tuple[Floats, Floats]:
        """Return the sums of w u x and w u^2 x x' over rows, for each point."""
        bends = self.room.held("bends", self.weights.shape)
        pulls = self.room.held("pulls", self.weights.shape)
        np.matmul(halved, self.rows.design, out=bends)
        np.tanh(bends, out=bends)
        np.multiply(self.weights, bends, out=pulls)
        first = (self.rows.design @ pulls.T).T
        pulls *= bends
        return first, (self.rows.products @ pulls.T).T

    def _prior_sums(self, halved: Floats) -> tuple[Floats, Floats]:
        """Return the same sums over the prior row of each point."""
        pulls = np.tanh(self.prior_design @ halved[:, :, None])
        first = (self.prior_design * pulls).sum(axis=1)
        second = (self.prior_products * (pulls * pulls)).sum(axis=1)
        return self.share * first, self.share * second

    def largest_curvature(self) -> FloatArray:
        """Return the information's diagonal if every label were a toss-up, as matrices."""
        squares = self.of_weights[:, self.pairs[0] == self.pairs[1]].astype(float)
        largest: FloatArray = squares[:, :, None] * np.eye(self.n_parameters) / 4
        return largest

    def changes(self, step: FloatArray) -> FloatArray:
        """Return how far a step changes log-odds near each point."""
        slopes = step[:, 1:]
        here = np.abs(step[:, 0] + (slopes * self.points).sum(axis=1))
        changes: FloatArray = here + self.watched * np.sqrt((slopes**2).sum(axis=1))
        return changes

    def about_points(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients about each point."""
        moved = coefficients.copy()
        moved[:, 0] += (coefficients[:, 1:] * self.points).sum(axis=1)
        return moved

    def information_about(self, information: FloatArray) -> FloatArray:
        """Return the information in coefficients about each point."""
        shift = np.broadcast_to(np.eye(self.n_parameters), information.shape).copy()
        shift[:, 1:, 0] = -self.points
        moved: FloatArray = shift @ information @ shift.transpose(0, 2, 1)
        return moved


def designed(features: FloatArray, dtype: type[np.floating[Any]]) -> Floats:
    """Return rows as columns, with a leading 1."""
    design = np.ones((features.shape[1] + 1, len(features)), dtype)
    design[1:] = features.T
    return design


@lru_cache
def pairs_of_lines(n_lines: int) -> tuple[IntArray, IntArray]:
    """Return the numbers of all pairs of lines, each pair once."""
    first, second = np.triu_indices(n_lines)
    return first, second


def products_of(design: Floats) -> Floats:
    """Return the products of all pairs of lines, each pair once."""
    first, second = pairs_of_lines(len(design))
    products: Floats = design[first] * design[second]
    return products


def prior_places(n_features: int, bandwidth: float, kernel: str) -> FloatArray:
    """Return where the prior row of a point is spread over, about the point."""
    aside = min(SPREAD[kernel] * bandwidth, 1.0) * np.eye(n_features)
    return np.vstack([np.zeros((1, n_features)), aside, -aside])
