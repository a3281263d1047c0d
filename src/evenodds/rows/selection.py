"""Which rows of a table take part: not its anchors, and perhaps not those with holes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import AnchorError
from evenodds.rows.tables.base import Table
from evenodds.rows.values import is_missing_in, kind_of, numbers

if TYPE_CHECKING:
    import pyarrow as pa

# How a column marks anchors: by true and false, or by the posterior an expert states.
Marks = Literal["true or false", "posterior"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows of a batch are kept."""

    anchor: str | None = None
    marks: Marks = "true or false"
    complete: tuple[str, ...] = ()  # rows that lack a value of these are left out

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read."""
        return self.complete if self.anchor is None else (*self.complete, self.anchor)

    def anchors(self, batch: "pa.RecordBatch") -> NDArray[np.bool_]:
        """Return which rows are anchors."""
        if self.anchor is None:
            return np.zeros(batch.num_rows, dtype=bool)
        column = batch.column(self.anchor)
        if self.marks == "posterior":
            return ~is_missing_in(column)
        return np.asarray(numbers(column) == 1)

    def lacking(self, batch: "pa.RecordBatch") -> NDArray[np.bool_]:
        """Return which rows are left out because they lack a value."""
        lacking = np.zeros(batch.num_rows, dtype=bool)
        for name in self.complete:
            lacking |= is_missing_in(batch.column(name))
        return lacking

    def kept(self, batch: "pa.RecordBatch") -> NDArray[np.bool_] | None:
        """Return which rows take part, or None for all of them."""
        if self.anchor is None and not self.complete:
            return None
        return ~(self.anchors(batch) | self.lacking(batch))

    def apply(self, batch: "pa.RecordBatch") -> "pa.RecordBatch":
        """Return the rows of a batch that take part."""
        kept = self.kept(batch)
        return batch if kept is None else filtered(batch, kept)


def filtered(batch: "pa.RecordBatch", kept: NDArray[np.bool_]) -> "pa.RecordBatch":
    """Return the kept rows of a batch, or the very same batch if these are all."""
    import pyarrow as pa

    return batch if kept.all() else batch.filter(pa.array(kept))


def read_marks(table: Table, name: str) -> Marks:
    """Find out how a column marks anchors; a column of zeros and ones is true and false."""
    import pyarrow as pa

    column = table.schema.field(name).type
    if pa.types.is_boolean(column):
        return "true or false"
    if kind_of(column) != "number":
        raise AnchorError(
            f"column {name!r} holds {column} values: mark anchors by true and false, or by "
            "the stated posterior (empty elsewhere)."
        )
    return "posterior" if table.surveyed(OtherThanZeroOne(name)).found else "true or false"


class OtherThanZeroOne:
    """Whether a column holds any number beside 0 and 1."""

    def __init__(self, name: str) -> None:
        self.columns = (name,)
        self.found = False

    def add(self, start: int, batch: "pa.RecordBatch") -> None:
        values = batch.column(0).drop_null().unique().to_pylist()
        self.found = self.found or not set(values) <= {0, 1}

    def merge(self, other: Self) -> None:
        self.found = self.found or other.found
