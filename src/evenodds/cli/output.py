"""A result handed over: printed for people or programs, reported as a page, held to a gate."""

import glob
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenodds.cli.guard import GATE_FAILED, let_go_of
from evenodds.cli.options import Format, Gate

if TYPE_CHECKING:
    from evenodds.report.sheet import Sheet, View
    from evenodds.rows.streamed import StreamedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How a user wants a result: checked by `check_delivery` before any work is done."""

    output_format: Format
    significance: float
    margin: float | None = None
    gate: Gate | None = None
    report: Path | None = None

    @property
    def view(self) -> "View":
        """How the result is read."""
        from evenodds.report.sheet import View

        if self.margin is None:
            return View(significance=self.significance)
        return View(significance=self.significance, margin=self.margin)


def check_delivery(wanted: Delivery, others: list[str]) -> None:
    """Refuse wishes that cannot be met, or a report that would overwrite one of `others`."""
    from evenodds.errors import InputError
    from evenodds.validation import check_between

    check_between(wanted.significance, "--significance", 0, 1, closed="neither")
    if wanted.margin is not None:
        check_between(wanted.margin, "--margin", 0, 1, closed="neither")
    if wanted.gate is Gate.equivalence and wanted.margin is None:
        raise InputError("--gate equivalence needs --margin: how large an asymmetry is harmless?")
    if wanted.report is not None:
        check_output(wanted.report, "--report", others)


def check_output(path: Path, option: str, others: Iterable[str]) -> None:
    """Refuse a file that cannot be written, or that would overwrite one of `others`."""
    from evenodds.errors import InputError
    from evenodds.files import check_writable

    check_writable(path)
    place = os.path.realpath(path)
    if not os.path.exists(place) or os.path.isfile(place):  # a device may be written to twice
        for other in others:
            if place in {os.path.realpath(each) for each in _files_behind(other)}:
                raise InputError(f"{option} {path} would overwrite {other}: name another file.")


def _files_behind(source: str) -> list[str]:
    """Return the files that a path, a folder or a glob stands for."""
    if os.path.isdir(source):
        return [entry.path for entry in os.scandir(source)]
    return [source, *glob.glob(source, recursive=True)]


def name_data(data: list[str], label: str | None) -> str:
    """Return what a report calls the label column of some files."""
    return f"{', '.join(Path(part).name for part in data)}: {label}"


def deliver(result: Any, wanted: Delivery, *, name: str, failed: bool = False) -> None:
    """Write the report, print the result, and fail if it does not pass the gate.

    `name` is what the report calls the data; `failed` tells of a gate of another kind. A gate
    holds also where nobody reads what is printed.
    """
    from evenodds.report.sheet import sheet_of

    _refuse_margin(result, wanted)
    sheet = sheet_of(result, wanted.view)
    if wanted.report is not None:
        _write_report(sheet, wanted.report, name)
    if wanted.gate is not None:
        failed = failed or not _gate_holds(result, sheet, wanted)
    try:
        _print(result, sheet, wanted)
        sys.stdout.flush()
    except BrokenPipeError:
        if not failed:
            raise
        let_go_of(sys.stdout)
    if failed:
        raise typer.Exit(GATE_FAILED)


def _print(result: Any, sheet: "Sheet", wanted: Delivery) -> None:
    """Print the result for people or programs."""
    if wanted.output_format is Format.json:
        document = {
            **result.to_dict(),
            **sheet.answers,
            "significance": wanted.significance,
            "reject": sheet.rejected,
            "verdict": sheet.verdict,
        }
        print(json.dumps(document, indent=2, default=str))
    else:
        from evenodds.cli.show import show_sheet

        show_sheet(sheet)


def _refuse_margin(result: Any, wanted: Delivery) -> None:
    """Refuse a gate that no number of rows could pass."""
    from evenodds.errors import InputError
    from evenodds.inference.results import AsymmetryTestResult
    from evenodds.report.asymmetry import refused_margin

    if wanted.gate is not Gate.equivalence or wanted.margin is None:
        return
    if isinstance(result, AsymmetryTestResult):
        why = refused_margin(result, wanted.margin, wanted.significance)
        if why is not None:
            raise InputError(why)


def _gate_holds(result: Any, sheet: "Sheet", wanted: Delivery) -> bool:
    """Tell whether the gate's condition is met."""
    if wanted.gate is Gate.reject:
        return not sheet.rejected
    shown: bool = result.equivalence(wanted.margin).pvalue < wanted.significance
    return shown


def _write_report(sheet: "Sheet", path: Path, name: str) -> None:
    """Write the page, with the command that made it."""
    import shlex
    import sys

    from evenodds.report.html import write_report

    command = shlex.join(["evenodds", *sys.argv[1:]])
    write_report(sheet, path, name, command)


@contextmanager
def progress_bar(what: str, *, wanted: bool = True) -> Iterator[Callable[[int, int], None] | None]:
    """Yield what to tell the progress to; None where nobody watches."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def pass_progress(rows: "StreamedRows") -> Iterator[None]:
    """Show how far the current pass has come, on a terminal only, and only where rows stream."""
    if rows.held is not None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Pass 1", total=rows.table.n_rows)
        n_passes, seen = 1, 0

        def show(done: int, total: int) -> None:
            nonlocal n_passes, seen
            if done <= seen:
                n_passes += 1
            seen = done
            bar.update(task, description=f"Pass {n_passes}", completed=done, total=total)

        rows.progress = show
        try:
            yield
        finally:
            rows.progress = None
