"""Features by a formula: ``y ~ log1p(size) + poly(age, 2) + bs(dose, df=5) + C(site)``.

The rows whose numbers have the smallest hashes, so that the choice depends neither on how
the table is cut into batches nor on whether it is in memory; and besides, the rows where a
column of numbers is smallest or largest, and one row for each value of columns that are
categories, so that ranges and levels are exact.

formulaic parses and evaluates it. What a term has to know of the data (levels, knots,
centres) is learnt once, from rows that `teaching_rows` chooses the same way for a frame in
memory and for a file; every block, and the anchors, are then encoded with that knowledge.
"""

import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.rows.base import Encoding
from evenodds.rows.encoding import MOST_LEVELS, Levels, learn_levels, level_codes
from evenodds.rows.formula_syntax import FormulaText, environment
from evenodds.rows.tables import Selection, Table, is_missing_in, kind_of, measurements, numbers
from evenodds.validation import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


# How a row ranks among those of one kind, its number, and the row as a batch of one.
_Special = tuple[float, int, Any]

# With fewer rows than this an encoding learns from all of them.
TEACHING_ROWS = 50_000


def teaching_rows(
    table: Table, columns: Sequence[str], selection: Selection, categories: Collection[str] = ()
) -> "pa.Table":
    """Return rows to learn from, in the order of the table; rows with holes teach nothing."""
    kinds = {name: kind_of(table.schema.field(name).type) for name in columns}
    numeric = tuple(name for name in columns if kinds[name] == "number")
    read = tuple(columns)
    empty = TeachingRows(table.name, read, numeric, tuple(categories), selection)
    return table.surveyed(empty).table()


class TeachingRows:
    """The rows chosen so far, by number."""

    def __init__(
        self,
        source: str,
        read: tuple[str, ...],
        numeric: tuple[str, ...],
        categories: tuple[str, ...],
        selection: Selection,
    ) -> None:
        self.columns = tuple(dict.fromkeys((*read, *selection.columns)))
        self._source, self._selection, self._read = source, selection, read
        self._numeric, self._categories = numeric, set(categories)
        # The rows where a column is "low" and "high", and one for each value of a category.
        self._special: dict[tuple[str, float | str], _Special] = {}
        self._taken: list[pa.RecordBatch] = []
        self._numbers: list[NDArray[np.int64]] = []
        self._limit = np.uint64(2**64 - 1)

    def add(self, start: int, batch: "pa.RecordBatch") -> None:
        kept = self._selection.kept(batch)
        complete = np.ones(batch.num_rows, dtype=bool) if kept is None else kept
        for name in self._read:
            complete &= ~is_missing_in(batch.column(name))
        rows = np.flatnonzero(complete)
        if len(rows):
            self._look(batch.select(list(self._read)), rows, start + rows)

    def merge(self, other: Self) -> None:
        for key, found in other._special.items():
            self._note(key, found)
        self._refuse_many_levels()
        self._limit = min(self._limit, other._limit)
        self._taken += other._taken
        self._numbers += other._numbers
        self._prune_if_many()

    def _look(
        self, batch: "pa.RecordBatch", rows: NDArray[np.intp], numbered: NDArray[np.int64]
    ) -> None:
        """Choose among complete rows of a batch, given their places and numbers."""

        def special(value: float, place: int) -> _Special:
            return float(value), int(numbered[place]), batch.take(_indices(rows[place : place + 1]))

        for name in self._numeric:
            values = np.asarray(numbers(batch.column(name)), dtype=np.float64)[rows]
            for end, ranks in (("low", -values), ("high", values)):
                place = int(np.argmax(ranks))
                self._note((name, end), special(ranks[place], place))
            if name in self._categories:
                distinct, places = np.unique(values, return_index=True)
                pairs = zip(distinct.tolist(), places.tolist(), strict=True)
                unseen = [pair for pair in pairs if (name, pair[0]) not in self._special]
                for value, place in unseen[: MOST_LEVELS + 1]:
                    self._note((name, value), special(0.0, place))
        self._refuse_many_levels()
        chosen = _hash(numbered) <= self._limit
        self._taken.append(batch.take(_indices(rows[chosen])))
        self._numbers.append(numbered[chosen])
        self._prune_if_many()

    def _note(self, key: tuple[str, float | str], found: _Special) -> None:
        # Strictly, so that of equal values the first row stays.
        if key not in self._special or found[0] > self._special[key][0]:
            self._special[key] = found

    def _refuse_many_levels(self) -> None:
        for name in self._categories & set(self._numeric):
            if sum(key[0] == name for key in self._special) > MOST_LEVELS + 2:
                raise InputError(
                    f"column {name!r} of {self._source} holds more than {MOST_LEVELS} different "
                    "numbers: too many for one column each. Leave out the C()."
                )

    def _prune_if_many(self) -> None:
        if sum(map(len, self._numbers)) > 2 * TEACHING_ROWS:
            self._prune()

    def _prune(self) -> None:
        """Keep the rows with the smallest hashes."""
        numbered = np.concatenate(self._numbers)
        hashed = _hash(numbered)
        smallest = np.sort(np.argpartition(hashed, TEACHING_ROWS)[:TEACHING_ROWS])
        self._limit = hashed[smallest].max()
        joined = _joined(self._taken)
        self._taken = [joined.take(_indices(smallest))]
        self._numbers = [numbered[smallest]]

    def table(self) -> "pa.Table":
        """Return all chosen rows once, in the order of their numbers."""
        import pyarrow as pa

        if not self._numbers:
            raise InputError(f"{self._source} has no row without a missing value.")
        if sum(map(len, self._numbers)) > TEACHING_ROWS:
            self._prune()
        special = self._special.values()
        numbered = np.concatenate([*self._numbers, np.array([n for _, n, _ in special], np.int64)])
        _, order = np.unique(numbered, return_index=True)
        joined = pa.Table.from_batches([*self._taken, *(row for _, _, row in special)])
        return joined.take(_indices(order))


