"""The sums over rows that a noisy-logistic fit is made of.

The curve is ``p = tau + Delta/2 + (1 - 2 tau) s(theta'x)``: a logistic curve squeezed
between two plateaus. Derivatives are taken in (theta, tau, Delta), in this order.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from evenodds.model.sums import WeightedGram, fetch, shifted
from evenodds.rows.base import Block
from evenodds.validation import FloatArray

# Beyond this the logistic curve is flat to rounding; it keeps 1 / (p (1 - p)) finite at tau = 0.
FLAT_BEYOND = 30.0


@dataclass(frozen=True, slots=True)
class NoisyPoint:
    """A noisy-logistic curve: coefficients (intercept first), noise rate and asymmetry."""

    coefficients: FloatArray
    rate: float
    asymmetry: float

    @property
    def alpha(self) -> float:
        """Chance that a positive label is flipped."""
        return self.rate - self.asymmetry / 2

    @property
    def beta(self) -> float:
        """Chance that a negative label is flipped."""
        return self.rate + self.asymmetry / 2

    def squeeze(self, steps: FloatArray) -> FloatArray:
        """Return the noisy posterior where the clean one is `steps`."""
        fitted = (1 - 2 * self.rate) * steps
        fitted += self.beta
        return fitted


class NoisySums:
    """Log-likelihood, score and expected information at a point.

    Attributes
    ----------
    log_likelihood : float
    score, information : ndarray
        First derivative and expected information.
    transition : float
        Weight of rows on the slope of the curve, ``sum of 4 s (1 - s)``; near zero for a
        curve that is a step.
    """

    def __init__(self, point: NoisyPoint, shift: FloatArray | None = None) -> None:
        n_parameters = len(point.coefficients)
        self.point = point
        self.shift = shift
        self.log_likelihood = 0.0
        self.transition = 0.0
        self._score = np.zeros(2)  # of tau and Delta
        self._gram = WeightedGram(n_parameters - 1)
        self._borders = np.zeros((3, n_parameters))  # of theta: its score, with tau, with Delta
        self._corner = np.zeros(3)  # tau tau, tau Delta, Delta Delta

    def add(self, block: Block) -> None:
        point = self.point
        features = shifted(block.features, self.shift)
        steps = squeezed(features, point.coefficients)
        slopes = steps * (1 - steps)
        fitted = point.squeeze(steps)
        residuals = block.labels - fitted
        chances = 1 - np.abs(residuals)
        precision = 1 / (fitted * (1 - fitted))
        log_chances = np.log(np.maximum(chances, 1e-300))
        if block.weights is not None:
            precision *= block.weights
            log_chances *= block.weights
            self.transition += 4 * float(block.weights @ slopes)
        else:
            self.transition += 4 * float(slopes.sum())
        self.log_likelihood += float(log_chances.sum())
        by_theta = (1 - 2 * point.rate) * slopes  # dp / d(theta'x)
        by_rate = 1 - 2 * steps  # dp / dtau; dp / dDelta is 1/2
        weighted = residuals * precision
        self._score += (weighted @ by_rate, weighted.sum() / 2)
        rated = precision * by_rate
        self._corner += (rated @ by_rate, rated.sum() / 2, precision.sum() / 4)
        # Sums against the intercept and the features, in one product: the score of theta,
        # then its information with tau and with Delta.
        levers = np.stack([weighted, rated, precision])
        levers *= by_theta
        self._borders[:, 0] += levers.sum(axis=1)
        self._borders[:, 1:] += levers @ features
        self._gram.add(features, levers[2] * by_theta)

    def merge(self, other: Self) -> None:
        self.log_likelihood += other.log_likelihood
        self.transition += other.transition
        self._score += other._score
        self._gram.merge(other._gram)
        self._borders += other._borders
        self._corner += other._corner

    @property
    def score(self) -> FloatArray:
        """First derivative in (theta, tau, Delta)."""
        return np.concatenate([self._borders[0], self._score])

    @property
    def information(self) -> FloatArray:
        """Expected information of (theta, tau, Delta)."""
        n_parameters = self._borders.shape[1]
        with_rate, with_asymmetry = self._borders[1], self._borders[2] / 2
        full = np.empty((n_parameters + 2, n_parameters + 2))
        full[:n_parameters, :n_parameters] = self._gram.total()
        full[n_parameters, :n_parameters] = full[:n_parameters, n_parameters] = with_rate
        full[-1, :n_parameters] = full[:n_parameters, -1] = with_asymmetry
        rate, mixed, asymmetry = self._corner
        full[n_parameters:, n_parameters:] = [[rate, mixed], [mixed, asymmetry]]
        return full


class NoisyScore:
    """Score of (theta, tau) alone, for cheap passes."""

    def __init__(self, point: NoisyPoint, shift: FloatArray | None = None) -> None:
        self.point = point
        self.shift = shift
        self.score = np.zeros(len(point.coefficients) + 1)

    def add(self, block: Block) -> None:
        point = self.point
        features = shifted(block.features, self.shift)
        steps = squeezed(features, point.coefficients)
        fitted = point.squeeze(steps)
        weighted = (block.labels - fitted) / (fitted * (1 - fitted))
        if block.weights is not None:
            weighted *= block.weights
        along = weighted * steps
        along *= (1 - 2 * point.rate) * (1 - steps)
        self.score[0] += along.sum()
        self.score[1:-1] += along @ features
        self.score[-1] += weighted.sum() - 2 * float(weighted @ steps)

    def merge(self, other: Self) -> None:
        self.score += other.score


def squeezed(features: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Return the logistic curve of the linear predictor, flat beyond `FLAT_BEYOND`."""
    fetch(features)
    linear = features @ coefficients[1:]
    linear += coefficients[0]
    np.clip(linear, -FLAT_BEYOND, FLAT_BEYOND, out=linear)
    np.negative(linear, out=linear)
    np.exp(linear, out=linear)
    linear += 1
    return np.reciprocal(linear, out=linear)
