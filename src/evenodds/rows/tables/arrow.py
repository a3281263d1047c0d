"""Arrow files (Feather) and Arrow tables in memory: batches as they were written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.rows.tables.base import Counting, Part, Stamp, Table, rows_in_a_batch

if TYPE_CHECKING:
    import pyarrow as pa

PART_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class ArrowPart:
    """A run of record batches of one Arrow file."""

    stamp: Stamp
    first: int
    last: int  # one past the run
    n_rows: int
    source: str  # the file it came from; not the temporary one it may have been copied to

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read these columns, in this order."""
        with self.stamp.guarding("feather"), _open(self.stamp.path, columns) as file:
            for number in range(self.first, self.last):
                batch = file.get_batch(number)
                batch.validate(full=True)
                yield from _cut(batch.select(list(columns)), len(columns))


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """A table already in memory."""

    data: "pa.Table"
    source: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.data.num_rows)

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Return these columns, in this order."""
        chosen = self.data.select(list(columns))
        yield from chosen.to_batches(max_chunksize=rows_in_a_batch(len(columns)))


def open_arrow(path: Path, parts: Sequence[tuple[str, int]] = ()) -> Table:
    """Read the names, types and batches of an Arrow file.

    Parameters
    ----------
    path : Path
        The file.
    parts : sequence of (source, number of batches), optional
        Which files its batches were copied from, in order. Default: itself.
    """
    stamp = Stamp.of(path)
    with stamp.guarding("feather"):
        with _open(path) as file:
            schema = file.schema
        with _open(path, schema.names[:1]) as file:  # one column will do to count rows
            counts = [file.get_batch(i).num_rows for i in range(file.num_record_batches)]
    origins = parts or [(str(path), len(counts))]
    runs: list[Part] = []
    first = 0
    for source, n_batches in origins:
        runs.extend(_runs(stamp, counts, first, first + n_batches, source))
        first += n_batches
    return Table(str(path), schema, tuple(runs))


def hold(data: "pa.Table", name: str, counted: Counting = "from 0") -> Table:
    """Return a table in memory as one that can be read like any other."""
    return Table(name, data.schema, (MemoryPart(data, name),), counted)


def _runs(
    stamp: Stamp, counts: Sequence[int], first: int, last: int, source: str
) -> Iterator[Part]:
    start, n_rows = first, 0
    for number in range(first, last):
        n_rows += counts[number]
        if n_rows >= PART_ROWS or number == last - 1:
            yield ArrowPart(stamp, start, number + 1, n_rows, source)
            start, n_rows = number + 1, 0


def _open(path: Path, columns: Sequence[str] | None = None) -> Any:
    from pyarrow import ipc

    if columns is None:
        return ipc.open_file(str(path))
    with ipc.open_file(str(path)) as file:
        fields = [file.schema.get_field_index(name) for name in columns]
    return ipc.open_file(str(path), options=ipc.IpcReadOptions(included_fields=fields))


def _cut(batch: "pa.RecordBatch", n_columns: int) -> Iterator["pa.RecordBatch"]:
    """Cut a long batch into several, without a copy."""
    size = rows_in_a_batch(n_columns)
    for start in range(0, batch.num_rows, size):
        yield batch.slice(start, size)
