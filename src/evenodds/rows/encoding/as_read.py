"""Columns before any encoding, to say which value of the file is missing."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenodds.rows.encoding.base import Encoding
from evenodds.rows.values import is_missing_in, kind_of, numbers
from evenodds.validation import FloatArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class AsRead(Encoding):
    """One feature a column: its number, or for anything else whether it is there (0) or not."""

    columns: tuple[str, ...]
    notices: tuple[str, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns themselves."""
        return self.columns

    def features(self, batch: "pa.RecordBatch", called: str = "X") -> FloatArray:
        features = np.empty((batch.num_rows, len(self.columns)))
        for place, name in enumerate(self.columns):
            column = batch.column(name)
            if kind_of(column.type) == "number":
                features[:, place] = numbers(column)
            else:
                features[:, place] = np.where(is_missing_in(column), np.nan, 0.0)
        return features
