"""What every source of rows offers: one verb, `sum_over_rows`.

A fit needs only sums over rows, so a source never hands out rows: it feeds
one block after another to a sum. A new backend (a file, a cluster) is one class
that does this; nothing else knows how many rows there were, except as a number.
"""

import operator
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import InputError, RankError
from evenodds.validation import FloatArray

if TYPE_CHECKING:
    import pyarrow as pa


IntArray = NDArray[np.int64]

# Long enough that starting an operation costs little, short enough for a core's caches.
NARROW_BLOCK_ROWS = 8192
WIDE_BLOCK_ROWS = 1024
WIDE_FROM = 40
# Blocks of very many columns are shorter, to this size, but not so short that products suffer.
WIDE_BLOCK_BYTES = 2**21
FEWEST_BLOCK_ROWS = 256
# A sample is held in memory and has at most this many numbers (50 MiB).
LARGEST_SAMPLE = 6_500_000


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows, ready for arithmetic; sums read it and never write to it.

    Numbers are arrays of NumPy's, or tensors of torch where the rows are on a device.
    """

    features: Any  # (rows, features), without an intercept column
    labels: Any  # 1.0 for the positive class, 0.0 for the other
    weights: Any | None  # how many rows each row stands for; None means one
    groups: IntArray | None  # which group each row belongs to, 0, 1, 2, ...
    start: int  # number of the first row
    numbers: IntArray | None = None  # of the rows in their table, where some were left out

    @property
    def xp(self) -> Any:
        """NumPy, or torch where the rows are on a device: their functions have the same names."""
        return xp_of(self.features)

    def taken(self, rows: slice | IntArray) -> "Block":
        """Return some of the rows, which have no numbers any more."""
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        return Block(self.features[rows], self.labels[rows], weights, groups, self.start)

    @classmethod
    def joined(cls, blocks: "Sequence[Block]") -> "Block":
        """Return the rows of all blocks as one, in C order."""

        def together(part: str) -> Any:
            parts = [getattr(block, part) for block in blocks]
            return None if parts[0] is None else np.concatenate(parts)

        labels = together("labels")
        features = np.empty((len(labels), blocks[0].features.shape[1]))
        np.concatenate([block.features for block in blocks], out=features)
        return cls(features, labels, together("weights"), together("groups"), start=0)


def xp_of(array: Any) -> Any:
    """Return NumPy for its arrays, and torch for tensors."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def beside(values: FloatArray, array: Any) -> Any:
    """Return values where an array is, and of its kind, so that the two can be multiplied."""
    return values if isinstance(array, np.ndarray) else array.new_tensor(values)


def exactly(features: Any) -> Any:
    """Return features in double precision; on a device they may have come in single."""
    return features if isinstance(features, np.ndarray) else features.double()


def against(columns: Any, features: Any) -> FloatArray:
    """Return the products of a row or rows of numbers with the features, in NumPy's memory."""
    if isinstance(features, np.ndarray):
        product: FloatArray = columns @ features
        return product
    return on_host(columns.to(features.dtype) @ features)


def on_host(values: Any) -> FloatArray:
    """Return numbers from wherever they are as an array of NumPy's."""
    held: FloatArray = (
        values if isinstance(values, np.ndarray) else values.detach().double().cpu().numpy()
    )
    return held


def is_on_device(X: Any) -> bool:
    """Tell a tensor or an array of CuPy on a device from other data; no library is loaded."""
    if type(X).__module__.split(".")[0] == "cupy":
        return True
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor) and X.device.type != "cpu"


class RowSum(Protocol):
    """A sum over rows: starts empty, takes one block after another, merges with its like.

    An empty one is small and can be pickled, so a cluster can send it to where
    the rows are, fill copies there, and merge what comes back. One with `on_device = True` takes
    blocks of rows on a device as they are; to others they come through NumPy's memory.
    """

    def add(self, block: Block) -> None:
        """Add the rows of one block."""

    def merge(self, other: Self) -> None:
        """Add what another copy has summed over other rows."""


S = TypeVar("S", bound=RowSum)
T = TypeVar("T", bound=tuple[Any, ...])


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
    features_chosen : bool
        Whether the user named the features, or a formula for them.
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
    features_chosen: bool = False
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

    def totals(self, of: Callable[[Block], T]) -> T:
        """Return the sums over all rows of what a function returns for a block, part by part."""
        sums: Any = self.sum_over_rows(Totals(of)).sums
        return sums  # type: ignore[no-any-return]

    def to_memory(self) -> Block:
        """Return all rows as one block, for what truly needs them together."""
        blocks = self.sum_over_rows(AllRows()).blocks
        return Block.joined(sorted(blocks, key=lambda block: block.start))

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
        return self.totals(_positive_weight)[0]

    def column(self, number: int) -> str:
        """Name a column the way a message needs it."""
        return f"column {name_column(self.feature_names, number)}"

    def columns(self, numbers: Sequence[int], limit: int = 6) -> str:
        """Name some columns the way a message needs them."""
        listed = ", ".join(name_column(self.feature_names, number) for number in numbers[:limit])
        more = f" and {len(numbers) - limit} more" if len(numbers) > limit else ""
        return f"columns {listed}{more}"


