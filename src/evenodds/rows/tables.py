"""Tables: named columns that come as record batches, as often as asked, and their values.

A table is made of parts, in order. A part is small, can be pickled, and reads itself: a
cluster can send parts to where the files are. Nothing is held between two passes, so a
file that changes in between would mix two data sets; a stamp on every part refuses that.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import AnchorError, InputError
from evenodds.validation import check_column, join_quoted, near_misses, refuse_inexact

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet


Kind = Literal["number", "text", "date", "other"]


def kind_of(column: "pa.DataType") -> Kind:
    """Tell numbers, text, dates and the rest apart."""
    from pyarrow import types

    if types.is_dictionary(column):
        column = column.value_type
    if types.is_boolean(column) or types.is_integer(column) or types.is_floating(column):
        return "number"
    if types.is_decimal(column) or types.is_null(column):
        return "number"
    if types.is_string(column) or types.is_large_string(column) or types.is_string_view(column):
        return "text"
    return "date" if types.is_temporal(column) else "other"


def numbers(column: "pa.Array") -> NDArray[Any]:
    """Return a column of numbers, nan where a value is missing; no copy where none is needed."""
    import pyarrow as pa

    column = plain_array(column)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    return as_numpy(column)


def as_numpy(column: Any) -> NDArray[Any]:
    """Return a column as an array, nan where a number is missing; no copy where none is needed.

    PyArrow's own way imports pandas wherever that is installed, a quarter of a small job.
    """
    import pyarrow as pa
    from pyarrow import types

    if isinstance(column, pa.ChunkedArray) and column.num_chunks == 1:
        column = column.chunk(0)
    if isinstance(column, pa.Array) and len(column) and not column.null_count:
        if types.is_boolean(column.type):
            bits = np.frombuffer(column.buffers()[1], dtype=np.uint8)
            end = column.offset + len(column)
            return np.unpackbits(bits, count=end, bitorder="little")[column.offset :].view(bool)
        if column.type in (pa.float64(), pa.float32()) or types.is_integer(column.type):
            return np.from_dlpack(column)
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def text_array(values: Sequence[str]) -> "pa.Array":
    """Return text as a column; pa.array would import pandas, as `as_numpy` says."""
    import pyarrow as pa

    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    parts = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), parts)


def measurements(column: "pa.Array", name: str, called: str) -> NDArray[Any]:
    """Return a column of numbers as features; refuse whole numbers that would be rounded."""
    from pyarrow import compute, types

    plain = plain_array(column)
    whole = types.is_decimal(plain.type) and plain.type.scale <= 0
    if whole or types.is_int64(plain.type) or types.is_uint64(plain.type):
        ends = compute.min_max(plain).as_py()
        refuse_inexact(ends["min"] or 0, ends["max"] or 0, f"column {name!r} of {called}")
    return numbers(plain)


def texts(column: "pa.Array") -> "pa.Array":
    """Return a column of text in one type, however it is stored."""
    import pyarrow as pa

    return plain_array(column).cast(pa.string())


def plain_array(column: "pa.Array") -> "pa.Array":
    """Return a dictionary column as its values; any other column as it is."""
    from pyarrow import types

    return column.dictionary_decode() if types.is_dictionary(column.type) else column


def is_missing_in(column: "pa.Array") -> NDArray[np.bool_]:
    """Return which values are null or nan."""
    from pyarrow import compute, types

    if column.null_count == 0 and not types.is_floating(column.type):
        return np.zeros(len(column), dtype=bool)
    return as_numpy(compute.is_null(column, nan_is_null=True))


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
Progress = Callable[[int, int], None]  # rows read in this pass, rows in all


F = TypeVar("F")


@dataclass(slots=True)
class Found(Generic[F]):
    """What a function says of each batch, in order."""

    columns: tuple[str, ...]
    of: Callable[[int, Any], F]
    found: list[F] = field(default_factory=list)

    def add(self, start: int, batch: "pa.RecordBatch") -> None:
        self.found.append(self.of(start, batch))

    def merge(self, other: Self) -> None:
        self.found += other.found


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
            yield from batches_of(part, start, columns)

    def surveyed(self, empty: V, progress: Progress | None = None) -> V:
        """Fill an empty survey with every batch, and return it."""
        for start, batch in self.batches(empty.columns):
            empty.add(start, batch)
            if progress is not None:
                progress(start + batch.num_rows, self.n_rows)
        return empty

    def each_batch(self, columns: Sequence[str], of: Callable[[int, Any], F]) -> list[F]:
        """Return what a function of the first row's number and the batch says, in order."""
        return self.surveyed(Found(tuple(dict.fromkeys(columns)), of)).found

    def starts(self) -> Iterator[tuple[int, Part]]:
        """Return the parts with the numbers of their first rows."""
        start = 0
        for part in self.parts:
            yield start, part
            start += part.n_rows

    @property
    def advice_on_missing(self) -> str:
        """How to have rows with missing values dropped, as the end of a sentence."""
        return ", or have such rows dropped (missing='drop')"

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


def batches_of(
    part: Part, start: int, columns: Sequence[str]
) -> Iterator[tuple[int, "pa.RecordBatch"]]:
    """Read these columns of a part whose first row has a number; check that all rows came."""
    n_rows = 0
    for batch in part.batches(columns):
        yield start + n_rows, batch
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
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise InputError(f"{source} has more than one column named {join_quoted(repeated)}.")


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
        with self.stamp.guarding("feather"), _open_arrow(self.stamp.path, columns) as file:
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
        with _open_arrow(path) as file:
            schema = file.schema
        with _open_arrow(path, schema.names[:1]) as file:  # one column will do to count rows
            counts = [file.get_batch(i).num_rows for i in range(file.num_record_batches)]
    found: list[Part] = []
    first = 0
    for source, n_batches in parts or [(str(path), len(counts))]:
        for run in in_runs(counts[first : first + n_batches], PART_ROWS):
            here = slice(first + run.start, first + run.stop)
            found.append(ArrowPart(stamp, here.start, here.stop, sum(counts[here]), source))
        first += n_batches
    return Table(str(path), schema, tuple(found))


