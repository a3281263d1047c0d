"""The range of each column."""

from typing import Self

import numpy as np

from evenodds.rows.base import Block


class Span:
    """Smallest and largest value of each column."""

    def __init__(self, n_features: int) -> None:
        self.low = np.full(n_features, np.inf)
        self.high = np.full(n_features, -np.inf)

    def add(self, block: Block) -> None:
        np.minimum(self.low, block.features.min(axis=0), out=self.low)
        np.maximum(self.high, block.features.max(axis=0), out=self.high)

    def merge(self, other: Self) -> None:
        np.minimum(self.low, other.low, out=self.low)
        np.maximum(self.high, other.high, out=self.high)
