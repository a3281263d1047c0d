"""Reading data of any kind: arrays, data frames, and tables by their paths."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenodds.errors import InputError
from evenodds.rows.base import Rows
from evenodds.rows.dask_data import is_dask, read_collections
from evenodds.rows.formula_syntax import FormulaText
from evenodds.rows.labels import Columns, as_labels, is_missing
from evenodds.rows.memory import as_arrow, as_column, free_name, has_text, read_features, read_rows
from evenodds.rows.open_table import map_npy
from evenodds.rows.streamed import dropped
from evenodds.rows.table_rows import Missing, Reading, read_table, refuse_several
from evenodds.rows.tables import hold
from evenodds.validation import check_choice

if TYPE_CHECKING:
    import pyarrow as pa


def read_data(
    X: Any,
    y: Any,
    *,
    positive: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    formula: str | None = None,
    probabilities: str | None = None,
    missing: Missing = "refuse",
    called: str = "X",
) -> Rows:
    """Check data of any kind and return it as rows that can be summed over.

    Parameters
    ----------
    X : array, data frame, Dask collection, or path
        Features; a path, a list of paths, a folder or a glob names a table.
    y : array-like or str
        Labels, or the name of their column. None with a formula that names it.
    positive : object, optional
        The positive label.
    sample_weight, groups : array-like or str, optional
        As for `read_rows`, or names of columns.
    formula, probabilities : str, optional
        How columns become features.
    missing : {"refuse", "drop"}
        What to do with rows that lack a value.
    called : str
        What messages call data that is held in memory.
    """
    check_choice(missing, "missing", ("refuse", "drop"))
    refuse_several(formula, probabilities)
    parsed = None if formula is None else FormulaText(formula)
    label = None if parsed is None else parsed.label
    if y is None:
        y = label
    if is_npy(X):
        X, y = map_npy(Path(X)), map_npy(Path(y)) if is_npy(y) else y
    parts = {"y": y, "sample_weight": sample_weight, "groups": groups}
    how = {
        "formula": parsed,
        "probabilities": probabilities,
        "positive": positive,
        "missing": missing,
    }
    rows = _rows_of(X, parts, how, called)
    names = (*rows.label_names, label, getattr(y, "name", None))
    rows.label_names = tuple(dict.fromkeys(name for name in names if isinstance(name, str)))
    return rows


def _rows_of(X: Any, parts: dict[str, Any], how: dict[str, Any], called: str) -> Rows:
    """Return rows of whatever kind X is."""
    if is_path(X):
        return _from_path(X, parts, how)
    if is_dask(X):
        return read_collections(X, parts, how)
    parsed, probabilities, missing = how["formula"], how["probabilities"], how["missing"]
    named = any(isinstance(part, str) for part in parts.values())
    if named or parsed or probabilities or missing == "drop" or has_text(X, "X"):
        data = as_arrow(X, "X")
        if data is not None:
            return _from_frame(data, parts, how, called)
    if parsed or probabilities:
        way = "formula" if parsed else "probabilities"
        raise InputError(f"{way} needs columns with names: pass a data frame or a file as X.")
    notices: tuple[str, ...] = ()
    if missing == "drop":
        X, parts, notices = _without_holes(X, parts)
    rows = read_rows(
        X,
        parts["y"],
        positive=how["positive"],
        sample_weight=parts["sample_weight"],
        groups=parts["groups"],
    )
    rows.notices, rows.called = notices, called
    return rows


def is_path(X: Any) -> bool:
    """Tell a path, or a list of paths, from data."""
    if isinstance(X, (str, Path)):
        return True
    return isinstance(X, (list, tuple)) and bool(X) and all(isinstance(x, (str, Path)) for x in X)


def is_npy(X: Any) -> bool:
    """Tell the path of a single array."""
    return isinstance(X, (str, Path)) and str(X).lower().endswith(".npy")


def _from_path(source: Any, parts: dict[str, Any], how: dict[str, Any]) -> Rows:
    """Read a table whose columns are named."""
    for name, part in parts.items():
        needed = part is not None or name == "y"
        if needed and not isinstance(part, str):
            raise InputError(
                f"X is the path of a table, so {name} must be the name of one of its columns; it "
                f"is a {type(part).__name__}."
            )
    columns = Columns(label=parts["y"], weight=parts["sample_weight"], group=parts["groups"])
    reading = Reading(columns=columns, **how)
    return read_table(reading.open(source), reading)


def _from_frame(data: "pa.Table", parts: dict[str, Any], how: dict[str, Any], called: str) -> Rows:
    """Read a frame together with labels, weights and groups, which may be columns of it."""
    names: dict[str, str | None] = {}
    for part, values in parts.items():
        if values is None or isinstance(values, str):
            names[part] = values
            continue
        column = as_column(values, part)
        if len(column) != data.num_rows:
            raise InputError(
                f"X has {data.num_rows} rows but {part} has {len(column)}: give one value a row."
            )
        names[part] = free_name(part, tuple(data.column_names))
        data = data.append_column(names[part], column)
    label = names["y"]
    if label is None:
        raise InputError("y is None: give labels, or the name of their column.")
    if how["formula"] is not None and not isinstance(parts["y"], str):
        how = {**how, "formula": how["formula"].without_label()}
    columns = Columns(label=label, weight=names["sample_weight"], group=names["groups"])
    reading = Reading(columns=columns, **how)
    table = hold(data, called)
    reading.needed(table.names, called)
    return read_table(table, reading)


def _without_holes(X: Any, parts: dict[str, Any]) -> tuple[Any, dict[str, Any], tuple[str, ...]]:
    """Leave out rows of an array that lack a feature, a label, a weight or a group."""
    features = np.asarray(read_features(X, "X"))
    lacking = np.asarray(np.isnan(features.astype(np.float64)).any(axis=1))
    arrays = {name: as_labels(v, name) for name, v in parts.items() if v is not None}
    for values in arrays.values():
        if values.shape == lacking.shape:
            lacking |= np.fromiter(map(is_missing, values.tolist()), bool, len(values))
    kept = {name: v[~lacking] if v.shape == lacking.shape else v for name, v in arrays.items()}
    return features[~lacking], {**parts, **kept}, dropped(int(lacking.sum()), len(lacking))
