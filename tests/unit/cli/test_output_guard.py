"""Exceptions become exit codes, each with its own message."""

import warnings
from typing import Annotated

import pytest
import typer

import evenodds as eo
from evenodds.cli.options import argument
from evenodds.cli.output import guarded
from evenodds.errors import ConvergenceError


def raising(error):
    @guarded
    def command():
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (eo.InputError("no good."), 2),
        (ConvergenceError("no end."), 2),
        (RuntimeError("oops"), 70),
        (KeyboardInterrupt(), 130),
        (typer.Exit(1), 1),
    ],
)
def test_every_exception_has_its_exit_code(error, code):
    with pytest.raises(typer.Exit) as stopped:
        raising(error)()
    assert stopped.value.exit_code == code


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (eo.InputError("no good."), "evenodds: no good.\n"),
        (KeyboardInterrupt(), "evenodds: interrupted.\n"),
    ],
)
def test_the_message_goes_to_stderr(capsys, error, message):
    with pytest.raises(typer.Exit):
        raising(error)()
    assert capsys.readouterr() == ("", message)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("n_strata is 1 of n_files.", "--strata is 1 of n_files."),
        (
            "column 'sample_weight' of /data/n_strata.csv.",
            "column 'sample_weight' of /data/n_strata.csv.",
        ),
        ("drop rows (missing='drop').", "drop rows (--missing drop)."),
        ("as f(x, missing='drop').", "as f(x, missing='drop')."),
        ("give sample_weight.", "give --weight."),
        ("n_positive is 5 of the positive.", "POSITIVE is 5 of the positive."),
        ("missing is 3.", "--missing is 3."),
        ("strata is 3.", "strata is 3."),
    ],
)
def test_messages_name_the_options_of_the_command(capsys, said, told):
    """A word of plain language names one only where it was given."""

    @guarded
    def command(
        *,
        strata: int | None = None,
        missing: str | None = None,
        weight: str | None = None,
        n_positive: Annotated[int, argument("Labels.", "POSITIVE")] = 0,
    ):
        raise eo.InputError(said)

    with pytest.raises(typer.Exit):
        command(missing="drop", strata=None)
    assert capsys.readouterr().err == f"evenodds: {told}\n"


def test_our_own_bug_asks_to_be_reported(capsys):
    with pytest.raises(typer.Exit):
        raising(RuntimeError("oops"))()
    text = "evenodds: this is a bug in evenodds (RuntimeError: oops). Please report it with the"
    assert capsys.readouterr().err.startswith(text)


def test_our_own_bug_is_shown_in_full_on_request(monkeypatch):
    monkeypatch.setenv("EVENODDS_DEBUG", "1")
    with pytest.raises(RuntimeError, match="oops"):
        raising(RuntimeError("oops"))()


def test_a_warning_of_ours_is_a_sentence(capsys):
    @guarded
    def command():
        warnings.warn("interrupted after 3 runs.", eo.ImprecisionWarning, stacklevel=1)

    command()
    assert capsys.readouterr() == ("", "evenodds: interrupted after 3 runs.\n")
