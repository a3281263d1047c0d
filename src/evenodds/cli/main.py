"""The command `evenodds`: one file a subcommand, loaded light so that help is quick."""

import re
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from evenodds.cli import (
    audit,
    contour,
    demo,
    elicit,
    line,
    multiclass,
    plan,
    prior,
    test,
)
from evenodds.cli.options import PanelledCommand
from evenodds.cli.output import BAD_INPUT, INTERRUPTED, let_go_of, prepare_streams, tell
from evenodds.cli.study import study
from evenodds.errors import shortened
from evenodds.interrupts import unwinding_when_ended


class PairingGroup(TyperGroup):
    """A group where ``audit plan`` is a command beside ``audit``, which takes files."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command by two words, or else by one."""
        pair = " ".join(args[:2])
        if len(args) > 1 and pair in self.commands:
            return pair, self.commands[pair], args[2:]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command does, in a whole sentence."""
        with formatter.section("Commands"):
            commands = self.commands.items()
            formatter.write_dl([(name, one.get_short_help_str(200)) for name, one in commands])

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Offer names of one word: a shell would quote the blank of others."""
        return [one for one in super().shell_complete(ctx, incomplete) if " " not in one.value]


app = typer.Typer(
    name="evenodds",
    cls=PairingGroup,
    help="Is one class flipped more often than the other? Tests for class-conditional label noise.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS = {
    "test": (test.run_test, test.EXAMPLES),
    "audit": (audit.run_audit, audit.EXAMPLES),
    "audit plan": (audit.run_audit_plan, audit.PLAN_EXAMPLES),
    "prior": (prior.run_prior, prior.EXAMPLES),
    "contour": (contour.run_contour, contour.EXAMPLES),
    "multiclass": (multiclass.run_multiclass, multiclass.EXAMPLES),
    "multiclass audit": (multiclass.run_class_audit, multiclass.AUDIT_EXAMPLES),
    "scores": (line.run_scores, line.SCORES_EXAMPLES),
    "cases": (line.run_cases, line.CASES_EXAMPLES),
    "line": (line.run_line, line.LINE_EXAMPLES),
    "plan": (plan.run_plan, plan.EXAMPLES),
    "elicit": (elicit.run_elicit, elicit.EXAMPLES),
    "demo": (demo.run_demo, demo.EXAMPLES),
}
for _name, (_command, _examples) in COMMANDS.items():
    app.command(_name, cls=PanelledCommand, epilog=_examples)(_command)
app.add_typer(study, name="study")


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


# How typer says that a number is none.
UNREADABLE = re.compile("Input should be a valid (number|integer).*")
NUMBERS = {"number": "number", "integer": "whole number"}
# The exceptions of click, whichever copy of it typer brings: BadParameter is a UsageError.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def run() -> None:
    """Run the command line; a slip in its options gets one sentence, as bad data does."""
    prepare_streams()
    code: Any = 0
    try:
        with unwinding_when_ended():
            code = app(prog_name="evenodds", standalone_mode=False)
        sys.stdout.flush()
    except UsageError as slip:
        _explain(slip)
        code = BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except BrokenPipeError:
        let_go_of(sys.stdout)
    except OSError as error:  # of help and the version; commands have a guard of their own
        let_go_of(sys.stdout)
        tell(f"evenodds: {error.strerror}.")
        code = BAD_INPUT
    raise SystemExit(code or 0)


def _explain(slip: Any) -> None:
    """Say what is wrong with the options, or show the help where none were given."""
    if type(slip).__name__ == "NoArgsIsHelpError":
        slip.show()
        return
    said = shortened(slip.format_message()).replace("Value error, ", "").rstrip(".")
    said = UNREADABLE.sub(lambda found: f"must be a {NUMBERS[found[1]]}", said)
    asked = "evenodds" if slip.ctx is None else slip.ctx.command_path
    named = [command.name for command in app.registered_commands]
    if slip.ctx is None and sys.argv[1:2] and sys.argv[1] in named:
        asked = f"evenodds {sys.argv[1]}"
    tell(f"evenodds: {said[0].lower()}{said[1:]} (see {asked} --help).")
