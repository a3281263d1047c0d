"""Dask arrays and data frames as tables: every partition is a part."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenodds.errors import InputError
from evenodds.rows.cluster.partitions import Partition, count_rows
from evenodds.rows.cluster.rows import DaskRows
from evenodds.rows.cluster.table import DaskTable, Placed
from evenodds.rows.cluster.tree import There, reduce_parts
from evenodds.rows.frames import as_arrow, as_column, free_name
from evenodds.rows.reading import Reading, learn
from evenodds.rows.roles import Columns
from evenodds.rows.source import read_features

if TYPE_CHECKING:
    import pyarrow as pa


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
                f"X is a Dask {type(X).__name__} but {name} is a {type(part).__name__}: give a "
                "Dask array or series cut at the same rows."
            )
    table = _table(X, beside)
    new = dict(zip(beside, table.names[len(table.names) - len(beside) :], strict=True))
    names = {name: new.get(name, part) for name, part in parts.items()}
    if names["y"] is None:
        raise InputError("y is None: give labels, or the name of their column.")
    if how["formula"] is not None and "y" in new:
        how = {**how, "formula": how["formula"].without_label()}
    columns = Columns(label=names["y"], weight=names["sample_weight"], group=names["groups"])
    reading = Reading(columns=columns, **how)
    reading.needed(table.names, "X")
    return DaskRows(table, *learn(table, reading))


def _table(X: Any, beside: dict[str, Any]) -> DaskTable:
    """Return collections cut at the same rows as one table."""
    is_array = hasattr(X, "chunks")
    X = _checked_array(X) if is_array else _checked_frame(X)
    known = _known(X) if is_array else None
    columns = {name: _checked_column(part, name, known) for name, part in beside.items()}
    features, *others = _cut_alike({"X": X, **columns}).values()
    lengths = known or reduce_parts(count_rows, None, [(each,) for each in features], "X").found
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
        raise InputError(f"X has {X.ndim} dimension(s) but must have 2{advice}.")
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


def _checked_frame(X: Any) -> Any:
    """Refuse what is no Dask data frame."""
    if getattr(X, "ndim", 0) != 2:
        raise InputError(
            f"X is a Dask {type(X).__name__}: give a Dask array or data frame, with a row a case."
        )
    return X


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
        types = (
            {}
            if announced is None
            else dict(zip(announced.schema.names, announced.schema.types, strict=True))
        )
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
