"""Opening a table by its path: a file of any format, several, a folder, a glob, or standard input.

The type of a column is taken from the first block of the file. Where a later value does not
fit, whole numbers become floats and anything else that is not a number becomes text; but text
in a column of numbers is refused with its place, since nobody can know what it stands for.
"""

import csv
import glob
import io
import re
import select
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.files import TemporaryFolder
from evenodds.rows.tables import (
    Counting,
    MemoryPart,
    Stamp,
    Table,
    hold,
    one_after_another,
    open_arrow,
    open_parquet,
    refuse_other_columns,
    refuse_repeated,
    unreadable,
)
from evenodds.validation import LARGEST_WHOLE, join_quoted, refuse_inexact

if TYPE_CHECKING:
    import pyarrow as pa


# What an array may hold: booleans, whole numbers, floats, text, bytes of text and dates.
KINDS = "biufUSM"
# How standard input is read: bytes at once, and how long a signal may go unseen.
BLOCK, SECONDS_BETWEEN_SIGNALS = 1 << 20, 0.2


def map_npy(path: Path) -> NDArray[Any]:
    """Return the array of a .npy file, read from disk as it is used."""
    stamp = Stamp.of(path)
    with _refusing(path, "npy"):
        array = np.lib.format.open_memmap(path, mode="r")
        if array.offset + array.nbytes != stamp.size:
            raise ValueError(f"its header says {array.shape}, but its length says otherwise")
        _check_kind(array)
    return array


def open_npz(path: Path) -> Table:
    """Read a .npz file: a 2-D array of features, and 1-D arrays as columns beside it."""
    import pyarrow as pa

    stamp = Stamp.of(path)
    with _refusing(path, "npz"):
        arrays = _arrays_in(path)
    stamp.check()
    wide = [name for name, array in arrays.items() if array.ndim == 2]
    odd = [name for name, array in arrays.items() if array.ndim not in {1, 2}]
    if len(wide) != 1 or odd:
        raise InputError(
            f"{path} holds {len(wide)} arrays of two dimensions ({join_quoted(arrays)} in all): "
            "give one with a row a case, and arrays of one dimension for labels and the like."
        )
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise InputError(f"the arrays of {path} differ in length: {shown}.")
    columns: list[tuple[str, NDArray[Any]]] = []
    for name, array in arrays.items():
        if array.ndim == 2:
            columns += [(f"{name}[{i}]", array[:, i]) for i in range(array.shape[1])]
        else:
            columns.append((name, array))
    names = [name for name, _ in columns]
    refuse_repeated(names, path)
    with _refusing(path, "npz"):
        table = pa.table([pa.array(array) for _, array in columns], names=names)
    return hold(table, str(path), "from 1")


def _arrays_in(path: Path) -> dict[str, NDArray[Any]]:
    """Return all arrays of an archive; each is read to its end, where its checksum is."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        refuse_repeated(names, path)
        foreign = [name for name in names if not name.endswith(".npy")]
        if foreign:
            raise ValueError(f"{foreign[0]!r} in it is no array")
        return {name.removesuffix(".npy"): _array(archive.read(name)) for name in names}


def _array(content: bytes) -> NDArray[Any]:
    """Return the array that these bytes are, all of them, in this machine's order of bytes."""
    file = io.BytesIO(content)
    array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    if file.read(1):
        raise ValueError("an array in it is longer than its header says")
    _check_kind(array)
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _check_kind(array: NDArray[Any]) -> None:
    if array.dtype.kind not in KINDS:
        raise ValueError(f"an array in it holds {array.dtype} values, not numbers or text")


