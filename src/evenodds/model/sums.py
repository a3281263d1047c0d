"""The sums over rows that a logistic fit is made of.

Each works on centred features ``x - shift`` where a shift is needed to keep
the digits (a calendar year, a large id), and on the features as they are where
it is not, which saves a copy of each block.
"""

from collections.abc import Iterator
from typing import Literal, Self

import numpy as np
from scipy.linalg.blas import dsyrk

from evenodds.rows.base import Block
from evenodds.validation import FloatArray

# From this width on the symmetric product beats the general one, which starts faster.
SYMMETRIC_PRODUCT_FROM = 40
LONG_WAY_UP_TO = 4
# A piece of a block of this size and its scaled copy stay in the cache between two products.
PIECE_BYTES = 384 * 1024
# From this width on a block is scanned before it is multiplied.
FETCHED_FROM = 64


class Moments:
    """First and second moments of features and labels."""

    def __init__(self, n_features: int, shift: FloatArray | None = None) -> None:
        self.shift = shift
        self.labels = 0.0
        self.features_by_label = np.zeros(n_features)
        self._gram = WeightedGram(n_features)

    def add(self, block: Block) -> None:
        features = shifted(block.features, self.shift)
        labels = block.labels if block.weights is None else block.labels * block.weights
        counts = np.ones(len(labels)) if block.weights is None else block.weights
        self.labels += float(labels.sum())
        self.features_by_label += labels @ features
        self._gram.add(features, counts)

    def merge(self, other: Self) -> None:
        self.labels += other.labels
        self.features_by_label += other.features_by_label
        self._gram.merge(other._gram)

    def total(self) -> FloatArray:
        """Return ``[1, X]' W [1, X]``: the weight, the sums, and the products of features."""
        return self._gram.total()


class Score:
    """First derivative of the log-likelihood at `coefficients`, intercept first."""

    def __init__(self, coefficients: FloatArray, shift: FloatArray | None = None) -> None:
        self.coefficients = coefficients
        self.shift = shift
        self.score = np.zeros(len(coefficients))

    def add(self, block: Block) -> None:
        features = shifted(block.features, self.shift)
        residuals = probabilities(features, self.coefficients)
        np.subtract(block.labels, residuals, out=residuals)
        if block.weights is not None:
            residuals *= block.weights
        self.score[0] += residuals.sum()
        self.score[1:] += residuals @ features

    def merge(self, other: Self) -> None:
        self.score += other.score


class Information:
    """Log-likelihood, its first derivative, and its negative second derivative."""

    def __init__(self, coefficients: FloatArray, shift: FloatArray | None = None) -> None:
        n_parameters = len(coefficients)
        self.coefficients = coefficients
        self.shift = shift
        self.log_likelihood = 0.0
        self.score = np.zeros(n_parameters)
        self._gram = WeightedGram(n_parameters - 1)

    @property
    def information(self) -> FloatArray:
        """Return the negative second derivative, intercept first."""
        return self._gram.total()

    def add(self, block: Block) -> None:
        features = shifted(block.features, self.shift)
        fitted = probabilities(features, self.coefficients)
        residuals = block.labels - fitted
        # 1 - |y - p| is the fitted probability of the label that was given.
        chances = np.abs(residuals)
        np.subtract(1, chances, out=chances)
        log_chances = np.log(chances, out=chances)  # -inf far from the optimum is meant
        curvature = fitted * fitted
        np.subtract(fitted, curvature, out=curvature)
        if block.weights is not None:
            residuals *= block.weights
            curvature *= block.weights
            log_chances *= block.weights
        self.log_likelihood += float(log_chances.sum())
        self.score[0] += residuals.sum()
        self.score[1:] += residuals @ features
        self._gram.add(features, curvature)

    def merge(self, other: Self) -> None:
        self.log_likelihood += other.log_likelihood
        self.score += other.score
        self._gram.merge(other._gram)


def shifted(features: FloatArray, shift: FloatArray | None) -> FloatArray:
    """Return centred features, or the very same array where no shift is needed."""
    return features if shift is None else features - shift


def fetch(features: FloatArray) -> None:
    """Bring a wide block into the cache by a plain scan.

    The product of a wide block and a vector reads memory out of step, at about a third of
    the speed of a scan; after one it works from the cache.
    """
    if features.shape[1] >= FETCHED_FROM:
        features.max()


def probabilities(features: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Return the logistic curve of the linear predictor; overflow to 0 is meant."""
    # Written out: scipy.special.expit is several times slower on a block in cache.
    fetch(features)
    linear = features @ coefficients[1:]
    linear += coefficients[0]
    np.negative(linear, out=linear)
    np.exp(linear, out=linear)
    linear += 1
    return np.reciprocal(linear, out=linear)


class WeightedGram:
    """Sum of ``[1, X]' W [1, X]``, by whichever product is faster at this width."""

    def __init__(self, n_features: int) -> None:
        self._weight = 0.0
        self._border = np.zeros(n_features)
        # Column order, so that the symmetric product can add to it in place (one triangle).
        self._gram = np.zeros((n_features, n_features), order="F")
        self._symmetric = n_features >= SYMMETRIC_PRODUCT_FROM
        self._scratch = np.empty((0, n_features))

    def add(self, features: FloatArray, weights: FloatArray) -> None:
        """Add the rows of a block."""
        self._weight += float(weights.sum())
        if not self._symmetric:
            self._border += weights @ features
            if features.nbytes <= PIECE_BYTES:
                self._add_general(features, weights)
                return
            for piece in _pieces(features):
                self._add_general(features[piece], weights[piece])
            return
        if len(self._scratch) < len(features):
            self._scratch = np.empty(features.shape)
        roots = np.sqrt(weights)
        scaled = np.multiply(features, roots[:, None], out=self._scratch[: len(features)])
        self._border += roots @ scaled
        self._gram = dsyrk(1.0, scaled.T, beta=1.0, c=self._gram, overwrite_c=1)

    def _add_general(self, features: FloatArray, weights: FloatArray) -> None:
        # NumPy's inner loop runs along the last axis: the long one for the narrowest blocks, and
        # for those whose columns lie one after another.
        long_way = features.shape[1] <= LONG_WAY_UP_TO or features.strides[0] < features.strides[1]
        order: Literal["C", "F"] = "C" if long_way else "F"
        self._gram += np.multiply(features.T, weights, order=order) @ features

    def merge(self, other: Self) -> None:
        """Add what another copy has summed."""
        self._weight += other._weight
        self._border += other._border
        self._gram += other._gram

    def total(self) -> FloatArray:
        """Return the full symmetric matrix, intercept first."""
        n_parameters = len(self._border) + 1
        full = np.empty((n_parameters, n_parameters))
        full[0, 0] = self._weight
        full[0, 1:] = full[1:, 0] = self._border
        full[1:, 1:] = self._gram
        if self._symmetric:
            lower = np.tril_indices(n_parameters, -1)
            full[lower] = full.T[lower]
        return full


def _pieces(features: FloatArray) -> Iterator[slice]:
    """Cut a block into pieces that fit the cache together with a scaled copy."""
    length = max(PIECE_BYTES // (8 * features.shape[1]), 1)
    for start in range(0, len(features), length):
        yield slice(start, start + length)
