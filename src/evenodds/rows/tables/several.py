"""Several tables of the same columns, one after another."""

from collections.abc import Sequence

from evenodds.errors import InputError
from evenodds.rows.tables.base import Table
from evenodds.validation import near_misses


def one_after_another(tables: Sequence[Table], name: str) -> Table:
    """Return one table with the parts of all; columns may come in any order."""
    first = tables[0]
    for other in tables[1:]:
        refuse_other_columns(first.names, other.names, first.name, other.name)
    parts = tuple(part for table in tables for part in table.parts)
    return Table(name, first.schema, parts, first.counted)


def refuse_other_columns(
    names: tuple[str, ...], others: tuple[str, ...], source: str, other: str
) -> None:
    """Refuse a file whose columns are not those of the first."""
    for name in names:
        if name not in others:
            raise InputError(
                f"{other} has no column {name!r}, which {source} has; {near_misses(name, others)}"
            )
    for name in others:
        if name not in names:
            raise InputError(
                f"{other} has a column {name!r} that {source} has not; {near_misses(name, names)}"
            )
