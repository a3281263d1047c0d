"""Dask arrays, data frames and files that workers can read, as tables.

Parquet and Feather files are read anew in every pass, each task its own row groups. Text files
are parsed once, a file a task, and what was parsed stays in the workers' memory.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenodds.errors import InputError
from evenodds.rows.dask_sums import (
    DaskRows,
    DaskTable,
    Placed,
    There,
    reading_there,
    reduce_parts,
    runs_of,
    spread,
)
from evenodds.rows.memory import as_arrow, as_column, free_name, read_features
from evenodds.rows.open_table import (
    STDIN,
    TEXT,
    MisfitError,
    TextFile,
    header_of,
    paths_of,
    refuse_other_encoding,
    text_files,
    with_wider_types,
)
from evenodds.rows.table_rows import Reading, learn
from evenodds.rows.tables import MemoryPart, Table, kind_of, plain_array, rows_in_a_batch
from evenodds.validation import as_array, counted, kind_of_value

if TYPE_CHECKING:
    import pyarrow as pa


# Collections no larger than this come to the client: their sums would cost less than the tasks.
FETCHED_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Partition:
    """Some rows of X, and of labels and the like beside them.

    Attributes
    ----------
    features : array or data frame
        Columns of an array are called by their numbers.
    beside : list of array or series
        One for each of the last columns of the schema.
    schema : Schema
        All columns, in the types announced for them.
    n_rows : int
        How many rows there were when they were counted.
    """

    features: Any
    beside: list[Any]
    schema: "pa.Schema"
    n_rows: int
    source: str = "X"

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Return these columns, in this order."""
        import pyarrow as pa

        n_rows = len(self.features)
        others = self.schema.names[len(self.schema.names) - len(self.beside) :]
        beside = dict(zip(others, self.beside, strict=True))
        for name, values in beside.items():
            if len(values) != n_rows:
                raise InputError(
                    f"a partition of X has {n_rows} rows but that of {name} has {len(values)}: cut "
                    "both at the same rows."
                )
        own = [name for name in columns if name not in beside]
        size = rows_in_a_batch(len(columns))
        for start in range(0, max(n_rows, 1), size):
            rows = slice(start, start + size)
            found = self._features(own, rows)
            found |= {name: as_column(_cut(values, rows), name) for name, values in beside.items()}
            arrays = [self._as_announced(name, found[name]) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _features(self, names: Sequence[str], rows: slice) -> "dict[str, pa.Array]":
        """Return some rows of columns of X."""
        import pyarrow as pa

        if isinstance(self.features, np.ndarray):
            block = as_array(self.features[rows])
            columns = {n: np.ascontiguousarray(block[:, int(n)]) for n in names}
            return {n: pa.array(column, from_pandas=True) for n, column in columns.items()}
        labels = {str(label): label for label in self.features.columns}
        table = as_arrow(_cut(self.features[[labels[n] for n in names]], rows), "X")
        if table is None:
            raise TypeError(f"{type(self.features).__name__} is no data frame")
        return {name: table.column(name).combine_chunks() for name in names}

    def _as_announced(self, name: str, column: "pa.Array") -> "pa.Array":
        """Return a column in the type announced for it, if it is of that kind."""
        announced, column = self.schema.field(name).type, plain_array(column)
        if column.type == announced:
            return column
        if column.null_count < len(column) and kind_of(column.type) != kind_of(announced):
            raise InputError(
                f"column {name!r} was announced as {announced} but a partition of it holds "
                f"{column.type} values: give it one type, with astype."
            )
        return column.cast(announced)


def _cut(values: Any, rows: slice) -> Any:
    """Return rows by their places, of an array or of pandas."""
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


def is_dask(X: Any) -> bool:
    """Tell a Dask collection, without loading Dask."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "__dask_graph__")


def read_collections(X: Any, parts: dict[str, Any], how: dict[str, Any]) -> DaskRows:
    """Return the rows of Dask collections.

    Parameters
    ----------
    X : dask Array or DataFrame
        Features, and other columns that are named.
    parts : dict
        ``y``, ``sample_weight`` and ``groups``: a Dask array or series, the name of a column
        of X, or None.
    how : dict
        Other settings of `Reading`.
    """
    beside = {name: part for name, part in parts.items() if is_dask(part)}
    for name, part in parts.items():
        if not (part is None or isinstance(part, str) or is_dask(part)):
            raise InputError(
                f"X is a Dask {type(X).__name__} but {name} is {kind_of_value(part)}: give a "
                "Dask array or series cut at the same rows."
            )
    table = _table(X, beside)
    new = dict(zip(beside, table.names[len(table.names) - len(beside) :], strict=True))
    names = {name: new.get(name, part) for name, part in parts.items()}
    reading = Reading.of(names, how)
    reading.needed(table.names, "X")
    rows = DaskRows(table, *learn(table, reading))
    if rows.n_rows * (rows.n_features + 2) * 8 <= FETCHED_BYTES:
        rows.hold()
    return rows


def _table(X: Any, beside: dict[str, Any]) -> DaskTable:
    """Return collections cut at the same rows as one table."""
    is_array = hasattr(X, "chunks")
    if is_array:
        X = _checked_array(X)
    elif getattr(X, "ndim", 0) != 2:
        raise InputError(
            f"X is a Dask {type(X).__name__}: give a Dask array or data frame, with a row a case."
        )
    known = _known(X) if is_array else None
    columns = {name: _checked_column(part, name, known) for name, part in beside.items()}
    features, *others = _cut_alike({"X": X, **columns}).values()
    lengths = known or reduce_parts(count_rows, None, [(each,) for each in features], "X").n_rows
    if sum(lengths) == 0:
        raise InputError("X is empty: give a row for each label.")
    schema = _schema(X, beside)
    there = tuple(
        There(Partition, (block, list(more), schema, n_rows))
        for block, n_rows, *more in zip(features, lengths, *others, strict=True)
    )
    return DaskTable(
        name="X",
        schema=schema,
        parts=tuple(Placed(n_rows) for n_rows in lengths),
        counted="from 0",
        there=there,
        runs=tuple(slice(i, i + 1) for i in range(len(there))),
        named=not is_array,
    )


def _checked_array(X: Any) -> Any:
    """Return a Dask array of numbers, cut between rows only."""
    if X.ndim != 2:
        advice = "; for one feature use X.reshape(-1, 1)" if X.ndim == 1 else ""
        raise InputError(f"X has {counted(X.ndim, 'dimension')} but must have 2{advice}.")
    if type(X._meta) is not np.ndarray:  # a masked array is one too, but hides values
        raise InputError(
            f"X is made of {type(X._meta).__name__} blocks: turn them into NumPy arrays, with "
            "map_blocks."
        )
    if np.isnan(X.shape[1]):
        raise InputError("X has an unknown number of columns: call X.compute_chunk_sizes() first.")
    if X.shape[1] == 0:
        raise InputError("X has no columns: give at least one feature.")
    if X.dtype.kind == "O":
        raise InputError("X holds objects: give it a numeric type, with astype.")
    read_features(np.empty((1, 1), dtype=X.dtype), "X")  # refuses what is no number
    return X.rechunk({1: X.shape[1]})


def _checked_column(part: Any, name: str, lengths: Sequence[int] | None) -> Any:
    """Return labels, weights or groups as one column, cut as X is where lengths are known."""
    if part.ndim == 2 and hasattr(part, "chunks") and part.shape[1] == 1:
        part = part[:, 0]
    if part.ndim != 1:
        raise InputError(f"{name} has {part.ndim} dimensions but must be one column.")
    own = _known(part) if hasattr(part, "chunks") else None
    if own is None or lengths is None:
        return part
    if sum(own) != sum(lengths):
        raise InputError(
            f"X has {sum(lengths)} rows but {name} has {sum(own)}: give one value a row."
        )
    return part.rechunk((tuple(lengths),))


def _cut_alike(collections: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the partitions of each collection, the same number of all."""
    blocks = {name: _partitions(each, optimized=True) for name, each in collections.items()}
    if len(set(map(len, blocks.values()))) > 1:
        # Dask reads small partitions together, the more the fewer columns are asked for.
        blocks = {name: _partitions(each, optimized=False) for name, each in collections.items()}
    n_blocks = len(blocks["X"])
    for name, own in blocks.items():
        if len(own) != n_blocks:
            raise InputError(
                f"X has {n_blocks} partitions but {name} has {len(own)}: cut both at the same "
                f"rows, or give X as a data frame and {name} as the name of its column."
            )
    return blocks


def _partitions(collection: Any, *, optimized: bool) -> list[Any]:
    found = collection.to_delayed(optimize_graph=optimized)
    return list(found.flat) if hasattr(found, "flat") else list(found)


def _known(array: Any) -> tuple[int, ...] | None:
    """Return the lengths of an array's runs of rows, or None where Dask does not know them."""
    lengths = array.chunks[0]
    return None if any(np.isnan(length) for length in lengths) else tuple(lengths)


def _schema(X: Any, beside: dict[str, Any]) -> "pa.Schema":
    """Return the names and types that the collections announce; those beside X come last."""
    import pyarrow as pa

    if hasattr(X, "chunks"):
        kind = as_column(np.empty(0, dtype=X.dtype), "X").type
        types = {str(number): kind for number in range(X.shape[1])}
    else:
        announced = as_arrow(_example(X), "X")
        types = {} if announced is None else {part.name: part.type for part in announced.schema}
    for name, part in beside.items():
        column = as_column(_example(part), name)
        types[free_name(name, tuple(types))] = column.type
    plain = {n: k.value_type if pa.types.is_dictionary(k) else k for n, k in types.items()}
    return pa.schema(list(plain.items()))


def _example(collection: Any) -> Any:
    """Return a few made-up values of the announced types."""
    if hasattr(collection, "chunks"):
        dtype = collection.dtype
        return np.array(["text"], dtype=object) if dtype.kind == "O" else np.zeros(1, dtype=dtype)
    from dask.dataframe.utils import meta_nonempty

    return meta_nonempty(collection._meta)


def read_files(sources: Sequence[str], reading: Reading) -> DaskRows:
    """Return the rows of files, which the workers of the current Dask client read."""
    if STDIN in sources:
        raise InputError(
            "standard input can be read here only: save it where every worker can read it, or "
            "leave out --workers."
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
                f"{path} cannot be read in parts: save it as Parquet, or leave out --workers."
            )
    return reading.open(paths[0] if len(paths) == 1 else list(paths))


def _parsed_there(paths: Sequence[Path], name: str, reading: Reading) -> DaskTable:
    """Have text files parsed, again with wider types where a value does not fit."""
    from dask import delayed, persist

    files = text_files(paths)
    header, columns = header_of(files, lambda names: reading.needed(names, name))

    def parsed(wider: dict[str, "pa.DataType"]) -> "tuple[pa.Schema, Any, list[int]]":
        schema = _first_types(files[0], columns, wider)
        types = dict(zip(schema.names, schema.types, strict=True))
        parse = delayed(parse_there, pure=False)
        there = persist(*(parse(file, columns, types) for file in files))
        found = reduce_parts(count_rows, None, [(each,) for each in there], name)
        if found.misfit is not None:
            raise found.misfit
        return schema, there, found.n_rows

    schema, there, lengths = with_wider_types(parsed, reading.mixed)
    if not any(lengths):
        raise InputError(f"{name} has no rows: give a table with a header and data.")
    parts = tuple(Placed(n, file.name) for n, file in zip(lengths, files, strict=True))
    return DaskTable(
        name=name,
        schema=schema,
        parts=parts,
        counted="from 1 after the header",
        all_names=header,
        there=there,
        runs=runs_of(parts),
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
class Counted:
    """How many rows each part has, in order, or the first value of a file that did not fit."""

    n_rows: list[int]
    misfit: MisfitError | None = None

    def merge(self, other: Self) -> None:
        self.n_rows += other.n_rows
        self.misfit = other.misfit if self.misfit is None else self.misfit


def count_rows(_: None, part: Any) -> Counted:
    """Count the rows of a partition, or look at what became of a file."""
    if isinstance(part, MisfitError):
        return Counted([0], part)
    return Counted([part.n_rows if isinstance(part, MemoryPart) else len(part)])
