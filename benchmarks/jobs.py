"""One job on a Parquet file in a process of its own: CPU seconds, and peak memory of all of it.

``python -m benchmarks.jobs JOB PATH`` prints them as JSON. CPU time starts when the library is
loaded; the peak is that of the whole process, interpreter and libraries included. It counts
from the parent's mark on, so `run` must be called while the caller is small.
"""

from benchmarks import one_thread  # noqa: F401, I001 - before numpy

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.elsewhere import ENGINES
from benchmarks.large import FEATURES, LABEL, toss_ups, write

KIBIBYTES = 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """What a job took."""

    cpu: float
    seconds: float
    mebibytes: float
    coefficients: tuple[float, ...] = ()


def run(job: str, path: Path, *arguments: str) -> Cost:
    """Run a job in a process of its own."""
    command = [sys.executable, "-m", __name__, job, str(path), *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Cost(**json.loads(done.stdout))


def scan(path: Path) -> None:
    """Read every column of every row with pyarrow, and let it go."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        for _ in file.iter_batches(columns=[*FEATURES, LABEL], use_threads=False):
            pass


def lean_scan(path: Path) -> None:
    """Read the same with the small buffers that evenodds asks for."""
    from evenodds.rows.open_table import open_table

    for _ in open_table(path).batches([*FEATURES, LABEL]):
        pass


def fit(path: Path) -> tuple[float, ...]:
    """Fit the plain curve, exactly."""
    from evenodds import fit_logistic

    return tuple(fit_logistic(path, LABEL).coefficients.tolist())


def boundary(path: Path) -> tuple[float, ...]:
    """Run the boundary test with everything it reports."""
    import pyarrow as pa

    from evenodds import Anchors, asymmetry_test

    result = asymmetry_test(path, LABEL, Anchors(pa.table(toss_ups())))
    return (result.statistic,)


def _elsewhere(engine: str) -> Callable[[Path], tuple[float, ...]]:
    return lambda path: tuple(ENGINES[engine](path)[0].tolist())


JOBS: dict[str, Callable[[Path], tuple[float, ...] | None]] = {
    "scan": scan,
    "lean scan": lean_scan,
    "fit": fit,
    "boundary": boundary,
    **{engine: _elsewhere(engine) for engine in ENGINES},
}


def peak_mebibytes() -> float:
    """Return the peak resident memory so far; macOS counts it in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / KIBIBYTES**2 if sys.platform == "darwin" else peak / KIBIBYTES


def main() -> None:
    """Run the job that the command line names."""
    job, path = sys.argv[1], Path(sys.argv[2])
    if job == "write":
        write(path, int(sys.argv[3]))
    import pyarrow.parquet  # noqa: F401 - loading is not part of any job

    if job in {"fit", "boundary", "lean scan"}:
        import evenodds.inference.asymmetry  # noqa: F401
    started, clock = time.process_time(), time.perf_counter()
    answer = JOBS[job](path) if job in JOBS else None
    cost = {
        "cpu": time.process_time() - started,
        "seconds": time.perf_counter() - clock,
        "mebibytes": peak_mebibytes(),
        "coefficients": answer or (),
    }
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
