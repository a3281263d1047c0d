"""What holds for all tests."""

import gc
import signal


def pytest_configure():
    """Have commands under test answer Ctrl-C and a closed terminal, however pytest was started.

    A shell has what it starts in the background ignore the one, nohup the other, and so do their
    children: a command that a test interrupts would never end.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_finish():
    """Leave what stays to the end, all tests and libraries, out of collections of garbage.

    They would be walked through again by every one; a library has one in each of its calls.
    """
    gc.collect()
    gc.freeze()
