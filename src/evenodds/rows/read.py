"""Reading data of any kind, of two classes or more: arrays, data frames, and tables by path."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.rows.anchor_points import whole
from evenodds.rows.base import Rows, is_on_device
from evenodds.rows.dask_data import is_dask, read_collections, read_files
from evenodds.rows.device import read_tensors, to_device
from evenodds.rows.formula_syntax import FormulaText
from evenodds.rows.labels import Classes, Columns, as_labels, is_missing, read_classes
from evenodds.rows.memory import (
    as_arrow,
    as_column,
    check_length,
    free_name,
    has_text,
    read_features,
    read_rows,
)
from evenodds.rows.open_table import map_npy, open_table
from evenodds.rows.table_rows import Missing, Reading, dropped, read_table, refuse_several
from evenodds.rows.tables import hold
from evenodds.validation import (
    FloatArray,
    check_choice,
    check_column,
    check_same_order,
    kind_of_value,
)

if TYPE_CHECKING:
    import pyarrow as pa


# Ways to say which columns are features; no two of them go together.
WAYS = ("features", "formula", "probabilities")


def read_data(
    X: Any,
    y: Any,
    *,
    positive: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    features: tuple[str, ...] | None = None,
    formula: str | None = None,
    probabilities: str | None = None,
    missing: Missing | None = None,
    anchor: str | None = None,
    true: str | None = None,
    on_workers: bool = False,
    device: str | None = None,
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
    features : tuple of str, optional
        Columns that are features; default all that play no other part.
    formula, probabilities : str, optional
        How columns become features.
    missing : {"refuse", "drop"}, optional
        What to do with rows that lack a value. None: they are refused, without the advice to ask
        for "drop", which the caller does not offer.
    anchor, true : str, optional
        Columns that mark anchors, which are left out, and that hold looked-up labels.
    on_workers : bool
        Whether the workers of the current Dask client read the table.
    device : str, optional
        Where torch holds and sums the rows, such as "cuda".
    called : str
        What messages call data that is held in memory.
    """
    if missing is not None:
        check_choice(missing, "missing", get_args(Missing))
    refuse_several(features, formula, probabilities)
    parsed = None if formula is None else FormulaText(formula)
    label = None if parsed is None else parsed.label
    if y is None:
        y = label
    if is_path(X) and not isinstance(X, (str, Path)) and len(X) == 1:
        (X,) = X
    if is_npy(X) and (is_npy(y) or not isinstance(y, str)):
        X, y = map_npy(Path(X)), map_npy(Path(y)) if is_npy(y) else y
    if parsed is not None:
        parsed.refuse_label(label, y if isinstance(y, str) else getattr(y, "name", None))
        parsed = parsed if isinstance(y, str) else parsed.without_label()
    parts = {"y": y, "sample_weight": sample_weight, "groups": groups}
    check_same_order(**{called: X}, **parts)
    how = {
        "features": features,
        "formula": parsed,
        "probabilities": probabilities,
        "positive": positive,
        "missing": missing,
        "anchor": anchor,
        "true": true,
    }
    if is_on_device(X):
        rows: Rows = _on_device(X, parts, how)
    elif is_path(X):
        rows = _from_path(X, parts, how, on_workers)
    else:
        rows = read_collections(X, parts, how) if is_dask(X) else _held(X, parts, how, called)
    names = (*rows.label_names, label, getattr(y, "name", None))
    rows.label_names = tuple(dict.fromkeys(name for name in names if isinstance(name, str)))
    rows.role_names = (*rows.role_names, *([] if true is None else [true]))
    rows.features_chosen = any(how[way] is not None for way in WAYS)
    if missing is None:
        rows.advice_on_missing = ""
    return rows if device is None else to_device(rows, device)


def _on_device(X: Any, parts: dict[str, Any], how: dict[str, Any]) -> Rows:
    """Return the rows of a tensor."""
    asked = next((way for way in WAYS if how[way] is not None), None)
    if asked:
        raise InputError(f"{asked} needs columns with names: pass a data frame or a file as X.")
    if how["missing"] == "drop":
        raise InputError('missing="drop" is for rows in memory or files: drop them from X first.')
    return read_tensors(X, parts, how["positive"])


