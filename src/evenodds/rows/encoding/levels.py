"""The levels of columns of text: found exactly, in one pass, and refused where they are none."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenodds.errors import InputError
from evenodds.rows.selection import Selection
from evenodds.rows.tables.base import Table
from evenodds.rows.values import texts
from evenodds.validation import join_quoted, near_misses

if TYPE_CHECKING:
    import pyarrow as pa

# Text with more levels is a name or an id, not a category.
MOST_LEVELS = 200
NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
# Digits in groups of three, and decimals, by comma, point, space or apostrophe.
GROUPED = re.compile(r"\s*[-+]?\d{1,3}([ ,.'\u00a0\u202f]\d{3})+([.,]\d+)?\s*")


def learn_levels(
    table: Table, names: Sequence[str], selection: Selection, *, formula: bool = False
) -> dict[str, tuple[str, ...]]:
    """Return the sorted levels of each column of text, from a pass over these columns.

    Who names a column in a formula means it to be a category, so `formula` takes numbers
    among its levels too.
    """
    seen: dict[str, set[str]] = {name: set() for name in names}
    for _, whole in table.batches(tuple(dict.fromkeys((*names, *selection.columns)))):
        batch = selection.apply(whole)
        for name in names:
            seen[name].update(texts(batch.column(name)).unique().drop_null().to_pylist())
            if len(seen[name]) > MOST_LEVELS:
                _refuse_many(table, name, seen[name])
    for name in names:
        if not formula:
            _refuse_numbers(table, name, seen[name])
        _refuse_spellings(table, name, seen[name])
        if len(seen[name]) < 2:
            raise InputError(
                f"column {name!r} of {table.name} holds one text only "
                f"({join_quoted(seen[name]) or 'none'}): leave it out."
            )
    return {name: tuple(sorted(levels)) for name, levels in seen.items()}


def refuse_unseen(values: "pa.Array", name: str, levels: Sequence[str], called: str) -> None:
    """Refuse levels the data has not, with the near misses."""
    unseen = sorted(values.drop_null().unique().to_pylist())
    near = near_misses(unseen[0], levels).replace("the columns are", "the levels are")
    raise InputError(
        f"column {name!r} of {called} holds {join_quoted(unseen)}, which the data has not; {near}"
    )


def _refuse_many(table: Table, name: str, levels: set[str]) -> None:
    _refuse_numbers(table, name, levels)
    raise InputError(
        f"column {name!r} of {table.name} holds more than {MOST_LEVELS} different texts (such as "
        f"{join_quoted(sorted(levels)[:3])}): it is no category. Leave it out, or group it."
    )


def _refuse_numbers(table: Table, name: str, levels: set[str]) -> None:
    """Refuse numbers that were read as text, since one column a number is never meant."""
    grouped = sorted(level for level in levels if GROUPED.fullmatch(level))
    if grouped:
        raise InputError(
            f"column {name!r} of {table.name} holds numbers with separators, such as "
            f"{grouped[0]!r}: write them without, with a point before decimals."
        )
    plain = {level for level in levels if NUMBER.fullmatch(level)}
    others = sorted(levels - plain)
    if others and len(plain) > len(others):
        raise InputError(
            f"column {name!r} of {table.name} holds text such as {others[0]!r} among numbers: "
            "leave the cell empty if the value is missing, leave the column out, or name it as a "
            f"category in a formula (C({name}))."
        )


def _refuse_spellings(table: Table, name: str, levels: set[str]) -> None:
    """Refuse levels that differ only in case or blanks."""
    folded: dict[str, str] = {}
    for level in sorted(levels):
        twin = folded.setdefault(level.strip().casefold(), level)
        if twin != level:
            raise InputError(
                f"column {name!r} of {table.name} holds {twin!r} and {level!r}, which differ only "
                "in case or blanks: write them one way."
            )
