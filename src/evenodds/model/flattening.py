"""Do the labels follow a logistic curve, or one flattened at its ends as noise does?

A score test for one more column, ``1 - 2 p``: it rises where the curve is low and
falls where it is high. Flipped labels leave the fitted curve too steep in the middle
and too extreme at the ends, which shows as a negative statistic.
"""

from typing import Self

import numpy as np

from evenodds.model.logistic import LogisticFit
from evenodds.model.sums import probabilities, shifted
from evenodds.rows.base import Block, Rows
from evenodds.validation import FloatArray


class FlatteningSums:
    """Score of the extra column, and its information with all columns."""

    def __init__(self, coefficients: FloatArray, shift: FloatArray | None) -> None:
        self.coefficients = coefficients
        self.shift = shift
        self.score = 0.0
        self.information = 0.0
        self.information_with_columns = np.zeros(len(coefficients))

    def add(self, block: Block) -> None:
        features = shifted(block.features, self.shift)
        fitted = probabilities(features, self.coefficients)
        extra = 1 - 2 * fitted
        residuals = block.labels - fitted
        curvature = fitted * (1 - fitted) * extra
        if block.weights is not None:
            residuals *= block.weights
            curvature *= block.weights
        self.score += float(residuals @ extra)
        self.information += float(curvature @ extra)
        self.information_with_columns[0] += curvature.sum()
        self.information_with_columns[1:] += curvature @ features

    def merge(self, other: Self) -> None:
        self.score += other.score
        self.information += other.information
        self.information_with_columns += other.information_with_columns


def flattening_statistic(rows: Rows, fit: LogisticFit) -> float:
    """Return a standard normal statistic if the curve is logistic, negative if flattened."""
    inside = fit.inside
    with np.errstate(over="ignore"):
        sums = rows.sum_over_rows(FlatteningSums(inside.coefficients, inside.shift))
    shared = sums.information_with_columns
    variance = sums.information - float(shared @ inside.inverse_information @ shared)
    # With one column of two values the extra column is a combination of the others.
    return sums.score / variance**0.5 if variance > 1e-10 * sums.information else 0.0
