"""Rows of a table: which columns play which part, how they are encoded, which rows count."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from evenodds.errors import AnchorError, InputError
from evenodds.rows.base import Encoding
from evenodds.rows.columns import kind_of
from evenodds.rows.encoding import learn_columns, learn_probability
from evenodds.rows.formula import MOST_FEATURES, learn_formula
from evenodds.rows.formula_syntax import FormulaText
from evenodds.rows.labels import Columns, Facts, Roles, distinct, plain, read_labels
from evenodds.rows.open_table import HELD_BYTES, open_table
from evenodds.rows.streamed import BatchReader, Counts, Progress, StreamedRows
from evenodds.rows.tables import Selection, Table, filtered, read_marks
from evenodds.validation import FloatArray, check_choice, check_column, join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


def learn_roles(
    table: Table, columns: Columns, selection: Selection, positive: Any
) -> tuple[Roles, Counts]:
    """Check labels, weights and groups, and return how to read them.

    Raises
    ------
    InputError
        If they cannot be used; the message names the column and the place.
    """
    _refuse_other_weights(table, columns)
    for role in (columns.label, columns.group):
        _refuse_containers(table, role)
    facts = table.surveyed(Facts(columns, selection))
    kept = _kept_rows(table, facts)
    for name, advice in (
        (columns.label, "drop the rows without a label"),
        (columns.weight, "give every row its weight"),
        (columns.group, "give every row its group"),
    ):
        _refuse_missing(facts, table, name, advice)
    _refuse_wrong_weight(facts, table, columns)
    if not any(kept):
        _refuse_nothing_left(table, columns, facts)
    found = _labels(facts, columns, positive)
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
    _check_weights(facts, columns, found)
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


def _refuse_nothing_left(table: Table, columns: Columns, facts: Facts) -> None:
    if facts.n_anchors == table.n_rows:
        raise AnchorError(
            f"column {columns.anchor!r} marks every row as an anchor: none are left to test."
        )
    raise InputError(f"every row of {table.name} lacks a value: none are left to test.")


def _kept_rows(table: Table, facts: Facts) -> list[int]:
    """Return how many rows of each part take part."""
    starts = [start for start, _ in table.starts()]
    kept = np.zeros(len(starts), dtype=np.int64)
    for first, count in facts.kept.items():
        kept[np.searchsorted(starts, first, side="right") - 1] += count
    return [int(count) for count in kept]


def _refuse_other_weights(table: Table, columns: Columns) -> None:
    """Refuse weights that are no numbers."""
    if columns.weight is None:
        return
    kind = table.schema.field(columns.weight).type
    if kind_of(kind) != "number":
        raise InputError(
            f"column {columns.weight!r} of {table.name} holds {kind} values but weights must be "
            "numbers: how many rows each row stands for."
        )


def _refuse_containers(table: Table, name: str | None) -> None:
    """Refuse labels and groups that are lists, records or bytes."""
    kind = None if name is None else table.schema.field(name).type
    if kind is not None and kind_of(kind) == "other":
        raise InputError(
            f"column {name!r} of {table.name} holds {kind} values, of which no two can be told to "
            "be the same: give numbers, text or dates, one value a row."
        )


def _refuse_wrong_weight(facts: Facts, table: Table, columns: Columns) -> None:
    if facts.wrong_weight is not None:
        row, value = facts.wrong_weight
        needed = "must be finite" if np.isinf(value) else "must not be negative"
        raise InputError(
            f"column {columns.weight!r} is {value:g} in {table.place(row)} but {needed}: it is "
            "how many rows this row stands for."
        )


def _refuse_missing(facts: Facts, table: Table, name: str | None, advice: str) -> None:
    if name in facts.missing:
        first, count = facts.missing[name]
        raise InputError(
            f"column {name!r} has {count} missing value{'s' if count > 1 else ''}, the first in "
            f"{table.place(first)}: {advice}{table.advice_on_missing}."
        )


def _labels(facts: Facts, columns: Columns, positive: Any) -> tuple[Any, Any]:
    """Return the positive and the negative label as stored, by the rules for labels in memory."""
    stored = list(facts.labels)
    found = read_labels(stored, positive, f"column {columns.label!r}")
    other = next(v for v in stored if v != stored[_place(stored, found.positive)])
    return stored[_place(stored, found.positive)], other


def _place(stored: list[Any], label: Any) -> int:
    return next(place for place, value in enumerate(stored) if plain(value) == label)


def _check_weights(facts: Facts, columns: Columns, found: tuple[Any, Any]) -> None:
    name = f"column {columns.weight!r}"
    if columns.weight is None:
        return
    if facts.weight == 0:
        raise InputError(f"{name} is zero everywhere: no rows are left.")
    if facts.largest_weight > 1e12 or facts.weight < 1:
        raise InputError(
            f"{name} adds up to {facts.weight:g} rows: it is how many rows each row stands for, "
            "so give counts."
        )
    for label in found:
        if facts.labels[label] == 0:
            raise InputError(
                f"{name} is zero for every row labelled {plain(label)!r}: one class only is left."
            )


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
class Reading:
    """What a table is read for: the part of each column, and how features are made."""

    columns: Columns
    formula: FormulaText | None = None
    probabilities: str | None = None
    positive: Any = None
    missing: Missing = "refuse"

    def __post_init__(self) -> None:
        check_choice(self.missing, "missing", get_args(Missing))
        refuse_several(self.columns.features, self.formula, self.probabilities)
        stated = None if self.formula is None else self.formula.label
        if stated is not None and stated != self.columns.label:
            raise InputError(
                f"the label is {self.columns.label!r} but the formula has {stated!r} on its left: "
                "name one of them."
            )

    def open(self, source: Any) -> Table:
        """Open the table and check that the named columns are there."""
        return open_table(source, lambda names: self.needed(names, str(source)), self.mixed)

    @property
    def mixed(self) -> tuple[str, ...]:
        """Columns where numbers and text may mix."""
        named = (self.columns.label, self.columns.group)
        return tuple(name for name in named if name is not None)

    def needed(self, names: tuple[str, ...], source: str) -> tuple[str, ...]:
        """Return every column that is read, of those there are."""
        for name in self.columns.others:
            check_column(name, names, source)
        return tuple(dict.fromkeys((*self.sources(names, source), *self.columns.others)))

    def sources(self, names: tuple[str, ...], source: str) -> tuple[str, ...]:
        """Return the columns that features are made of."""
        if self.formula is not None:
            return self.formula.columns(names, source)
        if self.probabilities is not None:
            named = replace(self.columns, features=(self.probabilities,))
            return choose_features(names, named, source)
        return choose_features(names, self.columns, source)

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
    columns = reading.columns
    complete: tuple[str, ...] = ()
    if reading.missing == "drop":
        named = (columns.label, columns.weight, columns.group)
        features = reading.sources(table.names, table.name)
        complete = tuple(dict.fromkeys((*features, *(n for n in named if n is not None))))
    selection = Selection(complete=complete)
    if columns.anchor is not None:
        selection = Selection(columns.anchor, read_marks(table, columns.anchor), complete)
    encoding = reading.encoding(table, selection)
    if len(encoding.feature_names) > MOST_FEATURES:
        raise InputError(
            f"{table.name} gives {len(encoding.feature_names):,} features but a fit takes at most "
            f"{MOST_FEATURES:,}: name the ones that matter."
        )
    roles, counts = learn_roles(table, columns, selection, reading.positive)
    return BatchReader(encoding, roles, selection), counts


def choose_features(names: Sequence[str], columns: Columns, source: str) -> tuple[str, ...]:
    """Return the named features, or every column that plays no other part."""
    if columns.features is None:
        rest = tuple(name for name in names if name not in columns.others)
        if not rest:
            raise InputError(
                f"{source} has no feature columns beside {join_quoted(columns.others)}."
            )
        for name in rest:
            if name == "" or name.startswith("__index_level_"):
                raise InputError(
                    f"{source} has a column without a name (number {names.index(name) + 1}), "
                    "perhaps row numbers saved with the data: name it, or remove it."
                )
        return rest
    for name in columns.features:
        check_column(name, names, source)
        if name in columns.others:
            raise InputError(f"column {name!r} is named as a feature and for another part too.")
    return columns.features


def marked_anchors(rows: StreamedRows) -> tuple["pa.Table", FloatArray]:
    """Return the rows that a column marks as anchors, and the posteriors it states."""
    import pyarrow as pa

    selection = rows.reader.selection
    name = selection.anchor
    if name is None:
        raise TypeError("no column marks anchors")
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
