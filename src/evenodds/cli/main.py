"""The command `evenodds`: one file a subcommand, loaded light so that help is quick."""

import sys
from typing import Any

import typer

from evenodds.cli.audit import run_audit
from evenodds.cli.contour import run_contour
from evenodds.cli.demo import run_demo
from evenodds.cli.elicit import run_elicit
from evenodds.cli.line import run_cases, run_line
from evenodds.cli.multiclass import run_multiclass
from evenodds.cli.output import BAD_INPUT, INTERRUPTED, prepare_streams, tell
from evenodds.cli.plan import run_plan
from evenodds.cli.prior import run_prior
from evenodds.cli.scores import run_scores
from evenodds.cli.study import study
from evenodds.cli.test import run_test
from evenodds.errors import shortened
from evenodds.interrupts import unwinding_when_ended

app = typer.Typer(
    name="evenodds",
    help="Is one class flipped more often than the other? Tests for class-conditional label noise.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("test")(run_test)
app.command("audit")(run_audit)
app.command("prior")(run_prior)
app.command("contour")(run_contour)
app.command("multiclass")(run_multiclass)
app.command("scores")(run_scores)
app.command("cases")(run_cases)
app.command("line")(run_line)
app.command("plan")(run_plan)
app.add_typer(study, name="study")
app.command("elicit")(run_elicit)
app.command("demo")(run_demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        from evenodds import __version__

        print(f"evenodds {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Is one class flipped more often than the other? Tests for class-conditional label noise."""


# The exceptions of click, whichever copy of it typer brings: BadParameter is a UsageError.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def run() -> None:
    """Run the command line; a slip in its options gets one sentence, as bad data does."""
    prepare_streams()
    try:
        with unwinding_when_ended():
            code = app(standalone_mode=False)
    except UsageError as slip:
        _explain(slip)
        code = BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    raise SystemExit(code or 0)


def _explain(slip: Any) -> None:
    """Say what is wrong with the options, or show the help where none were given."""
    if type(slip).__name__ == "NoArgsIsHelpError":
        slip.show()
        return
    said = shortened(slip.format_message()).replace("Value error, ", "").rstrip(".")
    asked = "evenodds" if slip.ctx is None else slip.ctx.command_path
    named = [command.name for command in app.registered_commands]
    if slip.ctx is None and sys.argv[1:2] and sys.argv[1] in named:
        asked = f"evenodds {sys.argv[1]}"
    tell(f"evenodds: {said[0].lower()}{said[1:]} (see {asked} --help).")
