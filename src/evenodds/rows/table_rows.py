"""Rows of a table: which columns play which part, and one pass after another over them.

`BatchReader` turns record batches into blocks. It is frozen and can be pickled, and so can
the parts of a table: `sum_part` is all that a cluster has to run where a file can be read.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, Self

import numpy as np

from evenodds.errors import AnchorError, InputError
from evenodds.rows.base import AllRows, Block, Encoding, IntArray, Rows, S, rows_in_a_block
from evenodds.rows.encoding import AsRead, learn_columns, learn_probability
from evenodds.rows.formula import MOST_FEATURES, learn_formula
from evenodds.rows.formula_syntax import FormulaText
from evenodds.rows.labels import (
    Columns,
    Facts,
    Labels,
    Roles,
    check_total_weight,
    distinct,
    plain,
    read_labels,
)
from evenodds.rows.memory import MemoryRows, drawn
from evenodds.rows.open_table import HELD_BYTES, open_table
from evenodds.rows.tables import (
    Part,
    Progress,
    Selection,
    Table,
    batches_of,
    filtered,
    kind_of,
    read_marks,
)
from evenodds.validation import FloatArray, check_column, counted, join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


# A peek at fewer parts than this would follow whatever order the rows are in.
PARTS_TO_PEEK_AT = 16


@dataclass(frozen=True, slots=True)
class BatchReader:
    """Record batches as blocks."""

    encoding: Encoding
    roles: Roles
    selection: Selection

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read, each once."""
        named = (*self.encoding.columns, *self.roles.columns, *self.selection.columns)
        return tuple(dict.fromkeys(named))

    def blocks(self, start: int, batch: "pa.RecordBatch") -> Iterator[Block]:
        """Return the kept rows of a batch whose first row has the number `start`."""
        kept = self.selection.kept(batch)
        numbers: IntArray | None = None
        if kept is not None:
            batch = filtered(batch, kept)
            numbers = start + np.flatnonzero(kept)
        labels, weights = self.roles.labels(batch), self.roles.weights(batch)
        groups = self.roles.groups(batch)
        first = 0
        for features in self.encoding.blocks(batch, rows_in_a_block(self.n_features)):
            rows = slice(first, first + len(features))
            yield Block(
                features=features,
                labels=labels[rows],
                weights=None if weights is None else weights[rows],
                groups=None if groups is None else groups[rows],
                start=start + first if numbers is None else int(numbers[first]),
                numbers=None if numbers is None else numbers[rows],
            )
            first = rows.stop

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.encoding.feature_names)


class Summed(Generic[S]):
    """A sum over rows as a survey of batches."""

    def __init__(self, reader: BatchReader, total: S) -> None:
        self.reader, self.total = reader, total
        self.columns = reader.columns

    def add(self, start: int, batch: "pa.RecordBatch") -> None:
        for block in self.reader.blocks(start, batch):
            self.total.add(block)

    def merge(self, other: Self) -> None:
        self.total.merge(other.total)


def blocks_of(start: int, part: Part, reader: BatchReader) -> Iterator[Block]:
    """Return the blocks of one part, the first row of which has the number `start`."""
    for number, batch in batches_of(part, start, reader.columns):
        yield from reader.blocks(number, batch)


