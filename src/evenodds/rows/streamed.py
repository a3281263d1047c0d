"""Rows of a table that is read anew in every pass, in constant memory.

`BatchReader` turns record batches into blocks. It is frozen and can be pickled, and so can
the parts of a table: `sum_part` is all that a cluster has to run where a file can be read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenodds.rows.base import AllRows, Block, Encoding, IntArray, Rows, S, rows_in_a_block
from evenodds.rows.encoding import AsRead
from evenodds.rows.labels import Labels, Roles
from evenodds.rows.memory import MemoryRows, RowDetails, drawn
from evenodds.rows.tables import Part, Selection, Table, batches_of, filtered

if TYPE_CHECKING:
    import pyarrow as pa


Progress = Callable[[int, int], None]  # rows read in this pass, rows in all

# A peek at fewer parts than this would follow whatever order the rows are in.
PARTS_TO_PEEK_AT = 16


@dataclass(frozen=True, slots=True)
class BatchReader:
    """Record batches as blocks."""

    encoding: Encoding
    roles: Roles
    selection: Selection

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read, each once."""
        named = (*self.encoding.columns, *self.roles.columns, *self.selection.columns)
        return tuple(dict.fromkeys(named))

    def blocks(self, start: int, batch: "pa.RecordBatch") -> Iterator[Block]:
        """Return the kept rows of a batch whose first row has the number `start`."""
        kept = self.selection.kept(batch)
        numbers: IntArray | None = None
        if kept is not None:
            batch = filtered(batch, kept)
            numbers = start + np.flatnonzero(kept)
        labels, weights = self.roles.labels(batch), self.roles.weights(batch)
        groups = self.roles.groups(batch)
        first = 0
        for features in self.encoding.blocks(batch, rows_in_a_block(self.n_features)):
            rows = slice(first, first + len(features))
            yield Block(
                features=features,
                labels=labels[rows],
                weights=None if weights is None else weights[rows],
                groups=None if groups is None else groups[rows],
                start=start + first if numbers is None else int(numbers[first]),
                numbers=None if numbers is None else numbers[rows],
            )
            first = rows.stop

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.encoding.feature_names)


def sum_part(part: Part, start: int, reader: BatchReader, empty: S) -> S:
    """Fill an empty sum with the rows of one part, the first of which has the number `start`."""
    for block in blocks_of(start, part, reader):
        empty.add(block)
    return empty