@contextmanager
def _refusing(path: Path, kind: str) -> Iterator[None]:
    """Say which file it is when reading fails: damaged archives and headers fail in many ways."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of headers that are nearly right
        try:
            yield
        except (InputError, MemoryError):
            raise
        except Exception as error:
            raise InputError(unreadable(path, kind, error)) from None


# What is smaller than this is kept in memory.
HELD_BYTES = 64 * 1024 * 1024


def _spooled(
    batches: Iterator[tuple[str, "pa.RecordBatch"]], name: str, counted: Counting
) -> Table:
    """Return batches of one schema, each with its source, as a table, on disk if they are large."""
    import pyarrow as pa

    held: list[tuple[str, pa.RecordBatch]] = []
    n_bytes = 0
    for source, batch in batches:
        held.append((source, batch))
        n_bytes += batch.nbytes
        if n_bytes > HELD_BYTES:
            earlier = (held.pop(0) for _ in range(len(held)))
            return _on_disk(chain(earlier, batches), batch.schema, name, counted)
    if not held:
        raise InputError(f"{name} has no rows: give a table with a header and data.")
    parts = tuple(
        MemoryPart(pa.Table.from_batches([b for s, b in held if s == source]), source)
        for source in dict.fromkeys(source for source, _ in held)
    )
    return Table(name, held[0][1].schema, parts, counted)


def _on_disk(
    batches: Iterator[tuple[str, "pa.RecordBatch"]],
    schema: "pa.Schema",
    name: str,
    counted: Counting,
) -> Table:
    """Write batches to a temporary file, which goes when the table goes."""
    import pyarrow as pa

    folder = TemporaryFolder()
    path = folder.path / "spool.arrow"
    written: list[tuple[str, int]] = []  # source, number of batches
    try:
        with pa.ipc.new_file(str(path), schema) as writer:
            for source, run in groupby(batches, key=itemgetter(0)):
                n_batches = 0
                for _, batch in run:
                    writer.write_batch(batch)
                    n_batches += 1
                written.append((source, n_batches))
    except BaseException as error:
        folder.remove()
        if isinstance(error, OSError):
            raise _no_room(error) from None
        raise
    return Table(name, schema, open_arrow(path, written).parts, counted, keeps=folder)


def _no_room(error: OSError) -> InputError:
    return InputError(
        f"a temporary copy in {tempfile.gettempdir()} failed: {str(error).rstrip('.')}. Set TMPDIR "
        "to a folder with room for the table, or convert it to Parquet, which needs no copy."
    )


# The reader runs some thirty blocks ahead.
BLOCK_BYTES = 1024 * 1024
LONGEST_HEADER = 16 * 1024 * 1024
MOST_COLUMNS = 20_000
# How files begin that have two bytes a letter; bytes that no text has; and how many are looked at.
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")
LOOKED_AT = 4096
# A line end by itself, outside of quotes.
BARE_RETURN = re.compile(rb'^(?:[^"\r]|"[^"]*"|\r(?=\n))*+\r')
# How the reader says which value does not fit the type of its column.
MISFIT = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (.+?): invalid value '(.*)'",
    re.DOTALL,
)
# Whole numbers that floating-point ones may skip, and how a misfit says so.
LONG_WHOLE = r"^\s*[-+]?[0-9]{16,}\s*$"
ROUNDED = "exact double"
# What every message on a row of a text file says.
COUNTED = "counted from 1 after the header"
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
RENAMED = {",": "Rename it .csv", "\t": "Rename it .tsv"}


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file with a header, and what messages call it."""

    stamp: Stamp
    delimiter: str
    name: str

    @property
    def kind(self) -> str:
        """Name of the format."""
        return "csv" if self.delimiter == "," else "tsv"

    def names(self) -> tuple[str, ...]:
        """Read the header; refuse one that cannot be what was meant."""
        with self.stamp.guarding(self.kind), self.stamp.path.open("rb") as file:
            beginning = file.read(LOOKED_AT)
            file.seek(0)
            line = _first_line(file)
        self._refuse_no_text(beginning, line)
        if not line.strip():
            raise InputError(f"{self.name} is empty: give a table with a header and rows.")
        if len(line) >= LONGEST_HEADER or line.count(self.delimiter.encode()) >= MOST_COLUMNS:
            n_columns = line.count(self.delimiter.encode()) + 1
            raise InputError(
                f"{self.name} has {n_columns:,} columns or more, but at most {MOST_COLUMNS:,} can "
                "be read: give one row a case and one column a feature, or keep fewer columns."
            )
        try:
            names = _split(line, self.delimiter)
        except csv.Error as error:
            raise InputError(unreadable(Path(self.name), self.kind, error)) from None
        except UnicodeDecodeError:
            raise InputError(
                f"the header of {self.name} holds text that is not UTF-8: save the file with that "
                "encoding."
            ) from None
        self._refuse_other_separator(names)
        refuse_repeated(names, self.name)
        return names

    def batches(
        self, columns: Sequence[str], types: dict[str, "pa.DataType"]
    ) -> Iterator["pa.RecordBatch"]:
        """Read these columns, with types guessed from the first block where none is given.

        Raises
        ------
        MisfitError
            If a value does not fit the type of its column.
        """
        import pyarrow as pa

        with self.stamp.guarding(self.kind):
            try:
                looked_at: set[str] = set()
                for batch in _open(self, columns, types):
                    self._look_for_rounding(batch, looked_at)
                    yield batch
            except pa.ArrowInvalid as error:
                found = MISFIT.search(str(error))
                if found is None:
                    raise InputError(unreadable(Path(self.name), self.kind, error)) from None
                number, row, kind, value = found.groups()
                raise MisfitError(self, int(number), row, kind, value) from None

    def _look_for_rounding(self, batch: "pa.RecordBatch", looked_at: set[str]) -> None:
        """Look at the text of large numbers once a column: whole ones must not be rounded."""
        import pyarrow as pa
        from pyarrow import compute

        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name in looked_at or not pa.types.is_floating(column.type):
                continue
            largest = compute.max(compute.abs(column)).as_py() or 0.0
            if not largest >= LARGEST_WHOLE:
                continue
            looked_at.add(name)
            for texts in _open(self, [name], {name: pa.string()}):
                whole = texts.filter(compute.match_substring_regex(texts.column(0), LONG_WHOLE))
                if whole.num_rows:
                    value = whole.column(0)[0].as_py()
                    raise MisfitError(self, self.names().index(name), None, ROUNDED, value)

    def _refuse_no_text(self, beginning: bytes, header: bytes) -> None:
        """Refuse two or four bytes a letter, and what is no text at all."""
        letters, zeros = beginning.replace(b"\0", b""), beginning.count(b"\0")
        plain = letters and not CONTROL.search(letters)  # which UTF-16 writes with a zero each
        if beginning.startswith(UTF_16) or (plain and zeros >= len(letters) - 1 > 0):
            raise InputError(f"{self.name} is text in UTF-16: save it as {self.kind} in UTF-8.")
        if zeros or CONTROL.search(header):
            raise InputError(
                f"{self.name} is no text table: it holds bytes that text has not. Export the table "
                "as .csv in UTF-8, or name the file by what it is, such as .parquet."
            )

    def _refuse_other_separator(self, names: tuple[str, ...]) -> None:
        others = [mark for mark in SEPARATORS if mark != self.delimiter and mark in names[0]]
        if len(names) == 1 and others:
            raise InputError(
                f"{self.name} has one column only, {names[0]!r}: it seems to be separated by "
                f"{SEPARATORS[others[0]]}, but its name says {SEPARATORS[self.delimiter]}. "
                f"{RENAMED.get(others[0], 'Save it with commas, and with decimal points')}."
            )


