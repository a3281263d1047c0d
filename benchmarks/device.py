"""Fits, scores and the boundary test on a device, beside what its memory and arithmetic allow.

``python -m benchmarks.device [--device cuda] [--quick] [--profile FOLDER]`` needs torch.

The limit of a job is the time to read its rows once for every pass that it cannot do without, at
the bandwidth measured here, plus its matrix products at the rate measured here.
"""

import argparse
import time
from collections.abc import Callable
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

import evenodds as eo

REPEATS = 3
SEED = 20210303
Shape = tuple[int, int]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true", help="sizes for a processor")
    parser.add_argument("--profile", type=Path, help="write what each job spends its time on here")
    options = parser.parse_args()
    print(f"torch {torch.__version__}, numpy {np.__version__}, evenodds {eo.__version__}")
    _check_parity(options.device)
    bandwidth, rate = _limits(options.device, options.quick)
    print(f"reads {bandwidth / 1e9:,.0f} GB/s, multiplies {rate / 1e12:.1f} TFLOP/s in float64\n")
    share = 50 if options.quick else 1
    print(f"{'job':42} {'seconds':>8} {'first':>8} {'limit':>8} {'ratio':>6}")
    for name, job, shape, passes, products in (
        ("exact fit, float32", _fit, (1_000_000, 768), 6, 1),
        ("five-fold scores, float32", _scores, (1_000_000, 768), 16, 0),
        ("exact fit, float32", _fit, (100_000_000, 100), 6, 1),
        ("boundary test, float32", _boundary, (10_000_000, 20), 30, 12),
        ("boundary test, float64", _boundary64, (10_000_000, 20), 30, 12),
    ):
        n_rows, n_columns = shape[0] // share, shape[1]
        X, y = _data(options.device, n_rows, n_columns)
        work = job(X, y)
        first, best = _timed(work, options.device)
        width = 8 if "64" in name else 4
        read = passes * n_rows * n_columns * width / bandwidth
        limit = read + products * 2 * n_rows * n_columns**2 / rate
        label = f"{name}, {n_rows:,} x {n_columns}"
        print(f"{label:42} {best:8.3f} {first:8.3f} {limit:8.3f} {best / limit:6.1f}", flush=True)
        if options.profile is not None:
            _profile(work, options.profile / f"{job.__name__}_{n_rows}_{n_columns}.txt")
        del X, y, work


def _data(device: str, n_rows: int, n_columns: int) -> tuple[Any, Any]:
    """Return normal features in float32 and labels, a tenth of either class flipped."""
    torch.manual_seed(SEED)
    X = torch.empty((n_rows, n_columns), device=device)
    y = torch.empty(n_rows, dtype=torch.int8, device=device)
    slopes = _slopes(n_columns).to(device)
    for start in range(0, n_rows, 1_000_000):
        block = X[start : start + 1_000_000].normal_()
        curve = 0.1 + 0.8 * (block @ slopes - 0.5).sigmoid()
        y[start : start + 1_000_000] = torch.rand(len(block), device=device) < curve
    return X, y


def _slopes(n_columns: int) -> Any:
    slopes = np.random.default_rng(SEED).normal(size=n_columns)
    return torch.as_tensor(2 * slopes / np.linalg.norm(slopes), dtype=torch.float32)


def _fit(X: Any, y: Any) -> Callable[[], Any]:
    return lambda: eo.fit_logistic(X, y)


def _scores(X: Any, y: Any) -> Callable[[], Any]:
    return lambda: eo.out_of_fold_scores(X, y)


def _boundary(X: Any, y: Any) -> Callable[[], Any]:
    slopes = _slopes(X.shape[1]).double().numpy()
    points = np.random.default_rng(1).normal(size=(8, X.shape[1]))
    points -= np.outer((points @ slopes - 0.5) / (slopes @ slopes), slopes)
    return lambda: eo.asymmetry_test(X, y, eo.Anchors(points))


def _boundary64(X: Any, y: Any) -> Callable[[], Any]:
    return _boundary(X.double(), y)


def _timed(work: Callable[[], Any], device: str) -> tuple[float, float]:
    """Return the seconds of the first call, and of the best of the following ones."""
    seconds = []
    for _ in range(1 + REPEATS):
        if device != "cpu":
            torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds[0], min(seconds[1:])


def _limits(device: str, quick: bool) -> tuple[float, float]:
    """Return bytes read a second and float64 operations a second."""
    numbers, side = (2**24, 512) if quick else (2**31, 8192)
    long = torch.empty(numbers, device=device).normal_()
    read = _timed(lambda: float(long.sum()), device)[1]
    square = torch.empty((side, side), dtype=torch.float64, device=device).normal_()
    product = _timed(lambda: float((square @ square)[0, 0]), device)[1]
    return 4 * numbers / read, 2 * side**3 / product


def _check_parity(device: str) -> None:
    """Refuse a device on which answers differ from those of the processor."""
    X, y = _data("cpu", 200_000, 30)
    for precision, close in ((torch.float32, 1e-6), (torch.float64, 1e-10)):
        # A little more than float32 holds, so that the two precisions differ.
        features = (X.double() * (1 + 1e-9)).to(precision)
        there = features.to(device)
        here = features.double().numpy()
        gap = np.abs(
            eo.fit_logistic(there, y.to(device)).coefficients
            - eo.fit_logistic(here, y.numpy()).coefficients
        ).max()
        tested = _boundary(there, y.to(device))(), _boundary(features.double(), y)()
        statistic = abs(tested[0].statistic - tested[1].statistic)
        scores = np.abs(
            eo.out_of_fold_scores(there, y.to(device)) - eo.out_of_fold_scores(here, y.numpy())
        ).max()
        print(
            f"{precision}: coefficients within {gap:.1e} of the processor's, "
            f"z within {statistic:.1e}, scores within {scores:.1e}"
        )
        if not max(gap, scores) <= close:
            raise SystemExit(f"more than {close:g}")
    if device != "cpu" and find_spec("cupy"):
        import cupy

        ours = eo.fit_logistic(cupy.asarray(here), cupy.asarray(y.numpy())).coefficients
        gap = np.abs(ours - eo.fit_logistic(here, y.numpy()).coefficients).max()
        print(f"arrays of CuPy: coefficients within {gap:.1e}")


def _profile(work: Callable[[], Any], path: Path) -> None:
    """Write where the time of a job goes."""
    import cProfile
    import io
    import pstats

    path.parent.mkdir(parents=True, exist_ok=True)
    calls = cProfile.Profile()
    with torch.profiler.profile() if torch.cuda.is_available() else nullcontext() as kernels:
        work()
    calls.runcall(work)
    out = io.StringIO()
    pstats.Stats(calls, stream=out).sort_stats("tottime").print_stats(25)
    pstats.Stats(calls, stream=out).sort_stats("cumtime").print_stats(45)
    if kernels is not None:
        out.write(kernels.key_averages().table(sort_by="cuda_time_total", row_limit=25))
    path.write_text(out.getvalue())


if __name__ == "__main__":
    main()
