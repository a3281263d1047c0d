"""Exceptions become exit codes, each with its own message."""

import warnings

import pytest
import typer

import evenodds as eo
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