class MisfitError(Exception):
    """A value that does not fit the type its column had so far."""

    def __init__(self, file: TextFile, column: int, row: str | None, kind: str, value: str) -> None:
        super().__init__(value)
        self.file, self.column, self.row, self.kind, self.value = file, column, row, kind, value

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with all that `widened` needs."""
        return MisfitError, (self.file, self.column, self.row, self.kind, self.value)

    def widened(self, text_if_mixed: Collection[str]) -> tuple[str, "pa.DataType"]:
        """Return the column and a type that fits, or refuse text among numbers.

        `text_if_mixed` names columns, such as labels and groups, where both may appear.
        """
        import pyarrow as pa

        name = self.file.names()[self.column]
        if self.kind == ROUNDED and name not in text_if_mixed:
            refuse_inexact(0, int(self.value), f"column {name!r} of {self.file.name}")
        if self.kind == "int64" or (self.kind == "null" and _is_number(self.value)):
            return name, pa.float64()
        if self.kind != "double" or name in text_if_mixed:
            return name, pa.string()
        # The reader counts from 1 and counts the header.
        where = "" if self.row is None else f", first in row {int(self.row) - 1} ({COUNTED})"
        raise InputError(
            f"column {name!r} of {self.file.name} holds text such as {self.value!r} among "
            f"numbers{where}: leave the cell empty if the value is missing, or leave the column "
            "out."
        )


def refuse_other_encoding(schema: "pa.Schema", source: str) -> None:
    """Refuse text that is not UTF-8, which the reader takes for bytes."""
    import pyarrow as pa

    for name, kind in zip(schema.names, schema.types, strict=True):
        if pa.types.is_binary(kind):
            raise InputError(
                f"column {name!r} of {source} holds text that is not UTF-8: save the file with "
                "that encoding."
            )


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _first_line(file: Any) -> bytes:
    """Return the first line that is not blank, read no further than a header can reach."""
    line: bytes = file.readline(LONGEST_HEADER)
    while line in {b"\n", b"\r\n"}:
        line = file.readline(LONGEST_HEADER)
    # A quoted name may hold a line break.
    while line.count(b'"') % 2 and len(line) < LONGEST_HEADER:
        more = file.readline(LONGEST_HEADER)
        if not more:
            break
        line += more
    ended = BARE_RETURN.search(line)
    return line if ended is None else line[: ended.end()]


def _split(line: bytes, delimiter: str) -> tuple[str, ...]:
    text = line.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline=None), delimiter=delimiter))
    return tuple(rows[0]) if rows else ("",)


def _open(file: TextFile, columns: Sequence[str], types: dict[str, "pa.DataType"]) -> Any:
    from pyarrow import csv as reader

    return reader.open_csv(
        file.stamp.path,
        read_options=reader.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
        parse_options=reader.ParseOptions(delimiter=file.delimiter, newlines_in_values=True),
        convert_options=reader.ConvertOptions(
            strings_can_be_null=True,  # an empty cell is no label
            include_columns=list(columns),
            column_types=types,
        ),
    )


TEXT = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
BINARY: dict[str, Callable[[Path], Table]] = {
    ".parquet": open_parquet,
    ".pq": open_parquet,
    ".feather": open_arrow,
    ".arrow": open_arrow,
    ".npz": open_npz,
}
READERS = (*TEXT, *BINARY)
PACKED = (".gz", ".bz2", ".xz", ".zip")
STDIN = "-"

Parsed = TypeVar("Parsed")
# Given the names of all columns, returns those that are needed.
Choice = Callable[[tuple[str, ...]], Sequence[str]]


def open_table(
    source: str | Path | Iterable[str | Path],
    choose: Choice = tuple,
    text_if_mixed: Collection[str] = (),
) -> Table:
    """Open a table.

    Parameters
    ----------
    source : path, list of paths, folder, glob or "-"
        CSV, TSV, Parquet, Feather or .npz files; files of one table follow one another.
    choose : callable, optional
        Which columns are needed, given the names of all. Text files are parsed whole, and
        only these columns are kept; other files are not read yet.
    text_if_mixed : collection of str
        Columns of text files where numbers and text may mix, such as labels and groups.
    """
    if source == STDIN:
        return _from_stdin(choose, text_if_mixed)
    paths = paths_of(source)
    name = str(source) if isinstance(source, (str, Path)) else f"{paths[0]} and others"
    kinds = {path.suffix.lower() for path in paths}
    if kinds <= TEXT.keys():
        table = _parse(text_files(paths), name, choose, text_if_mixed)
    elif kinds <= BINARY.keys():
        tables = [BINARY[path.suffix.lower()](path) for path in paths]
        table = one_after_another(tables, name, text_if_mixed)
    else:
        raise InputError(
            f"{name} holds files of different kinds ({join_quoted(sorted(kinds))}): give files of "
            "one kind."
        )
    return _checked(table, choose)


def _checked(table: Table, choose: Choice) -> Table:
    refuse_repeated(table.names, table.name)
    if table.n_rows == 0 or not table.names:
        raise InputError(f"{table.name} has no rows: give a table with a header and data.")
    if not table.all_names:
        choose(table.names)
    return table


def text_files(paths: Iterable[Path]) -> list[TextFile]:
    """Return text files with the separators their names say they have."""
    return [TextFile(Stamp.of(path), TEXT[path.suffix.lower()], str(path)) for path in paths]


def paths_of(source: str | Path | Iterable[str | Path]) -> list[Path]:
    """Return the files behind a path, a folder, a glob or a list of any of these, each once."""
    paths = _paths_behind(source)
    first: dict[Path, Path] = {}
    for path in paths:
        known = first.setdefault(path.resolve(), path)
        if known is not path:
            alias = "" if known == path else f", once as {known}"
            raise InputError(
                f"{path} is given twice{alias}, which would count its rows twice: name each file "
                "once."
            )
    return paths


def _paths_behind(source: str | Path | Iterable[str | Path]) -> list[Path]:
    if not isinstance(source, (str, Path)):
        paths = [path for each in source for path in _paths_behind(each)]
        if not paths:
            raise InputError("the list of files is empty: name at least one.")
        return paths
    path = Path(source)
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.suffix.lower() in READERS and p.is_file())
        if not found:
            raise InputError(f"{path} is a folder without tables: {_needed()}")
        return found
    if glob.has_magic(str(source)) and not path.exists():
        found = sorted(Path(match) for match in glob.glob(str(source), recursive=True))
        found = [match for match in found if match.is_file()]
        if not found:
            raise InputError(f"no file matches {source}.")
        return [_readable(match) for match in found]
    return [_readable(path)]


def _readable(path: Path) -> Path:
    if path.suffix.lower() == ".npy":
        raise InputError(
            f"{path} holds one array and no labels: save both in one .npz file, or pass the labels "
            "from Python."
        )
    if path.suffix.lower() in PACKED:
        raise InputError(f"{path} is compressed: unpack it first.")
    if path.suffix.lower() not in READERS:
        sheet = path.suffix.lower() in (".xlsx", ".xls", ".ods")
        what = "a spreadsheet: save its sheet as .csv, or" if sheet else "not a table:"
        raise InputError(f"{path} is {what} {_needed()}")
    if not path.is_file():
        raise InputError(f"there is no file {path}.")
    return path


def _needed() -> str:
    return f"give one of {join_quoted(READERS, 'or', len(READERS))}."


def _from_stdin(choose: Choice, text_if_mixed: Collection[str]) -> Table:
    """Copy standard input to a temporary file, since types may need a second look."""
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("standard input is closed: pipe a CSV file into the command.")
    if sys.stdin.isatty():
        raise InputError("standard input is a terminal: pipe a CSV file into the command.")
    folder = TemporaryFolder()
    path = folder.path / "stdin.csv"
    try:
        with path.open("wb") as file:
            file.writelines(_as_they_come(sys.stdin.buffer))
        text = TextFile(Stamp.of(path), ",", "standard input")
        return _checked(_parse([text], text.name, choose, text_if_mixed), choose)
    except OSError as error:
        raise InputError(
            f"standard input cannot be copied to {folder.path}: {error.strerror}. Set TMPDIR to a "
            "folder with room for it."
        ) from None
    finally:
        folder.remove()


def _as_they_come(source: BinaryIO) -> Iterator[bytes]:
    """Read what a pipe holds, and wait for more in pauses, between which a signal is answered.

    One that comes between two reads is not seen by Python while the next of them waits.
    """
    while True:
        if isinstance(source, io.BufferedReader) and sys.platform != "win32":
            while not select.select([source], [], [], SECONDS_BETWEEN_SIGNALS)[0]:
                pass
            block = source.read1(BLOCK)
        else:
            block = source.read(BLOCK)
        if not block:
            return
        yield block


def _parse(
    files: Sequence[TextFile], name: str, choose: Choice, text_if_mixed: Collection[str]
) -> Table:
    """Parse text files once, or again with wider types where a value does not fit."""
    header, columns = header_of(files, choose)
    parsed = with_wider_types(lambda types: _parsed(files, name, columns, types), text_if_mixed)
    return replace(parsed, all_names=header)


def with_wider_types(
    parse: Callable[[dict[str, "pa.DataType"]], Parsed], text_if_mixed: Collection[str]
) -> Parsed:
    """Parse with the types that a file begins with, or wider ones where a value does not fit."""
    types: dict[str, pa.DataType] = {}
    while True:
        try:
            return parse(types)
        except MisfitError as misfit:
            column, wider = misfit.widened(text_if_mixed)
            types[column] = wider


def header_of(files: Sequence[TextFile], choose: Choice) -> tuple[tuple[str, ...], list[str]]:
    """Return the names of all columns, which all files must have, and those that are needed."""
    headers = [file.names() for file in files]
    for file, header in zip(files, headers, strict=True):
        refuse_other_columns(headers[0], header, files[0].name, file.name)
    return headers[0], list(choose(headers[0]))


def _parsed(
    files: Sequence[TextFile], name: str, columns: Sequence[str], types: dict[str, "pa.DataType"]
) -> Table:
    """Parse text files with these types, and those the first file shows."""
    types = dict(types)

    def batches() -> "Iterator[tuple[str, pa.RecordBatch]]":
        first = True
        for file in files:
            for batch in file.batches(columns, types):
                if first:
                    refuse_other_encoding(batch.schema, file.name)
                    types.update(zip(batch.schema.names, batch.schema.types, strict=True))
                    first = False
                yield file.name, batch

    return _spooled(batches(), name, "from 1 after the header")
