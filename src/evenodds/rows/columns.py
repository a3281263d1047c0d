"""Arrow columns as numbers, and what kind of values a column holds."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenodds.validation import refuse_inexact

if TYPE_CHECKING:
    import pyarrow as pa


Kind = Literal["number", "text", "date", "other"]


def kind_of(column: "pa.DataType") -> Kind:
    """Tell numbers, text, dates and the rest apart."""
    from pyarrow import types

    if types.is_dictionary(column):
        column = column.value_type
    if types.is_boolean(column) or types.is_integer(column) or types.is_floating(column):
        return "number"
    if types.is_decimal(column) or types.is_null(column):
        return "number"
    if types.is_string(column) or types.is_large_string(column) or types.is_string_view(column):
        return "text"
    return "date" if types.is_temporal(column) else "other"


def numbers(column: "pa.Array") -> NDArray[Any]:
    """Return a column of numbers, nan where a value is missing; no copy where none is needed."""
    import pyarrow as pa

    column = plain_array(column)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def measurements(column: "pa.Array", name: str, called: str) -> NDArray[Any]:
    """Return a column of numbers as features; refuse whole numbers that would be rounded."""
    from pyarrow import compute, types

    plain = plain_array(column)
    whole = types.is_decimal(plain.type) and plain.type.scale <= 0
    if whole or types.is_int64(plain.type) or types.is_uint64(plain.type):
        ends = compute.min_max(plain).as_py()
        refuse_inexact(ends["min"] or 0, ends["max"] or 0, f"column {name!r} of {called}")
    return numbers(plain)


def texts(column: "pa.Array") -> "pa.Array":
    """Return a column of text in one type, however it is stored."""
    import pyarrow as pa

    return plain_array(column).cast(pa.string())


def plain_array(column: "pa.Array") -> "pa.Array":
    """Return a dictionary column as its values; any other column as it is."""
    from pyarrow import types

    return column.dictionary_decode() if types.is_dictionary(column.type) else column


def is_missing_in(column: "pa.Array") -> NDArray[np.bool_]:
    """Return which values are null or nan."""
    from pyarrow import compute, types

    if column.null_count == 0 and not types.is_floating(column.type):
        return np.zeros(len(column), dtype=bool)
    missing: NDArray[np.bool_] = compute.is_null(column, nan_is_null=True).to_numpy(
        zero_copy_only=False
    )
    return missing
