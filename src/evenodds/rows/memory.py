"""Rows in memory: from arrays, data frames or columns, as the user passes them.

Neither is ever copied whole. An array is read through views, columns are gathered into one
small block at a time; only a sample of the rows becomes an array of its own.
"""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import InputError
from evenodds.rows.base import Block, IntArray, Rows, S, rows_in_a_block
from evenodds.rows.labels import (
    Labels,
    as_labels,
    check_total_weight,
    is_missing,
    label_column,
    plain,
    read_labels,
)
from evenodds.rows.tables import as_numpy, kind_of, refuse_repeated
from evenodds.validation import (
    FloatArray,
    as_array,
    check_same_order,
    check_vector,
    counted,
    kind_of_value,
    refuse_inexact,
)

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa

# A sample of rows as wide as this is gathered block by block: a climb goes over it once or twice.
GATHERED_BELOW = 100


class MemoryRows(Rows):
    """Rows of a 2-D array of any numeric type and memory order, or of a data frame's columns."""

    def __init__(
        self,
        features: NDArray[Any] | tuple[NDArray[Any], ...],
        labels: Labels,
        weights: FloatArray | None = None,
        groups: IntArray | None = None,
        *,
        n_groups: int | None = None,
        feature_names: tuple[str, ...] | None = None,
        block_rows: int | None = None,
    ) -> None:
        self.n_features = len(features) if isinstance(features, tuple) else features.shape[1]
        self.n_rows = len(labels)
        self.feature_names, self.n_groups = feature_names, n_groups
        self.positive, self.negative = labels.positive, labels.negative
        self.weighted = weights is not None and bool((weights != 1).any())
        self.n_counted, self.total_weight = self.n_rows, float(self.n_rows)
        if weights is not None:
            self.n_counted = int(np.count_nonzero(weights))
            self.total_weight = float(weights.sum())
        self._given, self._labels, self._weights, self._groups = features, labels, weights, groups
        self._block_rows = block_rows or rows_in_a_block(self.n_features)
        self._picked: IntArray | None = None  # which of the features' rows, where not all

    def _features(self, rows: slice | IntArray) -> FloatArray:
        """Return the features of these rows as float64."""
        if self._picked is not None:
            rows = self._picked[rows]
        if not isinstance(self._given, tuple):
            # C order: both matrix products of a pass then run along the rows.
            return np.ascontiguousarray(self._given[rows], dtype=np.float64)
        features = np.empty((len(self._given[0][rows]), self.n_features))
        for number, column in enumerate(self._given):
            features[:, number] = column[rows]
        return features

    def sum_over_rows(self, empty: S) -> S:
        for start in range(0, self.n_rows, self._block_rows):
            empty.add(self._block(start))
        return empty

    def thinned(self, step: int, rng: np.random.Generator) -> "MemoryRows":
        rows = drawn(self.n_rows, step, rng)
        # Gathered once: rows picked out of a long table again in every pass cost more than sums.
        return self._at(rows, self._features(rows))

    def peeked(self, step: int, rng: np.random.Generator) -> "MemoryRows":
        if self.n_features < GATHERED_BELOW:
            return self.thinned(step, rng)
        rows = drawn(self.n_rows, step, rng)
        sample = self._at(rows, self._given)
        sample._picked = rows if self._picked is None else self._picked[rows]
        return sample

    def _at(
        self, rows: IntArray, features: NDArray[Any] | tuple[NDArray[Any], ...]
    ) -> "MemoryRows":
        """Return these rows, with features of their own."""
        return MemoryRows(
            features,
            replace(self._labels, values=self._labels.values[rows]),
            *self._beside(rows),
            n_groups=self.n_groups,
            feature_names=self.feature_names,
            block_rows=self._block_rows,
        )

    def _block(self, start: int) -> Block:
        rows = slice(start, min(start + self._block_rows, self.n_rows))
        return Block(self._features(rows), self._labels.block(rows), *self._beside(rows), start)

    def _beside(self, rows: slice | IntArray) -> tuple[FloatArray | None, IntArray | None]:
        """Return the weights and the groups of these rows."""
        weights = None if self._weights is None else self._weights[rows]
        return weights, None if self._groups is None else self._groups[rows]


def drawn(n_rows: int, step: int, rng: np.random.Generator) -> IntArray:
    """Draw one row of each run of `step`: at random, yet it follows any order in the data."""
    rows = np.arange(0, n_rows - step + 1, step)
    rows += rng.integers(0, step, size=len(rows))
    return rows


# Either a 2-D array, or a frame's columns with their names.
Features = NDArray[Any] | dict[str, NDArray[Any]]


