"""What a world is: how features fall, the curve that labels them, and its toss-up cases."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, ndtr, ndtri

from evenodds.anchors import Anchors
from evenodds.errors import InputError
from evenodds.noise import ClassConditionalNoise
from evenodds.validation import FloatArray, check_tolerances


class Index(Protocol):
    """A number that orders cases from surely negative to surely positive."""

    def of(self, features: FloatArray) -> FloatArray:
        """Return the index of every row."""

    def move_to(self, features: FloatArray, wanted: FloatArray) -> FloatArray:
        """Return the rows moved to where the index is as wanted."""


class Link(Protocol):
    """A rising curve from index to probability."""

    def probability(self, index: FloatArray) -> FloatArray:
        """Return the probability of being positive."""

    def index_at(self, probability: FloatArray) -> FloatArray:
        """Return where the curve reaches a probability."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearIndex:
    """``c_0 + c'x``; points move along `direction`, by default along the slopes.

    With a `bend`, ``bend x_2^2`` is added, and the direction must leave the second feature alone.
    """

    coefficients: FloatArray  # intercept first
    direction: FloatArray | None = None
    bend: float = 0.0

    def of(self, features: FloatArray) -> FloatArray:
        index: FloatArray = self.coefficients[0] + features @ self.coefficients[1:]
        return index + self.bend * features[:, 1] ** 2 if self.bend else index

    def move_to(self, features: FloatArray, wanted: FloatArray) -> FloatArray:
        slopes = self.coefficients[1:]
        direction = slopes if self.direction is None else self.direction
        lengths = (wanted - self.of(features)) / (slopes @ direction)
        moved: FloatArray = features + lengths[:, None] * direction
        return moved


@dataclass(frozen=True, slots=True)
class PlateauLink:
    """A logistic curve between two levels: some cases stay uncertain whatever the features."""

    low: float = 0.0
    high: float = 1.0

    def probability(self, index: FloatArray) -> FloatArray:
        probability = -index
        with np.errstate(over="ignore"):
            np.exp(probability, out=probability)
        probability += 1
        np.divide(self.high - self.low, probability, out=probability)
        if self.low:
            probability += self.low
        return probability

    def index_at(self, probability: FloatArray) -> FloatArray:
        index: FloatArray = np.log((probability - self.low) / (self.high - probability))
        return index


@dataclass(frozen=True, slots=True)
class ProbitLink:
    """The normal distribution function."""

    def probability(self, index: FloatArray) -> FloatArray:
        probability: FloatArray = ndtr(index)
        return probability

    def index_at(self, probability: FloatArray) -> FloatArray:
        index: FloatArray = ndtri(probability)
        return index


LOGISTIC = PlateauLink()


DrawFeatures = Callable[[int, np.random.Generator], FloatArray]
# How much more often than on average a case is flipped, from its true posterior.
FlipWeight = Callable[[FloatArray], FloatArray]

# No case is flipped more often than not, however hard it is.
MOST_FLIPPED = 0.49


