"""What every source of rows offers: one verb, `sum_over_rows`.

A fit needs only sums over rows, so a source never hands out rows: it feeds
one block after another to a sum. A new backend (a file, a cluster) is one class
that does this; nothing else knows how many rows there were, except as a number.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenodds.validation import FloatArray

if TYPE_CHECKING:
    from evenodds.rows.encoding.base import Encoding

IntArray = NDArray[np.int64]

# Long enough that starting an operation costs little, short enough for a core's caches.
NARROW_BLOCK_ROWS = 8192
WIDE_BLOCK_ROWS = 1024
WIDE_FROM = 40
# A sample is held in memory and has at most this many numbers (50 MiB).
LARGEST_SAMPLE = 6_500_000


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows, ready for arithmetic; sums read it and never write to it."""

    features: FloatArray  # (rows, features), without an intercept column
    labels: FloatArray  # 1.0 for the positive class, 0.0 for the other
    weights: FloatArray | None  # how many rows each row stands for; None means one
    groups: IntArray | None  # which group each row belongs to, 0, 1, 2, ...
    start: int  # number of the first row
    numbers: IntArray | None = None  # of the rows in their table, where some were left out


class RowSum(Protocol):
    """A sum over rows: starts empty, takes one block after another, merges with its like.

    An empty one is small and can be pickled, so a cluster can send it to where
    the rows are, fill copies there, and merge what comes back.
    """

    def add(self, block: Block) -> None:
        """Add the rows of one block."""

    def merge(self, other: Self) -> None:
        """Add what another copy has summed over other rows."""


S = TypeVar("S", bound=RowSum)


class Rows(ABC):
    """Labelled rows that can be summed over.

    Attributes
    ----------
    n_rows, n_features : int
        Size of the data; rows are counted as stored, whatever their weight.
    n_counted : int
        Rows whose weight is not zero.
    feature_names : tuple of str or None
        Column names where the source has them.
    positive, negative : object
        The two labels as the user wrote them.
    n_groups : int or None
        Number of groups, when rows come in groups.
    total_weight : float
        Rows counted with their frequency weights.
    weighted : bool
        Whether any row counts for more or less than one.
    encoding : Encoding or None
        How columns became features, where that is more than taking them as they are.
    notices : tuple of str
        What a user should know of how the rows were read, a sentence each.
    known_columns : tuple of str
        All columns of the table the rows come from, features or not.
    label_names, role_names : tuple of str
        What the labels are called; columns of the table that are weights, groups and the like.
    anchors_left_out : int
        Rows of the table that are anchors, and so none of these.
    called : str
        What messages call the data.
    costly : bool
        Whether reading the rows costs far more than the arithmetic of a pass.
    advice_on_missing : str
        How to have rows with missing values dropped, as the end of a sentence.
    """

    n_rows: int
    n_counted: int
    n_features: int
    feature_names: tuple[str, ...] | None
    positive: Any
    negative: Any
    n_groups: int | None
    total_weight: float
    weighted: bool
    encoding: "Encoding | None" = None
    notices: tuple[str, ...] = ()
    known_columns: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()
    role_names: tuple[str, ...] = ()
    anchors_left_out: int = 0
    called: str = "X"
    advice_on_missing: str = ""
    costly: bool = False

    @abstractmethod
    def sum_over_rows(self, empty: S) -> S:
        """Fill an empty sum with every row, block by block, and return it."""

    @abstractmethod
    def thinned(self, step: int, rng: np.random.Generator) -> "Rows":
        """Return a source of about one row in `step`, drawn at random."""

    def peeked(self, step: int, rng: np.random.Generator) -> "Rows":
        """Return about one row in `step`, by whichever way is quickest.

        Unlike `thinned`, it may take runs of rows: good enough to lend a climb its start,
        not to draw conclusions from.
        """
        return self.thinned(step, rng)

    def as_read(self) -> "Rows":
        """Return the rows before any encoding, to look for missing values."""
        return self

    def unheld(self) -> "Rows":
        """Return the rows with their own numbers, should a copy in memory have lost them."""
        return self

    def place(self, row: int, column: int) -> str:
        """Say where a value is, the way a message needs it."""
        return f"row {row}, {self.column(column)}"

    def positive_weight(self) -> float:
        """Return how many rows have the positive label, counted with their weights."""
        return self.sum_over_rows(PositiveWeight()).total

    def column(self, number: int) -> str:
        """Name a column the way a message needs it."""
        return f"column {name_column(self.feature_names, number)}"


class PositiveWeight:
    """Weight of the rows with the positive label."""

    def __init__(self) -> None:
        self.total = 0.0

    def add(self, block: Block) -> None:
        weights = block.labels if block.weights is None else block.labels * block.weights
        self.total += float(weights.sum())

    def merge(self, other: Self) -> None:
        self.total += other.total


def name_column(names: tuple[str, ...] | None, number: int) -> str:
    """Return the quoted name of a column, or its number where columns have no names."""
    return repr(names[number]) if names is not None else str(number)


def sampling_step(rows: Rows, at_least: int) -> int:
    """Return a step for `thinned`, larger where the sample would fill memory."""
    return max(at_least, -(-rows.n_rows * rows.n_features // LARGEST_SAMPLE))


def rows_in_a_block(n_features: int) -> int:
    """Return how many rows to work on at a time."""
    return WIDE_BLOCK_ROWS if n_features >= WIDE_FROM else NARROW_BLOCK_ROWS
