"""Two labels of any kind as positive and negative."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.validation import FloatArray, as_array, join_quoted


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels with two values, turned into 0.0 and 1.0 a block at a time.

    Kept as the user gave them: a second copy of a long label column would
    cost more memory than the whole fit.
    """

    values: NDArray[Any]
    positive_value: Any  # the positive label as stored in `values`
    positive: Any  # the same as the user wrote it
    negative: Any
    as_is: bool  # already float64 zeros and ones

    def __len__(self) -> int:
        return len(self.values)

    def block(self, rows: slice | NDArray[np.int64]) -> FloatArray:
        """Return the labels of these rows as 0.0 and 1.0."""
        chosen = self.values[rows]
        return chosen if self.as_is else (chosen == self.positive_value).astype(np.float64)


def read_labels(y: Any, positive: Any = None, name: str = "y") -> Labels:
    """Check that `y` holds two labels and decide which one is positive.

    Parameters
    ----------
    y : array-like
        0/1, -1/+1, bool or two strings.
    positive : object, optional
        The positive label. Default: the larger number, True, or the later in sort order.
    name : str
        What messages call the labels.
    """
    values = label_column(y, name)
    if len(values) == 0:
        raise InputError(f"{name} is empty: give one label a row.")
    numeric = values.dtype.kind in "iufb"
    low, high = _two_labels(values, name)
    chosen, other = _choose_positive(low, high, positive)
    stored = chosen
    if not numeric:  # a byte a row from here on, however long the labels are
        values, stored = (values == chosen).astype(np.int8), np.int8(1)
    return Labels(
        values=values,
        positive_value=stored,
        positive=plain(chosen),
        negative=plain(other),
        as_is=values.dtype == np.float64 and (other, chosen) == (0.0, 1.0),
    )


def label_column(values: Any, name: str) -> NDArray[Any]:
    """Return labels as one column, also where they came as a row or as a table of one."""
    column = as_labels(values, name)
    if column.ndim == 2 and 1 in column.shape:
        column = column.ravel()
    if column.ndim != 1:
        raise InputError(f"{name} has shape {column.shape} but must be one column of labels.")
    return column


def as_labels(values: Any, name: str) -> NDArray[Any]:
    """Return labels as an array that keeps missing values apart from text."""
    try:
        array = as_array(values)
    except ValueError:
        raise InputError(
            f"{name} has entries of different lengths: give one value a row."
        ) from None
    if array.dtype.kind in "cV":
        raise InputError(
            f"{name} holds {array.dtype} values: give numbers, text or true and false, one a row."
        )
    if isinstance(values, (list, tuple)) and array.dtype.kind in "US":
        array = np.asarray(values, dtype=object)  # else nan would become the word 'nan'
    if array.dtype.kind in "mM":
        array = array.astype(str).astype(object)  # dates are as good as any two labels
    return array


def plain(label: Any) -> Any:
    """Return a label as a value that JSON knows, whole floats as ints."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def distinct_labels(values: NDArray[Any], name: str) -> list[Any]:
    """Return the labels of a column in sort order, refusing missing and infinite ones."""
    if values.dtype.kind in "iufb":
        return _distinct_numbers(values, name)
    try:
        distinct = set(values.tolist())
    except TypeError:
        raise InputError(f"{name} holds lists or other containers: give one label a row.") from None
    odd = next((value for value in distinct if isinstance(value, complex)), None)
    if odd is not None:
        raise InputError(f"{name} holds the complex number {odd}: give real numbers, or text.")
    if any(is_missing(value) for value in distinct):
        missing = np.fromiter(map(is_missing, values.tolist()), bool, len(values))
        _refuse_missing(missing, name)
    try:
        ordered = sorted(distinct)
    except TypeError:
        ordered = sorted(distinct, key=str)
    _refuse_spellings(ordered, name)
    return ordered


def _distinct_numbers(values: NDArray[Any], name: str) -> list[Any]:
    """Return the values of a numeric column, without sorting it where they are two."""
    low, high = values.min(), values.max()
    if np.isnan(low) or np.isnan(high):
        _refuse_missing(np.isnan(values), name)
    if np.isinf(low) or np.isinf(high):
        raise InputError(f"{name} holds an infinite value: labels must be two ordinary values.")
    if low == high:
        return [low]
    if not np.logical_or(values == low, values == high).all():
        return list(np.unique(values))
    return [low, high]


def _two_labels(values: NDArray[Any], name: str) -> tuple[Any, Any]:
    """Return the two labels of a column, the lower first."""
    labels = distinct_labels(values, name)
    if len(labels) == 1:
        _refuse_one_label(labels[0], name)
    if len(labels) > 2:
        _refuse_many_labels(labels, name)
    return labels[0], labels[1]


def lookalikes(labels: list[Any]) -> tuple[Any, Any] | None:
    """Return two labels that print alike, such as 1 and "1": nobody could tell them apart."""
    printed: dict[str, Any] = {}
    # Numbers first, so that the pair does not depend on the order of a set.
    for label in sorted(map(plain, labels), key=lambda label: (str(label), isinstance(label, str))):
        twin = printed.setdefault(str(label), label)
        if twin is not label:
            return twin, label
    return None


def is_missing(value: Any) -> bool:
    """Tell None, nan and the NA of data frames from real labels."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in {"NAType", "NaTType", "MaskedConstant"}


def _choose_positive(low: Any, high: Any, positive: Any) -> tuple[Any, Any]:
    """Return (positive, negative); a label may also be named by how it prints."""
    if positive is None:
        return high, low
    for chosen, other in ((high, low), (low, high)):
        spelled = str(plain(chosen))
        if positive == chosen or str(positive) == spelled:
            return chosen, other
        if isinstance(plain(chosen), bool) and str(positive).lower() == spelled.lower():
            return chosen, other
    raise InputError(
        f"positive is {positive!r} but the labels are {join_quoted((plain(low), plain(high)))}: "
        "name one of these."
    )


def _refuse_missing(missing: NDArray[np.bool_], name: str) -> None:
    count, first = int(missing.sum()), int(np.argmax(missing))
    raise InputError(
        f"{name} has {count} missing value{'s' if count > 1 else ''}, the first in row {first}: "
        "drop the rows without a label."
    )


def _refuse_spellings(labels: list[Any], name: str) -> None:
    """Refuse labels that differ only in case or blanks: they are one label, or a trap."""
    folded: dict[Any, Any] = {}
    for label in labels:
        key = label.strip().casefold() if isinstance(label, str) else label
        twin = folded.setdefault(key, label)
        if twin != label:
            raise InputError(
                f"{name} has labels {twin!r} and {label!r}, which differ only in case or blanks: "
                "write each label one way."
            )


def _refuse_one_label(label: Any, name: str) -> None:
    raise InputError(
        f"{name} has one label only ({plain(label)!r}) but this test needs two: "
        "check the label column, or that rows of both classes were read."
    )


def _refuse_many_labels(labels: Any, name: str) -> None:
    shown = join_quoted([plain(label) for label in labels], limit=5)
    raise InputError(
        f"{name} has {len(labels)} distinct labels ({shown}) but this test needs 2: "
        "keep the rows of two of them, or use multiclass_test."
    )
