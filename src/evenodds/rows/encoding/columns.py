"""Columns as features: numbers as they are, text as one column a level."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.rows.base import WIDE_FROM
from evenodds.rows.encoding.base import Encoding
from evenodds.rows.encoding.levels import learn_levels, refuse_unseen
from evenodds.rows.selection import Selection
from evenodds.rows.tables.base import Table
from evenodds.rows.values import kind_of, measurements, texts
from evenodds.validation import FloatArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Levels:
    """The texts a column holds, sorted; the first is the reference and gets no feature."""

    texts: tuple[str, ...]

    def codes(self, column: "pa.Array", name: str, called: str) -> NDArray[Any]:
        """Return the number of each value's level, nan where it is missing."""
        import pyarrow as pa
        from pyarrow import compute

        values = texts(column)
        codes = compute.index_in(values, value_set=pa.array(self.texts, pa.string()))
        if codes.null_count > values.null_count:
            refuse_unseen(values.filter(codes.is_null()), name, self.texts, called)
        found: NDArray[Any] = codes.to_numpy(zero_copy_only=False)
        return found


@dataclass(frozen=True, slots=True)
class ColumnsEncoding(Encoding):
    """Each column by itself: a number, or one 0/1 feature for every level but the first."""

    columns: tuple[str, ...]
    levels: tuple[Levels | None, ...]  # None for a column of numbers
    notices: tuple[str, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of columns, and of levels as ``column[level]``."""
        names: list[str] = []
        for name, levels in zip(self.columns, self.levels, strict=True):
            names += [name] if levels is None else [f"{name}[{text}]" for text in levels.texts[1:]]
        return tuple(names)

    @property
    def is_plain(self) -> bool:
        """Whether every column is a number already."""
        return all(levels is None for levels in self.levels)

    def features(self, batch: "pa.RecordBatch", called: str = "X") -> FloatArray:
        return self._filled(self._read(batch, called), slice(None), batch.num_rows)

    def blocks(self, batch: "pa.RecordBatch", n_rows: int) -> Iterator[FloatArray]:
        read = self._read(batch, "X")
        for start in range(0, batch.num_rows, n_rows):
            stop = min(start + n_rows, batch.num_rows)
            yield self._filled(read, slice(start, stop), stop - start)

    def _read(self, batch: "pa.RecordBatch", called: str) -> list[NDArray[Any]]:
        return [
            measurements(batch.column(name), name, called)
            if levels is None
            else levels.codes(batch.column(name), name, called)
            for name, levels in zip(self.columns, self.levels, strict=True)
        ]

    def _filled(self, read: list[NDArray[Any]], rows: slice, n_rows: int) -> FloatArray:
        n_features = len(self.feature_names)
        # Columns in, columns out: several times quicker than row by row where the products of
        # a fit do not mind.
        order: Literal["C", "F"] = "C" if n_features >= WIDE_FROM else "F"
        features = np.empty((n_rows, n_features), order=order)
        place = 0
        for values, levels in zip(read, self.levels, strict=True):
            chosen = values[rows]
            if levels is None:
                features[:, place] = chosen
                place += 1
                continue
            for code in range(1, len(levels.texts)):
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
    found = learn_levels(table, text, selection) if text else {}
    levels = tuple(Levels(found[name]) if name in found else None for name in names)
    return ColumnsEncoding(tuple(names), levels, tuple(_notice(n, found[n]) for n in text))


def _notice(name: str, levels: tuple[str, ...]) -> str:
    others = len(levels) - 1
    return (
        f"Column {name!r} holds text: {others} 0/1 column{'s' if others > 1 else ''} for its "
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