def read_rows(
    X: Any,
    y: Any,
    *,
    positive: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    block_rows: int | None = None,
) -> MemoryRows:
    """Check data in memory and return it as rows that can be summed over.

    Parameters
    ----------
    X : array or data frame
        Features without an intercept column. Never copied whole.
    y : array-like
        Two labels; see `read_labels`.
    positive : object, optional
        The positive label.
    sample_weight : array-like, optional
        Frequency weights: how many identical rows each row stands for.
    groups : array-like, optional
        Which rows belong together (one patient, one annotator).
    block_rows : int, optional
        Rows per block; by default what fits a core's cache.
    """
    check_same_order(X=X, y=y, sample_weight=sample_weight, groups=groups)
    features = read_features(X, "X")
    labels = read_labels(y, positive)
    names = tuple(features) if isinstance(features, dict) else None
    n_rows, n_features = shape_of(features)
    if n_features == 0:
        raise InputError("X has no columns: give at least one feature.")
    check_length(labels, "y", n_rows)
    codes, n_groups = (None, None) if groups is None else read_groups(groups, n_rows)
    weights = weights_of_labels(sample_weight, labels)
    columns = tuple(features.values()) if isinstance(features, dict) else features
    known: Any = {"n_groups": n_groups, "feature_names": names, "block_rows": block_rows}
    return MemoryRows(columns, labels, weights, codes, **known)


def read_features(X: Any, name: str) -> Features:
    """Return X as a numeric 2-D array, or as a frame's columns where it has names."""
    if not isinstance(X, np.ndarray):
        frame = as_frame(X, name)
        if frame is not None:
            return {str(n): _column_numbers(frame.get_column(n), name) for n in frame.columns}
    if hasattr(X, "tocsr"):
        raise InputError(f"{name} is a sparse matrix: pass {name}.toarray().")
    if getattr(X, "is_sparse", False) is True:
        raise InputError(f"{name} is a sparse tensor: pass {name}.to_dense().")
    try:
        array = as_array(X)
    except ValueError:
        raise InputError(f"{name} has rows of different lengths: give a rectangle.") from None
    if array.ndim != 2:
        advice = f"; for one feature use {name}.reshape(-1, 1)" if array.ndim == 1 else ""
        raise InputError(f"{name} has {counted(array.ndim, 'dimension')} but must have 2{advice}.")
    if array.dtype.kind in "mM":
        raise InputError(
            f"{name} holds dates or times: turn them into numbers first, such as days since a "
            "fixed day."
        )
    if array.dtype.kind == "c":
        raise InputError(f"{name} holds complex numbers: give real ones.")
    if array.dtype.kind not in "iufb":
        array = _as_numbers(array, name)
    _refuse_inexact(array, name)
    return array


def shape_of(features: Features) -> tuple[int, int]:
    """Return the number of rows and columns."""
    if isinstance(features, dict):
        return (len(next(iter(features.values()))) if features else 0), len(features)
    return features.shape[0], features.shape[1]


def _as_numbers(array: NDArray[Any], name: str) -> FloatArray:
    """Return an array of objects as floats, if they are numbers."""
    whole = [value for value in array.flat if isinstance(value, (int, np.integer))]
    refuse_inexact(min(whole, default=0), max(whole, default=0), name)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} holds {array.dtype} values that are not numbers: encode text as numbers, "
            "one column for each category."
        ) from None


def _refuse_inexact(array: NDArray[Any], name: str) -> None:
    """Refuse whole numbers that would be rounded as features."""
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        refuse_inexact(array.min(), array.max(), name)


def as_frame(X: Any, name: str) -> "nw.DataFrame[Any] | None":
    """Return a data frame of any library as one of narwhals, or None if X is none."""
    import narwhals as nw

    X = of_hugging_face(X, name)
    names: Any = getattr(X, "column_names", None)
    names = getattr(X, "columns", ()) if names is None else names
    refuse_repeated([str(column) for column in names], name)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise InputError(f"{name} is a lazy frame: collect it first.")
    return frame if isinstance(frame, nw.DataFrame) else None


def of_hugging_face(X: Any, name: str = "X") -> Any:
    """Return the Arrow table of a Hugging Face dataset, as it is filtered, sorted and formatted.

    Anything else is returned as it is. Nobody has a dataset who has not loaded the library.
    """
    library: Any = sys.modules.get("datasets")
    if not type(X).__module__.startswith("datasets.") or not hasattr(library, "Dataset"):
        return X
    if isinstance(X, library.Dataset):
        return X.with_format("arrow", columns=X.format["columns"])[:]
    if isinstance(X, dict):
        raise InputError(
            f"{name} is {kind_of_value(X)} and no data set: pass one of those that it "
            f"holds, as {name}[{next(iter(X), 'train')!r}]."
        )
    if isinstance(X, library.IterableDataset):
        raise InputError(
            f"{name} is a dataset that is read as a stream: load it without streaming=True, or "
            "write it to Parquet and pass the path."
        )
    return X


def _column_numbers(series: Any, name: str) -> NDArray[Any]:
    """Return one column of a frame as numbers, without a copy where the frame allows it."""
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        own = series.to_native()
        arrow = type(own).__module__.startswith("pyarrow")
        values: NDArray[Any] = as_numpy(own) if arrow else series.to_numpy()
        if values.dtype.kind in "iufb":
            _refuse_inexact(values, f"column {str(series.name)!r} of {name}")
            return values
        return np.array([np.nan if is_missing(v) else float(v) for v in series.to_list()])
    if dtype.is_temporal():
        raise InputError(
            f"column {str(series.name)!r} of {name} holds dates or times: turn it into a number "
            "first, such as days since a fixed day."
        )
    raise InputError(
        f"column {str(series.name)!r} of {name} holds {str(dtype).lower()} values, not numbers: "
        "encode it as numbers, one column for each category, or leave it out."
    )


