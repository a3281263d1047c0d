"""NumPy files: an array of embeddings, alone (.npy) or with its labels (.npz)."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.rows.tables.arrow import hold
from evenodds.rows.tables.base import Stamp, Table, unreadable
from evenodds.validation import join_quoted


def map_npy(path: Path) -> NDArray[Any]:
    """Return the array of a .npy file, read from disk as it is used."""
    Stamp.of(path)
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r")
    except (ValueError, OSError, EOFError) as error:
        raise InputError(unreadable(path, "npy", error)) from None
    return array


def open_npz(path: Path) -> Table:
    """Read a .npz file: a 2-D array of features, and 1-D arrays as columns beside it."""
    import pyarrow as pa  # noqa: PLC0415 - only tables need it

    stamp = Stamp.of(path)
    try:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError) as error:
        raise InputError(unreadable(path, "npz", error)) from None
    stamp.check()
    wide = [name for name, array in arrays.items() if array.ndim == 2]
    odd = [name for name, array in arrays.items() if array.ndim not in {1, 2}]
    if len(wide) != 1 or odd:
        raise InputError(
            f"{path} holds {len(wide)} arrays of two dimensions ({join_quoted(arrays)} in all): "
            "give one with a row a case, and arrays of one dimension for labels and the like."
        )
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise InputError(f"the arrays of {path} differ in length: {shown}.")
    columns: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.ndim == 2:
            columns |= {f"{name}[{i}]": pa.array(array[:, i]) for i in range(array.shape[1])}
        else:
            columns[name] = pa.array(array)
    return hold(pa.table(columns), str(path), "from 1")
