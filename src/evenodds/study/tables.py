"""Tables of a study as files, whole or not at all."""

import tempfile
from pathlib import Path
from typing import Any

from evenodds import files
from evenodds.errors import InputError


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
