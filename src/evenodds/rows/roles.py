"""Which columns of a table are labels, weights and groups, and what they hold.

Each is checked in one pass that reads these columns only; what is learnt is small, so that
a batch can be read later without looking back.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenodds.errors import InputError
from evenodds.rows.base import IntArray
from evenodds.rows.values import kind_of, numbers, plain_array
from evenodds.validation import FloatArray

if TYPE_CHECKING:
    import pyarrow as pa

# Decimals of no more digits are told apart as floating-point numbers.
DIGITS_OF_A_FLOAT = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns of a table play which part, by name."""

    label: str
    features: tuple[str, ...] | None = None  # None: every column that plays no other part
    anchor: str | None = None
    weight: str | None = None
    group: str | None = None
    true: str | None = None  # true labels of rows that were looked up

    def __post_init__(self) -> None:
        parts = {"marks anchors": self.anchor, "holds weights": self.weight}
        parts |= {"holds groups": self.group, "holds true labels": self.true}
        for part, name in parts.items():
            if name == self.label:
                raise InputError(
                    f"column {name!r} is named as the label and as the one that {part}: name two "
                    "different columns."
                )

    @property
    def others(self) -> tuple[str, ...]:
        """The columns that are not features, each once."""
        named = (self.label, self.anchor, self.weight, self.group, self.true)
        return tuple(dict.fromkeys(name for name in named if name is not None))


@dataclass(frozen=True, slots=True)
class Roles:
    """How labels, weights and groups are read from a batch."""

    label: str
    positive_value: Any  # as it is stored
    positive: Any  # as the user writes it
    negative: Any
    weight: str | None = None
    group: str | None = None
    group_values: "pa.Array | None" = None  # their places are the groups' numbers

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read, each once."""
        named = (self.label, self.weight, self.group)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def labels(self, batch: "pa.RecordBatch") -> FloatArray:
        """Return 1.0 where the label is the positive one, else 0.0."""
        import pyarrow as pa
        from pyarrow import compute

        column = label_values(batch.column(self.label))
        if kind_of(column.type) == "number":
            return np.asarray(numbers(column) == self.positive_value, dtype=np.float64)
        positive = compute.equal(column, pa.scalar(self.positive_value, column.type))
        found: FloatArray = positive.to_numpy(zero_copy_only=False).astype(np.float64)
        return found

    def weights(self, batch: "pa.RecordBatch") -> FloatArray | None:
        """Return how many rows each row stands for."""
        if self.weight is None:
            return None
        return np.asarray(numbers(batch.column(self.weight)), dtype=np.float64)

    def groups(self, batch: "pa.RecordBatch") -> IntArray | None:
        """Return the number of each row's group."""
        from pyarrow import compute

        if self.group is None:
            return None
        values = plain_array(batch.column(self.group)).cast(self.group_values.type)  # type: ignore[union-attr]
        codes = compute.index_in(values, value_set=self.group_values)
        found: IntArray = codes.to_numpy(zero_copy_only=False).astype(np.int64)
        return found


def label_values(column: "pa.Array") -> "pa.Array":
    """Return labels as numbers or text: dates are as good as any two texts."""
    import pyarrow as pa

    column = plain_array(column)
    if pa.types.is_decimal(column.type) and column.type.precision <= DIGITS_OF_A_FLOAT:
        return column.cast(pa.float64())
    if pa.types.is_decimal(column.type):
        return column.cast(pa.string())
    return column if kind_of(column.type) == "number" else column.cast(pa.string())
