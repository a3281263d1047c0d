"""Rows named by their numbers or by a mask."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import InputError


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
