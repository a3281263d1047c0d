"""A result handed over: printed, reported, held to a gate; exit codes and streams of the shell.

0 the job ran, whatever the verdict; 1 a gate failed; 2 bad input or usage, with one
clear message; 70 our own bug; 130 interrupted; 143 asked to end (SIGTERM).
"""

import codecs
import functools
import glob
import inspect
import json
import math
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from evenodds.cli.options import ShownOptions
from evenodds.errors import EvenoddsError, EvenoddsWarning, InputError, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from evenodds.report.sheet import Sheet
    from evenodds.rows.base import Rows


GATE_FAILED = 1
BAD_INPUT = 2
OUR_BUG = 70
INTERRUPTED = 130
WIDTH = 92

# What Python calls an option by another name than its own.
RENAMED = {"weight": "sample_weight", "group": "groups", "kind": "answers"}

# What stands for a sign on a terminal that has only plain letters.
PLAIN = {"−": "-", "±": "+-", "•": "*", "…": "...", "×": "x", "≤": "<=", "½": "1/2"}
PLAIN |= {"α": "alpha", "β": "beta", "δ": "delta"}


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turn exceptions of a command into a message and an exit code.

    A parameter that is a record of options is offered as these options.
    """
    records, offered = _offered(command)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        from evenodds.files import sweep_copies

        told = {name: value for name, value in given.items() if value is not None}
        try:
            sweep_copies()
            for name, record in records.items():
                own = {part.name: given.pop(part.name) for part in fields(record)}
                given[name] = record(**own)
            with telling_warnings():
                command(**given)
            sys.stdout.flush()
        except EvenoddsError as error:
            _fail(f"evenodds: {naming_options(str(error), offered, told)}", BAD_INPUT)
        except KeyboardInterrupt:
            _fail("evenodds: interrupted.", INTERRUPTED)
        except BrokenPipeError:
            let_go_of(sys.stdout)
            raise typer.Exit(0) from None
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except MemoryError:
            _fail("evenodds: this needs more memory than there is: ask for less.", BAD_INPUT)
        except UnicodeEncodeError as error:
            _fail(f"evenodds: {error.object!r} is no text in UTF-8: check the options.", BAD_INPUT)
        except OSError as error:
            _fail(f"evenodds: {shortened(error.strerror or str(error))}.", BAD_INPUT)
        except Exception as error:
            if os.environ.get("EVENODDS_DEBUG"):
                raise
            _fail(
                f"evenodds: this is a bug in evenodds ({type(error).__name__}: "
                f"{shortened(str(error))}). Please report it with the command you ran; "
                "EVENODDS_DEBUG=1 shows the traceback.",
                OUR_BUG,
            )

    run.__signature__ = inspect.Signature(offered)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in offered}
    return run


def _offered(command: Callable[..., None]) -> tuple[dict[str, Any], list[inspect.Parameter]]:
    """Return the records of options that a command takes, and all of its options one by one."""
    records: dict[str, Any] = {}
    offered = []
    for name, one in inspect.signature(command).parameters.items():
        if not is_dataclass(one.annotation):
            offered.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        records[name] = one.annotation
        for part in fields(one.annotation):
            default = inspect.Parameter.empty if part.default is MISSING else part.default
            kind = inspect.Parameter.KEYWORD_ONLY
            offered.append(
                inspect.Parameter(part.name, kind, default=default, annotation=part.type)
            )
    return records, offered


def naming_options(said: str, offered: Iterable[inspect.Parameter], told: Iterable[str]) -> str:
    """Have a message name options, or arguments, where it names the parameters of Python.

    A name that is a word of plain language is one where the message begins with it, and the
    option was told.
    """
    shown: dict[str, str] = {}
    for one in offered:
        about = getattr(one.annotation, "__metadata__", ())
        places = [part.metavar for part in about if isinstance(part, typer.models.ArgumentInfo)]
        option = (places and places[0]) or f"--{one.name.replace('_', '-')}"
        for name in (one.name, f"n_{one.name}", RENAMED.get(one.name, one.name)):
            shown[name] = option
    if not shown:
        return said
    # As sampled_by='given', but not in a line of Python; and by names that only Python has.
    names, long = "|".join(shown), "|".join(name for name in shown if "_" in name)
    said = re.sub(
        rf"(?<!\w)(?<!\w\()(?<!, )({names})='([^']*)'",
        lambda one: f"{shown[one[1]]} {one[2]}",
        said,
    )
    said = re.sub(rf"(?<![\w'\"./-])({long})(?![\w'\"(/=-]|\.\w)", lambda one: shown[one[1]], said)
    first = re.match(r"(\w+) (?:is|has|must|holds|names|adds) ", said)
    if first and shown.get(first[1], "").removeprefix("--") in {*told}:
        said = shown[first[1]] + said[first.end(1) :]
    return said


def tell(message: str) -> None:
    """Say something on standard error; where nobody can hear it, the exit code still tells."""
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:
        let_go_of(sys.stderr)


@contextmanager
def telling_warnings() -> Iterator[None]:
    """Say warnings of this package as sentences, without the place in the code."""

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, EvenoddsWarning):
            tell(f"evenodds: {message}")
        else:
            usual(message, category, *place, **more)

    with warnings.catch_warnings():
        usual, warnings.showwarning = warnings.showwarning, show
        warnings.simplefilter("always", EvenoddsWarning)
        yield


def let_go_of(stream: TextIO) -> None:
    """Keep Python quiet about a stream that takes no more, as in ``evenodds ... | head``."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def prepare_streams() -> None:
    """Make standard streams fit for any text: closed ones lead nowhere, narrow ones get plain."""
    codecs.register_error("evenodds.plain", _plainly)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "w"))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="evenodds.plain")  # type: ignore[union-attr]


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """Spell letters that a stream has not."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    spelled = (PLAIN.get(each) or ascii(each)[1:-1] for each in letters)
    return "".join(spelled), error.end


def _fail(message: str, code: int) -> None:
    try:
        sys.stdout.flush()
    except OSError:
        let_go_of(sys.stdout)
    tell(message)
    raise typer.Exit(code)


def check_delivery(wanted: ShownOptions, others: Iterable[str]) -> None:
    """Refuse, before any work is done, what cannot be met.

    `others` are files that the report must not overwrite.
    """
    from evenodds.validation import check_between

    check_between(wanted.significance, "--significance", 0, 1, closed="neither")
    margin = getattr(wanted, "margin", None)
    if margin is not None:
        check_between(margin, "--margin", 0, 1, closed="neither")
    elif getattr(wanted, "gate", None) == "equivalence":
        raise InputError("--gate equivalence needs --margin: how large an asymmetry is harmless?")
    if wanted.report is not None:
        check_output(wanted.report, "--report", others)


def refuse_given(others: Mapping[str, object], why: str) -> None:
    """Refuse the first of these options that was given, in a sentence that its name begins."""
    given = next((option for option, value in others.items() if value is not None), None)
    if given is not None:
        raise InputError(f"{given} {why}")


def check_output(path: Path, option: str, others: Iterable[str]) -> None:
    """Refuse a file that cannot be written, or that would overwrite one of `others`."""
    from evenodds.files import check_writable

    if not path.name or str(path) == "-":
        raise InputError(f"{option} {str(path)!r} is no name of a file: name one.")
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


def deliver(result: Any, wanted: ShownOptions, *, name: str, failure: str | None = None) -> None:
    """Write the report, print the result, and fail if it does not pass the gate.

    `name` is what the report calls the data; `failure` is why a gate of another kind fails. A gate
    holds also where nobody reads what is printed.
    """
    from evenodds.report.sheet import View, sheet_of

    significance = wanted.significance
    gate: str | None = getattr(wanted, "gate", None)
    margin: Any = getattr(wanted, "margin", None)
    if gate == "equivalence":
        _refuse_margin(result, margin, significance)
    view = View(significance=significance)
    sheet = sheet_of(result, view if margin is None else replace(view, margin=margin))
    if wanted.report is not None:
        from evenodds.report.html import write_report

        write_report(sheet, wanted.report, name, shlex.join(["evenodds", *sys.argv[1:]]))
    if gate is not None:
        failure = _failure(result, sheet, gate)
    if margin is not None:
        sheet = replace(sheet, facts=[*sheet.facts, *sheet.page_facts], page_facts=())
    try:
        show(result, sheet, wanted.output_format, significance=significance, reject=sheet.rejected)
        sys.stdout.flush()
    except BrokenPipeError:
        if failure is None:
            raise
        let_go_of(sys.stdout)
    if failure is not None:
        tell(f"evenodds: {failure}")
        raise typer.Exit(GATE_FAILED)


def show(result: Any, sheet: "Sheet", output_format: str, **answers: Any) -> None:
    """Print a result for people, or for programs with what else was answered."""
    if output_format == "json":
        from evenodds.inference.results import plain_values

        beside = plain_values({**sheet.answers, **answers, "verdict": sheet.verdict})
        document = {**result.to_dict(), **beside}
        print(json.dumps(document, indent=2, default=str, allow_nan=False))
    else:
        show_sheet(sheet)


def show_plan(plan: Any, output_format: str) -> None:
    """Print a plan, which is read at its own level."""
    from evenodds.report.sheet import View, sheet_of

    show(plan, sheet_of(plan, View()), output_format)


def make_console() -> "Console":
    """Return a console no wider than comfortable reading."""
    from rich.console import Console

    class PipeFriendlyConsole(Console):
        """Leaves a closed pipe to the command's guard; rich would exit with 1, a failed gate."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = PipeFriendlyConsole(highlight=False, soft_wrap=False)
    console.width = min(console.width, WIDTH)
    return console


