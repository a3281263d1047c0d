"""Signals that wait, are repeated where they were lost, and unwind the stack."""

import signal
import subprocess
import sys
import threading

import pytest

from evenodds import interrupts


@pytest.fixture(autouse=True)
def heard():
    """Have Ctrl-C heard, which a shell takes from what it starts in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_signal_waits_for_the_end_of_the_block():
    reached = []

    def work():
        with interrupts.held_back():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == ["the end"]


def test_a_signal_that_waited_comes_before_an_error():
    def work():
        with interrupts.held_back():
            signal.raise_signal(signal.SIGINT)
            raise ValueError

    with pytest.raises(KeyboardInterrupt):
        work()


SLEEPER = "import time; print('up', flush=True); time.sleep(60)"


def test_a_process_that_is_started_meanwhile_never_gets_ctrl_c():
    with interrupts.held_back():
        child = subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE)
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGTERM)
    child.communicate()
    assert child.returncode == -signal.SIGTERM


@pytest.mark.parametrize("block", [interrupts.unwinding_when_ended, interrupts.ending_for_certain])
def test_sigterm_unwinds_the_stack(block):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as left, block():
        signal.raise_signal(signal.SIGTERM)
    assert (left.value.code, signal.getsignal(signal.SIGTERM)) == (143, before)


DROPS = """
import gc, signal, threading
from evenodds import interrupts

interrupts.SECONDS_TO_UNWIND = 0.01
signal.signal(signal.SIGINT, signal.default_int_handler)

def drop(phase, info):
    gc.callbacks.remove(drop)
    print(phase)
    signal.raise_signal(signal.SIGINT)

try:
    with interrupts.ending_for_certain():
        gc.callbacks.append(drop)
        gc.collect()
        threading.Event().wait(60)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_that_python_drops_comes_again():
    """In a process of its own: signals that are repeated would reach threads of other tests."""
    done = subprocess.run(
        [sys.executable, "-c", DROPS], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.stdout, done.stderr) == ("start\ninterrupted\n", "")


def test_an_interrupt_that_a_library_catches_still_ends_the_block():
    def work():
        with interrupts.ending_for_certain():
            try:
                signal.raise_signal(signal.SIGINT)
            except BaseException:
                raise ValueError from None

    with pytest.raises(KeyboardInterrupt):
        work()


def test_a_signal_that_is_ignored_stays_so():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts.ending_for_certain():
        signal.raise_signal(signal.SIGINT)


def test_other_threads_may_use_the_blocks():
    done = []

    def work():
        with interrupts.ending_for_certain(), interrupts.held_back():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
