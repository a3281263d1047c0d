"""Run a suite of several tables, all or some of them."""

import argparse
import time
from collections.abc import Callable, Mapping

# Prints a table of so many runs a cell, and returns how many cells are out of bounds.
Show = Callable[[int], int]


def run_parts(about: str | None, parts: Mapping[str, tuple[Show, int]]) -> int:
    """Run the parts asked for on the command line; return the exit code.

    With each part comes how many times fewer runs it has than were asked for.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--part", choices=parts, action="append")
    options = parser.parse_args()
    started, failures = time.process_time(), 0
    for name, (show, fewer) in parts.items():
        if options.part is None or name in options.part:
            failures += show(options.runs // fewer)
    print(f"\n{failures} out of bounds; {time.process_time() - started:.0f} s of CPU")
    return int(failures > 0)