def show_sheet(sheet: "Sheet") -> None:
    """Print a result: verdict, numbers, what to doubt, what to do."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from evenodds.report.sheet import describe, tabulated

    console = make_console()
    if not console.is_terminal:  # a file or a pipe wants neither colour nor padding
        print(describe(sheet))
        return
    console.print(Text(sheet.verdict, style="bold red" if sheet.rejected else "bold"))
    if sheet.facts:
        facts = Table.grid(padding=(0, 2))
        for name, value in sheet.facts:
            facts.add_row(Text(name, style="dim"), Text(value))
        console.print()
        console.print(Padding(facts, (0, 0, 0, 2), expand=False))
    for table in sheet.tables:
        console.print()
        for line in tabulated(table):
            console.print(Text(line), soft_wrap=True)
    for title, sentences, style in (
        ("How far to trust it", sheet.trust, "yellow"),
        ("What to doubt", sheet.doubts, "yellow"),
        ("What was checked", sheet.passed, "green"),
        ("What to do next", sheet.next_steps, "cyan"),
    ):
        if sentences:
            console.print()
            console.print(Text(title, style=f"bold {style}"))
        for sentence in sentences:
            bullet = Table.grid(padding=(0, 1))
            bullet.add_row(Text("  •", style=style), Text(sentence))
            console.print(bullet)


def _refuse_margin(result: Any, margin: float, significance: float) -> None:
    """Refuse a gate that no number of rows could pass."""
    from evenodds.inference.line.result import LineTestResult
    from evenodds.inference.results import AsymmetryTestResult
    from evenodds.report import asymmetry, line

    why = None
    if isinstance(result, AsymmetryTestResult):
        why = asymmetry.refused_margin(result, margin, significance)
    elif isinstance(result, LineTestResult):
        why = line.refused_margin(result, margin, significance)
    if why is not None:
        raise InputError(why)


def _failure(result: Any, sheet: "Sheet", gate: str) -> str | None:
    """Say why the gate fails; None where it holds."""
    from evenodds.report.wording import show_pvalue

    significance, margin = sheet.view.significance, sheet.view.margin
    if gate == "reject":
        if not sheet.rejected:
            return None
        return (
            f"--gate reject failed: the null hypothesis is rejected ({show_pvalue(result.pvalue)}, "
            f"below {significance:g})."
        )
    pvalue = result.equivalence(margin).pvalue
    if pvalue < significance:
        return None
    why = f"{show_pvalue(pvalue)}, not below {significance:g}"
    if math.isnan(pvalue):
        why = "these data cannot tell"
    return f"--gate equivalence failed: an asymmetry below {margin:g} is not shown ({why})."


@contextmanager
def progress_bar(what: str, *, wanted: bool = True) -> Iterator[Callable[[int, int], None] | None]:
    """Yield what to tell the progress to; None where nobody watches."""
    with _bar(what, wanted) as update:
        yield None if update is None else lambda done, total: update(done, total, what)


@contextmanager
def pass_progress(rows: "Rows") -> Iterator[None]:
    """Show how far the current pass has come, on a terminal only, and only where rows stream."""
    from evenodds.rows.table_rows import StreamedRows

    streamed = isinstance(rows, StreamedRows) and rows.held is None
    with _bar("Pass 1", streamed) as update:
        if update is None or not isinstance(rows, StreamedRows):
            yield
            return
        n_passes, seen = 1, 0

        def show(done: int, total: int) -> None:
            nonlocal n_passes, seen
            n_passes += done <= seen
            seen = done
            update(done, total, f"Pass {n_passes}")

        rows.progress = show
        try:
            yield
        finally:
            rows.progress = None


@contextmanager
def _bar(what: str, wanted: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """Yield a function that moves a bar on the terminal; None where nobody watches."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total, now: bar.update(
            task, description=now, completed=done, total=total
        )
