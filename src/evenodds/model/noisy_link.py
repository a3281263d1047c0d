"""Is the curve between its plateaus logistic? A score test for bends in it."""

from typing import Self

import numpy as np

from evenodds.model.noisy_sums import NoisyPoint, squeezed
from evenodds.model.sums import shifted
from evenodds.rows.base import Block
from evenodds.validation import FloatArray

N_BENDS = 2  # square and cube of the linear predictor
# Log-odds beyond which a bend no longer grows.
HELD_AT = 8.0


class BendSums:
    """Score and information of two bends, and their information with everything else.

    The bends are the square and the cube of the fitted log-odds, held flat where the curve
    is flat anyway so that one far row cannot decide the test.
    """

    def __init__(self, point: NoisyPoint, shift: FloatArray | None = None) -> None:
        self.point = point
        self.shift = shift
        n_others = len(point.coefficients) + 2
        self.score = np.zeros(N_BENDS)
        self.information = np.zeros((N_BENDS, N_BENDS))
        self.with_others = np.zeros((N_BENDS, n_others))

    def add(self, block: Block) -> None:
        point = self.point
        features = shifted(block.features, self.shift)
        steps = squeezed(features, point.coefficients)
        log_odds = np.clip(np.log(steps / (1 - steps)), -HELD_AT, HELD_AT)
        fitted = point.squeeze(steps)
        precision = 1 / (fitted * (1 - fitted))
        if block.weights is not None:
            precision *= block.weights
        along = (1 - 2 * point.rate) * steps * (1 - steps)
        bends = np.stack([log_odds**2, log_odds**3]) * along
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
