"""Data frames of any library as Arrow tables, for columns that are more than numbers."""

from typing import TYPE_CHECKING, Any

import numpy as np

from evenodds.errors import InputError
from evenodds.rows.labels import as_labels, is_missing
from evenodds.rows.source import as_frame
from evenodds.rows.values import kind_of

if TYPE_CHECKING:
    import pyarrow as pa

TEXT_TYPES = {"String", "Categorical", "Enum"}


def has_text(X: Any, name: str) -> bool:
    """Tell whether X is a data frame with columns of text or categories."""
    frame = None if isinstance(X, np.ndarray) else as_frame(X, name)
    if frame is None:
        return False
    return any(type(kind).__name__ in TEXT_TYPES for kind in frame.schema.values())


def text_table(X: Any, name: str) -> "pa.Table | None":
    """Return a data frame with columns of text as an Arrow table, or None if X is none."""
    if isinstance(X, dict):
        table = as_arrow(X, name)
        held = [] if table is None else table.schema.types
        return table if any(kind_of(column) == "text" for column in held) else None
    return as_arrow(X, name) if has_text(X, name) else None


def as_arrow(X: Any, name: str) -> "pa.Table | None":
    """Return a data frame as an Arrow table, or None if X is none."""
    import pyarrow as pa

    if isinstance(X, np.ndarray):
        return None
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

    array = as_labels(values, name)
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape} but must be one column.")
    try:
        return pa.array(array.tolist() if array.dtype == object else array, from_pandas=True)
    except OverflowError:  # whole numbers of any length stay apart as text
        return pa.array([None if is_missing(v) else str(v) for v in array.tolist()])
    except (pa.ArrowException, TypeError) as error:
        raise InputError(
            f"{name} holds values of different kinds ({str(error).splitlines()[0]})."
        ) from None


def free_name(wanted: str, taken: tuple[str, ...]) -> str:
    """Return a column name that is not taken yet."""
    while wanted in taken:
        wanted += "_"
    return wanted
