"""Exit codes and streams: what the shell gives a command, and what it learns from it.

0 the job ran, whatever the verdict; 1 a gate failed; 2 bad input or usage, with one
clear message; 70 our own bug; 130 interrupted; 143 asked to end (SIGTERM).
"""

import codecs
import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, TextIO

import typer

from evenodds.errors import EvenoddsError, shortened

P = ParamSpec("P")

GATE_FAILED = 1
BAD_INPUT = 2
OUR_BUG = 70
INTERRUPTED = 130

# What stands for a sign on a terminal that has only plain letters.
PLAIN = {"−": "-", "±": "+-", "•": "*", "…": "...", "×": "x", "≤": "<=", "½": "1/2"}
PLAIN |= {"α": "alpha", "β": "beta", "δ": "delta"}


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Turn exceptions of a command into a message and an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        from evenodds.files import sweep_copies

        try:
            sweep_copies()
            command(*args, **kwargs)
            sys.stdout.flush()
        except EvenoddsError as error:
            _fail(f"evenodds: {error}", BAD_INPUT)
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

    return run


def tell(message: str) -> None:
    """Say something on standard error; where nobody can hear it, the exit code still tells."""
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:
        let_go_of(sys.stderr)


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
