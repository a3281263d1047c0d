"""Tables of a study: named columns of equal length, written whole or not at all."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds import files
from evenodds.errors import InputError

Columns = dict[str, NDArray[Any]]


def kept(columns: Columns, mask: NDArray[np.bool_]) -> Columns:
    """Return the rows where `mask` is true."""
    return {name: column[mask] for name, column in columns.items()}


def in_order(column: NDArray[Any]) -> list[Any]:
    """Return the distinct values: numbers sorted, words as they first appear."""
    values, first = np.unique(column, return_index=True)
    ordered = values if column.dtype.kind in "iufb" else values[np.argsort(first)]
    return list(ordered.tolist())


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