def blocks_of(start: int, part: Part, reader: BatchReader) -> Iterator[Block]:
    """Return the blocks of one part, the first row of which has the number `start`."""
    for number, batch in batches_of(part, start, reader.columns):
        yield from reader.blocks(number, batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the pass over labels, weights and groups has counted."""

    n_rows: int  # kept rows
    n_counted: int
    total_weight: float
    positive_weight: float
    weighted: bool
    kept: tuple[int, ...]  # kept rows of each part
    n_anchors: int = 0  # rows left out because they are anchors
    n_lacking: int = 0  # rows left out because they lack a value


class StreamedRows(Rows):
    """Rows of a table, all of them read in every pass.

    Attributes
    ----------
    table, reader, counts
        What is read, how it is read, and what is known of it.
    """

    def __init__(
        self,
        table: Table,
        reader: BatchReader,
        counts: Counts,
        progress: Progress | None = None,
    ) -> None:
        self.table, self.reader, self.counts = table, reader, counts
        self.progress = progress
        self.held: MemoryRows | None = None
        self.costly = True
        self.encoding = None if reader.encoding.is_plain else reader.encoding
        self.known_columns = table.all_names or table.names
        self.notices = (*reader.encoding.notices, *_left_out(table, counts))
        self.n_rows, self.n_counted = counts.n_rows, counts.n_counted
        self.total_weight, self.weighted = counts.total_weight, counts.weighted
        self.feature_names = reader.encoding.feature_names
        self.n_features = len(self.feature_names)
        roles = reader.roles
        named = (roles.weight, roles.group, reader.selection.anchor)
        self.label_names = (roles.label,)
        self.role_names = tuple(name for name in named if name is not None)
        self.anchors_left_out = counts.n_anchors
        self.positive, self.negative = roles.positive, roles.negative
        self.n_groups = None if roles.group_values is None else len(roles.group_values)
        self.called, self.advice_on_missing = table.name, table.advice_on_missing

    def hold(self) -> None:
        """Keep the rows in memory from here on."""
        self.costly = False
        self.held = held_rows(self.to_memory(), self)

    def unheld(self) -> Self:
        """Return the same rows, read from the table."""
        return type(self)(self.table, self.reader, self.counts, self.progress)

    def sum_over_rows(self, empty: S) -> S:
        if self.held is not None:
            return self.held.sum_over_rows(empty)
        for block in self._blocks():
            empty.add(block)
        return empty

    def positive_weight(self) -> float:
        return self.counts.positive_weight

    def thinned(self, step: int, rng: np.random.Generator) -> Rows:
        if self.held is not None:
            return self.held.thinned(step, rng)
        chosen = drawn(self.n_rows, step, rng)
        return self.sum_over_rows(Sample(len(chosen), chosen)).rows(self)

    def peeked(self, step: int, rng: np.random.Generator) -> Rows:
        parts = list(self.table.starts())
        if self.held is not None or len(parts) < PARTS_TO_PEEK_AT:
            return self.thinned(step, rng)
        n_wanted = self.n_rows // step
        each, found = -(-n_wanted // PARTS_TO_PEEK_AT), Sample(0)
        for number in rng.permutation(len(parts)):
            found.enough = min(found.n_taken + each, n_wanted)
            start, part = parts[number]
            for block in blocks_of(start, part, self.reader):
                found.add(block)
                if found.n_taken == found.enough:
                    break
            if found.n_taken == n_wanted:
                break
        return found.rows(self)

    def as_read(self) -> Self:
        columns = self.reader.encoding.columns
        reader = replace(self.reader, encoding=AsRead(columns=columns, feature_names=columns))
        return type(self)(self.table, reader, self.counts)

    def place(self, row: int, column: int) -> str:
        return f"{self.table.place(row)}, {self.column(column)}"

    def _blocks(self) -> Iterator[Block]:
        for start, batch in self.table.batches(self.reader.columns):
            yield from self.reader.blocks(start, batch)
            if self.progress is not None:
                self.progress(start + batch.num_rows, self.table.n_rows)

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the progress bar, which belongs to a terminal."""
        return {**self.__dict__, "progress": None}


def _left_out(table: Table, counts: Counts) -> tuple[str, ...]:
    """Say which rows were left out, and why."""
    notices = []
    if counts.n_anchors:
        plural = "s are anchors and were" if counts.n_anchors > 1 else " is an anchor and was"
        notices.append(f"{counts.n_anchors:,} row{plural} left out of the fit.")
    return (*notices, *dropped(counts.n_lacking, table.n_rows))


def dropped(n_dropped: int, n_rows: int) -> tuple[str, ...]:
    """Say how many rows were dropped, if any were."""
    if not n_dropped:
        return ()
    verb = "lack a value and were" if n_dropped > 1 else "lacks a value and was"
    return (f"{n_dropped:,} of {n_rows:,} rows {verb} dropped.",)


class Sample(AllRows):
    """Rows taken out of one block after another: those chosen, or all until there are enough."""

    def __init__(self, enough: int, chosen: IntArray | None = None) -> None:
        super().__init__()
        self.enough, self.chosen = enough, chosen
        self.seen = self.n_taken = 0

    def add(self, block: Block) -> None:
        n_rows = len(block.labels)
        rows: slice | IntArray = slice(0, self.enough - self.n_taken)
        if self.chosen is not None:
            low, high = np.searchsorted(self.chosen, [self.seen, self.seen + n_rows])
            rows = self.chosen[low:high] - self.seen
        self.seen += n_rows
        self.blocks.append(block.taken(rows))
        self.n_taken += len(self.blocks[-1].labels)

    def rows(self, of: Rows) -> MemoryRows:
        """Return what was taken as rows in memory."""
        return held_rows(Block.joined(self.blocks), of)


def held_rows(block: Block, of: Rows) -> MemoryRows:
    """Return rows of a source, which this block holds, as rows in memory."""
    labels = Labels(block.labels, 1.0, of.positive, of.negative, as_is=True)
    details = RowDetails(labels, block.weights, block.groups, of.n_groups, of.feature_names)
    return MemoryRows(block.features, details)
