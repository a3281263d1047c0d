"""Is the curve between its plateaus logistic? A score test for bends in it."""

from typing import Self

import numpy as np

from evenodds.model.noisy_problem import NoisyProblem
from evenodds.model.noisy_sums import NoisyPoint, squeezed
from evenodds.model.scaling import ColumnMoments
from evenodds.model.sums import Moments, shifted
from evenodds.rows.base import Block
from evenodds.validation import FloatArray

N_BENDS = 3  # along the index: square and cube of the linear predictor, and slower tails
# Log-odds, and spreads of a feature, beyond which a bend no longer grows: one far row must not
# decide the test.
HELD_AT = 8.0
FEATURES_HELD_AT = 4.0
# With more features than this their squares and products are too many to ask about.
MOST_FEATURES = 10


class BendSums:
    """Score and information of bends, and their information with everything else.

    The first bends are the square and the cube of the fitted log-odds, and tails that fall more
    slowly. Where features are few, these with their squares and products follow, added to the
    posterior itself in its standard deviations: on a plateau, where bends of the log-odds move
    nothing, they still do.
    """

    def __init__(
        self, point: NoisyPoint, shift: FloatArray | None, means: FloatArray, spreads: FloatArray
    ) -> None:
        self.point, self.shift = point, shift
        self.means, self.spreads = means, spreads
        n_features = len(means)
        few = n_features <= MOST_FEATURES
        # A leading 1 makes the features themselves products too; that of 1 and 1 is left out.
        self.first, self.second = (
            places[1:] for places in np.triu_indices(n_features + 1 if few else 1)
        )
        n_bends = N_BENDS + len(self.first)
        self.score = np.zeros(n_bends)
        self.information = np.zeros((n_bends, n_bends))
        self.with_others = np.zeros((n_bends, n_features + 3))

    @classmethod
    def at(cls, point: NoisyPoint, problem: NoisyProblem) -> Self:
        """Return empty sums at a point, for features that are shifted but not scaled."""
        shift = problem.scaling.shift
        columns = ColumnMoments.of(
            problem.rows.sum_over_rows(Moments(problem.rows.n_features, shift))
        )
        return cls(point, shift, columns.means, columns.spreads)

    def add(self, block: Block) -> None:
        point = self.point
        features = shifted(block.features, self.shift)
        steps = squeezed(features, point.coefficients)
        index = np.log(steps / (1 - steps))
        log_odds = np.clip(index, -HELD_AT, HELD_AT)
        fitted = point.squeeze(steps)
        precision = 1 / (fitted * (1 - fitted))
        if block.weights is not None:
            precision *= block.weights
        along = (1 - 2 * point.rate) * steps * (1 - steps)
        held = np.clip((features - self.means) / self.spreads, -FEATURES_HELD_AT, FEATURES_HELD_AT)
        held = np.vstack([np.ones(len(held)), held.T])
        spread = np.sqrt(fitted * (1 - fitted))
        # Tails that fall with the index itself and not with its exponential.
        tails = np.sign(index) / (1 + np.abs(index))
        bends = np.vstack(
            [
                along * log_odds**2,
                along * log_odds**3,
                tails,
                spread * held[self.first] * held[self.second],
            ]
        )
        self.score += bends @ (precision * (block.labels - fitted))
        weighted = bends * precision
        self.information += weighted @ bends.T
        self.with_others[:, 0] += weighted @ along
        self.with_others[:, 1:-2] += (weighted * along) @ features
        self.with_others[:, -2] += weighted @ (1 - 2 * steps)
        self.with_others[:, -1] += weighted.sum(axis=1) / 2

    def merge(self, other: Self) -> None:
        self.score += other.score
        self.information += other.information
        self.with_others += other.with_others
