"""Labels of any kind as positive and negative, or by class; weights and groups beside them.

Each is checked in one pass that reads these columns only; what is learnt is small, so that
a batch can be read later without looking back.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.rows.base import IntArray
from evenodds.rows.tables import (
    Selection,
    Table,
    as_numpy,
    filtered,
    is_missing_in,
    kind_of,
    numbers,
    plain_array,
    text_array,
)
from evenodds.validation import FloatArray, as_array, counted, join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


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


def label_column(values: Any, name: str, needed: str = "one column of labels") -> NDArray[Any]:
    """Return labels as one column, also where they came as a row or as a table of one."""
    column = as_labels(values, name)
    if column.ndim == 2 and 1 in column.shape:
        column = column.ravel()
    if column.ndim != 1:
        raise InputError(f"{name} has shape {column.shape} but must be {needed}.")
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
        # Dates are as good as any two labels, and where there is none a label is missing.
        none, array = np.isnat(array), array.astype(str).astype(object)
        array[none] = None
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
        raise InputError(
            f"{name} has one label only ({plain(labels[0])!r}) but this test needs two: "
            "check the label column, or that rows of both classes were read."
        )
    if len(labels) > 2:
        shown = join_quoted([plain(label) for label in labels], limit=5)
        raise InputError(
            f"{name} has {len(labels)} distinct labels ({shown}) but this test needs 2: "
            "keep the rows of two of them, or use multiclass_test (evenodds multiclass)."
        )
    return labels[0], labels[1]


def lookalikes(labels: list[Any]) -> tuple[Any, Any] | None:
    """Return two labels that print alike, such as 1 and "1": nobody could tell them apart."""
    # Numbers first, so that the pair does not depend on the order of a set.
    ordered = sorted(map(plain, labels), key=lambda label: (str(label), isinstance(label, str)))
    return first_twins(ordered, str)


def first_twins(values: Iterable[Any], key: Callable[[Any], Any]) -> tuple[Any, Any] | None:
    """Return the first two different values of one key, if there are any."""
    seen: dict[Any, Any] = {}
    for value in values:
        twin = seen.setdefault(key(value), value)
        if twin is not value and (twin != value or type(twin) is not type(value)):
            return twin, value
    return None


def is_missing(value: Any) -> bool:
    """Tell None, nan, dates that are none and the NA of data frames from real labels."""
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in {"NAType", "NaTType", "MaskedConstant"}


def _choose_positive(low: Any, high: Any, positive: Any) -> tuple[Any, Any]:
    """Return (positive, negative); a label may also be named by how it prints."""
    if positive is None:
        return high, low
    one = not np.shape(positive) and not is_missing(positive)
    for chosen, other in ((high, low), (low, high)) if one else ():
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
        f"{name} has {counted(count, 'missing value')}, the first in row {first}: "
        "drop the rows without one."
    )


def _refuse_spellings(labels: list[Any], name: str) -> None:
    """Refuse labels that differ only in case or blanks: they are one label, or a trap."""
    twins = first_twins(labels, lambda one: one.strip().casefold() if isinstance(one, str) else one)
    if twins is not None:
        raise InputError(
            f"{name} has labels {twins[0]!r} and {twins[1]!r}, which differ only in case or "
            "blanks: write each label one way."
        )


def check_total_weight(
    name: str, total: float, largest: float, of_labels: Iterable[tuple[Any, float]]
) -> None:
    """Refuse weights that add up to no rows, to no counts, or to rows of one label only."""
    if total == 0:
        raise InputError(f"{name} is zero everywhere: no rows are left.")
    if largest > 1e12 or total < 1:
        raise InputError(
            f"{name} adds up to {total:g} rows: it is how many rows each row stands for, so give "
            "counts."
        )
    for label, weight in of_labels:
        if weight == 0:
            raise InputError(
                f"{name} is zero for every row labelled {label!r}: one class only is left."
            )


# Decimals of no more digits are told apart as floating-point numbers.
DIGITS_OF_A_FLOAT = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns of a table play which part, by name."""

    label: str
    features: tuple[str, ...] | None = None  # None: every column that plays no other part
    anchor: str | None = None
    weight: str | None = None
    group: str | None = None
    true: str | None = None  # true labels of rows that were looked up

    def __post_init__(self) -> None:
        parts = {"marks anchors": self.anchor, "holds weights": self.weight}
        parts |= {"holds groups": self.group, "holds true labels": self.true}
        for part, name in parts.items():
            if name == self.label:
                raise InputError(
                    f"column {name!r} is named as the label and as the one that {part}: name two "
                    "different columns."
                )

    @property
    def others(self) -> tuple[str, ...]:
        """The columns that are not features, each once."""
        named = (self.label, self.anchor, self.weight, self.group, self.true)
        return tuple(dict.fromkeys(name for name in named if name is not None))


