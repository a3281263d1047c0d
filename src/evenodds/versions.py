"""The versions that a bug report needs."""

import platform
import re
from importlib import metadata

# Extras for working on evenodds itself; nobody's numbers depend on them.
OURS = re.compile(r"extra == .(bench|dev|docs)\b")


def show_versions() -> None:
    """Print the versions of evenodds, of Python and of the libraries it can use.

    Paste it into a bug report. Libraries of extras that are not there are listed as such.

    Examples
    --------
    >>> import evenodds as eo
    >>> eo.show_versions()  # doctest: +ELLIPSIS
    evenodds ...
    Python ...
    platform ...
    ...
    numpy ...
    """
    asked = [line for line in metadata.requires("evenodds") or [] if not OURS.search(line)]
    names = dict.fromkeys(re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in asked)
    found = {
        "evenodds": _version("evenodds"),
        "Python": platform.python_version(),
        "platform": platform.platform(),
        **{name: _version(name) for name in sorted(names) if name != "evenodds"},
    }
    width = max(map(len, found))
    for name, version in found.items():
        print(f"{name:{width}} {version}")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