def in_runs(counts: Sequence[int], enough: float) -> Iterator[slice]:
    """Put neighbours together until they have enough rows."""
    first = n_rows = 0
    for number, count in enumerate(counts, start=1):
        n_rows += count
        if n_rows >= enough or number == len(counts):
            yield slice(first, number)
            first, n_rows = number, 0


def hold(data: "pa.Table", name: str, counted: Counting = "from 0") -> Table:
    """Return a table in memory as one that can be read like any other."""
    return Table(name, data.schema, (MemoryPart(data, name),), counted)


def _open_arrow(path: Path, columns: Sequence[str] | None = None) -> Any:
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


# Read a column in pieces of this size: whole column chunks would fill memory.
BUFFER_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """A run of row groups of one file."""

    stamp: Stamp
    row_groups: tuple[int, ...]
    n_rows: int
    source: str

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read these columns, in this order."""
        import pyarrow as pa

        with self.stamp.guarding("parquet"):
            if not columns:
                yield pa.record_batch({"": pa.nulls(self.n_rows)}).select([])
                return
            with _open_parquet(self.stamp.path) as file:
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
    with stamp.guarding("parquet"), _open_parquet(path) as file:
        schema = file.schema_arrow
        counts = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    runs = [range(len(counts))[run] for run in in_runs(counts, PART_ROWS)]
    parts = (ParquetPart(stamp, tuple(r), sum(counts[i] for i in r), str(path)) for r in runs)
    return Table(str(path), schema, tuple(parts))


def _open_parquet(path: Path) -> "parquet.ParquetFile":
    from pyarrow import parquet

    return parquet.ParquetFile(
        path, buffer_size=BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
    )


@dataclass(frozen=True, slots=True)
class CastPart:
    """A part whose columns are read in the types of the whole table."""

    part: Part
    schema: "pa.Schema"
    source: str
    n_rows: int

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read these columns, in this order."""
        import pyarrow as pa

        fields = [self.schema.field(name) for name in columns]
        for batch in self.part.batches(columns):
            try:
                yield batch.cast(pa.schema(fields))
            except pa.ArrowInvalid as error:
                reason = str(error).splitlines()[0].rstrip(".")
                raise InputError(
                    f"{self.source} has columns of other types than the files before it: {reason}."
                ) from None


def one_after_another(
    tables: Sequence[Table], name: str, text_if_mixed: Collection[str] = ()
) -> Table:
    """Return one table with the parts of all; columns may come in any order.

    `text_if_mixed` names columns, such as labels and groups, where numbers and text may mix.
    """
    first = tables[0]
    for other in tables[1:]:
        refuse_other_columns(first.names, other.names, first.name, other.name)
    schema = _common(tables, text_if_mixed)
    parts: list[Part] = []
    for table in tables:
        same = all(schema.field(each).type == table.schema.field(each).type for each in first.names)
        parts += (
            table.parts if same else [CastPart(p, schema, p.source, p.n_rows) for p in table.parts]
        )
    return Table(name, schema, tuple(parts), first.counted)


def _common(tables: Sequence[Table], text_if_mixed: Collection[str]) -> "pa.Schema":
    """Return for each column the type that holds its values in all tables."""
    import pyarrow as pa

    first = tables[0]
    found = []
    for column in first.names:
        kinds = [table.schema.field(column).type for table in tables]
        wide = kinds[0]
        for table, kind in zip(tables, kinds, strict=True):
            if kind == wide:
                continue
            try:
                wide = _wider(wide, kind)
            except pa.ArrowTypeError:
                if column in text_if_mixed and {kind_of(wide), kind_of(kind)} == {"text", "number"}:
                    wide = pa.string()
                    continue
                raise InputError(
                    f"column {column!r} holds {wide} values in {first.name} but {kind} values in "
                    f"{table.name}: write it one way."
                ) from None
        found.append((column, wide))
    return pa.schema(found)


def _wider(one: "pa.DataType", other: "pa.DataType") -> "pa.DataType":
    """Return a type that holds the values of both."""
    import pyarrow as pa

    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (one, other)]
    schemas = [pa.schema([("", kind)]) for kind in plain]
    return pa.unify_schemas(schemas, promote_options="permissive").field(0).type


def refuse_other_columns(
    names: tuple[str, ...], others: tuple[str, ...], source: str, other: str
) -> None:
    """Refuse a file whose columns are not those of the first."""
    for name in names:
        check_column(name, others, other, why=f", which {source} has")
    for name in others:
        if name not in names:
            raise InputError(
                f"{other} has a column {name!r} that {source} has not; {near_misses(name, names)}"
            )


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


def filtered(rows: Any, kept: NDArray[np.bool_]) -> Any:
    """Return the kept rows of a batch or column, or the very same if these are all."""
    import pyarrow as pa

    if kept.all():
        return rows
    # Made by hand: pa.array would import pandas, as `as_numpy` says.
    bits = pa.py_buffer(np.packbits(kept, bitorder="little"))
    return rows.filter(pa.Array.from_buffers(pa.bool_(), len(kept), [None, bits]))


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
    told = table.each_batch((name,), _only_zero_one)
    return "true or false" if all(told) else "posterior"


def _only_zero_one(start: int, batch: "pa.RecordBatch") -> bool:
    return set(batch.column(0).drop_null().unique().to_pylist()) <= {0, 1}