@dataclass(frozen=True, slots=True)
class Trial:
    """One data set with a known answer."""

    features: FloatArray
    true_labels: NDArray[np.int8]
    labels: NDArray[np.int8]  # as given, some flipped
    anchors: Anchors | None
    groups: NDArray[np.int64] | None  # which rows are copies of one case


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A world with a known answer.

    Parameters
    ----------
    name : str
        What it is called.
    draw_features : callable
        ``draw_features(n, rng)`` returns n rows of features.
    index : Index
        The number that orders cases from surely negative to surely positive.
    draw_anchor_seeds : callable
        Like `draw_features`, for points that are then moved to where the expert is unsure.
    link : Link
        The curve from index to posterior; logistic by default.
    row_copies : int, default 1
        How often every case is entered, label and all; copies form a group.
    anchor_copies : int, default 1
        How often every toss-up is named.
    anchor_bias : float, default 0
        How far the true posterior at the anchors is from what the expert states.
    flip_weight : callable, optional
        Makes noise depend on the case: a factor on both flip rates from the true posterior.
    """

    name: str
    draw_features: DrawFeatures
    index: Index
    draw_anchor_seeds: DrawFeatures
    link: Link = LOGISTIC
    row_copies: int = 1
    anchor_copies: int = 1
    anchor_bias: float = 0.0
    flip_weight: FlipWeight | None = None

    def posterior(self, features: FloatArray) -> FloatArray:
        """Return the true probability of being positive."""
        return self.link.probability(self.index.of(features))

    def log_odds(self, features: FloatArray) -> FloatArray:
        """Return the true log-odds of being positive."""
        log_odds: FloatArray = logit(self.posterior(features))
        return log_odds

    def noisy_posterior(self, features: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        """Return the probability of a positive label."""
        posterior = self.posterior(features)
        lost, gained = self._flip_rates(posterior, noise)
        return posterior * (1 - lost) + (1 - posterior) * gained

    def draw_rows(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, NDArray[np.int8]]:
        """Return n cases and their true labels."""
        features = self.draw_features(n, rng)
        return features, (rng.random(n) < self.posterior(features)).astype(np.int8)

    def draw_anchors(
        self,
        k: int,
        rng: np.random.Generator,
        *,
        tolerance: float = 0.0,
        shared_tolerance: float = 0.0,
    ) -> Anchors:
        """Return k toss-ups as an expert of this tolerance would name them.

        Each seed is moved to where the true posterior is 1/2 plus an error drawn uniformly
        within the tolerances, plus the expert's bias.
        """
        beyond = self._beyond(tolerance + shared_tolerance)
        if len(beyond):
            raise InputError(
                f"toss-ups known to ±{tolerance + shared_tolerance:g} are too vague for world "
                f"{self.name!r}, which has no case of posterior {float(beyond[-1]):g}: use a "
                "smaller tolerance."
            )
        n_distinct = -(-k // self.anchor_copies)
        errors = rng.uniform(-tolerance, tolerance, n_distinct) + rng.uniform(
            -shared_tolerance, shared_tolerance
        )
        seeds = self.draw_anchor_seeds(n_distinct, rng)
        wanted = self.link.index_at(0.5 + errors + self.anchor_bias)
        points = np.repeat(self.index.move_to(seeds, wanted), self.anchor_copies, axis=0)[:k]
        return Anchors(points, tolerance=tolerance, shared_tolerance=shared_tolerance)

    def tolerances(
        self, tolerance: float, shared_tolerance: float | None = None
    ) -> tuple[float, float]:
        """Return checked tolerances of toss-ups of this world.

        A shared tolerance of None is as wide as the tolerance, and halved where the world has
        no such cases.
        """
        own, shared = check_tolerances(tolerance, shared_tolerance)
        while shared_tolerance is None and shared and len(self._beyond(own + shared)):
            shared = shared / 2 if own + shared > own else 0.0
        return own, shared

    def _beyond(self, tolerance: float) -> FloatArray:
        """Return the posteriors, at the ends of what an expert may name, that no case has."""
        ends: FloatArray = 0.5 + self.anchor_bias + np.array([-tolerance, tolerance])
        with np.errstate(divide="ignore", invalid="ignore"):
            return ends[~np.isfinite(self.link.index_at(ends))]

    def flip(
        self,
        features: FloatArray,
        labels: NDArray[np.int8],
        noise: ClassConditionalNoise,
        rng: np.random.Generator,
    ) -> NDArray[np.int8]:
        """Return noisy copies of the true labels."""
        if self.flip_weight is None:
            return noise.flip(labels, rng)
        lost, gained = self._flip_rates(self.posterior(features), noise)
        return labels ^ (rng.random(len(labels)) < np.where(labels == 1, lost, gained))

    def _flip_rates(
        self, posterior: FloatArray, noise: ClassConditionalNoise
    ) -> tuple[FloatArray | float, FloatArray | float]:
        """Return how often each case would be flipped if it were positive, and if negative."""
        if self.flip_weight is None:
            return noise.alpha, noise.beta
        weight = self.flip_weight(posterior)
        lost, gained = (
            np.minimum(rate * weight, MOST_FLIPPED) for rate in (noise.alpha, noise.beta)
        )
        return lost, gained

    def draw(
        self,
        n_rows: int,
        n_anchors: int,
        noise: ClassConditionalNoise,
        rng: np.random.Generator,
        *,
        tolerance: float = 0.0,
        shared_tolerance: float = 0.0,
    ) -> Trial:
        """Return one data set: rows, their noisy labels, and anchors."""
        features, true_labels = self.draw_rows(-(-n_rows // self.row_copies), rng)
        labels = self.flip(features, true_labels, noise, rng)
        groups = None
        if self.row_copies > 1:
            groups = np.repeat(np.arange(len(labels)), self.row_copies)[:n_rows]
            features, true_labels, labels = features[groups], true_labels[groups], labels[groups]
        anchors = None
        if n_anchors:
            anchors = self.draw_anchors(
                n_anchors, rng, tolerance=tolerance, shared_tolerance=shared_tolerance
            )
        return Trial(features, true_labels, labels, anchors, groups)
