"""Options of the command line as settings of a method, and its progress bar."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from evenodds.errors import InputError
from evenodds.inference.asymmetry import Method
from evenodds.inference.bootstrap import Bootstrap, Progress
from evenodds.inference.boundary import Boundary
from evenodds.inference.joint import Joint
from evenodds.inference.wald import Wald


def method_settings(
    method: str, *, weights: str, covariance: str, calibration: str, bootstrap: Bootstrap
) -> Method:
    """Return the record of a method's settings; options that it has not are refused."""
    if method == "wald":
        if calibration != "asymptotic":
            raise InputError("--calibration bootstrap is for --method boundary and joint.")
        return Wald(weights=weights, covariance=covariance)  # type: ignore[arg-type]
    if covariance != "information":
        raise InputError("--covariance is for --method wald; use --group for rows that repeat.")
    if method == "boundary":
        return Boundary(weights, calibration, bootstrap)  # type: ignore[arg-type]
    if weights != "equal":
        raise InputError("--weights is for --method boundary and wald: joint uses every anchor.")
    return Joint(calibration, bootstrap)  # type: ignore[arg-type]


@contextmanager
def bootstrap_progress(wanted: bool) -> Iterator[Progress | None]:
    """Show a progress bar with the time left, on a terminal only."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - slow to load
    from rich.progress import Progress as Bar  # noqa: PLC0415

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Bootstrap", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
