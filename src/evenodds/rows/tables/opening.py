"""Opening a table by its path: a file, several, a folder, a glob, or standard input."""

import glob
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenodds.errors import InputError
from evenodds.files import TemporaryFolder
from evenodds.rows.tables.arrow import open_arrow
from evenodds.rows.tables.base import Stamp, Table, refuse_repeated
from evenodds.rows.tables.numpy_files import open_npz
from evenodds.rows.tables.parquet import open_parquet
from evenodds.rows.tables.several import one_after_another, refuse_other_columns
from evenodds.rows.tables.spool import Spool
from evenodds.rows.tables.text import MisfitError, TextFile, refuse_other_encoding
from evenodds.validation import join_quoted

if TYPE_CHECKING:
    import pyarrow as pa

TEXT = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
BINARY: dict[str, Callable[[Path], Table]] = {
    ".parquet": open_parquet,
    ".pq": open_parquet,
    ".feather": open_arrow,
    ".arrow": open_arrow,
    ".npz": open_npz,
}
READERS = (*TEXT, *BINARY)
STDIN = "-"

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
    """Return the files behind a path, a folder, a glob or a list of any of these."""
    if not isinstance(source, (str, Path)):
        paths = [path for each in source for path in paths_of(each)]
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
    if path.suffix.lower() not in READERS:
        raise InputError(f"{path} is not a table: {_needed()}")
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
            shutil.copyfileobj(sys.stdin.buffer, file)
        text = TextFile(Stamp.of(path), ",", "standard input")
        return _checked(_parse([text], text.name, choose, text_if_mixed), choose)
    except OSError as error:
        raise InputError(
            f"standard input cannot be copied to {folder.path}: {error.strerror}. Set TMPDIR to a "
            "folder with room for it."
        ) from None
    finally:
        folder.remove()


def _parse(
    files: Sequence[TextFile], name: str, choose: Choice, text_if_mixed: Collection[str]
) -> Table:
    """Parse text files once, or again with wider types where a value does not fit."""
    header, columns = header_of(files, choose)
    types: dict[str, pa.DataType] = {}
    while True:
        try:
            return replace(_parsed(files, name, columns, types), all_names=header)
        except MisfitError as misfit:
            column, wider = misfit.widened(text_if_mixed)
            types[column] = wider


def header_of(files: Sequence[TextFile], choose: Choice) -> tuple[tuple[str, ...], list[str]]:
    """Return the names of all columns, which all files must have, and those that are needed."""
    headers = [file.names() for file in files]
    columns = list(choose(headers[0]))
    for file, header in zip(files, headers, strict=True):
        refuse_other_columns(headers[0], header, files[0].name, file.name)
    return headers[0], columns


def _parsed(
    files: Sequence[TextFile], name: str, columns: Sequence[str], types: dict[str, "pa.DataType"]
) -> Table:
    """Parse text files with these types, and those the first file shows."""
    types = dict(types)
    schema: pa.Schema | None = None
    with Spool() as spool:
        for file in files:
            for batch in file.batches(columns, types):
                if schema is None:
                    schema = batch.schema
                    refuse_other_encoding(schema, file.name)
                    types = dict(zip(schema.names, schema.types, strict=True))
                spool.add(file.name, batch)
        if schema is None:
            raise InputError(f"{name} has no rows: give a table with a header and data.")
        return spool.table(name, "from 1 after the header")
