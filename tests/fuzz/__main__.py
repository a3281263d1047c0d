"""Damage every kind of file many times and count what the command makes of it.

python -m tests.fuzz --mutations 500              # every reader
python -m tests.fuzz --mutations 500 --reader npz --first 1000
"""

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tests.fuzz.readers import READERS, is_failure, mutation


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--mutations", type=int, default=500, help="of each good file")
    parser.add_argument("--reader", choices=[*READERS], action="append", help="all by default")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutation")
    options = parser.parse_args()
    n_failures = 0
    for name in options.reader or READERS:
        numbers = range(options.first, options.first + options.mutations)
        found = outcomes(name, numbers)
        failed = [number for number, outcome in found.items() if is_failure(name, outcome)]
        n_failures += len(failed)
        counts = ", ".join(f"{count} {what}" for what, count in Counter(found.values()).items())
        shown = f"   failed: {' '.join(map(str, failed[:20]))}" if failed else ""
        print(f"{name:<18} {counts}{shown}", flush=True)
    sys.exit(bool(n_failures))


def outcomes(name: str, numbers: range) -> dict[int, str]:
    """Return what became of each mutation; a process that dies is a crash."""
    found: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        while len(found) < len(numbers):
            with ProcessPoolExecutor(1) as pool:
                try:
                    for number in numbers[len(found) :]:
                        found[number] = pool.submit(mutation, name, number, Path(folder)).result()
                except BrokenProcessPool:
                    found[number] = "crash"
    return found


if __name__ == "__main__":
    main()