@dataclass(frozen=True, slots=True)
class Roles:
    """How labels, weights and groups are read from a batch."""

    label: str
    positive_value: Any  # as it is stored
    positive: Any  # as the user writes it
    negative: Any
    weight: str | None = None
    group: str | None = None
    group_values: "pa.Array | None" = None  # their places are the groups' numbers

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read, each once."""
        named = (self.label, self.weight, self.group)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def labels(self, batch: "pa.RecordBatch") -> FloatArray:
        """Return 1.0 where the label is the positive one, else 0.0."""
        from pyarrow import compute

        column = label_values(batch.column(self.label))
        if kind_of(column.type) == "number":
            return np.asarray(numbers(column) == self.positive_value, dtype=np.float64)
        positive = compute.equal(column, text_array([str(self.positive_value)])[0])
        return as_numpy(positive).astype(np.float64)

    def weights(self, batch: "pa.RecordBatch") -> FloatArray | None:
        """Return how many rows each row stands for."""
        if self.weight is None:
            return None
        return np.asarray(numbers(batch.column(self.weight)), dtype=np.float64)

    def groups(self, batch: "pa.RecordBatch") -> IntArray | None:
        """Return the number of each row's group."""
        from pyarrow import compute

        if self.group is None:
            return None
        values = plain_array(batch.column(self.group)).cast(self.group_values.type)  # type: ignore[union-attr]
        codes = compute.index_in(values, value_set=self.group_values)
        return as_numpy(codes).astype(np.int64)


def label_values(column: "pa.Array") -> "pa.Array":
    """Return labels as numbers or text: dates are as good as any two texts."""
    import pyarrow as pa

    column = plain_array(column)
    if pa.types.is_decimal(column.type) and column.type.precision <= DIGITS_OF_A_FLOAT:
        return column.cast(pa.float64())
    if pa.types.is_decimal(column.type):
        return column.cast(pa.string())
    return column if kind_of(column.type) == "number" else column.cast(pa.string())


# With more different labels than this there is no need to count them all.
MOST_LABELS = 1000


