"""Worlds of several classes with a known answer, to try the multiclass tests in."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenodds.anchors import Anchors
from evenodds.validation import FloatArray

HALVINGS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassWorld:
    """Normal clouds of equal spread, one a class: log-odds between any two are linear.

    Parameters
    ----------
    centres : ndarray of shape (n_classes, n_features)
    shares : ndarray of shape (n_classes,)
        How often each class occurs.
    """

    centres: FloatArray
    shares: FloatArray

    def log_posterior(self, features: FloatArray) -> FloatArray:
        """Return the logarithm of the posterior of every class, up to a constant a row."""
        slopes = features @ self.centres.T
        intercepts = np.log(self.shares) - (self.centres**2).sum(axis=1) / 2
        return np.asarray(slopes + intercepts)

    def draw_rows(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, NDArray[np.intp]]:
        """Return n cases and their true classes 0, 1, 2, ..."""
        classes = rng.choice(len(self.shares), size=n, p=self.shares)
        features = self.centres[classes] + rng.standard_normal((n, self.centres.shape[1]))
        return features, classes

    def draw_anchors(
        self,
        positive: Sequence[int],
        negative: Sequence[int],
        k: int,
        rng: np.random.Generator,
        *,
        tolerance: float = 0.0,
    ) -> Anchors:
        """Return k toss-ups between two sides, as an expert of this tolerance names them.

        Each lies on a line from a case of one side to a case of the other, where the two sides
        are as likely as stated; for a pair of classes the others are then seldom likely.
        """
        stated = 0.5 + rng.uniform(-tolerance, tolerance, k)
        target = np.log(stated / (1 - stated))
        here, there = np.empty((2, k, self.centres.shape[1]))
        pending = np.ones(k, dtype=bool)
        while pending.any():
            n = int(pending.sum())
            here[pending] = self._cases_of(positive, n, rng)
            there[pending] = self._cases_of(negative, n, rng)
            pending = (self._log_odds(here, positive, negative) <= target) | (
                self._log_odds(there, positive, negative) >= target
            )
        for _ in range(HALVINGS):
            middle = (here + there) / 2
            above = self._log_odds(middle, positive, negative) > target
            here = np.where(above[:, None], middle, here)
            there = np.where(above[:, None], there, middle)
        return Anchors((here + there) / 2, tolerance=tolerance, shared_tolerance=0.0)

    def _cases_of(self, side: Sequence[int], n: int, rng: np.random.Generator) -> FloatArray:
        chosen = rng.choice(list(side), size=n)
        noise = 0.5 * rng.standard_normal((n, self.centres.shape[1]))
        return np.asarray(self.centres[chosen] + noise)

    def _log_odds(
        self, points: FloatArray, positive: Sequence[int], negative: Sequence[int]
    ) -> FloatArray:
        heights = self.log_posterior(points)
        above = np.logaddexp.reduce(heights[:, list(positive)], axis=1)
        return np.asarray(above - np.logaddexp.reduce(heights[:, list(negative)], axis=1))


def relabel(
    classes: NDArray[np.intp], flips: FloatArray, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return noisy copies of true classes: class k becomes m with chance ``flips[k, m]``."""
    reached = flips.cumsum(axis=1)[classes]
    drawn = (rng.random(len(classes))[:, None] > reached).sum(axis=1)
    return np.asarray(np.minimum(drawn, len(flips) - 1))


def four_bells(*, lopsided: bool = False) -> ClassWorld:
    """Return four classes at the corners of a square, or unequal ones at those of a kite."""
    if lopsided:
        centres = np.array([[0.0, 0.0], [2.4, 0.0], [0.3, 2.6], [2.0, 2.2]])
        return ClassWorld(centres=centres, shares=np.array([0.4, 0.3, 0.2, 0.1]))
    return ClassWorld(
        centres=np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5], [2.5, 2.5]]),
        shares=np.full(4, 0.25),
    )


def uniform_flips(n_classes: int, rate: float) -> FloatArray:
    """Return the flip matrix of uniform noise: `rate` in all, the same to every other class."""
    matrix: FloatArray = np.full((n_classes, n_classes), rate / (n_classes - 1))
    np.fill_diagonal(matrix, 1 - rate)
    return matrix
