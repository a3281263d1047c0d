"""Files that are written: outputs whole or not at all, and temporary copies that do not stay."""

import csv
import errno
import os
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from evenodds.errors import InputError

# Spreadsheets take a cell that begins like this for a formula.
FORMULA_STARTS = "=+-@\t\r"
# Names of what is temporary: copies of data, and outputs that are not complete yet.
COPIES, UNFINISHED = "evenodds-copy-", ".evenodds-"

# A name that is no text, as files may have, is written as an escape.
TEXT: Any = {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}


def as_path(path: Any) -> Path:
    """Return a path, refusing what is none."""
    try:
        return Path(path)
    except TypeError:
        raise InputError(f"path is {path!r}: give the name of a file.") from None


def check_writable(path: Path) -> None:
    """Refuse, before any work is done, a file that cannot be written."""
    with _telling(path):
        if _is_stream(path):
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        place = Path(os.path.realpath(path))
        if place.is_dir():
            raise InputError(f"{path} cannot be written, it is a folder: name a file in it.")
        if not place.parent.is_dir():
            raise InputError(f"{path} cannot be written: name a file in a folder that exists.")
        if place.exists():
            os.close(os.open(place, os.O_WRONLY | os.O_APPEND))
        with tempfile.TemporaryFile(dir=place.parent):
            pass


@contextmanager
def whole_file(path: Path, *, private: bool = False) -> Iterator[TextIO]:
    """Open a file to write: beside its place first, moved there when complete.

    A link stays a link, and what it points to is written. Onto devices and pipes nothing can be
    moved: they are written to at the end. A private file can be read by its owner only.
    """
    with _telling(path):
        if _is_stream(path):
            with tempfile.TemporaryFile("w+", **TEXT) as file:
                yield file
                file.flush()
                file.buffer.seek(0)
                with _open_stream(path) as stream:
                    shutil.copyfileobj(file.buffer, stream)
            return
        place = Path(os.path.realpath(path))
        sweep(place.parent, UNFINISHED)
        name, handle = _held(lambda: tempfile.mkstemp(dir=place.parent, prefix=UNFINISHED)[::-1])
        try:
            with os.fdopen(handle, "w", **TEXT) as file:
                yield file
            os.chmod(name, 0o600 if private else _mode(place))
            os.replace(name, place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def write_csv(
    path: Path,
    names: Iterable[str],
    rows: Iterable[Iterable[Any]],
    *,
    delimiter: str = ",",
    private: bool = False,
) -> None:
    """Write a table as text, without cells that a spreadsheet would run."""
    with whole_file(path, private=private) as file:
        # With "\n" alone the writer would not quote a carriage return, and tear the row.
        writer = csv.writer(_UnixLines(file), delimiter=delimiter, lineterminator="\r\n")
        writer.writerow([_no_formula(name) for name in names])
        writer.writerows([_no_formula(cell) for cell in row] for row in rows)


def write_columns(path: Path, columns: Mapping[str, Any], *, private: bool = False) -> Path:
    """Write named columns of equal length, as Parquet or as text by how the path ends."""
    import pyarrow as pa
    from pyarrow import parquet

    table, suffix = pa.table(dict(columns)), path.suffix.lower()
    if suffix in {".parquet", ".pq"}:
        with whole_file(path, private=private) as file:
            parquet.write_table(table, file.buffer)
    else:
        rows = zip(*table.to_pydict().values(), strict=True)
        delimiter = "\t" if suffix == ".tsv" else ","
        write_csv(path, table.column_names, rows, delimiter=delimiter, private=private)
    return path


def make_folder(path: Path) -> None:
    """Make a folder for results, if it is not there yet, and see that it can be written to."""
    problem = "made"
    try:
        path.mkdir(parents=True, exist_ok=True)
        problem = "written to"
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InputError(f"the folder {path} cannot be {problem}: {error.strerror}.") from None


class _UnixLines:
    """Takes rows that end in a carriage return and a line feed, and writes them with the latter."""

    def __init__(self, file: TextIO) -> None:
        self.file = file

    def write(self, row: str) -> int:
        return self.file.write(f"{row[:-2]}\n")


def _no_formula(cell: Any) -> Any:
    """Return a cell that a spreadsheet takes for text; numbers are none to fear."""
    if not isinstance(cell, str) or not cell.startswith(tuple(FORMULA_STARTS)):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


class TemporaryFolder:
    """A folder that goes when nobody holds it any more, or when the program ends.

    A program that is killed cannot remove its folder; the next one does, by `sweep`.
    """

    def __init__(self) -> None:
        name, handle = _held(_new_folder)
        self.path = Path(name)
        self.remove = weakref.finalize(self, _remove_folder, name, handle)


def sweep(folder: str | Path, prefix: str) -> None:
    """Remove what programs that were killed have left in a folder; what is in use is locked."""
    if os.name != "posix":
        return
    with suppress(OSError):
        for entry in [entry.path for entry in os.scandir(folder) if entry.name.startswith(prefix)]:
            with suppress(OSError):
                _remove_if_left(entry)


def sweep_copies() -> None:
    """Remove the copies of data that programs which were killed have left."""
    with suppress(OSError):
        sweep(tempfile.gettempdir(), COPIES)


def _remove_if_left(name: str) -> None:
    """Remove a file or a folder of ours that no program holds."""
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.fstat(handle).st_uid != os.getuid() or not _lock(handle, wait=False):
            return
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            shutil.rmtree(name, ignore_errors=True)
        else:
            os.unlink(name)
    finally:
        os.close(handle)


def _new_folder() -> tuple[str, int]:
    name = tempfile.mkdtemp(prefix=COPIES)
    return name, os.open(name, os.O_RDONLY) if os.name == "posix" else -1


def _remove_folder(name: str, handle: int) -> None:
    shutil.rmtree(name, ignore_errors=True)
    if handle >= 0:
        os.close(handle)


def _held(make: Callable[[], tuple[str, int]]) -> tuple[str, int]:
    """Make something temporary and lock it; a sweep may come between the two: then once more."""
    while True:
        name, handle = make()
        _lock(handle, wait=True)
        if os.path.exists(name):
            return name, handle
        os.close(handle)


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock an open file until it is closed; tell whether that could be done."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by another, or no locks on this file system
        return False
    return True


def _is_stream(path: Path) -> bool:
    """Tell whether a path is a device, a pipe or a standard stream, and not a file or nothing."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    except ValueError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error}.") from None
    if stat.S_ISREG(found.st_mode):
        return _standard_stream(found) is not None
    return not stat.S_ISDIR(found.st_mode)


def _standard_stream(found: os.stat_result) -> int | None:
    """Return which of our own streams a file is, as /dev/stdout is."""
    for handle in (1, 2):
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(handle)):
                return handle
    return None


def _open_stream(path: Path) -> BinaryIO:
    """Open a stream; our own goes on after what has been written to it."""
    own = _standard_stream(os.stat(path))
    if own is None:
        return os.fdopen(os.open(path, os.O_WRONLY), "wb")
    sys.stdout.flush()
    return os.fdopen(os.dup(own), "wb")


def _mode(place: Path) -> int:
    """Return the mode of the file that is replaced, or that ordinary files are created with."""
    with suppress(OSError):
        return stat.S_IMODE(os.stat(place).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Say in a sentence why a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from None