def read_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray | None:
    """Check frequency weights."""
    if sample_weight is None:
        return None
    weights = check_vector(sample_weight, "sample_weight", n_rows, "row", one_for_all=False)
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise InputError(
            f"sample_weight is {weights[row]:g} in row {row} but must not be negative: "
            "it is how many rows this row stands for."
        )
    return weights


def weights_of_labels(sample_weight: ArrayLike | None, labels: Labels) -> FloatArray | None:
    """Check frequency weights, and that either label has some."""
    weights = read_weights(sample_weight, len(labels))
    if weights is None:
        return None
    ones = labels.block(slice(None)) == 1
    sums = weights[ones].sum(), weights[~ones].sum()
    of_labels = zip((labels.positive, labels.negative), sums, strict=True)
    check_total_weight("sample_weight", weights.sum(), weights.max(), of_labels)
    return weights


def read_groups(groups: ArrayLike, n_rows: int, *, whose: str = "") -> tuple[IntArray, int]:
    """Return group codes 0, 1, 2, ... and how many there are; `whose` says what has the rows."""
    values = as_labels(groups, "groups")
    if values.shape != (n_rows,):
        raise InputError(
            f"groups has shape {values.shape} but {whose or f'X has {n_rows:,} rows'}: give one "
            "group a row."
        )
    if values.dtype.kind in "fO":
        missing = np.fromiter(map(is_missing, values.tolist()), bool, n_rows)
        if missing.any():
            raise InputError(
                f"groups has {counted(int(missing.sum()), 'missing value')}, the first in row "
                f"{int(np.argmax(missing))}: give every row its group."
            )
    if values.dtype == object:  # of any type, so number them as they come instead of sorting
        numbers: dict[Any, int] = {}
        codes = np.array([numbers.setdefault(value, len(numbers)) for value in values.tolist()])
    else:
        _, codes = np.unique(values, return_inverse=True)
    n_groups = int(codes.max()) + 1
    if n_groups < 2:
        raise InputError(
            f"groups has one group only ({plain(values[0])!r}): the variance needs at least two."
        )
    return codes.astype(np.int64), n_groups


TEXT_TYPES = {"String", "Categorical", "Enum"}


def has_text(X: Any, name: str) -> bool:
    """Tell whether X is a data frame with columns of text or categories."""
    frame = None if isinstance(X, np.ndarray) else as_frame(X, name)
    if frame is None:
        return False
    return any(type(kind).__name__ in TEXT_TYPES for kind in frame.schema.values())


def text_table(X: Any, name: str) -> "pa.Table | None":
    """Return a data frame with columns of text as an Arrow table, or None if X is none."""
    if not isinstance(X, dict):
        return as_arrow(X, name) if has_text(X, name) else None
    table = as_arrow(X, name)
    return table if table and any(kind_of(held) == "text" for held in table.schema.types) else None


def as_arrow(X: Any, name: str) -> "pa.Table | None":
    """Return a data frame as an Arrow table, or None if X is none."""
    import pyarrow as pa

    if isinstance(X, np.ndarray):
        return None
    X = of_hugging_face(X, name)
    if isinstance(X, dict):
        return pa.table({str(column): as_column(X[column], str(column)) for column in X})
    frame = as_frame(X, name)
    if frame is None:
        return None
    columns: dict[str, Any] = {}
    for column in frame.columns:
        try:
            columns[str(column)] = pa.chunked_array(frame.get_column(column).to_arrow())
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(
                f"column {str(column)!r} of {name} holds values of different kinds "
                f"({str(error).splitlines()[0]}): give numbers, or text."
            ) from None
    return pa.table(columns)


def as_column(values: Any, name: str) -> "pa.Array":
    """Return an array of labels, weights or groups as an Arrow column."""
    import pyarrow as pa

    array = label_column(values, name, "one column")
    try:
        if array.dtype == np.float64 and array.ndim == 1 and not np.isnan(array).any():
            stored = pa.py_buffer(np.ascontiguousarray(array))  # as_numpy says why
            return pa.Array.from_buffers(pa.float64(), len(array), [None, stored])
        return pa.array(array.tolist() if array.dtype == object else array, from_pandas=True)
    except OverflowError:  # whole numbers of any length stay apart as text
        return pa.array([None if is_missing(v) else str(v) for v in array.tolist()])
    except (pa.ArrowException, TypeError) as error:
        raise InputError(
            f"{name} holds values of different kinds ({str(error).splitlines()[0]})."
        ) from None


def check_length(values: Any, name: str, n_rows: int) -> None:
    """Refuse labels and the like of another length than X."""
    if len(values) != n_rows:
        raise InputError(
            f"X has {counted(n_rows, 'row')} but {name} has {len(values):,}: give one value a row."
        )


def free_name(wanted: str, taken: tuple[str, ...]) -> str:
    """Return a column name that is not taken yet."""
    while wanted in taken:
        wanted += "_"
    return wanted
