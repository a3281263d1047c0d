"""Which versions made a result, so that it can be made again."""

import platform


def versions_in_use() -> dict[str, str]:
    """Return the versions that numbers depend on."""
    import numpy  # noqa: ICN001, PLC0415 - by its own name, as it is listed
    import scipy  # noqa: PLC0415

    from evenodds.version import __version__  # noqa: PLC0415

    return {
        "evenodds": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
    }
