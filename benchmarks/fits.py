"""Exact logistic fits with their covariance: evenodds against three libraries, in one run.

``python -m benchmarks.fits [--quick] [--json PATH]``
"""

from benchmarks import one_thread  # noqa: F401, I001 - before numpy

import argparse
import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from benchmarks.data import Kind
from benchmarks.libraries import LIBRARIES, refuse_half_done, versions
from benchmarks.memory import extra_mebibytes
from benchmarks.tables import Memory, memory_table, parity_table, speed_table
from benchmarks.targets import Size
from benchmarks.timing import Comparison, compare, warm_up

# Rounds at each size: a few where one takes most of a minute, many where it takes milliseconds.
ROUNDS: dict[Size, int] = {(1_000_000, 100): 3, (1_000_000, 20): 5, (5_000, 3): 300}
QUICK_ROUNDS: dict[Size, int] = {(100_000, 100): 2, (100_000, 20): 3, (1_000, 3): 50}
# Below this many rows a fit fits into memory that is there already.
MEMORY_FROM_ROWS = 50_000


def main() -> None:
    """Measure memory, time and parity, and print them."""
    options = _options()
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    refuse_half_done()
    print("one thread; " + ", ".join(f"{name} {number}" for name, number in versions().items()))
    # First, while this process is small: its children inherit its peak.
    memory = _memory([size for size in rounds if size[0] >= MEMORY_FROM_ROWS])
    print(f"\nExtra peak memory in MiB, normal data\n{memory_table(memory)}", flush=True)
    warm_up()
    comparisons: list[Comparison] = []
    for kind in get_args(Kind):
        # Fewer rounds where there is no target to decide.
        of_kind = [
            compare(kind, *size, count if kind == "normal" else count // 2 + 1)
            for size, count in rounds.items()
        ]
        comparisons += of_kind
        print(f"\nCPU time of the best round, {kind} data\n{speed_table(of_kind)}", flush=True)
    print(f"\nLargest gap from Newton run to the rounding floor\n{parity_table(comparisons)}")
    if options.json is not None:
        options.json.write_text(json.dumps(_record(memory, comparisons), indent=1) + "\n")


def _options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fits", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, without targets")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write all figures here")
    return parser.parse_args()


def _memory(sizes: list[Size]) -> Memory:
    """Measure every library at every size, each in its own process."""
    return {size: {name: extra_mebibytes(name, *size) for name in LIBRARIES} for size in sizes}


def _record(memory: Memory, comparisons: list[Comparison]) -> dict[str, object]:
    """Return everything measured, with what is needed to judge it."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": versions(),
        "extra_mebibytes": [
            {"n_rows": size[0], "n_columns": size[1], **extra} for size, extra in memory.items()
        ],
        "comparisons": [asdict(one) for one in comparisons],
    }


if __name__ == "__main__":
    main()
