"""Ctrl-C and SIGTERM while other processes work for this one: all are started, and all ended."""

import _thread
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import resource_tracker
from types import FrameType

Handler = Callable[[int, FrameType | None], None]

# Unwinding the stack takes milliseconds: an interrupt that has not ended it by then was lost.
SECONDS_TO_UNWIND = 0.5


@contextmanager
def ending_for_certain() -> Iterator[None]:
    """Have Ctrl-C and SIGTERM end the block, also where a library loses the exception.

    Python drops what is raised while it collects garbage, and some libraries drop what is raised
    while they load others. So a signal is repeated until the block has ended, and then the
    block ends with it, whatever else went wrong meanwhile.
    """
    came: list[int] = []
    ended = threading.Event()

    def answer(number: int, frame: FrameType | None) -> None:
        came.append(number)
        unwind(number, frame)

    def repeat() -> None:
        seen = 0
        while not ended.wait(SECONDS_TO_UNWIND):
            if came and len(came) == seen:
                _interrupt(signal.Signals(came[0]))
            seen = len(came)

    def pass_over(dropped: "sys.UnraisableHookArgs") -> None:
        if not issubclass(dropped.exc_type, (KeyboardInterrupt, SystemExit)):
            usual(dropped)

    usual, sys.unraisablehook = sys.unraisablehook, pass_over
    try:
        with _answered(answer, signal.SIGINT, signal.SIGTERM):
            threading.Thread(target=repeat, daemon=True).start()
            yield
    finally:
        ended.set()
        sys.unraisablehook = usual
        if came:
            unwind(came[0], None)


@contextmanager
def held_back(*also: signal.Signals) -> Iterator[None]:
    """Let a signal wait until the block has ended; processes started in it never get Ctrl-C.

    A terminal sends Ctrl-C to all of them, but it is for the parent alone, which ends the others.

    Parameters
    ----------
    *also : signal.Signals
        What else these processes do not get, unless they unblock it themselves.
    """
    came: list[int] = []
    try:
        with (
            _answered(lambda number, frame: came.append(number), signal.SIGINT, signal.SIGTERM),
            _masked(signal.SIGINT, *also),
        ):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])


def _interrupt(number: signal.Signals) -> None:
    """Send a signal to the main thread, from another one."""
    if sys.platform == "win32":
        _thread.interrupt_main(number)
    else:
        os.kill(os.getpid(), number)  # which also wakes a thread that waits


def unwind(number: int, frame: FrameType | None) -> None:
    """Answer a signal by an exception that ends the program with its code."""
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


@contextmanager
def _answered(handler: Handler, *numbers: signal.Signals) -> Iterator[None]:
    """Have a function answer signals, unless they are ignored; only the main thread can."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        heard = {number: signal.getsignal(number) for number in numbers}
        before = {n: answer for n, answer in heard.items() if answer not in {signal.SIG_IGN, None}}
    try:
        for number in before:
            signal.signal(number, handler)
        yield
    finally:
        for number, answer in before.items():
            signal.signal(number, answer)


def unwinding_when_ended() -> AbstractContextManager[None]:
    """Have a request to end, or a closed terminal, unwind the stack as Ctrl-C does.

    SIGTERM ends in exit code 143; not every system has SIGHUP.
    """
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    return _answered(unwind, *(signal.Signals[name] for name in names))


@contextmanager
def _masked(*numbers: signal.Signals) -> Iterator[None]:
    """Block signals in this thread, and for good in threads and processes that start meanwhile."""
    if sys.platform == "win32":
        yield
        return
    # Started with the first process otherwise, it would lift the block before that one starts.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
