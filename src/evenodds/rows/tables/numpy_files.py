"""NumPy files: an array of embeddings, alone (.npy) or with its labels (.npz)."""

import io
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.rows.tables.arrow import hold
from evenodds.rows.tables.base import Stamp, Table, refuse_repeated, unreadable
from evenodds.validation import join_quoted

# What an array may hold: booleans, whole numbers, floats, text, bytes of text and dates.
KINDS = "biufUSM"


def map_npy(path: Path) -> NDArray[Any]:
    """Return the array of a .npy file, read from disk as it is used."""
    stamp = Stamp.of(path)
    with _refusing(path, "npy"):
        array = np.lib.format.open_memmap(path, mode="r")
        if array.offset + array.nbytes != stamp.size:
            raise ValueError(f"its header says {array.shape}, but its length says otherwise")
        _check_kind(array)
    return array


def open_npz(path: Path) -> Table:
    """Read a .npz file: a 2-D array of features, and 1-D arrays as columns beside it."""
    import pyarrow as pa

    stamp = Stamp.of(path)
    with _refusing(path, "npz"):
        arrays = _arrays_in(path)
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
    columns: list[tuple[str, NDArray[Any]]] = []
    for name, array in arrays.items():
        if array.ndim == 2:
            columns += [(f"{name}[{i}]", array[:, i]) for i in range(array.shape[1])]
        else:
            columns.append((name, array))
    names = [name for name, _ in columns]
    refuse_repeated(names, path)
    with _refusing(path, "npz"):
        table = pa.table([pa.array(array) for _, array in columns], names=names)
    return hold(table, str(path), "from 1")


def _arrays_in(path: Path) -> dict[str, NDArray[Any]]:
    """Return all arrays of an archive; each is read to its end, where its checksum is."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        refuse_repeated(names, path)
        foreign = [name for name in names if not name.endswith(".npy")]
        if foreign:
            raise ValueError(f"{foreign[0]!r} in it is no array")
        return {name.removesuffix(".npy"): _array(archive.read(name)) for name in names}


def _array(content: bytes) -> NDArray[Any]:
    """Return the array that these bytes are, all of them, in this machine's order of bytes."""
    file = io.BytesIO(content)
    array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    if file.read(1):
        raise ValueError("an array in it is longer than its header says")
    _check_kind(array)
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _check_kind(array: NDArray[Any]) -> None:
    if array.dtype.kind not in KINDS:
        raise ValueError(f"an array in it holds {array.dtype} values, not numbers or text")


@contextmanager
def _refusing(path: Path, kind: str) -> Iterator[None]:
    """Say which file it is when reading fails: damaged archives and headers fail in many ways."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of headers that are nearly right
        try:
            yield
        except (InputError, MemoryError):
            raise
        except Exception as error:
            raise InputError(unreadable(path, kind, error)) from None
