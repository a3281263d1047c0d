"""One pass over labels, weights and groups: they are checked, counted, and made into roles."""

from typing import TYPE_CHECKING, Any

import numpy as np

from evenodds.errors import AnchorError, InputError
from evenodds.rows.facts import Facts, distinct
from evenodds.rows.labels import plain, read_labels
from evenodds.rows.roles import Columns, Roles
from evenodds.rows.selection import Selection
from evenodds.rows.streamed import Counts
from evenodds.rows.tables.base import Table
from evenodds.rows.values import kind_of

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