class AllRows:
    """Blocks of rows, kept as they come."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def add(self, block: Block) -> None:
        self.blocks.append(block)

    def merge(self, other: Self) -> None:
        self.blocks += other.blocks


class Totals:
    """Sums over rows of the numbers and arrays that a function returns for each block."""

    def __init__(self, of: Callable[[Block], tuple[Any, ...]]) -> None:
        self.of = of
        self.sums: tuple[Any, ...] | None = None

    def add(self, block: Block) -> None:
        self._plus(self.of(block))

    def merge(self, other: Self) -> None:
        if other.sums is not None:
            self._plus(other.sums)

    def _plus(self, more: tuple[Any, ...]) -> None:
        self.sums = more if self.sums is None else tuple(map(operator.add, self.sums, more))


def _positive_weight(block: Block) -> tuple[float]:
    weights = block.labels if block.weights is None else block.labels * block.weights
    return (float(weights.sum()),)


def name_column(names: tuple[str, ...] | None, number: int) -> str:
    """Return the quoted name of a column, or its number where columns have no names."""
    return repr(names[number]) if names is not None else str(number)


def sampling_step(rows: Rows, at_least: int) -> int:
    """Return a step for `thinned`, larger where the sample would fill memory."""
    return max(at_least, -(-rows.n_rows * rows.n_features // LARGEST_SAMPLE))


def rows_in_a_block(n_features: int) -> int:
    """Return how many rows to work on at a time."""
    if n_features < WIDE_FROM:
        return NARROW_BLOCK_ROWS
    return min(max(WIDE_BLOCK_BYTES // (8 * n_features), FEWEST_BLOCK_ROWS), WIDE_BLOCK_ROWS)


@dataclass(frozen=True, slots=True, kw_only=True)
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
    notices: tuple[str, ...] = ()

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


class Span:
    """Smallest and largest value of each column."""

    def __init__(self, n_features: int) -> None:
        self.low = np.full(n_features, np.inf)
        self.high = np.full(n_features, -np.inf)

    def add(self, block: Block) -> None:
        np.minimum(self.low, block.features.min(axis=0), out=self.low)
        np.maximum(self.high, block.features.max(axis=0), out=self.high)

    def merge(self, other: Self) -> None:
        np.minimum(self.low, other.low, out=self.low)
        np.maximum(self.high, other.high, out=self.high)


def read_row_numbers(rows: ArrayLike, n_rows: int) -> Any:
    """Return row numbers from numbers or a mask."""
    chosen = np.asarray(rows)
    if chosen.size == 0:
        raise InputError("rows is empty: name at least one row.")
    if chosen.dtype == bool:
        if chosen.shape != (n_rows,):
            raise InputError(f"rows is a mask of {chosen.size} but X has {n_rows} rows.")
        return np.flatnonzero(chosen)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise InputError("rows must be a list of row numbers or a mask of True and False.")
    outside = (chosen < 0) | (chosen >= n_rows)
    if outside.any():
        raise InputError(
            f"rows names row {int(chosen[np.argmax(outside)])} but X has rows 0 to {n_rows - 1}."
        )
    return chosen


def missing_places(block: Block) -> tuple[int, int, list[tuple[int, int]]]:
    """Return how many values are missing and infinite, and the row and column of the first."""
    bad = ~np.isfinite(block.features)
    if not bad.any():
        return 0, 0, []
    row, column = (int(places[0]) for places in np.nonzero(bad))
    number = block.start + row if block.numbers is None else int(block.numbers[row])
    n_missing = int(np.isnan(block.features).sum())
    return n_missing, int(bad.sum()) - n_missing, [(number, column)]


def refuse_missing(rows: Rows) -> None:
    """Raise with the count and the first place, if any value is missing or infinite."""
    seen = rows.as_read()
    n_missing, n_infinite, places = seen.totals(missing_places)
    them = "it" if n_missing + n_infinite == 1 else "them"
    advice = f"drop or fill {them} before testing{rows.advice_on_missing}"
    if not places and seen is not rows:
        seen = rows
        n_missing, n_infinite, places = rows.unheld().totals(missing_places)
        advice = "no row of the data lacks one, so change that term, or leave such rows out"
    if not places:
        return
    counted = (n_missing, "missing"), (n_infinite, "infinite")
    counts = [f"{count} {kind}" for count, kind in counted if count]
    plural = "s" if n_missing + n_infinite > 1 else ""
    raise InputError(
        f"{rows.called} has {' and '.join(counts)} value{plural}, the first in "
        f"{seen.place(*min(places))}: {advice}."
    )


def small_spread(called: str, low: float, high: float) -> RankError:
    """Return what is wrong with a column whose values differ by rounding, or by next to nothing."""
    return RankError(
        f"{called} varies too little to compute with (from {float(low)!r} to {float(high)!r}): "
        "subtract a constant, or rescale it."
    )
