"""Rows already in memory: a 2-D array, or the columns of a data frame.

Neither is ever copied whole. An array is read through views, columns are gathered into one
small block at a time; only a sample of the rows becomes an array of its own.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.rows.base import Block, IntArray, Rows, S, rows_in_a_block
from evenodds.rows.labels import Labels
from evenodds.validation import FloatArray


@dataclass(frozen=True, slots=True)
class RowDetails:
    """What accompanies the features of every in-memory source."""

    labels: Labels
    weights: FloatArray | None = None
    groups: IntArray | None = None
    n_groups: int | None = None
    feature_names: tuple[str, ...] | None = None

    def of(self, rows: IntArray) -> "RowDetails":
        """Return what accompanies some of the rows."""
        return replace(
            self,
            labels=replace(self.labels, values=self.labels.values[rows]),
            weights=None if self.weights is None else self.weights[rows],
            groups=None if self.groups is None else self.groups[rows],
        )


class MemoryRows(Rows):
    """Rows in memory."""

    def __init__(self, n_features: int, details: RowDetails, block_rows: int | None = None) -> None:
        self.n_features = n_features
        self.n_rows = len(details.labels)
        self.feature_names = details.feature_names
        self.positive = details.labels.positive
        self.negative = details.labels.negative
        self.n_groups = details.n_groups
        weights = details.weights
        self.weighted = weights is not None and bool((weights != 1).any())
        if weights is None:
            self.n_counted, self.total_weight = self.n_rows, float(self.n_rows)
        else:
            self.n_counted = int(np.count_nonzero(weights))
            self.total_weight = float(weights.sum())
        self._details = details
        self._block_rows = block_rows or rows_in_a_block(n_features)

    @abstractmethod
    def _features(self, rows: slice | IntArray) -> FloatArray:
        """Return the features of these rows as float64."""

    def sum_over_rows(self, empty: S) -> S:
        for start in range(0, self.n_rows, self._block_rows):
            empty.add(self._block(start))
        return empty

    def thinned(self, step: int, rng: np.random.Generator) -> "ArrayRows":
        # One row drawn from each run of `step`: random, yet it follows any order in the data.
        rows = np.arange(0, self.n_rows - step + 1, step)
        rows += rng.integers(0, step, size=len(rows))
        # Gathered once: rows picked out of a long table again in every pass cost more than sums.
        return ArrayRows(self._features(rows), self._details.of(rows), self._block_rows)

    def _block(self, start: int) -> Block:
        rows = slice(start, min(start + self._block_rows, self.n_rows))
        details = self._details
        return Block(
            features=self._features(rows),
            labels=details.labels.block(rows),
            weights=None if details.weights is None else details.weights[rows],
            groups=None if details.groups is None else details.groups[rows],
            start=start,
        )


class ArrayRows(MemoryRows):
    """Rows of a 2-D array of any numeric type and memory order."""

    def __init__(
        self, features: NDArray[Any], details: RowDetails, block_rows: int | None = None
    ) -> None:
        super().__init__(features.shape[1], details, block_rows)
        self._array = features

    def _features(self, rows: slice | IntArray) -> FloatArray:
        # C order: both matrix products of a pass then run along the rows.
        return np.ascontiguousarray(self._array[rows], dtype=np.float64)


class ColumnRows(MemoryRows):
    """Rows of a data frame, kept as its columns."""

    def __init__(
        self,
        columns: tuple[NDArray[Any], ...],
        details: RowDetails,
        block_rows: int | None = None,
    ) -> None:
        super().__init__(len(columns), details, block_rows)
        self._columns = columns

    def _features(self, rows: slice | IntArray) -> FloatArray:
        first = self._columns[0][rows]
        features = np.empty((len(first), len(self._columns)))
        features[:, 0] = first
        for number, column in enumerate(self._columns[1:], start=1):
            features[:, number] = column[rows]
        return features
