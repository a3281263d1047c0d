"""The log-odds of a predicted probability as the single feature."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenodds.errors import InputError
from evenodds.rows.encoding.base import Encoding
from evenodds.rows.selection import Selection
from evenodds.rows.tables.base import Table
from evenodds.rows.values import kind_of, numbers
from evenodds.validation import FloatArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ProbabilityEncoding(Encoding):
    """``log(p / (1 - p))`` of a column of probabilities."""

    column: str
    notices: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The one column."""
        return (self.column,)

    @property
    def feature_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The one feature."""
        return (f"logit({self.column})",)

    def features(self, batch: "pa.RecordBatch", called: str = "X") -> FloatArray:
        chances = np.asarray(numbers(batch.column(self.column)), dtype=np.float64)
        outside = (chances <= 0) | (chances >= 1)
        if outside.any():
            row = int(np.argmax(outside))
            raise InputError(_outside(self.column, float(chances[row]), f"row {row} of {called}"))
        return np.log(chances / (1 - chances))[:, None]


def learn_probability(table: Table, column: str, selection: Selection) -> ProbabilityEncoding:
    """Check that a column holds probabilities strictly between 0 and 1, in one pass."""
    table.check_column(column)
    kind = table.schema.field(column).type
    if kind_of(kind) != "number":
        raise InputError(
            f"column {column!r} of {table.name} holds {kind} values but must hold probabilities."
        )
    for start, batch in table.batches(tuple(dict.fromkeys((column, *selection.columns)))):
        kept = selection.kept(batch)
        chances = np.asarray(numbers(batch.column(column)), dtype=np.float64)
        outside = (chances <= 0) | (chances >= 1)
        outside &= True if kept is None else kept
        if outside.any():
            row = int(np.argmax(outside))
            raise InputError(_outside(column, float(chances[row]), table.place(start + row)))
    return ProbabilityEncoding(column)


def _outside(column: str, value: float, place: str) -> str:
    if value in {0, 1}:
        return (
            f"column {column!r} is exactly {value:g} in {place}, whose log-odds are infinite: use "
            "a model whose probabilities stay between 0 and 1 (calibrate it, or average more "
            "trees), or drop such rows knowing that they are the surest ones."
        )
    return (
        f"column {column!r} is {value:g} in {place} but must be above 0 and below 1: it is a "
        "predicted probability."
    )
