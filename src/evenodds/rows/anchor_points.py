"""Anchors beside the data: read from files, made into features, and told from the data itself."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenodds.errors import AnchorError, InputError
from evenodds.files import FORMULA_STARTS
from evenodds.rows.base import Block, Encoding, Rows
from evenodds.rows.memory import read_features
from evenodds.rows.open_table import TEXT, map_npy, open_table
from evenodds.rows.tables import Table, as_numpy, is_missing_in, kind_of
from evenodds.validation import FloatArray, check_column, counted, join_quoted, near_misses

if TYPE_CHECKING:
    import pyarrow as pa


# Columns of an anchors file that are not features but what the expert states.
STATED = ("posterior", "tolerance", "shared_tolerance")
# Columns that number rows, by their names: id, patient_id, row, index, case, Unnamed: 0.
NUMBERING = re.compile(
    r"(?i:^(|unnamed: ?\d+|__index_level_\d+__|index|no|nr|uuid|key"
    r"|(row|case|record|item|line)([ _.]?(no|nr|number|index))?)$|(^|[ _.-])id$)|[a-z]I[dD]$"
)
# A cell of a text file that a spreadsheet would have run, as `write_csv` writes it.
ESCAPED = re.compile(f"^'([{re.escape(FORMULA_STARTS)}])")
# Rows are told apart on cells of this width, in standard deviations of the anchors.
GRID_STEP = 0.02
GRID_AXES = 3
GRID_SEED = 20210303
GRID_SHIFT = 0.382  # so that no round value lies on the edge of a cell
GRID_KEYS = np.array([1.0, 1e5 + 3, 1e10 + 19])


def read_anchors(source: Any) -> tuple[Any, dict[str, Any]]:
    """Read a file of anchors: its points, and what the expert states of each."""
    if str(source).lower().endswith(".npy"):
        return np.array(map_npy(Path(source))), {}
    table = anchor_table(source)
    stated = {name: as_numpy(table[name]) for name in STATED if name in table.column_names}
    return table.drop_columns(list(stated)), stated


def anchor_table(source: Any) -> "pa.Table":
    """Open a file of anchors, and take back what keeps spreadsheets from running its cells."""
    from pyarrow import compute

    table = whole(open_table(source))
    first = source if isinstance(source, (str, Path)) else source[0]
    if Path(first).suffix.lower() not in TEXT:
        return table
    for place, part in enumerate(table.schema):
        if kind_of(part.type) == "text":
            cells = compute.replace_substring_regex(table.column(place), ESCAPED.pattern, r"\1")
            table = table.set_column(place, part.name, cells)
    return table.rename_columns([ESCAPED.sub(r"\1", name) for name in table.column_names])


def whole(table: Table) -> "pa.Table":
    """Return a small table with all its columns."""
    import pyarrow as pa

    return pa.Table.from_batches([batch for _, batch in table.batches(table.names)])


def unread(given: "pa.Table") -> tuple[FloatArray, tuple[str, ...]]:
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
            f"anchors has {counted(int(bad.sum()), 'missing or infinite value')}, the first at "
            f"anchor {row + 1}, column {where}: an anchor needs every feature."
        )
    return matrix, names


def features_of(given: "pa.Table", encoding: Encoding | None) -> FloatArray:
    """Return the features of anchors: their columns, or what the data's encoding makes of them."""
    if encoding is not None:
        return _encoded(given, encoding)
    refuse_text(given)
    return read_points(given)[0]


def refuse_text(given: "pa.Table", called: object = "anchors") -> None:
    """Refuse anchors of text beside data of numbers."""
    text = [part.name for part in given.schema if kind_of(part.type) == "text"]
    if text:
        data = "X" if called == "anchors" else "the data"
        raise AnchorError(
            f"{called} has text in {join_quoted(text)} but {data} has numbers only: give each "
            f"anchor the same features as {data}."
        )


def _encoded(given: "pa.Table", encoding: Encoding) -> FloatArray:
    """Return encoded anchors, refusing holes and levels the data has not."""
    batch = given.combine_chunks().to_batches()[0]
    for name in encoding.columns:
        missing = is_missing_in(batch.column(name))
        if missing.any():
            raise AnchorError(
                f"anchors has {counted(int(missing.sum()), 'missing value')} in column {name!r}, "
                f"the first at anchor {int(np.argmax(missing)) + 1}: an anchor needs every feature."
            )
    try:
        features = encoding.features(batch, "anchors")
    except InputError as error:
        raise AnchorError(str(error)) from None
    infinite = ~np.isfinite(features)
    if infinite.any():
        anchor, place = (int(places[0]) for places in np.nonzero(infinite))
        raise AnchorError(
            f"{encoding.feature_names[place]} is {features[anchor, place]} at anchor {anchor + 1}: "
            "an anchor needs finite features."
        )
    return features


