"""Rows that Dask's workers sum over."""

from collections.abc import Sequence

import numpy as np

from evenodds.rows.base import IntArray, Rows, S
from evenodds.rows.cluster.table import DaskTable, reading_there
from evenodds.rows.streamed import (
    PARTS_TO_PEEK_AT,
    BatchReader,
    Counts,
    Gathered,
    Progress,
    StreamedRows,
    blocks_of,
    sum_part,
)
from evenodds.rows.tables.base import Part


class DaskRows(StreamedRows):
    """Rows of a table that are summed where they are read; only sums and samples travel."""

    table: DaskTable

    def __init__(
        self,
        table: DaskTable,
        reader: BatchReader,
        counts: Counts,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(table, reader, counts, progress)
        if not table.named:
            self.feature_names = None
        # Where each run of parts begins among the kept rows.
        kept = [sum(counts.kept[run]) for run in table.runs]
        self._firsts = np.concatenate([[0], np.cumsum(kept)])

    def hold(self) -> None:
        raise TypeError("the rows of a Dask table stay with its workers")

    def sum_over_rows(self, empty: S) -> S:
        total: S = self.table.reduced(add_up, (self.reader, empty))
        if self.progress is not None:
            self.progress(self.table.n_rows, self.table.n_rows)
        return total

    def thinned(self, step: int, rng: np.random.Generator) -> Rows:
        chosen = self.drawn(step, rng)
        places = np.searchsorted(chosen, self._firsts)
        of_runs = {
            number: (chosen[places[number] : places[number + 1]] - first,)
            for number, first in enumerate(self._firsts[:-1])
            if places[number + 1] > places[number]
        }
        return self.table.reduced(gather, self.reader, of_runs).rows(self)

    def peeked(self, step: int, rng: np.random.Generator) -> Rows:
        kept = np.diff(self._firsts)
        if len(kept) < PARTS_TO_PEEK_AT:
            return self.thinned(step, rng)
        n_wanted = self.n_rows // step
        each = -(-n_wanted // PARTS_TO_PEEK_AT)
        of_runs: dict[int, tuple[int]] = {}
        for number in rng.permutation(len(kept)):
            n_taken = int(min(kept[number], each, n_wanted))
            if n_taken:
                of_runs[int(number)] = (n_taken,)
                n_wanted -= n_taken
        return self.table.reduced(gather_beginning, self.reader, of_runs).rows(self)


def add_up(shared: tuple[BatchReader, S], parts: Sequence[Part], start: int) -> S:
    """Fill an empty sum with a run of parts."""
    reader, total = shared
    with reading_there(parts):
        for part in parts:
            total = sum_part(part, start, reader, total)
            start += part.n_rows
    return total


def gather(reader: BatchReader, parts: Sequence[Part], start: int, chosen: IntArray) -> Gathered:
    """Copy the chosen rows out of a run of parts, counted among its kept rows."""
    return add_up((reader, Gathered(reader.n_features, len(chosen), chosen)), parts, start)


def gather_beginning(
    reader: BatchReader, parts: Sequence[Part], start: int, n_wanted: int
) -> Gathered:
    """Copy as many rows as wanted from the beginning of a run of parts."""
    found = Gathered(reader.n_features, n_wanted)
    with reading_there(parts):
        for part in parts:
            for block in blocks_of(start, part, reader):
                found.add(block)
                if found.n_taken == n_wanted:
                    return found
            start += part.n_rows
    return found
