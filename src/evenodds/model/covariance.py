"""Covariance that survives a wrong curve, and rows that belong together.

The sandwich ``H (sum of squared scores) H`` needs the logistic curve only as
the best approximation; with groups, scores are summed within a group before
they are squared, so repeated rows of one patient do not count as news.
"""

import numpy as np

from evenodds.model.noisy_likelihood import NoisyPoint, weighted_residuals
from evenodds.model.sums import Sums, WeightedGram, probabilities, shifted, weigh
from evenodds.rows.base import Block, Rows
from evenodds.validation import FloatArray


class SquaredScores(Sums):
    """Sum of ``w r^2 x x'``: a row of weight 3 is three rows, so the weight is not squared."""

    summed = ("gram",)

    def __init__(self, coefficients: FloatArray, shift: FloatArray | None) -> None:
        self.coefficients = coefficients
        self.shift = shift
        self.gram = WeightedGram(len(coefficients) - 1)

    def add(self, block: Block) -> None:
        features = shifted(block.features, self.shift)
        squares = (block.labels - probabilities(features, self.coefficients)) ** 2
        weigh(block, squares)
        self.gram.add(features, squares)

    def total(self) -> FloatArray:
        """Return the middle of the sandwich."""
        return self.gram.total()


class GroupedScores(Sums):
    """Sum of scores within each group."""

    summed = ("scores",)

    def __init__(self, coefficients: FloatArray, shift: FloatArray | None, n_groups: int) -> None:
        self.coefficients = coefficients
        self.shift = shift
        self.scores = np.zeros((n_groups, len(coefficients)))

    def add(self, block: Block) -> None:
        features = shifted(block.features, self.shift)
        residuals = block.labels - probabilities(features, self.coefficients)
        weigh(block, residuals)
        scores = np.column_stack([residuals, features * residuals[:, None]])
        sum_by_group(self.scores, block, scores)

    def total(self) -> FloatArray:
        """Return the middle of the sandwich."""
        return self.scores.T @ self.scores


def sum_by_group(totals: FloatArray, block: Block, scores: FloatArray) -> None:
    """Add the scores of a block's rows to the totals of their groups."""
    if block.groups is None:
        raise TypeError("these rows carry no groups")
    order = np.argsort(block.groups, kind="stable")
    ordered = block.groups[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    totals[ordered[starts]] += np.add.reduceat(scores[order], starts, axis=0)


def sandwich(
    rows: Rows, coefficients: FloatArray, shift: FloatArray | None, bread: FloatArray
) -> FloatArray:
    """Return ``bread @ middle @ bread``, summed by group where the rows have groups.

    `coefficients` and `bread` (the inverse information) are those of features that
    are shifted but not scaled.
    """
    empty: SquaredScores | GroupedScores
    if rows.n_groups is None:
        empty = SquaredScores(coefficients, shift)
    else:
        empty = GroupedScores(coefficients, shift, rows.n_groups)
    with np.errstate(over="ignore"):
        middle = rows.sum_over_rows(empty).total()
    return bread @ middle @ bread


class GroupedNoisyScores(Sums):
    """Score of (theta, tau, Delta) within each group."""

    summed = ("scores",)

    def __init__(self, point: NoisyPoint, shift: FloatArray | None, n_groups: int) -> None:
        self.point = point
        self.shift = shift
        self.scores = np.zeros((n_groups, len(point.coefficients) + 2))

    def add(self, block: Block) -> None:
        features, steps, weighted = weighted_residuals(block, self.point, self.shift)
        along = weighted * (1 - 2 * self.point.rate) * steps * (1 - steps)
        scores = np.column_stack(
            [along, features * along[:, None], weighted * (1 - 2 * steps), weighted / 2]
        )
        sum_by_group(self.scores, block, scores)
