"""`evenodds test --report`: the result as a page that can be forwarded."""

import shlex
import sys
from pathlib import Path

from evenodds.inference.results import AsymmetryTestResult
from evenodds.report.html import Source, write_report
from evenodds.report.view import View


def report_file(
    path: Path,
    result: AsymmetryTestResult,
    *,
    name: str,
    significance: float,
    margin: float | None,
) -> None:
    """Write the report, with the command that made it."""
    view = View(significance=significance)
    if margin is not None:
        view = View(significance=significance, margin=margin)
    command = shlex.join(["evenodds", *sys.argv[1:]])
    write_report(result, path, view, Source(name=name, command=command))
