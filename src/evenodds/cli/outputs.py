"""Files to be written, looked at before any work is done."""

import os
from collections.abc import Iterable
from pathlib import Path

from evenodds.errors import InputError


def check_output(path: Path, option: str, others: Iterable[str]) -> None:
    """Refuse a file that cannot be written, or that would overwrite one of `others`."""
    for other in others:
        if path.resolve() == Path(other).resolve():
            raise InputError(f"{option} {path} would overwrite {other}: name another file.")
    # os.path, unlike Path, takes any name: one too long is told of when it is written.
    if os.path.isdir(path) or not path.resolve().parent.is_dir():
        raise InputError(f"{path} cannot be written: name a file in a folder that exists.")
