"""One and two Dask workers on the same file, and what travels between them and here.

``python -m benchmarks.scaling [--quick]`` starts clusters of one and of two processes on this
machine. Wall time is the best of several rounds; CPU time counts the workers, and apart from
them this process, which is client and scheduler in one.
"""

from benchmarks import one_thread  # noqa: F401, I001 - before numpy

import argparse
import os
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from distributed import default_client

from benchmarks.large import FEATURES, LABEL, N_COLUMNS, folder_with_room, toss_ups, write
from evenodds.anchors import Anchors
from evenodds.inference.asymmetry import run_on_rows
from evenodds.inference.boundary import Boundary
from evenodds.inference.method import Known
from evenodds.model.logistic import GroupedScores, plain_scores
from evenodds.model.logistic import fit_rows
from evenodds.model.noisy_likelihood import NoisyPoint, NoisySums
from evenodds.model.sums import Information, Score
from evenodds.rows import dask_sums
from evenodds.rows import dask_sums as table
from evenodds.rows.dask_data import read_files
from evenodds.rows.dask_sums import DaskRows
from evenodds.rows.dask_sums import packed, reduce_parts
from evenodds.rows.table_rows import Reading, read_table

N_ROWS, QUICK_ROWS = 8_000_000, 1_000_000
ROUNDS = 3
READING = Reading(label=LABEL, features=FEATURES)
EMPTY_TASKS = 1024
N_GROUPS = 10_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What a job took: seconds on the wall, and CPU of the workers and of this process."""

    seconds: float
    workers: float
    busiest: float  # of the workers; what a machine with a free core for each would wait for
    here: float


class Nothing:
    """A sum of nothing, to see what a task costs by itself."""

    def merge(self, other: "Nothing") -> None:
        """Add nothing."""


def fill_nothing(_: None, number: int) -> Nothing:
    return Nothing()


def main() -> None:
    """Write a file, measure, and delete it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smaller file")
    n_rows = QUICK_ROWS if parser.parse_args().quick else N_ROWS
    with folder_with_room(n_rows) as folder:
        path = folder / "rows.parquet"
        write(path, n_rows)
        print(f"{n_rows:,} x {N_COLUMNS}; load of the machine {os.getloadavg()[0]:.1f}")
        alone(path)
        costs = {n_workers: on_workers(path, n_workers) for n_workers in (1, 2)}
        scaling(costs)


def alone(path: Path) -> None:
    """Time the same jobs streamed in this process."""
    rows = read_table(READING.open(path), READING)
    empty = Information(np.zeros(N_COLUMNS + 1))
    for name, job in (
        ("a pass for the curvature", lambda: rows.sum_over_rows(pickle.loads(pickle.dumps(empty)))),
        ("an exact fit", lambda: fit_rows(rows)),
    ):
        cpu, clock = time.process_time(), time.perf_counter()
        job()
        took, spent = time.perf_counter() - clock, time.process_time() - cpu
        print(f"streamed without Dask, {name:25} {took:6.2f} s, {spent:6.2f} s CPU", flush=True)


def on_workers(path: Path, n_workers: int) -> dict[str, Cost]:
    """Time a pass, a fit and empty tasks on a cluster of so many processes."""
    with dask_sums.workers(None, n_workers):
        rows = read_files([str(path)], READING)
        empty = Information(np.zeros(N_COLUMNS + 1))
        jobs: dict[str, Callable[[], object]] = {
            "a pass for the curvature": lambda: rows.sum_over_rows(empty),
            "an exact fit": lambda: fit_rows(rows),
            f"{EMPTY_TASKS} empty tasks": lambda: reduce_parts(
                fill_nothing, None, [(number,) for number in range(EMPTY_TASKS)], "X"
            ),
        }
        for job in jobs.values():
            job()
        if n_workers == 1:
            messages(rows)
            count_passes(rows)
        rounds = [{name: timed(job) for name, job in jobs.items()} for _ in range(ROUNDS)]
    return {name: min((r[name] for r in rounds), key=lambda cost: cost.seconds) for name in jobs}


def timed(job: Callable[[], object]) -> Cost:
    """Run a job on the current cluster."""
    client = default_client()
    before, cpu, clock = client.run(time.process_time), time.process_time(), time.perf_counter()
    job()
    seconds, here = time.perf_counter() - clock, time.process_time() - cpu
    spent = [after - before[who] for who, after in client.run(time.process_time).items()]
    return Cost(seconds, sum(spent), max(spent), here)


def messages(rows: DaskRows) -> None:
    """Print what one task of a pass is sent and brings back, in bytes."""
    theta = np.zeros(rows.n_features + 1)
    sums = {
        "Score": Score(theta),
        "Information": Information(theta),
        "NoisySums": NoisySums(NoisyPoint(theta, 0.1, 0.0)),
        f"GroupedScores, {N_GROUPS:,} groups": GroupedScores(
            partial(plain_scores, theta, None), N_GROUPS, len(theta)
        ),
    }
    n_runs = len(rows.table.runs)
    n_merges, width = 0, n_runs
    while width > 1:
        width = -(-width // 8)
        n_merges += width
    run = pickle.dumps(list(rows.table.there[rows.table.runs[0]]))
    print(f"tasks of a pass: {n_runs} that read, {n_merges} that merge")
    print(f"which rows a task reads: {len(run):,} bytes")
    for name, empty in sums.items():
        out = len(packed((rows.reader, empty)))
        filled = rows.sum_over_rows(empty) if not name.startswith("Grouped") else empty
        print(f"{name:30} out {out:>9,}  back {len(pickle.dumps(filled)):>9,} bytes", flush=True)


def count_passes(rows: DaskRows) -> None:
    """Print how many reductions a fit and a test are made of."""
    anchors = Anchors(pa.table(toss_ups()))
    for name, job in (
        ("an exact fit", lambda: fit_rows(rows)),
        ("a boundary test", lambda: run_on_rows(rows, Known(anchors), Boundary(), "two-sided")),
    ):
        with _counted() as passes:
            clock = time.perf_counter()
            job()
        kinds = {kind: passes.count(kind) for kind in dict.fromkeys(passes)}
        print(
            f"{name}: {len(passes)} passes {kinds}, {time.perf_counter() - clock:.1f} s", flush=True
        )


@contextmanager
def _counted() -> Iterator[list[str]]:
    """Collect the names of the reductions that are run meanwhile."""
    passes: list[str] = []

    def counted(fill: Callable[..., object], *arguments: object) -> object:
        passes.append(fill.__name__)
        return reduce_parts(fill, *arguments)  # type: ignore[arg-type]

    table.reduce_parts = counted  # type: ignore[assignment]
    try:
        yield passes
    finally:
        table.reduce_parts = reduce_parts


def scaling(costs: dict[int, dict[str, Cost]]) -> None:
    """Print one worker beside two."""
    for name in costs[1]:
        one, two = costs[1][name], costs[2][name]
        print(f"\n{name}")
        for n_workers, cost in ((1, one), (2, two)):
            print(
                f"  {n_workers} worker{'s' if n_workers > 1 else ' '}  {cost.seconds:6.2f} s  "
                f"CPU: workers {cost.workers:6.2f} s, the busiest {cost.busiest:6.2f} s, "
                f"client and scheduler {cost.here:5.2f} s"
            )
        print(
            f"  two are {one.seconds / two.seconds:.2f}x as fast by the wall, "
            f"{one.busiest / two.busiest:.2f}x by the CPU of the busiest"
        )


if __name__ == "__main__":
    main()
