"""Which versions made a result, so that it can be made again."""

import platform


def versions_in_use() -> dict[str, str]:
    """Return the versions that numbers depend on."""
    import numpy  # noqa: ICN001 - by its own name, as it is listed
    import scipy

    from evenodds.version import __version__

    return {
        "evenodds": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
    }
