"""The parts of a posterior: an index of the features, and a curve from index to probability."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from evenodds.validation import FloatArray


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
    """``c_0 + c'x``; points move along `direction`, by default along the slopes."""

    coefficients: FloatArray  # intercept first
    direction: FloatArray | None = None

    def of(self, features: FloatArray) -> FloatArray:
        index: FloatArray = self.coefficients[0] + features @ self.coefficients[1:]
        return index

    def move_to(self, features: FloatArray, wanted: FloatArray) -> FloatArray:
        slopes = self.coefficients[1:]
        direction = slopes if self.direction is None else self.direction
        lengths = (wanted - self.of(features)) / (slopes @ direction)
        moved: FloatArray = features + lengths[:, None] * direction
        return moved


@dataclass(frozen=True, slots=True, eq=False)
class BentIndex:
    """``c_0 + c'x + bend x_2^2``; points move along the first feature, where it is linear."""

    coefficients: FloatArray  # intercept first
    bend: float

    def of(self, features: FloatArray) -> FloatArray:
        straight = self.coefficients[0] + features @ self.coefficients[1:]
        index: FloatArray = straight + self.bend * features[:, 1] ** 2
        return index

    def move_to(self, features: FloatArray, wanted: FloatArray) -> FloatArray:
        moved = features.copy()
        moved[:, 0] += (wanted - self.of(features)) / self.coefficients[1]
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
