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
    from dask import delayed  # noqa: PLC0415 - loaded already, since X is of Dask

    is_array = hasattr(X, "chunks")
    features, lengths = _array_blocks(X) if is_array else _frame_blocks(X)
    columns = {
        name: _blocks_beside(part, name, len(features), lengths) for name, part in beside.items()
    }
    if lengths is None:
        counted = features if is_array else list(X.index.to_delayed())
        lengths = reduce_parts(count_rows, None, [(each,) for each in counted], "X").found
    if sum(lengths) == 0:
        raise InputError("X is empty: give a row for each label.")
    schema = _schema(X, beside)
    announced = delayed(schema, pure=False, traverse=False)  # sent to a worker once
    there = tuple(
        There(Partition, (block, others, announced, n_rows))
        for block, n_rows, *others in zip(features, lengths, *columns.values(), strict=True)
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


def _array_blocks(X: Any) -> tuple[list[Any], Sequence[int] | None]:
    """Return runs of rows of a Dask array, and their lengths where Dask knows them."""
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
    blocks = list(X.rechunk({1: X.shape[1]}).to_delayed()[:, 0])
    return blocks, _known(X)


def _frame_blocks(X: Any) -> tuple[list[Any], None]:
    """Return the partitions of a Dask data frame, whose lengths Dask does not know."""
    if getattr(X, "ndim", 0) != 2:
        raise InputError(
            f"X is a Dask {type(X).__name__}: give a Dask array or data frame, with a row a case."
        )
    return list(X.to_delayed()), None


def _blocks_beside(part: Any, name: str, n_blocks: int, lengths: Sequence[int] | None) -> list[Any]:
    """Return labels, weights or groups cut as X is."""
    if part.ndim == 2 and hasattr(part, "chunks") and part.shape[1] == 1:
        part = part[:, 0]
    if part.ndim != 1:
        raise InputError(f"{name} has {part.ndim} dimensions but must be one column.")
    if hasattr(part, "chunks") and lengths is not None:
        own = _known(part)
        if own is not None:
            if sum(own) != sum(lengths):
                raise InputError(
                    f"X has {sum(lengths)} rows but {name} has {sum(own)}: give one value a row."
                )
            part = part.rechunk((tuple(lengths),))
    if part.npartitions != n_blocks:
        raise InputError(
            f"X has {n_blocks} partitions but {name} has {part.npartitions}: cut both at the same "
            "rows."
        )
    return list(part.to_delayed())


def _known(array: Any) -> tuple[int, ...] | None:
    """Return the lengths of an array's runs of rows, or None where Dask does not know them."""
    lengths = array.chunks[0]
    return None if any(np.isnan(length) for length in lengths) else tuple(lengths)


def _schema(X: Any, beside: dict[str, Any]) -> "pa.Schema":
    """Return the names and types that the collections announce; those beside X come last."""
    import pyarrow as pa  # noqa: PLC0415 - only tables need it

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
    from dask.dataframe.utils import meta_nonempty  # noqa: PLC0415 - loaded already

    return meta_nonempty(collection._meta)
