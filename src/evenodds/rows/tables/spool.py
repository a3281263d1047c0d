"""Batches kept to be read again: in memory while they are few, else in a temporary file."""

import tempfile
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from evenodds.errors import InputError
from evenodds.files import TemporaryFolder
from evenodds.rows.tables.arrow import MemoryPart, open_arrow
from evenodds.rows.tables.base import Counting, Table

if TYPE_CHECKING:
    import pyarrow as pa

# What is smaller than this is kept in memory.
HELD_BYTES = 64 * 1024 * 1024


class Spool:
    """Takes batches of one schema, source after source; gives a table to read them from."""

    def __init__(self) -> None:
        self._held: list[tuple[str, pa.RecordBatch]] = []
        self._bytes = 0
        self._folder: TemporaryFolder | None = None
        self._writer: Any = None
        self._written: list[tuple[str, int]] = []  # source, number of batches

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._close()
        if kind is not None and self._folder is not None:
            self._folder.remove()

    def add(self, source: str, batch: "pa.RecordBatch") -> None:
        """Keep a batch."""
        if self._writer is not None:
            self._write(source, batch)
            return
        self._held.append((source, batch))
        self._bytes += batch.nbytes
        if self._bytes > HELD_BYTES:
            self._spill()

    def table(self, name: str, counted: Counting) -> Table:
        """Return everything kept as a table; a temporary file goes when the table goes."""
        import pyarrow as pa

        if self._folder is None:
            sources = dict.fromkeys(source for source, _ in self._held)
            parts = tuple(
                MemoryPart(pa.Table.from_batches([b for s, b in self._held if s == source]), source)
                for source in sources
            )
            return Table(name, self._held[0][1].schema, parts, counted)
        self._close()
        spooled = open_arrow(self._path, self._written)
        return Table(name, spooled.schema, spooled.parts, counted, keeps=self._folder)

    @property
    def _path(self) -> Path:
        return (self._folder.path if self._folder else Path()) / "spool.arrow"

    def _spill(self) -> None:
        """Move what is held to a temporary file."""
        import pyarrow as pa

        self._folder = TemporaryFolder()
        self._writer = pa.ipc.new_file(str(self._path), self._held[0][1].schema)
        for source, batch in self._held:
            self._write(source, batch)
        self._held.clear()

    def _write(self, source: str, batch: "pa.RecordBatch") -> None:
        try:
            self._writer.write_batch(batch)
        except OSError as error:
            raise _no_room(error) from None
        if not self._written or self._written[-1][0] != source:
            self._written.append((source, 0))
        self._written[-1] = (source, self._written[-1][1] + 1)

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.close()
            except OSError as error:
                raise _no_room(error) from None


def _no_room(error: OSError) -> InputError:
    return InputError(
        f"a temporary copy in {tempfile.gettempdir()} failed: {str(error).rstrip('.')}. Set TMPDIR "
        "to a folder with room for the table, or convert it to Parquet, which needs no copy."
    )
