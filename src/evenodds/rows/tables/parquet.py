"""Parquet files: only the columns asked for are read, one run of row groups after another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenodds.rows.tables.base import Part, Stamp, Table, rows_in_a_batch

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

# Small row groups are read together, so that opening the file costs little beside them.
PART_ROWS = 500_000
# Read a column in pieces of this size: whole column chunks would fill memory.
BUFFER_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """A run of row groups of one file."""

    stamp: Stamp
    row_groups: tuple[int, ...]
    n_rows: int

    @property
    def source(self) -> str:
        """Path of the file."""
        return str(self.stamp.path)

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read these columns, in this order."""
        with self.stamp.guarding("parquet"):
            if not columns:
                yield _rows_without_columns(self.n_rows)
                return
            with _open(self.stamp.path) as file:
                for batch in file.iter_batches(
                    batch_size=rows_in_a_batch(len(columns)),
                    row_groups=list(self.row_groups),
                    columns=list(columns),
                    use_threads=False,
                ):
                    batch.validate(full=True)
                    yield batch.select(list(columns))


def open_parquet(path: Path) -> Table:
    """Read the names, types and row groups of a Parquet file."""
    stamp = Stamp.of(path)
    with stamp.guarding("parquet"), _open(path) as file:
        schema = file.schema_arrow
        counts = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    return Table(str(path), schema, tuple(_runs(stamp, counts)))


def _runs(stamp: Stamp, counts: Sequence[int]) -> Iterator[Part]:
    """Put consecutive row groups together until there are enough rows."""
    run: list[int] = []
    n_rows = 0
    for number, count in enumerate(counts):
        run.append(number)
        n_rows += count
        if n_rows >= PART_ROWS or number == len(counts) - 1:
            yield ParquetPart(stamp, tuple(run), n_rows)
            run, n_rows = [], 0


def _open(path: Path) -> "parquet.ParquetFile":
    from pyarrow import parquet

    return parquet.ParquetFile(
        path, buffer_size=BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
    )


def _rows_without_columns(n_rows: int) -> "pa.RecordBatch":
    import pyarrow as pa

    return pa.record_batch({"": pa.nulls(n_rows)}).select([])
