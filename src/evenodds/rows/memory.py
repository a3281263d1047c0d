"""Rows already in memory: a 2-D array, or the columns of a data frame.

Neither is ever copied whole. An array is read through views, columns are
gathered into one small block at a time.
"""

from abc import abstractmethod
from dataclasses import dataclass
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


class MemoryRows(Rows):
    """Rows in memory, all of them or a chosen few."""

    def __init__(
        self,
        n_features: int,
        details: RowDetails,
        chosen: IntArray | None = None,
        block_rows: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.n_rows = len(details.labels) if chosen is None else len(chosen)
        self.feature_names = details.feature_names
        self.positive = details.labels.positive
        self.negative = details.labels.negative
        self.n_groups = details.n_groups
        weights = details.weights
        self.weighted = weights is not None and bool((weights != 1).any())
        if weights is None:
            self.n_counted, self.total_weight = self.n_rows, float(self.n_rows)
        else:
            seen = weights if chosen is None else weights[chosen]
            self.n_counted, self.total_weight = int(np.count_nonzero(seen)), float(seen.sum())
        self._details = details
        self._chosen = chosen
        self._block_rows = block_rows or rows_in_a_block(n_features)

    @abstractmethod
    def _features(self, rows: slice | IntArray) -> FloatArray:
        """Return the features of these rows as float64."""

    @abstractmethod
    def _with_chosen(self, chosen: IntArray) -> "MemoryRows":
        """Return the same source restricted to the rows numbered in `chosen`."""

    def sum_over_rows(self, empty: S) -> S:
        for start in range(0, self.n_rows, self._block_rows):
            empty.add(self._block(start))
        return empty

    def thinned(self, step: int, rng: np.random.Generator) -> "MemoryRows":
        # One row drawn from each run of `step`: random, yet it follows any order in the data.
        rows = np.arange(0, self.n_rows - step + 1, step)
        rows += rng.integers(0, step, size=len(rows))
        return self._with_chosen(rows if self._chosen is None else self._chosen[rows])

    def _block(self, start: int) -> Block:
        stop = min(start + self._block_rows, self.n_rows)
        rows: slice | IntArray = slice(start, stop)
        if self._chosen is not None:
            rows = self._chosen[rows]
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
        self,
        features: NDArray[Any],
        details: RowDetails,
        chosen: IntArray | None = None,
        block_rows: int | None = None,
    ) -> None:
        super().__init__(features.shape[1], details, chosen, block_rows)
        self._array = features

    def _features(self, rows: slice | IntArray) -> FloatArray:
        # C order: both matrix products of a pass then run along the rows.
        return np.ascontiguousarray(self._array[rows], dtype=np.float64)

    def _with_chosen(self, chosen: IntArray) -> "ArrayRows":
        return ArrayRows(self._array, self._details, chosen, self._block_rows)


class ColumnRows(MemoryRows):
    """Rows of a data frame, kept as its columns."""

    def __init__(
        self,
        columns: tuple[NDArray[Any], ...],
        details: RowDetails,
        chosen: IntArray | None = None,
        block_rows: int | None = None,
    ) -> None:
        super().__init__(len(columns), details, chosen, block_rows)
        self._columns = columns

    def _features(self, rows: slice | IntArray) -> FloatArray:
        first = self._columns[0][rows]
        features = np.empty((len(first), len(self._columns)))
        features[:, 0] = first
        for number, column in enumerate(self._columns[1:], start=1):
            features[:, number] = column[rows]
        return features

    def _with_chosen(self, chosen: IntArray) -> "ColumnRows":
        return ColumnRows(self._columns, self._details, chosen, self._block_rows)
