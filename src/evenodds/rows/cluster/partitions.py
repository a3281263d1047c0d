"""A partition of Dask collections as a part of a table, on the worker that has it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenodds.errors import InputError
from evenodds.rows.frames import as_arrow, as_column
from evenodds.rows.tables.base import rows_in_a_batch
from evenodds.rows.values import kind_of, plain_array
from evenodds.validation import as_array

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Partition:
    """Some rows of X, and of labels and the like beside them.

    Attributes
    ----------
    features : array or data frame
        Columns of an array are called by their numbers.
    beside : list of array or series
        One for each of the last columns of the schema.
    schema : Schema
        All columns, in the types announced for them.
    n_rows : int
        How many rows there were when they were counted.
    """

    features: Any
    beside: list[Any]
    schema: "pa.Schema"
    n_rows: int
    source: str = "X"

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Return these columns, in this order."""
        import pyarrow as pa

        n_rows = len(self.features)
        others = self.schema.names[len(self.schema.names) - len(self.beside) :]
        beside = dict(zip(others, self.beside, strict=True))
        for name, values in beside.items():
            if len(values) != n_rows:
                raise InputError(
                    f"a partition of X has {n_rows} rows but that of {name} has {len(values)}: cut "
                    "both at the same rows."
                )
        own = [name for name in columns if name not in beside]
        size = rows_in_a_batch(len(columns))
        for start in range(0, max(n_rows, 1), size):
            rows = slice(start, start + size)
            found = self._features(own, rows)
            found |= {name: as_column(_cut(values, rows), name) for name, values in beside.items()}
            arrays = [self._as_announced(name, found[name]) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _features(self, names: Sequence[str], rows: slice) -> "dict[str, pa.Array]":
        """Return some rows of columns of X."""
        import pyarrow as pa

        if isinstance(self.features, np.ndarray):
            block = as_array(self.features[rows])
            columns = {n: np.ascontiguousarray(block[:, int(n)]) for n in names}
            return {n: pa.array(column, from_pandas=True) for n, column in columns.items()}
        labels = {str(label): label for label in self.features.columns}
        table = as_arrow(_cut(self.features[[labels[n] for n in names]], rows), "X")
        if table is None:
            raise TypeError(f"{type(self.features).__name__} is no data frame")
        return {name: table.column(name).combine_chunks() for name in names}

    def _as_announced(self, name: str, column: "pa.Array") -> "pa.Array":
        """Return a column in the type announced for it, if it is of that kind."""
        announced, column = self.schema.field(name).type, plain_array(column)
        if column.type == announced:
            return column
        if column.null_count < len(column) and kind_of(column.type) != kind_of(announced):
            raise InputError(
                f"column {name!r} was announced as {announced} but a partition of it holds "
                f"{column.type} values: give it one type, with astype."
            )
        return column.cast(announced)


def _cut(values: Any, rows: slice) -> Any:
    """Return rows by their places, of an array or of pandas."""
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


@dataclass
class Lengths:
    """How many rows each partition has, in order."""

    found: list[int] = field(default_factory=list)

    def merge(self, other: Self) -> None:
        self.found += other.found


def count_rows(_: None, partition: Any) -> Lengths:
    """Count the rows of one partition."""
    return Lengths([len(partition)])
