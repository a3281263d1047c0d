"""Files that every worker can read, as rows that the workers sum over.

Parquet and Feather files are read anew in every pass, each task its own row groups. Text files
are parsed once, a file a task, and what was parsed stays in the workers' memory.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from evenodds.errors import InputError
from evenodds.rows.cluster.rows import DaskRows
from evenodds.rows.cluster.table import DaskTable, Placed, in_runs, reading_there, spread
from evenodds.rows.cluster.tree import reduce_parts
from evenodds.rows.reading import Reading, learn
from evenodds.rows.tables.arrow import MemoryPart
from evenodds.rows.tables.base import Table
from evenodds.rows.tables.opening import (
    STDIN,
    TEXT,
    header_of,
    paths_of,
    text_files,
)
from evenodds.rows.tables.text import MisfitError, TextFile, refuse_other_encoding

if TYPE_CHECKING:
    import pyarrow as pa


def read_files(sources: Sequence[str], reading: Reading) -> DaskRows:
    """Return the rows of files, which the workers of the current Dask client read."""
    if STDIN in sources:
        raise InputError(
            "standard input can be read here only: save it where every worker can read it, or "
            "leave out --scheduler and --workers."
        )
    # A worker has a working directory of its own.
    paths = paths_of([os.path.abspath(source) for source in sources])
    name = sources[0] if len(sources) == 1 else f"{sources[0]} and others"
    if {path.suffix.lower() for path in paths} <= TEXT.keys():
        table = _parsed_there(paths, name, reading)
    else:
        table = spread(_opened(paths, reading))
    return DaskRows(table, *learn(table, reading))


def _opened(paths: Sequence[Path], reading: Reading) -> Table:
    """Open files that can be read in parts."""
    for path in paths:
        if path.suffix.lower() == ".npz":
            raise InputError(
                f"{path} cannot be read in parts: save it as Parquet, or leave out --scheduler and "
                "--workers."
            )
    return reading.open(paths[0] if len(paths) == 1 else list(paths))


def _parsed_there(paths: Sequence[Path], name: str, reading: Reading) -> DaskTable:
    """Have text files parsed, again with wider types where a value does not fit."""
    from dask import delayed, persist

    files = text_files(paths)
    header, columns = header_of(files, lambda names: reading.needed(names, name))
    wider: dict[str, pa.DataType] = {}
    misfit: MisfitError | None = None
    while True:
        if misfit is not None:
            column, kind = misfit.widened(reading.mixed)
            wider[column] = kind
        try:
            schema = _first_types(files[0], columns, wider)
        except MisfitError as early:
            misfit = early
            continue
        types = dict(zip(schema.names, schema.types, strict=True))
        parse = delayed(parse_there, pure=False)
        there = persist(*(parse(file, columns, types) for file in files))
        found = reduce_parts(count_parsed, None, [(each,) for each in there], name)
        misfit = found.misfit
        if misfit is None:
            break
    if not any(found.n_rows):
        raise InputError(f"{name} has no rows: give a table with a header and data.")
    parts = tuple(Placed(n, file.name) for n, file in zip(found.n_rows, files, strict=True))
    return DaskTable(
        name=name,
        schema=schema,
        parts=parts,
        counted="from 1 after the header",
        all_names=header,
        there=there,
        runs=in_runs(parts),
    )


def _first_types(
    file: TextFile, columns: Sequence[str], types: dict[str, "pa.DataType"]
) -> "pa.Schema":
    """Return the types that the beginning of the first file shows."""
    for batch in file.batches(columns, types):
        refuse_other_encoding(batch.schema, file.name)
        return batch.schema
    raise InputError(f"{file.name} has no rows: give a table with a header and data.")


def parse_there(
    file: TextFile, columns: Sequence[str], types: dict[str, "pa.DataType"]
) -> MemoryPart | MisfitError:
    """Parse a file on a worker; a value that does not fit is for the others to know."""
    import pyarrow as pa

    try:
        with reading_there([file]):
            batches = list(file.batches(columns, types))
    except MisfitError as misfit:
        return misfit
    schema = pa.schema([(name, types[name]) for name in columns])
    return MemoryPart(pa.Table.from_batches(batches, schema), file.name)


@dataclass
class Parsed:
    """How many rows each file has, or the first value that did not fit."""

    n_rows: list[int]
    misfit: MisfitError | None = None

    def merge(self, other: Self) -> None:
        self.n_rows += other.n_rows
        self.misfit = other.misfit if self.misfit is None else self.misfit


def count_parsed(_: None, part: MemoryPart | MisfitError) -> Parsed:
    """Look at what became of one file."""
    if isinstance(part, MisfitError):
        return Parsed([0], part)
    return Parsed([part.n_rows])
