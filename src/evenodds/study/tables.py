"""Tables of a study: named columns of equal length, written whole or not at all."""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds import files
from evenodds.errors import InputError
from evenodds.validation import check_column, join_quoted

Columns = dict[str, NDArray[Any]]


def read_columns(table: Any, names: Iterable[str]) -> Columns:
    """Return the named columns of a dict of arrays or an Arrow table, as arrays.

    Raises
    ------
    InputError
        If a column is not there, or columns differ in length.
    """
    held: Mapping[str, Any] = table if isinstance(table, Mapping) else _arrow_columns(table)
    columns: Columns = {}
    for name in names:
        check_column(name, held, "the table")
        columns[name] = np.asarray(held[name])
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        first, other = (
            min(lengths, key=lambda n: lengths[n]),
            max(lengths, key=lambda n: lengths[n]),
        )
        raise InputError(
            f"column {first!r} has {lengths[first]} values but {other!r} has {lengths[other]}: "
            "give one value a row in each."
        )
    return columns


def kept(columns: Columns, mask: NDArray[np.bool_]) -> Columns:
    """Return the rows where `mask` is true."""
    return {name: column[mask] for name, column in columns.items()}


def only_where(columns: Columns, **wanted: float | str | None) -> Columns:
    """Return the rows with these values, each of which must leave some.

    A value of None asks for the only one there is.

    Raises
    ------
    InputError
        If a value does not occur, or None is given where there are several.
    """
    for name, value in wanted.items():
        there = in_order(columns[name])
        if value is None and len(there) != 1:
            raise InputError(
                f"{name} takes {len(there)} values ({join_quoted(there)}): say which one to draw."
            )
        if value is not None and value not in there:
            raise InputError(f"no row has {name} {value!r}: there are {join_quoted(there)}.")
        columns = kept(columns, columns[name] == (there[0] if value is None else value))
    return columns


def in_order(column: NDArray[Any]) -> list[Any]:
    """Return the distinct values: numbers sorted, words as they first appear."""
    values, first = np.unique(column, return_index=True)
    ordered = values if column.dtype.kind in "iufb" else values[np.argsort(first)]
    return [value.item() if isinstance(value, np.generic) else value for value in ordered]


def _arrow_columns(table: Any) -> dict[str, Any]:
    return {name: table.column(name).to_numpy() for name in table.column_names}


def make_folder(path: Path) -> None:
    """Make a folder for results, if it is not there yet, and see that it can be written to."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {path} cannot be made: {error.strerror}.") from None
    try:
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InputError(f"the folder {path} cannot be written to: {error.strerror}.") from None


def write_parquet(path: Path, columns: dict[str, Any]) -> Path:
    """Write columns as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with files.whole_file(path) as file:
        pq.write_table(pa.table(columns), file.buffer)
    return path


def write_csv(path: Path, columns: dict[str, Any]) -> Path:
    """Write columns as a CSV file."""
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    files.write_csv(path, columns, rows)
    return path