@dataclass
class Facts:
    """What has been seen of labels, weights and groups so far."""

    roles: Columns
    selection: Selection
    labels: dict[Any, float] = field(default_factory=dict)  # weight of each
    kept: dict[int, int] = field(default_factory=dict)  # rows of a batch, by its first row
    n_counted: int = 0
    total_weight: float = 0.0
    largest_weight: float = 0.0
    weighted: bool = False
    n_anchors: int = 0
    missing: dict[str, tuple[int, int]] = field(default_factory=dict)  # first row, how many
    wrong_weight: tuple[int, float] | None = None  # first row that has one, and what it is
    groups: "list[pa.Array]" = field(default_factory=list)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read, each once."""
        named = (self.roles.label, self.roles.weight, self.roles.group, *self.selection.columns)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def n_rows(self) -> int:
        """Rows that take part."""
        return sum(self.kept.values())

    def kept_in(self, table: Table) -> list[int]:
        """Return how many rows of each part take part."""
        starts = [start for start, _ in table.starts()]
        kept = [0] * len(starts)
        for first, count in self.kept.items():
            kept[bisect_right(starts, first) - 1] += count
        return kept

    def add(self, start: int, batch: "pa.RecordBatch") -> None:
        if batch.num_rows == 0:
            return
        kept = self.selection.kept(batch)
        rows = np.arange(batch.num_rows) if kept is None else np.flatnonzero(kept)
        self.n_anchors += int(self.selection.anchors(batch).sum())
        self.kept[start] = len(rows)
        self._look(batch if kept is None else filtered(batch, kept), start + rows)

    def merge(self, other: Self) -> None:
        for label, weight in other.labels.items():
            self._count_label(label, weight)
        self.kept |= other.kept
        self.n_counted += other.n_counted
        self.total_weight += other.total_weight
        self.largest_weight = max(self.largest_weight, other.largest_weight)
        self.weighted = self.weighted or other.weighted
        self.n_anchors += other.n_anchors
        for name, (first, count) in other.missing.items():
            self._count_missing(name, first, count)
        if self.wrong_weight is None:
            self.wrong_weight = other.wrong_weight
        self.groups = distinct([*self.groups, *other.groups])

    def _look(self, batch: "pa.RecordBatch", rows: Any) -> None:
        """Take in the rows of a batch that take part, given their numbers."""
        weights = self._weights(batch, rows)
        label = label_values(batch.column(self.roles.label))
        there = ~self._note_missing(self.roles.label, label, rows)
        counted = filtered(label, there).dictionary_encode()
        sums = np.bincount(
            as_numpy(counted.indices),
            weights=None if weights is None else weights[there],
            minlength=len(counted.dictionary),
        )
        for value, weight in zip(counted.dictionary.to_pylist(), sums, strict=True):
            self._count_label(value, float(weight))
        if self.roles.group is not None:
            group = plain_array(batch.column(self.roles.group))
            self._note_missing(self.roles.group, group, rows)
            self.groups.append(group.drop_null().unique())

    def _weights(self, batch: "pa.RecordBatch", rows: Any) -> Any:
        """Look at the weights of a batch, and add them up."""
        if self.roles.weight is None:
            self.n_counted += batch.num_rows
            self.total_weight += batch.num_rows
            return None
        column = batch.column(self.roles.weight)
        self._note_missing(self.roles.weight, column, rows)
        weights = np.asarray(numbers(column), dtype=np.float64)
        wrong = (weights < 0) | np.isinf(weights)
        if self.wrong_weight is None and wrong.any():
            first = int(np.argmax(wrong))
            self.wrong_weight = int(rows[first]), float(weights[first])
        self.n_counted += int(np.count_nonzero(weights))
        self.total_weight += float(weights.sum())
        self.largest_weight = max(self.largest_weight, float(weights.max(initial=0.0)))
        self.weighted = self.weighted or bool((weights != 1).any())
        return weights

    def _count_label(self, label: Any, weight: float) -> None:
        self.labels[label] = self.labels.get(label, 0.0) + weight
        if len(self.labels) > MOST_LABELS:
            read_labels(list(self.labels), None, f"column {self.roles.label!r}")

    def _note_missing(self, name: str, column: "pa.Array", rows: Any) -> Any:
        """Count missing values and remember the first; return which they are."""
        missing = is_missing_in(column)
        if missing.any():
            self._count_missing(name, int(rows[np.argmax(missing)]), int(missing.sum()))
        return missing

    def _count_missing(self, name: str, first: int, count: int) -> None:
        earlier, before = self.missing.get(name, (first, 0))
        self.missing[name] = min(earlier, first), before + count


def distinct(values: "list[pa.Array]") -> "list[pa.Array]":
    """Return the different values as one array: as text where they are of different types."""
    import pyarrow as pa

    if not values:
        return []
    types = {each.type for each in values if len(each)} or {values[0].type}
    wide = types.pop() if len(types) == 1 else pa.string()
    return [pa.concat_arrays([each.cast(wide) for each in values]).unique()]


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
