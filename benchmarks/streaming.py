"""Fits and tests of a Parquet file larger than its memory allowance.

``python -m benchmarks.streaming [--quick]`` measures the CPU of an exact fit in raw scans of the
same columns, the peak memory of fit and boundary test at two sizes, and the same fit in other
engines at a size where they finish.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.jobs import Cost, run
from benchmarks.large import N_COLUMNS, folder_with_room

SIZES = (2_000_000, 20_000_000)
QUICK_SIZES = (500_000, 2_000_000)
ROUNDS = 3
SCANS_AT_MOST = 5.0
MEBIBYTES_AT_MOST = 400.0
GROWTH_AT_MOST = 1.2
ENGINES = ("duckdb", "polars", "dask.array")


def main() -> None:
    """Write the files, measure, and delete them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller files, without targets")
    quick = parser.parse_args().quick
    small, large = QUICK_SIZES if quick else SIZES
    with folder_with_room(small + large) as folder:
        paths = {size: folder / f"{size}.parquet" for size in (small, large)}
        for size, path in paths.items():
            run("write", path, str(size))
            print(f"{size:,} x {N_COLUMNS}: {path.stat().st_size / 2**30:.2f} GiB", flush=True)
        in_scans(paths[large], large, targets=not quick)
        against_engines(paths[small], small)
        peaks = {size: run("boundary", path) for size, path in paths.items()}
        growth(peaks, targets=not quick)


def in_scans(path: Path, n_rows: int, *, targets: bool) -> None:
    """Time fits and raw scans in turns; a raw scan is the cheaper of two ways to make one."""
    rounds = [{job: run(job, path) for job in ("scan", "lean scan", "fit")} for _ in range(ROUNDS)]
    best = {job: min(round_[job].cpu for round_ in rounds) for job in rounds[0]}
    peak = max(round_["fit"].mebibytes for round_ in rounds)
    raw = min(best["scan"], best["lean scan"])
    print(f"\n{n_rows:,} x {N_COLUMNS}, CPU of the best of {ROUNDS} rounds, one thread")
    print(f"raw scan by pyarrow      {best['scan']:7.2f} s")
    print(f"the same, small buffers  {best['lean scan']:7.2f} s")
    ratio = best["fit"] / raw
    print(
        f"exact fit                {best['fit']:7.2f} s  {ratio:.2f} raw scans"
        f"{_target(ratio, SCANS_AT_MOST, 'scans', targets)}"
    )
    target = _target(peak, MEBIBYTES_AT_MOST, "MiB", targets)
    print(f"peak memory of the fit   {peak:7.0f} MiB{target}")


def against_engines(path: Path, n_rows: int) -> None:
    """Time the same fit elsewhere."""
    jobs = ("fit", *ENGINES)
    rounds = [{job: run(job, path) for job in jobs} for _ in range(2)]
    print(f"\n{n_rows:,} x {N_COLUMNS}, exact fit and covariance, CPU of the best of 2 rounds")
    ours = min(round_["fit"].cpu for round_ in rounds)
    reference = np.array(rounds[0]["fit"].coefficients)
    for job in jobs:
        cpu = min(round_[job].cpu for round_ in rounds)
        peak = max(round_[job].mebibytes for round_ in rounds)
        gap = np.abs(np.array(rounds[0][job].coefficients) - reference).max()
        name = "evenodds" if job == "fit" else job
        print(
            f"{name:12} {cpu:7.2f} s  {cpu / ours:5.1f}x  {peak:6.0f} MiB  gap {gap:.0e}",
            flush=True,
        )


def growth(peaks: dict[int, Cost], *, targets: bool) -> None:
    """Compare the peaks of the boundary test at two sizes."""
    print("\nboundary test with everything reported")
    for size, cost in peaks.items():
        print(f"{size:>11,} rows  {cost.cpu:7.1f} s CPU  {cost.mebibytes:5.0f} MiB")
    small, large = (cost.mebibytes for cost in peaks.values())
    grown = large / small
    print(f"peak grows by a factor of {grown:.2f}{_target(grown, GROWTH_AT_MOST, '', targets)}")


def _target(value: float, limit: float, unit: str, stated: bool) -> str:
    if not stated:
        return ""
    return f" (at most {limit:g} {unit}: {'met' if value <= limit else 'MISSED'})".replace(
        " :", ":"
    )


if __name__ == "__main__":
    main()
