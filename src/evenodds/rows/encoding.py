"""Columns as features: numbers as they are, text as one column a level."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.rows.base import WIDE_FROM, Encoding
from evenodds.rows.tables import (
    Selection,
    Table,
    as_numpy,
    is_missing_in,
    kind_of,
    measurements,
    numbers,
    text_array,
    texts,
)
from evenodds.validation import FloatArray, check_column, counted, join_quoted, near_misses

if TYPE_CHECKING:
    import pyarrow as pa


# Text with more levels is a name or an id, not a category.
MOST_LEVELS = 200
NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
# Digits in groups of three, and decimals, by comma, point, space or apostrophe.
GROUPED = re.compile(r"\s*[-+]?\d{1,3}([ ,.'\u00a0\u202f]\d{3})+([.,]\d+)?\s*")


# The texts that columns hold, sorted; the first is the reference and gets no feature.
Levels = dict[str, tuple[str, ...]]


def learn_levels(
    table: Table, names: Sequence[str], selection: Selection, *, formula: bool = False
) -> Levels:
    """Return the sorted levels of each column of text, from a pass over these columns.

    Who names a column in a formula means it to be a category, so `formula` takes numbers
    among its levels too.
    """
    if not names:
        return {}
    seen = table.surveyed(SeenTexts(table.name, tuple(names), selection)).seen
    for name in names:
        if not formula:
            _refuse_numbers(table.name, name, seen[name])
        _refuse_spellings(table.name, name, seen[name])
        if len(seen[name]) < 2:
            raise InputError(
                f"column {name!r} of {table.name} holds one text only "
                f"({join_quoted(seen[name]) or 'none'}): leave it out."
            )
    return {name: tuple(sorted(levels)) for name, levels in seen.items()}


class SeenTexts:
    """The different texts of each column; refused as soon as they are too many."""

    def __init__(self, source: str, names: tuple[str, ...], selection: Selection) -> None:
        self.source, self.selection = source, selection
        self.columns = tuple(dict.fromkeys((*names, *selection.columns)))
        self.seen: dict[str, set[str]] = {name: set() for name in names}

    def add(self, start: int, batch: "pa.RecordBatch") -> None:
        chosen = self.selection.apply(batch)
        for name in self.seen:
            self._note(name, texts(chosen.column(name)).unique().drop_null().to_pylist())

    def merge(self, other: Self) -> None:
        for name, seen in other.seen.items():
            self._note(name, seen)

    def _note(self, name: str, found: Iterable[str]) -> None:
        self.seen[name].update(found)
        if len(self.seen[name]) > MOST_LEVELS:
            _refuse_many(self.source, name, self.seen[name])


def _refuse_unseen(values: "pa.Array", name: str, levels: Sequence[str], called: str) -> None:
    """Refuse levels the data has not, with the near misses."""
    unseen = sorted(values.drop_null().unique().to_pylist())
    near = near_misses(unseen[0], levels).replace("the columns are", "the levels are")
    raise InputError(
        f"column {name!r} of {called} holds {join_quoted(unseen)}, which the data has not; {near}"
    )


def _refuse_many(source: str, name: str, levels: set[str]) -> None:
    _refuse_numbers(source, name, levels)
    raise InputError(
        f"column {name!r} of {source} holds more than {MOST_LEVELS} different texts (such as "
        f"{join_quoted(sorted(levels)[:3])}): it is no category. Leave it out, or group it."
    )


def _refuse_numbers(source: str, name: str, levels: set[str]) -> None:
    """Refuse numbers that were read as text, since one column a number is never meant."""
    plain = {level for level in levels if NUMBER.fullmatch(level)}
    grouped = sorted(level for level in levels - plain if GROUPED.fullmatch(level))
    others = sorted(levels - plain - {*grouped})
    if others and len(plain) + len(grouped) > len(others):
        raise InputError(
            f"column {name!r} of {source} holds text such as {others[0]!r} among numbers: "
            "leave the cell empty if the value is missing, leave the column out, or name it as a "
            f"category in a formula (C({name}))."
        )
    if grouped:
        raise InputError(
            f"column {name!r} of {source} holds numbers with separators, such as "
            f"{grouped[0]!r}: write them without, with a point before decimals."
        )


def _refuse_spellings(source: str, name: str, levels: set[str]) -> None:
    """Refuse levels that differ only in case or blanks."""
    folded: dict[str, str] = {}
    for level in sorted(levels):
        twin = folded.setdefault(level.strip().casefold(), level)
        if twin != level:
            raise InputError(
                f"column {name!r} of {source} holds {twin!r} and {level!r}, which differ only "
                "in case or blanks: write them one way."
            )


def level_codes(column: "pa.Array", levels: Sequence[str], name: str, called: str) -> NDArray[Any]:
    """Return the number of each value's level, nan where it is missing."""
    from pyarrow import compute

    values = texts(column)
    codes = compute.index_in(values, value_set=text_array(levels))
    if codes.null_count > values.null_count:
        _refuse_unseen(values.filter(codes.is_null()), name, levels, called)
    return as_numpy(codes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsEncoding(Encoding):
    """Each column by itself: a number, or one 0/1 feature for every level but the first."""

    levels: Levels

    @property
    def is_plain(self) -> bool:
        """Whether every column is a number already."""
        return not self.levels

    def features(self, batch: "pa.RecordBatch", called: str = "X") -> FloatArray:
        return self._filled(self._read(batch, called), slice(None), batch.num_rows)

    def blocks(self, batch: "pa.RecordBatch", n_rows: int) -> Iterator[FloatArray]:
        read = self._read(batch, "X")
        for start in range(0, batch.num_rows, n_rows):
            stop = min(start + n_rows, batch.num_rows)
            yield self._filled(read, slice(start, stop), stop - start)

    def _read(self, batch: "pa.RecordBatch", called: str) -> list[NDArray[Any]]:
        return [
            level_codes(batch.column(name), self.levels[name], name, called)
            if name in self.levels
            else measurements(batch.column(name), name, called)
            for name in self.columns
        ]

    def _filled(self, read: list[NDArray[Any]], rows: slice, n_rows: int) -> FloatArray:
        n_features = len(self.feature_names)
        # Columns in, columns out: several times quicker than row by row where the products of
        # a fit do not mind.
        order: Literal["C", "F"] = "C" if n_features >= WIDE_FROM else "F"
        features = np.empty((n_rows, n_features), order=order)
        place = 0
        for name, values in zip(self.columns, read, strict=True):
            chosen = values[rows]
            if name not in self.levels:
                features[:, place] = chosen
                place += 1
                continue
            for code in range(1, len(self.levels[name])):
                features[:, place] = chosen == code
                if chosen.dtype.kind == "f":  # some are missing
                    features[np.isnan(chosen), place] = np.nan
                place += 1
        return features


def learn_columns(table: Table, names: Sequence[str], selection: Selection) -> ColumnsEncoding:
    """Decide how each column is read; a pass over columns of text finds their levels.

    Raises
    ------
    InputError
        For dates, lists and other values that are no features, and for text that is none.
    """
    text = []
    for name in names:
        kind = kind_of(table.schema.field(name).type)
        if kind == "text":
            text.append(name)
        elif kind != "number":
            _refuse_kind(table, name, kind)
    levels = learn_levels(table, text, selection)
    features: list[str] = []
    for name in names:
        more = [f"{name}[{level}]" for level in levels.get(name, ())[1:]]
        features += more if name in levels else [name]
    return ColumnsEncoding(
        columns=tuple(names),
        feature_names=tuple(features),
        notices=tuple(_notice(name, levels[name]) for name in text),
        levels=levels,
    )


def _notice(name: str, levels: tuple[str, ...]) -> str:
    others = len(levels) - 1
    return (
        f"Column {name!r} holds text: {counted(others, '0/1 column')} for its "
        f"levels beside the reference {levels[0]!r}."
    )


def _refuse_kind(table: Table, name: str, kind: str) -> None:
    if kind == "date":
        raise InputError(
            f"column {name!r} of {table.name} holds dates or times: turn it into a number first, "
            "such as days since a fixed day."
        )
    raise InputError(
        f"column {name!r} of {table.name} holds {table.schema.field(name).type} values, neither "
        "numbers nor text: encode it as numbers, or leave it out."
    )


class AsRead(Encoding):
    """One feature a column: its number, or for anything else whether it is there (0) or not."""

    __slots__ = ()

    def features(self, batch: "pa.RecordBatch", called: str = "X") -> FloatArray:
        features = np.empty((batch.num_rows, len(self.columns)))
        for place, name in enumerate(self.columns):
            column = batch.column(name)
            if kind_of(column.type) == "number":
                features[:, place] = numbers(column)
            else:
                features[:, place] = np.where(is_missing_in(column), np.nan, 0.0)
        return features


class ProbabilityEncoding(Encoding):
    """``log(p / (1 - p))`` of a column of probabilities."""

    __slots__ = ()

    def features(self, batch: "pa.RecordBatch", called: str = "X") -> FloatArray:
        chances, outside = _chances(batch, self.columns[0])
        if outside.any():
            row = int(np.argmax(outside))
            _refuse_outside(self.columns[0], float(chances[row]), f"row {row} of {called}")
        return np.log(chances / (1 - chances))[:, None]


def _chances(batch: "pa.RecordBatch", column: str) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return a column of probabilities, and which of them are none, or are 0 or 1."""
    chances = np.asarray(numbers(batch.column(column)), dtype=np.float64)
    return chances, (chances <= 0) | (chances >= 1)


def learn_probability(table: Table, column: str, selection: Selection) -> ProbabilityEncoding:
    """Check that a column holds probabilities strictly between 0 and 1, in one pass."""
    check_column(column, table.names, table.name)
    kind = table.schema.field(column).type
    if kind_of(kind) != "number":
        raise InputError(
            f"column {column!r} of {table.name} holds {kind} values but must hold probabilities."
        )
    read = (column, *selection.columns)
    for found in table.each_batch(read, partial(_first_outside, column, selection)):
        if found is not None:
            _refuse_outside(column, found[1], table.place(found[0]))
    return ProbabilityEncoding(columns=(column,), feature_names=(f"logit({column})",))


def _first_outside(
    column: str, selection: Selection, start: int, batch: "pa.RecordBatch"
) -> tuple[int, float] | None:
    """Return the first row of a batch that is kept and holds no probability, and what it holds."""
    kept = selection.kept(batch)
    chances, outside = _chances(batch, column)
    outside &= True if kept is None else kept
    row = int(np.argmax(outside))
    return (start + row, float(chances[row])) if outside.any() else None


def _refuse_outside(column: str, value: float, place: str) -> NoReturn:
    if value in {0, 1}:
        raise InputError(
            f"column {column!r} is exactly {value:g} in {place}, whose log-odds are infinite: use "
            "a model whose probabilities stay between 0 and 1 (calibrate it, or average more "
            "trees), or drop such rows knowing that they are the surest ones."
        )
    raise InputError(
        f"column {column!r} is {value:g} in {place} but must be above 0 and below 1: it is a "
        "predicted probability."
    )
