"""Worlds with a known answer: features, true posterior, and toss-up cases."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenodds.anchors import Anchors
from evenodds.validation import FloatArray

DrawFeatures = Callable[[int, np.random.Generator], FloatArray]


@dataclass(frozen=True, slots=True)
class World:
    """A logistic world: how features fall, and the curve that labels them.

    Attributes
    ----------
    name : str
        What it is called.
    coefficients : ndarray
        Of the true log-odds, intercept first.
    draw_features : callable
        ``draw_features(n, rng)`` returns n rows of features.
    draw_anchor_seeds : callable
        The same for points near the boundary, before they are moved onto it.
    """

    name: str
    coefficients: FloatArray
    draw_features: DrawFeatures
    draw_anchor_seeds: DrawFeatures

    def log_odds(self, features: FloatArray) -> FloatArray:
        """Return the true log-odds of being positive."""
        log_odds: FloatArray = self.coefficients[0] + features @ self.coefficients[1:]
        return log_odds

    def draw_rows(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, NDArray[np.int8]]:
        """Return n rows of features and their true labels."""
        features = self.draw_features(n, rng)
        posterior = 1 / (1 + np.exp(-self.log_odds(features)))
        return features, (rng.random(n) < posterior).astype(np.int8)

    def draw_anchors(
        self,
        k: int,
        rng: np.random.Generator,
        *,
        tolerance: float = 0.0,
        shared_tolerance: float = 0.0,
    ) -> Anchors:
        """Return k toss-ups as an expert of this tolerance would name them.

        Each seed is moved along the slopes to where the true posterior is 1/2 plus an
        error drawn uniformly within the tolerances.
        """
        errors = rng.uniform(-tolerance, tolerance, k) + rng.uniform(
            -shared_tolerance, shared_tolerance
        )
        wanted = np.log((0.5 + errors) / (0.5 - errors))
        seeds = self.draw_anchor_seeds(k, rng)
        slopes = self.coefficients[1:]
        lengths = (wanted - self.log_odds(seeds)) / (slopes @ slopes)
        return Anchors(
            seeds + lengths[:, None] * slopes,
            tolerance=tolerance,
            shared_tolerance=shared_tolerance,
        )


def two_bells(positive_share: float = 0.5) -> World:
    """Two normal clouds centred at (1, 1) and (-1, -1): the paper's world when balanced."""

    def draw_features(n: int, rng: np.random.Generator) -> FloatArray:
        side = np.where(rng.random(n) < positive_share, 1.0, -1.0)
        features: FloatArray = rng.normal(size=(n, 2)) + side[:, None]
        return features

    def draw_along_boundary(k: int, rng: np.random.Generator) -> FloatArray:
        along = rng.uniform(-4, 4, k)
        return np.column_stack([along, -along])

    balanced = positive_share == 0.5
    return World(
        name="paper" if balanced else "rare",
        coefficients=np.array([np.log(positive_share / (1 - positive_share)), 2.0, 2.0]),
        draw_features=draw_features,
        draw_anchor_seeds=draw_along_boundary if balanced else _uniform_box(2),
    )


def skewed() -> World:
    """One exponential and one normal feature."""

    def draw_features(n: int, rng: np.random.Generator) -> FloatArray:
        return np.column_stack([rng.exponential(size=n), rng.normal(size=n)])

    return World("skewed", np.array([-1.5, 2.0, 1.0]), draw_features, _uniform_box(2))


def many_features(n_features: int = 10) -> World:
    """Independent normal features whose slopes have length 2.5."""

    def draw_features(n: int, rng: np.random.Generator) -> FloatArray:
        return rng.normal(size=(n, n_features))

    slopes = np.full(n_features, 2.5 / np.sqrt(n_features))
    coefficients = np.concatenate([[-1.0], slopes])
    return World("many features", coefficients, draw_features, _uniform_box(n_features))


def _uniform_box(n_features: int) -> DrawFeatures:
    def draw(k: int, rng: np.random.Generator) -> FloatArray:
        return rng.uniform(-2, 2, size=(k, n_features))

    return draw