def _joined(batches: "list[pa.RecordBatch]") -> Any:
    import pyarrow as pa

    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _indices(places: NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.array(places, pa.int64())


def _hash(numbered: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Scatter row numbers evenly over 64 bits (the finaliser of splitmix64)."""
    mixed = numbered.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)


INTERCEPT = "Intercept"
# More features than this make a covariance of a gigabyte and more.
MOST_FEATURES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaEncoding(Encoding):
    """The right-hand side of a formula, with all that its terms have learnt."""

    formula: FormulaText
    levels: Levels
    categories: frozenset[str]  # columns whose numbers are levels
    spec: Any  # of formulaic

    def features(self, batch: "pa.RecordBatch", called: str = "X") -> FloatArray:
        complete = np.ones(batch.num_rows, dtype=bool)
        for name in self.columns:
            complete &= ~is_missing_in(batch.column(name))
        features = np.full((batch.num_rows, len(self.feature_names)), np.nan)
        if complete.any():
            frame = _as_frame(batch, self.columns, self.levels, self.categories, called)
            features[complete] = self._evaluated(frame[complete], called)
        return features

    def _evaluated(self, frame: "pd.DataFrame", called: str) -> FloatArray:
        """Evaluate the terms for rows without holes."""
        from formulaic.errors import DataMismatchWarning

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", DataMismatchWarning)
            try:
                matrix = self.spec.get_model_matrix(frame, context=environment())
            except DataMismatchWarning as warning:
                raise InputError(
                    f"{called} has a level that the data has not: {_levels_in(str(warning))}."
                ) from None
            except Exception as error:
                self.formula.refuse_term(error, called)
        kept = [place for place, name in enumerate(self.spec.column_names) if name != INTERCEPT]
        return np.asarray(matrix, dtype=np.float64)[:, kept]


def learn_formula(table: Table, formula: FormulaText, selection: Selection) -> FormulaEncoding:
    """Learn levels, knots and centres; one pass for text columns, one for the rest.

    Raises
    ------
    InputError
        If a term cannot be evaluated, or the terms make too many features.
    """
    columns = formula.columns(table.names, table.name)
    kinds = {name: kind_of(table.schema.field(name).type) for name in columns}
    odd = [name for name in columns if kinds[name] not in {"number", "text"}]
    if odd:
        raise InputError(
            f"column {odd[0]!r} of {table.name} holds {table.schema.field(odd[0]).type} values: "
            "a formula takes numbers and text."
        )
    text = [name for name in columns if kinds[name] == "text"]
    levels = learn_levels(table, text, selection, formula=True)
    categories = formula.categories(columns)
    taught = teaching_rows(table, columns, selection, categories)
    frame = _as_frame(taught, columns, levels, categories, table.name)
    _check_width(formula, {name: frame[name].nunique() for name in {*text, *categories}})
    spec = _learnt(formula, frame, table.name)
    return FormulaEncoding(
        formula=formula,
        columns=columns,
        feature_names=tuple(name for name in spec.column_names if name != INTERCEPT),
        notices=_notices(taught, table, formula),
        levels=levels,
        categories=categories,
        spec=spec,
    )


def _check_width(formula: FormulaText, n_levels: dict[str, int]) -> None:
    """Refuse crossed categories and splines that make too many features, before they do."""
    width = formula.width(n_levels)
    if width > MOST_FEATURES:
        raise InputError(
            f"formula {formula.text!r} makes up to {width:,} features but a fit takes at most "
            f"{MOST_FEATURES:,}: cross fewer categories, or give splines fewer knots."
        )


def _learnt(formula: FormulaText, frame: "pd.DataFrame", source: str) -> Any:
    """Let formulaic learn what its terms need, and return it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            matrix = formula.parsed().get_model_matrix(
                frame, context=environment(), output="numpy", na_action="ignore"
            )
        except Exception as error:
            formula.refuse_term(error, source)
    spec = matrix.model_spec
    if INTERCEPT not in spec.column_names:
        raise InputError(
            f"formula {formula.text!r} takes the intercept out, but the curve always has one: "
            "remove '- 1' or '+ 0'."
        )
    if len(spec.column_names) < 2:
        raise InputError(f"formula {formula.text!r} has no features: name at least one column.")
    return spec


def _notices(taught: "pa.Table", table: Table, formula: FormulaText) -> tuple[str, ...]:
    if not formula.learns or table.n_rows <= TEACHING_ROWS:
        return ()
    return (
        f"Knots and centres of the formula were learnt from {taught.num_rows:,} of "
        f"{table.n_rows:,} rows, the smallest and largest values among them.",
    )


def _as_frame(
    batch: Any,
    columns: Sequence[str],
    levels: Levels,
    categories: Collection[str],
    called: str,
) -> "pd.DataFrame":
    """Return a data frame of floats, numbers that are levels, and text with all its levels."""
    import pandas as pd

    read: dict[str, Any] = {}
    for name in columns:
        column = batch.column(name)
        column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        if name not in levels:
            read[name] = measurements(column, name, called)
            if name not in categories:  # whole numbers would wrap around in products
                read[name] = read[name].astype(np.float64)
            continue
        codes = level_codes(column, levels[name], name, called)
        codes = np.nan_to_num(codes, nan=-1).astype(np.int64)
        read[name] = pd.Categorical.from_codes(codes, categories=list(levels[name]))
    return pd.DataFrame(read)


def _levels_in(message: str) -> str:
    """Return the levels that formulaic's warning lists."""
    listed = message.partition("{")[2].partition("}")[0] or message
    return re.sub(r"np\.\w+\((.*?)\)", r"\1", listed)
