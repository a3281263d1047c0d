"""Exit codes: what the shell learns from a command.

0 the job ran, whatever the verdict; 1 a gate failed; 2 bad input or usage, with one
clear message; 70 our own bug; 130 interrupted.
"""

import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec

import typer

from evenodds.errors import EvenoddsError

P = ParamSpec("P")

GATE_FAILED = 1
BAD_INPUT = 2
OUR_BUG = 70
INTERRUPTED = 130


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Turn exceptions of a command into a message and an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except EvenoddsError as error:
            _fail(f"evenodds: {error}", BAD_INPUT)
        except KeyboardInterrupt:
            _fail("evenodds: interrupted.", INTERRUPTED)
        except BrokenPipeError:
            let_go_of_the_reader()
            raise typer.Exit(0) from None
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except MemoryError:
            _fail("evenodds: this needs more memory than there is: ask for less.", BAD_INPUT)
        except OSError as error:
            _fail(f"evenodds: {error.strerror or error}.", BAD_INPUT)
        except Exception as error:
            if os.environ.get("EVENODDS_DEBUG"):
                raise
            _fail(
                f"evenodds: this is a bug in evenodds ({type(error).__name__}: {error}). Please "
                "report it with the command you ran; EVENODDS_DEBUG=1 shows the traceback.",
                OUR_BUG,
            )

    return run


def let_go_of_the_reader() -> None:
    """Keep Python quiet about a reader that has gone, as in ``evenodds ... | head``."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(code)
