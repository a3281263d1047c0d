"""A table: named columns that come as record batches, as often as asked.

A table is made of parts, in order. A part is small, can be pickled, and reads itself: a
cluster can send parts to where the files are. Nothing is held between two passes, so a
file that changes in between would mix two data sets; a stamp on every part refuses that.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar

from evenodds.errors import InputError
from evenodds.validation import join_quoted, near_misses

if TYPE_CHECKING:
    import pyarrow as pa

# A record batch of a wide table is cut so that it takes about this much memory.
BATCH_BYTES = 12 * 1024 * 1024
MOST_BATCH_ROWS = 65_536
LEAST_BATCH_ROWS = 1024


# How messages count rows: as an editor does in a file, as Python does in a frame.
Counting = Literal["from 0", "from 1", "from 1 after the header"]


class Part(Protocol):
    """A run of rows that can be read by itself, wherever its source can be."""

    @property
    def source(self) -> str:
        """What messages call the file or frame it belongs to."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read these columns, in this order."""


class Survey(Protocol):
    """What one pass over a table finds out: starts empty, takes batches, merges with its like.

    As with a sum over rows, a cluster can fill copies of an empty one where the batches are.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns to read, each once."""

    def add(self, start: int, batch: "pa.RecordBatch") -> None:
        """Look at a batch whose first row has the number `start`."""

    def merge(self, other: Self) -> None:
        """Add what another copy has found in the batches that follow."""


V = TypeVar("V", bound=Survey)


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file looked like when it was first opened."""

    path: Path
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        """Look at a file; refuse one that is not there."""
        try:
            found = path.stat()
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from None
        return cls(path, found.st_size, found.st_mtime_ns)

    def check(self) -> None:
        """Refuse a file that is not the one first opened."""
        if Stamp.of(self.path) != self:
            raise InputError(
                f"{self.path} has changed while it was being read: the numbers would mix two "
                "versions of it. Run again when nothing writes to it."
            )

    @contextmanager
    def guarding(self, kind: str) -> Iterator[None]:
        """Check before and after a pass, and say which file it is when reading fails."""
        import pyarrow as pa

        self.check()
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            self.check()
            raise InputError(unreadable(self.path, kind, error)) from None
        self.check()


@dataclass(frozen=True)
class Table:
    """Named columns with their types, and the parts to read them from."""

    name: str
    schema: "pa.Schema"
    parts: tuple[Part, ...]
    counted: Counting = "from 1"
    all_names: tuple[str, ...] = ()  # where only some columns were kept
    keeps: Any = field(default=None, repr=False, compare=False)  # a temporary file, while in use

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(part.n_rows for part in self.parts)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.schema.names)

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, "pa.RecordBatch"]]:
        """Read these columns: the number of the first row, and the batch."""
        for start, part in self.starts():
            number = start
            for batch in batches_of(part, columns):
                yield number, batch
                number += batch.num_rows

    def surveyed(self, empty: V) -> V:
        """Fill an empty survey with every batch, and return it."""
        for start, batch in self.batches(empty.columns):
            empty.add(start, batch)
        return empty

    def starts(self) -> Iterator[tuple[int, Part]]:
        """Return the parts with the numbers of their first rows."""
        start = 0
        for part in self.parts:
            yield start, part
            start += part.n_rows

    @property
    def advice_on_missing(self) -> str:
        """How to have rows with missing values dropped, as the end of a sentence."""
        option = "" if self.counted == "from 0" else ", --missing drop"
        return f", or have such rows dropped (missing='drop'{option})"

    def check_column(self, name: str) -> None:
        """Refuse a column that is not there, and name the near misses."""
        if name not in self.names:
            raise InputError(f"{self.name} has no column {name!r}; {near_misses(name, self.names)}")

    def place(self, row: int) -> str:
        """Say where a row is, the way its user would count."""
        first = 0
        source = self.name
        for start, part in self.starts():
            if part.source != source:
                source, first = part.source, start
            if row < start + part.n_rows:
                break
        if self.counted == "from 0":
            return f"row {row}"
        return f"row {row - first + 1} of {source} (counted {self.counted})"

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the temporary file's keeper, which stays where it was made."""
        return {**self.__dict__, "keeps": None}


def batches_of(part: Part, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
    """Read these columns of a part, and check that all of its rows came."""
    n_rows = 0
    for batch in part.batches(columns):
        yield batch
        n_rows += batch.num_rows
    if n_rows != part.n_rows:
        raise InputError(
            f"{part.source} gave {n_rows} rows where {part.n_rows} were expected: it is damaged, "
            "or has changed while it was being read."
        )


def rows_in_a_batch(n_columns: int) -> int:
    """Return how many rows to read at a time."""
    fitting = BATCH_BYTES // (8 * max(n_columns, 1))
    return max(min(fitting, MOST_BATCH_ROWS), LEAST_BATCH_ROWS)


def unreadable(path: Path, kind: str, error: Exception) -> str:
    """Say that a file cannot be read, and why."""
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return f"{path} cannot be read as {kind}: {reason}."


def refuse_repeated(names: Sequence[str], source: object) -> None:
    """Refuse two columns of one name: nobody could say which is meant."""
    seen: set[str] = set()
    repeated = sorted({name for name in names if name in seen or seen.add(name)})  # type: ignore[func-returns-value]
    if repeated:
        raise InputError(f"{source} has more than one column named {join_quoted(repeated)}.")
