"""How the fitted index falls: lopsided features show in its third moment."""

from typing import Self

import numpy as np

from evenodds.rows.base import Block, Rows
from evenodds.validation import FloatArray


class IndexMoments:
    """Weighted sums of the powers 0 to 3 of an index without its intercept."""

    def __init__(self, slopes: FloatArray, shift: FloatArray | None) -> None:
        self.slopes, self.shift = slopes, shift
        self.sums = np.zeros(4)

    def add(self, block: Block) -> None:
        features = block.features if self.shift is None else block.features - self.shift
        index = features @ self.slopes
        weights = np.ones(len(index)) if block.weights is None else block.weights
        self.sums += [float(weights @ index**power) for power in range(4)]

    def merge(self, other: Self) -> None:
        self.sums += other.sums


def index_skewness(rows: Rows, slopes: FloatArray, shift: FloatArray | None = None) -> float:
    """Return the skewness of a linear index over the rows.

    `shift` moves columns that lie far from zero, whose cubes would drown what varies.
    """
    total, first, second, third = rows.sum_over_rows(IndexMoments(slopes, shift)).sums
    mean, square = first / total, second / total
    variance = max(square - mean**2, 1e-300)
    return float((third / total - 3 * mean * square + 2 * mean**3) / variance**1.5)
