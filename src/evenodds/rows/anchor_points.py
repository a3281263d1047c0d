"""Anchors from files, and their columns made into features as those of the data were."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenodds.errors import AnchorError, InputError
from evenodds.rows.encoding.base import Encoding
from evenodds.rows.source import read_features
from evenodds.rows.tables.base import Table
from evenodds.rows.tables.numpy_files import map_npy
from evenodds.rows.tables.opening import open_table
from evenodds.rows.values import is_missing_in
from evenodds.validation import FloatArray, near_misses

if TYPE_CHECKING:
    import pyarrow as pa

# Columns of an anchors file that are not features but what the expert states.
STATED = ("posterior", "tolerance", "shared_tolerance")


def read_anchors(source: Any) -> tuple[Any, dict[str, Any]]:
    """Read a file of anchors: its points, and what the expert states of each."""
    if str(source).lower().endswith(".npy"):
        return np.array(map_npy(Path(source))), {}
    table = whole(open_table(source))
    stated = {name: table[name].to_numpy() for name in STATED if name in table.column_names}
    return table.drop_columns(list(stated)), stated


def whole(table: Table) -> "pa.Table":
    """Return a small table with all its columns."""
    import pyarrow as pa  # noqa: PLC0415 - only tables need it

    return pa.Table.from_batches([batch for _, batch in table.batches(table.names)])


def points_unread(given: "pa.Table") -> tuple[FloatArray, tuple[str, ...]]:
    """Return no points yet: columns of text wait for the encoding of the data."""
    if given.num_rows == 0:
        raise AnchorError("anchors is empty: give at least one point.")
    return np.empty((given.num_rows, 0)), tuple(given.column_names)


def read_points(points: Any) -> tuple[FloatArray, tuple[str, ...] | None]:
    """Return anchor points as a float matrix, with column names where they have them."""
    features = points if isinstance(points, dict) else read_features(points, "anchors")
    names = None
    if isinstance(features, dict):
        names = tuple(features)
        features = np.column_stack(list(features.values())) if features else np.empty((0, 0))
    matrix = np.array(features, dtype=np.float64)
    if len(matrix) == 0:
        raise AnchorError("anchors is empty: give at least one point.")
    bad = ~np.isfinite(matrix)
    if bad.any():
        row, column = (int(places[0]) for places in np.nonzero(bad))
        where = repr(names[column]) if names is not None else column
        raise AnchorError(
            f"anchors has {int(bad.sum())} missing or infinite value(s), the first at anchor "
            f"{row}, column {where}: an anchor needs every feature."
        )
    return matrix, names


def encode_points(encoding: Encoding, given: "pa.Table") -> FloatArray:
    """Return the features of anchors, refusing holes and levels the data has not."""
    batch = given.select(list(encoding.columns)).combine_chunks().to_batches()[0]
    for name in encoding.columns:
        missing = is_missing_in(batch.column(name))
        if missing.any():
            raise AnchorError(
                f"anchors has {int(missing.sum())} missing value(s) in column {name!r}, the first "
                f"at anchor {int(np.argmax(missing))}: an anchor needs every feature."
            )
    try:
        features = encoding.features(batch, "anchors")
    except InputError as error:
        raise AnchorError(str(error)) from None
    infinite = ~np.isfinite(features)
    if infinite.any():
        anchor, place = (int(places[0]) for places in np.nonzero(infinite))
        raise AnchorError(
            f"{encoding.feature_names[place]} is {features[anchor, place]} at anchor {anchor}: "
            "an anchor needs finite features."
        )
    return features


def refuse_other_columns(
    own: tuple[str, ...], needed: tuple[str, ...], known: tuple[str, ...]
) -> None:
    """Refuse anchors that lack a column of the data, or have one that the data has not."""
    absent = [name for name in needed if name not in own]
    if absent:
        raise AnchorError(
            f"anchors has no column {absent[0]!r}, which X has; {near_misses(absent[0], own)}"
        )
    extra = [name for name in own if name not in needed and name not in known]
    if extra:
        raise AnchorError(
            f"anchors has a column {extra[0]!r} that X has not; {near_misses(extra[0], needed)}"
        )
