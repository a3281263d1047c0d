"""Rows whose labels have three values or more, held in memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.rows.anchor_points import whole
from evenodds.rows.base import Rows
from evenodds.rows.dask_data import is_dask
from evenodds.rows.formula_syntax import FormulaText
from evenodds.rows.labels import Columns, distinct_labels, label_column, lookalikes, plain
from evenodds.rows.memory import as_arrow
from evenodds.rows.open_table import map_npy, open_table
from evenodds.rows.read import is_npy, is_path, read_data
from evenodds.validation import FloatArray, check_column, join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


MOST_CLASSES = 50


@dataclass(frozen=True, slots=True)
class Classes:
    """Labels as numbers into their sorted names."""

    codes: NDArray[np.intp]
    names: tuple[Any, ...]

    def number(self, name: Any) -> int | None:
        """Return the place of a class, named as it is or as it prints; None if unknown."""
        for place, own in enumerate(self.names):
            if own == name or str(own) == str(name).strip():
                return place
        return None


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


def read_classes(
    y: Any,
    name: str = "y",
    *,
    known: tuple[Any, ...] | None = None,
    for_two: str = "asymmetry_test (evenodds test)",
) -> Classes:
    """Check labels and number them in sort order.

    `known` lists classes that may occur; `for_two` is the test of two classes.
    """
    values = label_column(y, name)
    if len(values) == 0:
        raise InputError(f"{name} is empty: give one label a row.")
    distinct = distinct_labels(values, name)
    ordered = [plain(label) for label in distinct]
    if known is None:
        _check_number(ordered, name, for_two)
        twins = lookalikes(ordered)
        if twins is not None:
            raise InputError(
                f"{name} has labels {twins[0]!r} and {twins[1]!r}, which print alike: write each "
                "label one way."
            )
    names = tuple(ordered) if known is None else known
    strange = [label for label in ordered if label not in names]
    if strange:
        raise InputError(
            f"{name} has label {strange[0]!r}, which is none of {join_quoted(names)}: these "
            "labels and those must be of the same classes."
        )
    places = {own: place for place, own in enumerate(names)}
    # By the label as it came: making every row's plain would take longer than all the rest.
    raw = {label: places[own] for label, own in zip(distinct, ordered, strict=True)}
    codes = np.fromiter(map(raw.__getitem__, values.tolist()), np.intp, len(values))
    if known is None:
        _check_counts(codes, names, name)
    return Classes(codes, names)


def _check_number(ordered: list[Any], name: str, for_two: str) -> None:
    if len(ordered) < 3:
        what = "one label" if len(ordered) == 1 else "two labels"
        raise InputError(
            f"{name} has {what} only ({join_quoted(ordered)}) but this test needs three or more: "
            f"for two use {for_two}."
        )
    if len(ordered) > MOST_CLASSES:
        raise InputError(
            f"{name} has {len(ordered)} distinct labels ({join_quoted(ordered, limit=3)}), more "
            f"than {MOST_CLASSES}: is it a column of classes? Merge rare ones, or keep the rows of "
            "some."
        )


def _check_counts(codes: NDArray[np.intp], names: tuple[Any, ...], name: str) -> None:
    """Refuse a class seen once: nothing can be learned of where it lies."""
    once = np.flatnonzero(np.bincount(codes) == 1)
    if len(once):
        raise InputError(
            f"label {names[once[0]]!r} is seen once in {name}: merge it with another class, or "
            "drop its row."
        )


def _taken_out(X: Any, label: str, called: str) -> tuple["pa.Table", NDArray[Any]]:
    """Return a table without its label column, and that column."""
    table = as_arrow(X, "X")
    if table is None:
        raise InputError(f"y is {label!r} but X has no columns with names: give the labels.")
    check_column(label, table.column_names, called)
    values = np.array(table[label].to_pylist(), dtype=object)
    return table.drop_columns([label]), values
