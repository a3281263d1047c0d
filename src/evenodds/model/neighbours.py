"""The rows around a point: on one scale, weighted by distance, and their local likelihoods.

A row of weight 1,000 is a thousand rows in a likelihood. Yet labels of one row all agree, so a
bandwidth narrow enough for a thousand rows would let that one row decide. Where rows in one
place carry both labels they are a true count of cases, and count in full.

With u = tanh(t/2) the logistic function of t is (1 + u)/2 and its slope (1 - u^2)/4, so a pass
needs one transcendental function and three matrix products for all points of the block.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError, RankError
from evenodds.rows.base import IntArray, name_column, small_spread
from evenodds.validation import FloatArray

if TYPE_CHECKING:
    from scipy.spatial import cKDTree


Kernel = Literal["gaussian", "tricube"]
Floats = NDArray[np.floating[Any]]

# Beyond this many bandwidths a row does not count. The Gaussian is 0.0003 there.
REACH: dict[str, float] = {"gaussian": 4.0, "tricube": 1.0}
# Standard deviation of each kernel along one feature, in bandwidths.
SPREAD: dict[str, float] = {"gaussian": 1.0, "tricube": float(np.sqrt(35 / 243))}


def kernel_weights(
    squared_distances: Floats, bandwidth: float, kernel: str, out: Floats | None = None
) -> Floats:
    """Return 1 at the point itself, falling to 0."""
    weights = np.empty_like(squared_distances) if out is None else out
    reach = REACH[kernel] ** 2
    np.multiply(squared_distances, bandwidth**-2, out=weights)
    # Far rows are moved to the edge first: numbers next to zero are slow to compute with.
    np.minimum(weights, reach, out=weights)
    beyond = weights >= reach
    if kernel == "gaussian":
        weights *= -0.5
        np.exp(weights, out=weights)
    else:
        # (1 - d^3)^3 by products: powers that are not whole are slow.
        weights *= np.sqrt(weights)
        np.subtract(1.0, weights, out=weights)
        weights *= weights * weights
    np.copyto(weights, 0.0, where=beyond)
    return weights


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
        """Measure columns by their median and the half-width of their middle 68%.

        For a normal column that is its standard deviation. A column that repeats one value
        so often that its middle has no width is measured by its standard deviation.

        Raises
        ------
        RankError
            If a column is constant.
        """
        counts = np.ones(len(features)) if weights is None else weights
        centre, spread = middles(features, counts)
        with np.errstate(over="ignore"):  # which matters only where it is needed, below
            deviation = np.sqrt(counts @ (features - centre) ** 2 / counts.sum())
        flat = spread == 0
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
            named, values = name_column(feature_names, column), features[counts > 0, column]
            if values.min() < values.max():
                raise small_spread(f"column {named}", values.min(), values.max())
            raise RankError(
                f"column {named} is constant (always "
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


def middles(features: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the median of each column and the half-width of its middle 68%, 0 if rounding."""
    low, centre, high = np.array([_middle(column, counts) for column in features.T]).T
    spread = (high - low) / 2
    return centre, np.where(spread > 1e-12 * np.abs(centre), spread, 0.0)


