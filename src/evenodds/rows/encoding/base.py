"""What every encoding offers: the columns it reads, the names it gives, and features."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from evenodds.validation import FloatArray

if TYPE_CHECKING:
    import pyarrow as pa


class Encoding(ABC):
    """How a record batch becomes features; frozen, and small enough to be sent anywhere.

    Attributes
    ----------
    columns : tuple of str
        Columns that are read.
    feature_names : tuple of str
        Names of the features.
    notices : tuple of str
        What a user should know of how columns were read, a sentence each.
    """

    columns: tuple[str, ...]
    feature_names: tuple[str, ...]
    notices: tuple[str, ...]

    @property
    def is_plain(self) -> bool:
        """Whether every feature is a column as it is."""
        return False

    @abstractmethod
    def features(self, batch: "pa.RecordBatch", called: str = "X") -> FloatArray:
        """Return the features of a batch: float64, nan where a value is missing.

        `called` is what a message calls the batch, should it hold a level never seen.
        """

    def blocks(self, batch: "pa.RecordBatch", n_rows: int) -> Iterator[FloatArray]:
        """Return the features of a batch, a few rows at a time."""
        features = self.features(batch)
        for start in range(0, len(features), n_rows):
            yield features[start : start + n_rows]
