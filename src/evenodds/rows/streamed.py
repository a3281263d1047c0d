"""Rows of a table that is read anew in every pass, in constant memory.

`BatchReader` turns record batches into blocks. It is frozen and can be pickled, and so can
the parts of a table: `sum_part` is all that a cluster has to run where a file can be read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenodds.rows.base import Block, Encoding, IntArray, Rows, S, rows_in_a_block
from evenodds.rows.encoding import AsRead
from evenodds.rows.labels import Labels, Roles
from evenodds.rows.memory import ArrayRows, RowDetails
from evenodds.rows.tables import Part, Selection, Table, batches_of, filtered

if TYPE_CHECKING:
    import pyarrow as pa

    from evenodds.validation import FloatArray


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
    for batch in batches_of(part, reader.columns):
        for block in reader.blocks(start, batch):
            empty.add(block)
        start += batch.num_rows
    return empty


def blocks_of(start: int, part: Part, reader: BatchReader) -> Iterator[Block]:
    """Return the blocks of one part, the first row of which has the number `start`."""
    for batch in part.batches(reader.columns):
        yield from reader.blocks(start, batch)
        start += batch.num_rows


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
        self.held: ArrayRows | None = None
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
        self.held = self._gathered(self._blocks(), Gathered(self.n_features, self.n_rows))

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
        chosen = self.drawn(step, rng)
        return self._gathered(self._blocks(), Gathered(self.n_features, len(chosen), chosen))

    def peeked(self, step: int, rng: np.random.Generator) -> Rows:
        parts = list(self.table.starts())
        if self.held is not None or len(parts) < PARTS_TO_PEEK_AT:
            return self.thinned(step, rng)
        n_wanted = self.n_rows // step
        each, found = -(-n_wanted // PARTS_TO_PEEK_AT), Gathered(self.n_features, n_wanted)
        for number in rng.permutation(len(parts)):
            enough = min(found.n_taken + each, n_wanted)
            start, part = parts[number]
            for block in blocks_of(start, part, self.reader):
                found.add(block, enough)
                if found.n_taken == enough:
                    break
            if found.n_taken == n_wanted:
                break
        return found.rows(self)

    def as_read(self) -> Self:
        reader = replace(self.reader, encoding=AsRead(self.reader.encoding.columns))
        return type(self)(self.table, reader, self.counts)

    def drawn(self, step: int, rng: np.random.Generator) -> IntArray:
        """Return numbers among the kept rows: the very ones that rows in memory would give."""
        chosen = np.arange(0, self.n_rows - step + 1, step)
        chosen += rng.integers(0, step, size=len(chosen))
        return chosen

    def place(self, row: int, column: int) -> str:
        return f"{self.table.place(row)}, {self.column(column)}"

    def _gathered(self, blocks: Iterator[Block], found: "Gathered") -> ArrayRows:
        """Return rows of these blocks as rows in memory."""
        for block in blocks:
            found.add(block)
        return found.rows(self)

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


class Gathered:
    """Rows copied out of one block after another, into room made beforehand."""

    def __init__(self, n_features: int, n_rows: int, chosen: IntArray | None = None) -> None:
        self.chosen = chosen
        self.seen, self.n_taken = 0, 0
        self.features = np.empty((n_rows, n_features))
        self.labels = np.empty(n_rows)
        self.weights: FloatArray | None = None
        self.groups: IntArray | None = None

    def add(self, block: Block, enough: int | None = None) -> None:
        """Copy the chosen rows of a block, or of all its rows until there are enough."""
        n_rows = len(block.labels)
        enough = len(self.labels) if enough is None else enough
        rows: slice | IntArray = slice(0, enough - self.n_taken)
        if self.chosen is not None:
            low, high = np.searchsorted(self.chosen, [self.seen, self.seen + n_rows])
            rows = self.chosen[low:high] - self.seen
        self.seen += n_rows
        labels = block.labels[rows]
        here = slice(self.n_taken, self.n_taken + len(labels))
        self.n_taken = here.stop
        self.labels[here] = labels
        self.features[here] = block.features[rows]
        if block.weights is not None:
            self.weights = np.empty_like(self.labels) if self.weights is None else self.weights
            self.weights[here] = block.weights[rows]
        if block.groups is not None:
            empty = np.empty(len(self.labels), dtype=np.int64)
            self.groups = empty if self.groups is None else self.groups
            self.groups[here] = block.groups[rows]

    def merge(self, other: Self) -> None:
        """Append the rows that another copy has taken."""
        mine, others = slice(0, self.n_taken), slice(0, other.n_taken)
        for name in ("features", "labels", "weights", "groups"):
            values = getattr(self, name)
            if values is not None:
                joined = np.concatenate([values[mine], getattr(other, name)[others]])
                setattr(self, name, joined)
        self.n_taken += other.n_taken

    def rows(self, of: Rows) -> ArrayRows:
        """Return what was gathered as rows in memory."""
        taken = slice(0, self.n_taken)
        details = RowDetails(
            labels=Labels(self.labels[taken], 1.0, of.positive, of.negative, as_is=True),
            weights=None if self.weights is None else self.weights[taken],
            groups=None if self.groups is None else self.groups[taken],
            n_groups=of.n_groups,
            feature_names=of.feature_names,
        )
        return ArrayRows(self.features[taken], details)
