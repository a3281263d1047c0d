"""Output files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from evenodds.errors import InputError


@contextmanager
def whole_file(path: Path, *, private: bool = False) -> Iterator[TextIO]:
    """Open a file to write: beside its place first, moved there when complete.

    A private one can be read by its owner only.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            yield file
        os.chmod(name, 0o600 if private else 0o666 & ~_mask())
        os.replace(name, path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"{path} cannot be written: {error.strerror}.") from None
        raise


def _mask() -> int:
    """Return the mask that ordinary files are created with."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