def _middle(column: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the ends of a column's middle 68% and its median, rows counted with weights."""
    order = np.argsort(column)
    shares = np.cumsum(counts[order])
    places = np.searchsorted(shares, np.array(MIDDLE) * shares[-1])
    return np.asarray(column[order[np.minimum(places, len(order) - 1)]])


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
        held = cls(features, labels, weights, groups)
        if weights is not None and not weights.all():
            held = held.take(np.flatnonzero(weights > 0))
        if len(held) < TREE_FROM:
            return held
        from scipy.spatial import cKDTree

        return replace(held, tree=cKDTree(held.features))

    def take(self, rows: IntArray) -> "Surroundings":
        """Return some of the rows, without a tree."""
        return Surroundings(
            self.features[rows],
            self.labels[rows],
            None if self.weights is None else self.weights[rows],
            None if self.groups is None else self.groups[rows],
        )

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
        return np.unique(np.concatenate([*lists, []])).astype(np.int64)


def _along_their_spread(points: FloatArray) -> IntArray:
    """Return the order of points along the direction in which they differ most."""
    _, _, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    return np.argsort(points @ axes[0], kind="stable")


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


SEED = 20240229


def distinct_counts(features: FloatArray, labels: FloatArray, weights: FloatArray) -> FloatArray:
    """Return what each row counts as: its weight in a place of both labels, else one at most."""
    place = _places(features)
    n_places = int(place.max()) + 1
    rows = np.bincount(place, minlength=n_places)
    positives = np.bincount(place, weights=labels, minlength=n_places)
    mixed = (positives > 0) & (positives < rows)
    return np.where(mixed[place], weights, np.minimum(weights, 1.0))


def effective_distinct(
    features: FloatArray, counts: FloatArray, points: FloatArray, bandwidth: float, kernel: str
) -> FloatArray:
    """Return how many distinct rows each point rests on, counted as effective rows are."""
    lines, found = features.T, np.empty(len(points))
    for number, point in enumerate(points):
        near = kernel_weights(squared_distances(lines, point[None]), bandwidth, kernel)[0]
        found[number] = (near @ counts) ** 2 / (1 + near**2 @ counts)
    return found


def copies_merged(
    features: FloatArray,
    labels: FloatArray,
    weights: FloatArray | None,
    groups: IntArray | None,
) -> tuple[FloatArray, FloatArray, FloatArray | None, IntArray | None]:
    """Return each row once, weighing as much as all its copies with the same label and group."""
    along = np.sort(_along(features))
    if (along[1:] > along[:-1]).all():
        return features, labels, weights, groups
    keys = [*features.T, labels, *([] if groups is None else [groups])]
    order = np.lexsort(keys)
    other = np.ones(len(order), dtype=bool)
    other[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    counts = np.ones(len(order)) if weights is None else weights[order]
    totals = np.add.reduceat(counts, np.flatnonzero(other))
    kept = order[other]
    as_given = np.argsort(kept)
    kept = kept[as_given]
    if len(kept) == len(labels):
        return features, labels, weights, groups
    merged = None if groups is None else groups[kept]
    return features[kept], labels[kept], totals[as_given], merged


def _places(features: FloatArray) -> IntArray:
    """Return the number of each row's place; equal rows share one."""
    return np.unique(_along(features), return_inverse=True)[1].reshape(-1)


def _along(features: FloatArray) -> FloatArray:
    """Return rows along a random direction: different ones differ, and one column sorts fast."""
    direction: FloatArray = np.random.default_rng(SEED).normal(size=(features.shape[1],))
    along = np.zeros(len(features))
    # Column by column: a matrix product may round equal rows differently.
    for factor, column in zip(direction, features.T, strict=True):
        along += factor * column
    return along


# How far from its point, in standard deviations of the kernel, a step's effect is measured.
WATCHED = 2.0
WIDEST_WATCHED = 1.5
# Rows are let go when less than this share of those at hand is still in reach.
WORTH_LETTING_GO = 0.8


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
        return squares[:, :, None] * np.eye(self.n_parameters) / 4

    def changes(self, step: FloatArray) -> FloatArray:
        """Return how far a step changes log-odds near each point."""
        slopes = step[:, 1:]
        here = np.abs(step[:, 0] + (slopes * self.points).sum(axis=1))
        return np.asarray(here + self.watched * np.sqrt((slopes**2).sum(axis=1)))

    def about_points(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients about each point."""
        moved = coefficients.copy()
        moved[:, 0] += (coefficients[:, 1:] * self.points).sum(axis=1)
        return moved

    def information_about(self, information: FloatArray) -> FloatArray:
        """Return the information in coefficients about each point."""
        shift = np.broadcast_to(np.eye(self.n_parameters), information.shape).copy()
        shift[:, 1:, 0] = -self.points
        return shift @ information @ shift.transpose(0, 2, 1)


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
    return design[first] * design[second]


def prior_places(n_features: int, bandwidth: float, kernel: str) -> FloatArray:
    """Return where the prior row of a point is spread over, about the point."""
    aside = min(SPREAD[kernel] * bandwidth, 1.0) * np.eye(n_features)
    return np.vstack([np.zeros((1, n_features)), aside, -aside])
