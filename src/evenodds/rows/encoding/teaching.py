"""A bounded number of rows that stand for a table while an encoding learns from them.

The rows whose numbers have the smallest hashes, so that the choice depends neither on how
the table is cut into batches nor on whether it is in memory; and besides, the rows where a
column of numbers is smallest or largest, and one row for each value of columns that are
categories, so that ranges and levels are exact.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.rows.encoding.levels import MOST_LEVELS
from evenodds.rows.selection import Selection
from evenodds.rows.tables.base import Table
from evenodds.rows.values import is_missing_in, kind_of, numbers

if TYPE_CHECKING:
    import pyarrow as pa

# With fewer rows than this an encoding learns from all of them.
TEACHING_ROWS = 50_000


def teaching_rows(
    table: Table, columns: Sequence[str], selection: Selection, categories: Collection[str] = ()
) -> "pa.Table":
    """Return rows to learn from, in the order of the table; rows with holes teach nothing."""
    found = _Chosen(table, columns, categories)
    for start, whole in table.batches(tuple(dict.fromkeys((*columns, *selection.columns)))):
        kept = selection.kept(whole)
        complete = np.ones(whole.num_rows, dtype=bool) if kept is None else kept
        for name in columns:
            complete &= ~is_missing_in(whole.column(name))
        rows = np.flatnonzero(complete)
        if len(rows):
            found.look(whole.select(list(columns)), rows, start + rows)
    return found.table()


class _Chosen:
    """The rows chosen so far, by number."""

    def __init__(self, table: Table, columns: Sequence[str], categories: Collection[str]) -> None:
        kinds = {name: kind_of(table.schema.field(name).type) for name in columns}
        self._schema = table
        self._numeric = [name for name in columns if kinds[name] == "number"]
        self._categories = [name for name in self._numeric if name in categories]
        self._low = dict.fromkeys(self._numeric, np.inf)
        self._high = dict.fromkeys(self._numeric, -np.inf)
        self._extreme: dict[tuple[str, str], tuple[int, pa.RecordBatch]] = {}
        self._levels: dict[str, set[float]] = {name: set() for name in self._categories}
        self._special: list[tuple[int, pa.RecordBatch]] = []
        self._taken: list[pa.RecordBatch] = []
        self._numbers: list[NDArray[np.int64]] = []
        self._limit = np.uint64(2**64 - 1)

    def look(
        self, batch: "pa.RecordBatch", rows: NDArray[np.intp], numbered: NDArray[np.int64]
    ) -> None:
        """Choose among complete rows of a batch, given their places and numbers."""
        for name in self._numeric:
            values = np.asarray(numbers(batch.column(name)), dtype=np.float64)[rows]
            self._widen(name, values, batch, rows, numbered)
        hashed = _hash(numbered)
        chosen = hashed <= self._limit
        self._taken.append(batch.take(_indices(rows[chosen])))
        self._numbers.append(numbered[chosen])
        if sum(map(len, self._numbers)) > 2 * TEACHING_ROWS:
            self._prune()

    def _widen(
        self,
        name: str,
        values: NDArray[np.float64],
        batch: "pa.RecordBatch",
        rows: NDArray[np.intp],
        numbered: NDArray[np.int64],
    ) -> None:
        for end, place in (("low", int(np.argmin(values))), ("high", int(np.argmax(values)))):
            value = float(values[place])
            if value < self._low[name] if end == "low" else value > self._high[name]:
                self._extreme[name, end] = int(numbered[place]), batch.slice(int(rows[place]), 1)
        self._low[name] = min(self._low[name], float(values.min()))
        self._high[name] = max(self._high[name], float(values.max()))
        if name in self._categories:
            distinct, places = np.unique(values, return_index=True)
            for value, place in zip(distinct.tolist(), places.tolist(), strict=True):
                if value not in self._levels[name]:
                    self._levels[name].add(value)
                    self._special.append((int(numbered[place]), batch.slice(int(rows[place]), 1)))
            if len(self._levels[name]) > MOST_LEVELS:
                raise InputError(
                    f"column {name!r} of {self._schema.name} holds more than {MOST_LEVELS} "
                    "different numbers: too many for one column each. Leave out the C()."
                )

    def _prune(self) -> None:
        """Keep the rows with the smallest hashes."""
        numbered = np.concatenate(self._numbers)
        hashed = _hash(numbered)
        smallest = np.sort(np.argpartition(hashed, TEACHING_ROWS)[:TEACHING_ROWS])
        self._limit = hashed[smallest].max()
        joined = _joined(self._taken)
        self._taken = [joined.take(_indices(smallest))]
        self._numbers = [numbered[smallest]]

    def table(self) -> "pa.Table":
        """Return all chosen rows once, in the order of their numbers."""
        if not self._numbers:
            raise InputError(f"{self._schema.name} has no row without a missing value.")
        if sum(map(len, self._numbers)) > TEACHING_ROWS:
            self._prune()
        special = [*self._special, *self._extreme.values()]
        numbered = np.concatenate([*self._numbers, np.array([n for n, _ in special], np.int64)])
        _, order = np.unique(numbered, return_index=True)
        import pyarrow as pa  # noqa: PLC0415 - only tables need it

        joined = pa.Table.from_batches([*self._taken, *(batch for _, batch in special)])
        return joined.take(_indices(order))


def _joined(batches: "list[pa.RecordBatch]") -> Any:
    import pyarrow as pa  # noqa: PLC0415 - only tables need it

    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _indices(places: NDArray[Any]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - only tables need it

    return pa.array(places, pa.int64())


def _hash(numbered: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Scatter row numbers evenly over 64 bits (the finaliser of splitmix64)."""
    mixed = numbered.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)