class StreamedRows(Rows):
    """Rows of a table, all of them read in every pass.

    Attributes
    ----------
    table, reader, facts
        What is read, how it is read, and what is known of it.
    """

    def __init__(self, table: Table, reader: BatchReader, facts: Facts) -> None:
        self.table, self.reader, self.facts = table, reader, facts
        self.progress: Progress | None = None
        self.held: MemoryRows | None = None
        self.costly = True
        self.encoding = None if reader.encoding.is_plain else reader.encoding
        self.known_columns = table.all_names or table.names
        self.n_rows, self.n_counted = facts.n_rows, facts.n_counted
        self.notices = (*reader.encoding.notices, *_left_out(table, facts))
        self.total_weight, self.weighted = facts.total_weight, facts.weighted
        self.feature_names = reader.encoding.feature_names
        self.n_features = len(self.feature_names)
        roles = reader.roles
        named = (roles.weight, roles.group, reader.selection.anchor)
        self.label_names = (roles.label,)
        self.role_names = tuple(name for name in named if name is not None)
        self.anchors_left_out = facts.n_anchors
        self.positive, self.negative = roles.positive, roles.negative
        self.n_groups = None if roles.group_values is None else len(roles.group_values)
        self.called, self.advice_on_missing = table.name, table.advice_on_missing

    def hold(self) -> None:
        """Keep the rows in memory from here on."""
        self.costly = False
        self.held = held_rows(self.to_memory(), self)

    def unheld(self) -> Self:
        """Return the same rows, read from the table."""
        rows = type(self)(self.table, self.reader, self.facts)
        rows.progress = self.progress
        return rows

    def sum_over_rows(self, empty: S) -> S:
        if self.held is not None:
            return self.held.sum_over_rows(empty)
        return self.table.surveyed(Summed(self.reader, empty), self.progress).total

    def positive_weight(self) -> float:
        return self.facts.labels[self.reader.roles.positive_value]

    def thinned(self, step: int, rng: np.random.Generator) -> Rows:
        if self.held is not None:
            return self.held.thinned(step, rng)
        chosen = drawn(self.n_rows, step, rng)
        return self.sum_over_rows(Sample(chosen)).rows(self)

    def peeked(self, step: int, rng: np.random.Generator) -> Rows:
        parts = list(self.table.starts())
        if self.held is not None or len(parts) < PARTS_TO_PEEK_AT:
            return self.thinned(step, rng)
        found = Sample()
        for number, n_taken in self._peeks(self.facts.kept_in(self.table), step, rng).items():
            found.fill(n_taken, blocks_of(*parts[number], self.reader))
        return found.rows(self)

    def _peeks(self, kept: Sequence[int], step: int, rng: np.random.Generator) -> dict[int, int]:
        """Return how many rows to take from the beginning of which parts, by chance."""
        n_wanted = self.n_rows // step
        each = -(-n_wanted // PARTS_TO_PEEK_AT)
        taken: dict[int, int] = {}
        for number in rng.permutation(len(kept)).tolist():
            n_taken = min(kept[number], each, n_wanted)
            if n_taken:
                taken[number] = n_taken
                n_wanted -= n_taken
        return taken

    def as_read(self) -> Self:
        columns = self.reader.encoding.columns
        reader = replace(self.reader, encoding=AsRead(columns=columns, feature_names=columns))
        return type(self)(self.table, reader, self.facts)

    def place(self, row: int, column: int) -> str:
        return f"{self.table.place(row)}, {self.column(column)}"

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the progress bar, which belongs to a terminal."""
        return {**self.__dict__, "progress": None}


def _left_out(table: Table, facts: Facts) -> tuple[str, ...]:
    """Say which rows were left out, and why."""
    notices = []
    if facts.n_anchors:
        plural = "s are anchors and were" if facts.n_anchors > 1 else " is an anchor and was"
        notices.append(f"{facts.n_anchors:,} row{plural} left out of the fit.")
    n_lacking = table.n_rows - facts.n_anchors - facts.n_rows
    return (*notices, *dropped(n_lacking, table.n_rows))


def dropped(n_dropped: int, n_rows: int) -> tuple[str, ...]:
    """Say how many rows were dropped, if any were."""
    if not n_dropped:
        return ()
    verb = "lack a value and were" if n_dropped > 1 else "lacks a value and was"
    return (f"{n_dropped:,} of {n_rows:,} rows {verb} dropped.",)


class Sample(AllRows):
    """Rows taken out of one block after another: those chosen, or all until there are enough."""

    def __init__(self, chosen: IntArray | None = None) -> None:
        super().__init__()
        self.chosen = chosen
        self.seen = self.n_taken = self.enough = 0

    def add(self, block: Block) -> None:
        n_rows = len(block.labels)
        rows: slice | IntArray = slice(0, self.enough - self.n_taken)
        if self.chosen is not None:
            low, high = np.searchsorted(self.chosen, [self.seen, self.seen + n_rows])
            rows = self.chosen[low:high] - self.seen
        self.seen += n_rows
        self.blocks.append(block.taken(rows))
        self.n_taken += len(self.blocks[-1].labels)

    def fill(self, n_more: int, blocks: Iterable[Block]) -> None:
        """Take so many rows more, from the beginning of these blocks."""
        self.enough = self.n_taken + n_more
        for block in blocks:
            self.add(block)
            if self.n_taken == self.enough:
                break

    def rows(self, of: Rows) -> MemoryRows:
        """Return what was taken as rows in memory."""
        return held_rows(Block.joined(self.blocks), of)


def held_rows(block: Block, of: Rows) -> MemoryRows:
    """Return rows of a source, which this block holds, as rows in memory."""
    labels = Labels(block.labels, 1.0, of.positive, of.negative, as_is=True)
    known: Any = {"n_groups": of.n_groups, "feature_names": of.feature_names}
    return MemoryRows(block.features, labels, block.weights, block.groups, **known)


def learn_roles(table: Table, columns: "Reading", selection: Selection) -> tuple[Roles, Facts]:
    """Check labels, weights and groups, and return how to read them.

    Raises
    ------
    InputError
        If they cannot be used; the message names the column and the place.
    """
    _check_kinds(table, columns)
    facts = table.surveyed(Facts(columns, selection))
    or_drop = "" if columns.missing is None else table.advice_on_missing
    for name, advice in (
        (columns.label, "drop the rows without a label"),
        (columns.weight, "give every row its weight"),
        (columns.group, "give every row its group"),
    ):
        if name in facts.missing:
            first, count = facts.missing[name]
            raise InputError(
                f"column {name!r} has {counted(count, 'missing value')}, the first "
                f"in {table.place(first)}: {advice}{or_drop}."
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
    if not facts.n_rows:
        raise InputError(f"every row of {table.name} lacks a value: none are left to test.")
    found = _labels(facts, columns)
    if columns.weight is not None:
        of_labels = [(plain(label), facts.labels[label]) for label in found]
        name = f"column {columns.weight!r}"
        check_total_weight(name, facts.total_weight, facts.largest_weight, of_labels)
    roles = Roles(
        label=columns.label,
        positive_value=found[0],
        positive=plain(found[0]),
        negative=plain(found[1]),
        weight=columns.weight,
        group=columns.group,
        group_values=_groups(facts, columns),
    )
    return roles, facts


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
    (values,) = facts.groups = distinct(facts.groups)
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
    missing: Missing | None = None  # None: nobody can ask for "drop"

    @classmethod
    def of(cls, names: dict[str, str | None], how: dict[str, Any]) -> "Reading":
        """Return what to read, given the columns of labels, weights and groups."""
        label = names["y"]
        if label is None:
            raise InputError("y is None: give labels, or the name of their column.")
        return cls(label=label, weight=names["sample_weight"], group=names["groups"], **how)

    def __post_init__(self) -> None:
        Columns.__post_init__(self)
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


def read_table(table: Table, reading: Reading) -> StreamedRows:
    """Return the rows of a table, checked as far as one pass over labels can.

    Raises
    ------
    InputError
        If the columns cannot be used; the message names the column and the place.
    """
    rows = StreamedRows(table, *learn(table, reading))
    if rows.n_rows * (rows.n_features + 2) * 8 <= HELD_BYTES:
        rows.hold()
    return rows


def learn(table: Table, reading: Reading) -> tuple[BatchReader, Facts]:
    """Learn how batches of a table become blocks, and what is known of their rows."""
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
    roles, facts = learn_roles(table, reading, selection)
    return BatchReader(encoding, roles, selection), facts


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
    read = (*rows.reader.encoding.columns, name)
    marked = pa.Table.from_batches(rows.table.each_batch(read, partial(_marked, selection)))
    if marked.num_rows == 0:
        raise AnchorError(f"column {name!r} marks no row as an anchor.")
    stated = np.full(marked.num_rows, 0.5)
    if selection.marks == "posterior":
        stated = np.asarray(marked[name].cast(pa.float64()).to_numpy())
    return marked.select(list(rows.reader.encoding.columns)), stated


def _marked(selection: Selection, start: int, batch: "pa.RecordBatch") -> "pa.RecordBatch":
    return filtered(batch, selection.anchors(batch))
