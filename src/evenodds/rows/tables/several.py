"""Several tables of the same columns, one after another, in types that hold the values of all."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenodds.errors import InputError
from evenodds.rows.tables.base import Part, Table
from evenodds.rows.values import kind_of
from evenodds.validation import near_misses

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class CastPart:
    """A part whose columns are read in the types of the whole table."""

    part: Part
    schema: "pa.Schema"

    @property
    def source(self) -> str:
        """Path of the file."""
        return self.part.source

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.part.n_rows

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Read these columns, in this order."""
        import pyarrow as pa

        fields = [self.schema.field(name) for name in columns]
        for batch in self.part.batches(columns):
            try:
                yield batch.cast(pa.schema(fields))
            except pa.ArrowInvalid as error:
                reason = str(error).splitlines()[0].rstrip(".")
                raise InputError(
                    f"{self.source} has columns of other types than the files before it: {reason}."
                ) from None


def one_after_another(
    tables: Sequence[Table], name: str, text_if_mixed: Collection[str] = ()
) -> Table:
    """Return one table with the parts of all; columns may come in any order.

    `text_if_mixed` names columns, such as labels and groups, where numbers and text may mix.
    """
    first = tables[0]
    for other in tables[1:]:
        refuse_other_columns(first.names, other.names, first.name, other.name)
    schema = _common(tables, text_if_mixed)
    parts: list[Part] = []
    for table in tables:
        same = all(schema.field(each).type == table.schema.field(each).type for each in first.names)
        parts += table.parts if same else [CastPart(part, schema) for part in table.parts]
    return Table(name, schema, tuple(parts), first.counted)


def _common(tables: Sequence[Table], text_if_mixed: Collection[str]) -> "pa.Schema":
    """Return for each column the type that holds its values in all tables."""
    import pyarrow as pa

    first = tables[0]
    found = []
    for column in first.names:
        kinds = [table.schema.field(column).type for table in tables]
        wide = kinds[0]
        for table, kind in zip(tables, kinds, strict=True):
            if kind == wide:
                continue
            try:
                wide = _wider(wide, kind)
            except pa.ArrowTypeError:
                if column in text_if_mixed and {kind_of(wide), kind_of(kind)} == {"text", "number"}:
                    wide = pa.string()
                    continue
                raise InputError(
                    f"column {column!r} holds {wide} values in {first.name} but {kind} values in "
                    f"{table.name}: write it one way."
                ) from None
        found.append((column, wide))
    return pa.schema(found)


def _wider(one: "pa.DataType", other: "pa.DataType") -> "pa.DataType":
    """Return a type that holds the values of both."""
    import pyarrow as pa

    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (one, other)]
    schemas = [pa.schema([("", kind)]) for kind in plain]
    return pa.unify_schemas(schemas, promote_options="permissive").field(0).type


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