def _held(X: Any, parts: dict[str, Any], how: dict[str, Any], called: str) -> Rows:
    """Return the rows of an array or a data frame."""
    way = next((way for way in WAYS if how[way] is not None), None)
    named = any(isinstance(part, str) for part in parts.values())
    if way or named or how["missing"] == "drop" or has_text(X, "X"):
        data = as_arrow(X, "X")
        if data is not None:
            return _from_frame(data, parts, how, called)
    if way:
        raise InputError(f"{way} needs columns with names: pass a data frame or a file as X.")
    notices: tuple[str, ...] = ()
    if how["missing"] == "drop":
        X, parts, notices = _without_holes(X, parts)
    rows = read_rows(X, positive=how["positive"], **parts)
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


def _from_path(source: Any, parts: dict[str, Any], how: dict[str, Any], on_workers: bool) -> Rows:
    """Read a table whose columns are named."""
    for name, part in parts.items():
        needed = part is not None or name == "y"
        if needed and not isinstance(part, str):
            raise InputError(
                f"X is the path of a table, so {name} must be the name of one of its columns; it "
                f"is {kind_of_value(part)}."
            )
    reading = Reading.of(parts, how)
    if on_workers:
        sources = [source] if isinstance(source, (str, Path)) else source
        return read_files([str(each) for each in sources], reading)
    return read_table(reading.open(source), reading)


def _from_frame(data: "pa.Table", parts: dict[str, Any], how: dict[str, Any], called: str) -> Rows:
    """Read a frame together with labels, weights and groups, which may be columns of it."""
    names: dict[str, str | None] = {}
    for part, values in parts.items():
        if values is None or isinstance(values, str):
            names[part] = values
            continue
        column = as_column(values, part)
        check_length(column, part, data.num_rows)
        names[part] = free_name(part, tuple(data.column_names))
        data = data.append_column(names[part], column)
    reading = Reading.of(names, how)
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


@dataclass(frozen=True, slots=True)
class ClassRows:
    """Features in memory with the labels of three classes or more."""

    features: FloatArray
    classes: Classes
    weights: FloatArray | None
    groups: NDArray[np.int64] | None
    rows: Rows  # the same as a source of one class against the rest: names, encoding, notices


def read_class_rows(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    formula: str | None = None,
    features: tuple[str, ...] | None = None,
) -> ClassRows:
    """Check data of any kind with three labels or more, and hold it in memory.

    `features` are the columns of a table to use; default all that have no other part.
    """
    if is_dask(X):
        raise InputError("X is a Dask collection, but several classes are read in memory: compute.")
    if y is None and formula is not None:
        y = FormulaText(formula).label
    called, labels, label = "X", "y", getattr(y, "name", None)
    if is_path(X) and not is_npy(X):
        opened = open_table(X)
        X, called = whole(opened), opened.name
    if isinstance(y, str) and not is_npy(y):
        weight, group = (
            part if isinstance(part, str) else None for part in (sample_weight, groups)
        )
        Columns(label=y, weight=weight, group=group)  # which refuses a label with another part
        if formula is not None:
            FormulaText(formula).refuse_label(y)
        labels, label = f"column {y!r}", y
        X, y = _taken_out(X, y, called)
    elif is_npy(y):
        y = map_npy(Path(y))
    classes = read_classes(y, labels)
    rows = read_data(
        X,
        classes.codes == 0,
        sample_weight=sample_weight,
        groups=groups,
        features=features,
        formula=formula,
        called=called,
    )
    rows.label_names = (*rows.label_names, *([label] if isinstance(label, str) else []))
    held = rows.to_memory()
    weights = held.weights if rows.weighted else None
    return ClassRows(held.features, classes, weights, held.groups, rows)


def _taken_out(X: Any, label: str, called: str) -> tuple["pa.Table", NDArray[Any]]:
    """Return a table without its label column, and that column."""
    table = as_arrow(X, "X")
    if table is None:
        raise InputError(f"y is {label!r} but X has no columns with names: give the labels.")
    check_column(label, table.column_names, called)
    values = np.array(table[label].to_pylist(), dtype=object)
    return table.drop_columns([label]), values
