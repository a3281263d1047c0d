"""Flip matrices: how often each class is given each label, as rates and asymmetries.

``T[k, m]`` is the chance that a case of class k is labelled m. A family writes it as
``T = I + sum_g rate_g R_g + (1/2) sum_s asymmetry_s D_s``: rates move labels both ways alike,
asymmetries move more of them one way. Rows of every R and D add up to zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenodds.validation import FloatArray

# Beyond these, labels say next to nothing of the class.
LARGEST_REDRAWN = 0.98
LARGEST_EXCHANGE = 0.49
LEAST_KEPT = 0.01


@dataclass(frozen=True, slots=True)
class FlipFamily:
    """Flip matrices with some rates, estimated, and some asymmetries, hypothesised."""

    exchanges: FloatArray  # R, one matrix a rate
    leanings: FloatArray  # D, one matrix an asymmetry
    highest_rates: FloatArray

    def matrix(self, rates: FloatArray, asymmetries: FloatArray) -> FloatArray:
        """Return T."""
        n_classes = self.exchanges.shape[1]
        moved = np.tensordot(rates, self.exchanges, axes=1)
        return np.asarray(np.eye(n_classes) + moved + self._leaning(asymmetries))

    def keeps_classes(self, rates: FloatArray, asymmetries: FloatArray) -> bool:
        """Tell whether every class still gets its own label now and then."""
        return bool(self.matrix(rates, asymmetries).diagonal().min() > LEAST_KEPT)

    def lowest_rates(self, asymmetries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rates that keep every flip possible, and how they move with asymmetries."""
        lean = self._leaning(asymmetries)
        low = np.zeros(len(self.exchanges))
        slopes = np.zeros((len(low), len(asymmetries)))
        for number, exchange in enumerate(self.exchanges):
            free = np.where(exchange > 0, lean, np.inf)
            place = np.unravel_index(int(np.argmin(free)), free.shape)
            if free[place] < 0:
                low[number] = -free[place]
                slopes[number] = -self.leanings[:, place[0], place[1]] / 2
        return low, slopes

    def _leaning(self, asymmetries: FloatArray) -> FloatArray:
        if len(asymmetries) == 0:
            return np.zeros(self.exchanges.shape[1:])
        return np.asarray(np.tensordot(asymmetries / 2, self.leanings, axes=1))


def uniform_flips(n_classes: int, rate: float) -> FloatArray:
    """Return the flip matrix of uniform noise: `rate` in all, the same to every other class."""
    each = rate / (n_classes - 1)
    matrix: FloatArray = np.full((n_classes, n_classes), each)
    np.fill_diagonal(matrix, 1 - rate)
    return matrix


def uniform_family(n_classes: int, leanings: FloatArray) -> FlipFamily:
    """Return uniform noise of unknown rate, leaning as asked; the rate is that of each flip."""
    everywhere = np.ones((n_classes, n_classes)) - n_classes * np.eye(n_classes)
    return FlipFamily(everywhere[None], leanings, np.array([LARGEST_REDRAWN / n_classes]))


def pairs_family(n_classes: int, pairs: Sequence[tuple[int, int]]) -> FlipFamily:
    """Return noise with a rate and an asymmetry for each of these pairs.

    All other pairs share one rate and are even.
    """
    exchanges = [exchange(n_classes, pair) for pair in pairs]
    highest = [LARGEST_EXCHANGE] * len(pairs)
    named = {frozenset(pair) for pair in pairs}
    every = [(k, m) for k in range(n_classes) for m in range(k)]
    others = [pair for pair in every if frozenset(pair) not in named]
    if others:
        exchanges.append(np.sum([exchange(n_classes, pair) for pair in others], axis=0))
        highest.append(LARGEST_REDRAWN / n_classes)
    leanings = np.array([split_leaning(n_classes, (first,), (second,)) for first, second in pairs])
    return FlipFamily(np.array(exchanges), leanings, np.array(highest))


def exchange(n_classes: int, pair: tuple[int, int]) -> FloatArray:
    """Return the matrix that flips two classes into each other."""
    matrix = np.zeros((n_classes, n_classes))
    first, second = pair
    matrix[first, second] = matrix[second, first] = 1
    matrix[first, first] = matrix[second, second] = -1
    return matrix


def split_leaning(n_classes: int, positive: Sequence[int], negative: Sequence[int]) -> FloatArray:
    """Return the matrix that flips more into the positive classes and less out of them.

    Spread evenly over the classes of a side, so that an asymmetry of 1 adds 1/2 to the flips of
    a negative case into the positive side, and takes 1/2 from those the other way.
    """
    matrix = np.zeros((n_classes, n_classes))
    matrix[np.ix_(negative, positive)] = 1 / len(positive)
    matrix[np.ix_(positive, negative)] = -1 / len(negative)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix
