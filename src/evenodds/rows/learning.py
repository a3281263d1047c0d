"""One pass over labels, weights and groups: they are checked, counted, and made into roles."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenodds.errors import AnchorError, InputError
from evenodds.rows.labels import plain, read_labels
from evenodds.rows.roles import Columns, Roles, label_values
from evenodds.rows.selection import Selection, filtered
from evenodds.rows.streamed import Counts
from evenodds.rows.tables.base import Table
from evenodds.rows.values import is_missing_in, kind_of, numbers, plain_array

if TYPE_CHECKING:
    import pyarrow as pa

# With more different labels than this there is no need to count them all.
MOST_LABELS = 1000


@dataclass
class Facts:
    """What has been seen of labels, weights and groups so far."""

    labels: dict[Any, float] = field(default_factory=dict)  # weight of each
    n_counted: int = 0
    weight: float = 0.0
    largest_weight: float = 0.0
    weighted: bool = False
    n_anchors: int = 0
    missing: dict[str, tuple[int, int]] = field(default_factory=dict)  # how many, first row
    groups: "list[pa.Array]" = field(default_factory=list)


def learn_roles(
    table: Table, columns: Columns, selection: Selection, positive: Any
) -> tuple[Roles, Counts]:
    """Check labels, weights and groups, and return how to read them.

    Raises
    ------
    InputError
        If they cannot be used; the message names the column and the place.
    """
    named = (columns.label, columns.weight, columns.group, *selection.columns)
    read = tuple(dict.fromkeys(name for name in named if name is not None))
    facts, kept = Facts(), []
    for start, part in table.starts():
        number, n_kept = start, 0
        for batch in part.batches(read):
            chosen = selection.kept(batch)
            rows = np.arange(batch.num_rows) if chosen is None else np.flatnonzero(chosen)
            taken = batch if chosen is None else filtered(batch, chosen)
            _look(facts, table, columns, taken, number + rows)
            facts.n_anchors += int(selection.anchors(batch).sum())
            n_kept += len(rows)
            number += batch.num_rows
        kept.append(n_kept)
    for name, advice in (
        (columns.label, "drop the rows without a label"),
        (columns.weight, "give every row its weight"),
        (columns.group, "give every row its group"),
    ):
        _refuse_missing(facts, table, name, advice)
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


def _look(facts: Facts, table: Table, columns: Columns, batch: "pa.RecordBatch", rows: Any) -> None:
    """Take in one batch."""
    import pyarrow as pa  # noqa: PLC0415 - only tables need it

    weights = _weights(facts, table, columns, batch, rows)
    label = label_values(batch.column(columns.label))
    there = ~_note_missing(facts, columns.label, label, rows)
    counted = label.filter(pa.array(there)).dictionary_encode()
    sums = np.bincount(
        counted.indices.to_numpy(),
        weights=None if weights is None else weights[there],
        minlength=len(counted.dictionary),
    )
    for value, weight in zip(counted.dictionary.to_pylist(), sums, strict=True):
        facts.labels[value] = facts.labels.get(value, 0.0) + float(weight)
    if len(facts.labels) > MOST_LABELS:
        _labels(facts, columns, None)
    if columns.group is not None:
        group = plain_array(batch.column(columns.group))
        _note_missing(facts, columns.group, group, rows)
        facts.groups.append(group.unique().drop_null())


def _weights(
    facts: Facts, table: Table, columns: Columns, batch: "pa.RecordBatch", rows: Any
) -> Any:
    """Check the weights of a batch and add them up."""
    if columns.weight is None:
        facts.n_counted += batch.num_rows
        facts.weight += batch.num_rows
        return None
    name, column = columns.weight, batch.column(columns.weight)
    if kind_of(column.type) != "number":
        raise InputError(
            f"column {name!r} of {table.name} holds {column.type} values but weights must be "
            "numbers: how many rows each row stands for."
        )
    _note_missing(facts, name, column, rows)
    weights = np.asarray(numbers(column), dtype=np.float64)
    wrong = (weights < 0) | np.isinf(weights)
    if wrong.any():
        first = int(np.argmax(wrong))
        needed = "must be finite" if np.isinf(weights[first]) else "must not be negative"
        raise InputError(
            f"column {name!r} is {weights[first]:g} in {table.place(int(rows[first]))} but "
            f"{needed}: it is how many rows this row stands for."
        )
    facts.n_counted += int(np.count_nonzero(weights))
    facts.weight += float(weights.sum())
    facts.largest_weight = max(facts.largest_weight, float(weights.max(initial=0.0)))
    facts.weighted = facts.weighted or bool((weights != 1).any())
    return weights


def _note_missing(facts: Facts, name: str, column: "pa.Array", rows: Any) -> Any:
    """Count missing values and remember the first; return which they are."""
    missing = is_missing_in(column)
    if missing.any():
        count, first = facts.missing.get(name, (0, int(rows[np.argmax(missing)])))
        facts.missing[name] = count + int(missing.sum()), first
    return missing


def _refuse_missing(facts: Facts, table: Table, name: str | None, advice: str) -> None:
    if name in facts.missing:
        count, first = facts.missing[name]
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
    import pyarrow as pa  # noqa: PLC0415 - only tables need it

    if columns.group is None:
        return None
    types = {group.type for group in facts.groups}
    wide = types.pop() if len(types) == 1 else pa.string()
    values = pa.concat_arrays([group.cast(wide) for group in facts.groups]).unique()
    if len(values) < 2:
        raise InputError(
            f"column {columns.group!r} has one group only ({values[0].as_py()!r}): the variance "
            "needs at least two."
        )
    return values
