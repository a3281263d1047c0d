"""Rows of a table: which columns play which part, how they are encoded, which rows count."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from evenodds.errors import AnchorError, InputError
from evenodds.rows.base import Encoding, Rows
from evenodds.rows.columns import kind_of
from evenodds.rows.encoding import learn_columns, learn_probability
from evenodds.rows.formula import MOST_FEATURES, learn_formula
from evenodds.rows.formula_syntax import FormulaText
from evenodds.rows.labels import (
    Columns,
    Facts,
    Roles,
    check_total_weight,
    distinct,
    plain,
    read_labels,
)
from evenodds.rows.open_table import HELD_BYTES, open_table
from evenodds.rows.streamed import BatchReader, Counts, Progress, StreamedRows
from evenodds.rows.tables import Selection, Table, filtered, read_marks
from evenodds.validation import FloatArray, check_choice, check_column, join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


def learn_roles(table: Table, columns: "Reading", selection: Selection) -> tuple[Roles, Counts]:
    """Check labels, weights and groups, and return how to read them.

    Raises
    ------
    InputError
        If they cannot be used; the message names the column and the place.
    """
    _check_kinds(table, columns)
    facts = table.surveyed(Facts(columns, selection))
    kept = _kept_rows(table, facts)
    for name, advice in (
        (columns.label, "drop the rows without a label"),
        (columns.weight, "give every row its weight"),
        (columns.group, "give every row its group"),
    ):
        if name in facts.missing:
            first, count = facts.missing[name]
            raise InputError(
                f"column {name!r} has {count} missing value{'s' if count > 1 else ''}, the first "
                f"in {table.place(first)}: {advice}{table.advice_on_missing}."
            )
    if facts.wrong_weight is not None:
        row, value = facts.wrong_weight
        needed = "must be finite" if np.isinf(value) else "must not be negative"
        raise InputError(
            f"column {columns.weight!r} is {value:g} in {table.place(row)} but {needed}: it is "
            "how many rows this row stands for."
        )
    if facts.n_anchors == table.n_rows:
        raise AnchorError(
            f"column {columns.anchor!r} marks every row as an anchor: none are left to test."
        )
    if not any(kept):
        raise InputError(f"every row of {table.name} lacks a value: none are left to test.")
    found = _labels(facts, columns)
    counts = Counts(
        n_rows=sum(kept),
        n_counted=facts.n_counted,
        total_weight=facts.weight,
        positive_weight=facts.labels[found[0]],
        weighted=facts.weighted,
        kept=tuple(kept),
        n_anchors=facts.n_anchors,
        n_lacking=table.n_rows - facts.n_anchors - sum(kept),
    )
    if columns.weight is not None:
        of_labels = [(plain(label), facts.labels[label]) for label in found]
        name = f"column {columns.weight!r}"
        check_total_weight(name, facts.weight, facts.largest_weight, of_labels)
    roles = Roles(
        label=columns.label,
        positive_value=found[0],
        positive=plain(found[0]),
        negative=plain(found[1]),
        weight=columns.weight,
        group=columns.group,
        group_values=_groups(facts, columns),
    )
    return roles, counts


def _kept_rows(table: Table, facts: Facts) -> list[int]:
    """Return how many rows of each part take part."""
    starts = [start for start, _ in table.starts()]
    kept = np.zeros(len(starts), dtype=np.int64)
    for first, count in facts.kept.items():
        kept[np.searchsorted(starts, first, side="right") - 1] += count
    return [int(count) for count in kept]


def _check_kinds(table: Table, columns: Columns) -> None:
    """Refuse weights that are no numbers, and labels and groups that are lists or the like."""
    kinds = {name: table.schema.field(name).type for name in columns.others}
    if columns.weight is not None and kind_of(kinds[columns.weight]) != "number":
        raise InputError(
            f"column {columns.weight!r} of {table.name} holds {kinds[columns.weight]} values but "
            "weights must be numbers: how many rows each row stands for."
        )
    for name in (columns.label, columns.group):
        if name is not None and kind_of(kinds[name]) == "other":
            raise InputError(
                f"column {name!r} of {table.name} holds {kinds[name]} values, of which no two can "
                "be told to be the same: give numbers, text or dates, one value a row."
            )


def _labels(facts: Facts, columns: "Reading") -> tuple[Any, Any]:
    """Return the positive and the negative label as stored, by the rules for labels in memory."""
    stored = list(facts.labels)
    found = read_labels(stored, columns.positive, f"column {columns.label!r}")
    positive = next(value for value in stored if plain(value) == found.positive)
    return positive, next(value for value in stored if value != positive)


def _groups(facts: Facts, columns: Columns) -> "pa.Array | None":
    if columns.group is None:
        return None
    (values,) = distinct(facts.groups)
    if len(values) < 2:
        raise InputError(
            f"column {columns.group!r} has one group only ({values[0].as_py()!r}): the variance "
            "needs at least two."
        )
    return values


Missing = Literal["refuse", "drop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Columns):
    """What a table is read for: the part of each column, and how features are made."""

    formula: FormulaText | None = None
    probabilities: str | None = None
    positive: Any = None
    missing: Missing = "refuse"

    @classmethod
    def of(cls, names: dict[str, str | None], how: dict[str, Any]) -> "Reading":
        """Return what to read, given the columns of labels, weights and groups."""
        label = names["y"]
        if label is None:
            raise InputError("y is None: give labels, or the name of their column.")
        return cls(label=label, weight=names["sample_weight"], group=names["groups"], **how)

    def __post_init__(self) -> None:
        Columns.__post_init__(self)
        check_choice(self.missing, "missing", get_args(Missing))
        refuse_several(self.features, self.formula, self.probabilities)
        stated = None if self.formula is None else self.formula.label
        if stated is not None and stated != self.label:
            raise InputError(
                f"the label is {self.label!r} but the formula has {stated!r} on its left: "
                "name one of them."
            )

    def open(self, source: Any) -> Table:
        """Open the table and check that the named columns are there."""
        return open_table(source, lambda names: self.needed(names, str(source)), self.mixed)

    @property
    def mixed(self) -> tuple[str, ...]:
        """Columns where numbers and text may mix."""
        named = (self.label, self.group)
        return tuple(name for name in named if name is not None)

    def needed(self, names: tuple[str, ...], source: str) -> tuple[str, ...]:
        """Return every column that is read, of those there are."""
        for name in self.others:
            check_column(name, names, source)
        return tuple(dict.fromkeys((*self.sources(names, source), *self.others)))

    def sources(self, names: tuple[str, ...], source: str) -> tuple[str, ...]:
        """Return the columns that features are made of."""
        if self.formula is not None:
            return self.formula.columns(names, source)
        if self.probabilities is not None:
            return choose_features(names, (self.probabilities,), self.others, source)
        return choose_features(names, self.features, self.others, source)

    def encoding(self, table: Table, selection: Selection) -> Encoding:
        """Learn how columns become features."""
        if self.formula is not None:
            return learn_formula(table, self.formula, selection)
        if self.probabilities is not None:
            return learn_probability(table, self.probabilities, selection)
        return learn_columns(table, self.sources(table.names, table.name), selection)


def refuse_several(*ways: Any) -> None:
    """Refuse more than one way to choose features."""
    if sum(way is not None for way in ways) > 1:
        raise InputError("give features, a formula or probabilities, but only one of them.")


def read_table(table: Table, reading: Reading, progress: Progress | None = None) -> StreamedRows:
    """Return the rows of a table, checked as far as one pass over labels can.

    Raises
    ------
    InputError
        If the columns cannot be used; the message names the column and the place.
    """
    reader, counts = learn(table, reading)
    rows = StreamedRows(table, reader, counts, progress)
    if counts.n_rows * (rows.n_features + 2) * 8 <= HELD_BYTES:
        rows.hold()
    return rows


def learn(table: Table, reading: Reading) -> tuple[BatchReader, Counts]:
    """Learn how batches of a table become blocks, and how many rows they have."""
    complete: tuple[str, ...] = ()
    if reading.missing == "drop":
        named = (reading.label, reading.weight, reading.group)
        features = reading.sources(table.names, table.name)
        complete = tuple(dict.fromkeys((*features, *(n for n in named if n is not None))))
    selection = Selection(complete=complete)
    if reading.anchor is not None:
        selection = Selection(reading.anchor, read_marks(table, reading.anchor), complete)
    encoding = reading.encoding(table, selection)
    if len(encoding.feature_names) > MOST_FEATURES:
        raise InputError(
            f"{table.name} gives {len(encoding.feature_names):,} features but a fit takes at most "
            f"{MOST_FEATURES:,}: name the ones that matter."
        )
    roles, counts = learn_roles(table, reading, selection)
    return BatchReader(encoding, roles, selection), counts


def choose_features(
    names: Sequence[str], chosen: tuple[str, ...] | None, others: tuple[str, ...], source: str
) -> tuple[str, ...]:
    """Return the chosen features, or every column that plays no other part."""
    if chosen is None:
        rest = tuple(name for name in names if name not in others)
        if not rest:
            raise InputError(f"{source} has no feature columns beside {join_quoted(others)}.")
        for name in rest:
            if name == "" or name.startswith("__index_level_"):
                raise InputError(
                    f"{source} has a column without a name (number {names.index(name) + 1}), "
                    "perhaps row numbers saved with the data: name it, or remove it."
                )
        return rest
    for name in chosen:
        check_column(name, names, source)
        if name in others:
            raise InputError(f"column {name!r} is named as a feature and for another part too.")
    return chosen


def marked_anchors(rows: Rows) -> tuple["pa.Table", FloatArray] | None:
    """Return the rows that a column marks as anchors, and the posteriors it states."""
    import pyarrow as pa

    if not isinstance(rows, StreamedRows) or rows.reader.selection.anchor is None:
        return None
    selection, name = rows.reader.selection, rows.reader.selection.anchor
    read = tuple(dict.fromkeys((*rows.reader.encoding.columns, name)))
    marked = pa.Table.from_batches(rows.table.surveyed(Marked(read, selection)).found)
    if marked.num_rows == 0:
        raise AnchorError(f"column {name!r} marks no row as an anchor.")
    stated = np.full(marked.num_rows, 0.5)
    if selection.marks == "posterior":
        stated = np.asarray(marked[name].cast(pa.float64()).to_numpy())
    return marked.select(list(rows.reader.encoding.columns)), stated


class Marked:
    """The rows that are anchors, with these columns."""

    def __init__(self, columns: tuple[str, ...], selection: Selection) -> None:
        self.columns, self.selection = columns, selection
        self.found: list[pa.RecordBatch] = []

    def add(self, start: int, batch: "pa.RecordBatch") -> None:
        self.found.append(filtered(batch, self.selection.anchors(batch)))

    def merge(self, other: Self) -> None:
        self.found += other.found