def columns_beside(
    own: Sequence[str], rows: Rows, called: object = "anchors", also: Sequence[str] = ()
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the columns of anchors that features are made of, and those that nothing is made of.

    The latter are columns that the data has too; what experts state and what numbers the rows is
    nothing to judge a case by. Refused are a label, which makes anchors labelled data and no
    expert's cases; a column that is not there; and one that neither the data has nor may be
    there `also`.
    """
    needed = rows.feature_names if rows.encoding is None else rows.encoding.columns
    held = [name for name in rows.label_names if name in own and name not in (needed or ())]
    if held:
        raise AnchorError(
            f"{called} has the label column {held[0]!r}: anchors are cases that an expert judged "
            "without a look at the labels, so give these alone, without that column."
        )
    if needed is None:
        return None, ()
    refuse_other_columns(own, needed, (*rows.known_columns, *also), called)
    known = {*rows.known_columns} - {*needed, *rows.label_names, *rows.role_names, *STATED}
    ignored = [name for name in own if name in known and not NUMBERING.search(name)]
    return needed, tuple(ignored)


def refuse_other_columns(
    own: Sequence[str], needed: Sequence[str], known: Sequence[str], called: object = "anchors"
) -> None:
    """Refuse anchors that lack a column of the data, or have one that the data has not."""
    data, advice = "X", ""
    if called != "anchors":
        data, advice = "the data", " Use --features to name the columns to use."
    for name in needed:
        check_column(name, own, called, why=f", which {data} has", advice=advice, error=AnchorError)
    extra = [name for name in own if name not in needed and name not in known]
    if extra:
        near = near_misses(extra[0], needed)
        raise AnchorError(f"{called} has a column {extra[0]!r} that {data} has not; {near}")


def refuse_holes(table: "pa.Table", columns: Sequence[str], called: object) -> None:
    """Refuse anchors with missing values, by the row of their file."""
    for name in columns:
        missing = is_missing_in(table[name].combine_chunks())
        if missing.any():
            count = counted(int(missing.sum()), "missing value")
            raise AnchorError(
                f"column {name!r} of {called} has {count}, the first at anchor "
                f"{int(np.argmax(missing)) + 1} of {len(missing)}: fill it in, or leave that "
                "anchor out."
            )


def refuse_the_data(points: FloatArray, rows: Rows) -> None:
    """Refuse anchors that hold more than half of the rows, which makes them the data itself."""
    if 2 * len(points) <= rows.total_weight or rows.anchors_left_out:
        return
    shared = shared_rows(points, rows)
    if 2 * shared > rows.total_weight:
        raise AnchorError(
            f"anchors holds {shared:,.0f} of the {rows.total_weight:,.0f} rows of the data, so it "
            "is the data and not a choice of cases: give the toss-ups alone, those where an expert "
            "could not tell the class."
        )


def shared_rows(points: FloatArray, rows: Rows) -> float:
    """Return how many rows are anchors too, each anchor standing for one row, by their weights.

    Rows are compared on a fine grid along a few fixed directions: digits that a file has
    rounded off make no other row, and a row costs one key however many features it has.
    """
    with np.errstate(all="ignore"):  # what is beyond all numbers shares no cell
        scale, centre = points.std(axis=0), points.mean(axis=0)
    scale[(scale == 0) | ~np.isfinite(scale)] = 1.0
    directions = np.random.default_rng(GRID_SEED).normal(size=(points.shape[1], GRID_AXES))
    directions /= np.linalg.norm(directions, axis=0) * GRID_STEP
    grid = centre, directions / scale[:, None]
    anchors = _cells(grid, points, None)
    (found,) = rows.totals(partial(_anchor_cells, grid, frozenset(anchors)))
    return float(sum(min(weight, anchors[key]) for key, weight in found.items()))


Grid = tuple[FloatArray, FloatArray]  # its centre, and the directions of its axes


def _anchor_cells(grid: Grid, anchors: Collection[float], block: Block) -> tuple[Counter[float]]:
    """Return how many rows of a block lie in each of some cells."""
    lying = _cells(grid, block.features, block.weights)
    return (Counter({key: weight for key, weight in lying.items() if key in anchors}),)


def _cells(grid: Grid, features: FloatArray, weights: FloatArray | None) -> dict[float, Any]:
    """Return the cells that rows lie in, and how many rows lie in each."""
    with np.errstate(all="ignore"):  # rows with holes lie nowhere
        cells = np.floor((features - grid[0]) @ grid[1] + GRID_SHIFT)
        keys = cells @ GRID_KEYS
    there = np.isfinite(keys)
    distinct, places = np.unique(keys[there], return_inverse=True)
    counted = None if weights is None else weights[there]
    counts = np.bincount(places, counted, minlength=len(distinct))
    return dict(zip(distinct.tolist(), counts.astype(float).tolist(), strict=True))
