"""Scores of the noisy-logistic curve summed within groups of rows."""

from typing import Self

import numpy as np

from evenodds.model.covariance import sum_by_group
from evenodds.model.noisy_sums import NoisyPoint, squeezed
from evenodds.model.sums import shifted
from evenodds.rows.base import Block
from evenodds.validation import FloatArray


class GroupedNoisyScores:
    """Score of (theta, tau, Delta) within each group."""

    def __init__(self, point: NoisyPoint, shift: FloatArray | None, n_groups: int) -> None:
        self.point = point
        self.shift = shift
        self.scores = np.zeros((n_groups, len(point.coefficients) + 2))

    def add(self, block: Block) -> None:
        point = self.point
        features = shifted(block.features, self.shift)
        steps = squeezed(features, point.coefficients)
        fitted = point.squeeze(steps)
        weighted = (block.labels - fitted) / (fitted * (1 - fitted))
        if block.weights is not None:
            weighted *= block.weights
        along = weighted * (1 - 2 * point.rate) * steps * (1 - steps)
        scores = np.column_stack(
            [along, features * along[:, None], weighted * (1 - 2 * steps), weighted / 2]
        )
        sum_by_group(self.scores, block, scores)

    def merge(self, other: Self) -> None:
        self.scores += other.scores
