"""The time of an exact fit against rows and columns, beside what this machine allows.

``python -m benchmarks.limits [PICTURE]`` prints a table and draws it. The limit of a fit is one
weighted Gram of all rows at the rate of the matrix product measured here, and seven readings of the
data (one for it, and six scores) at the bandwidth measured here.
"""

from benchmarks import one_thread  # noqa: F401, I001 - before numpy

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dsyrk

from benchmarks.data import make_data

COLUMNS = 5, 20, 100, 400
ROWS = 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000
MOST_NUMBERS = 100_000_000
FEWEST_ROWS_A_COLUMN = 20
READINGS = 7
ROUNDS = 3


def main() -> None:
    """Measure and draw."""
    from evenodds import fit_logistic

    bandwidth = _bandwidth()
    print(f"reads {bandwidth / 1e9:.1f} GB/s")
    figures: dict[int, list[tuple[int, float, float]]] = {}
    for n_columns in COLUMNS:
        rate = _gram_rate(n_columns)
        print(
            f"\n{n_columns} columns, Gram at {rate / 1e9:.0f} GFLOP/s\n   rows   fit, ms  limit, ms"
        )
        for n_rows in ROWS:
            if not n_rows * n_columns <= MOST_NUMBERS or n_rows < FEWEST_ROWS_A_COLUMN * n_columns:
                continue
            X, y = make_data("normal", n_rows, n_columns)
            seconds = _best(lambda X=X, y=y: fit_logistic(X, y))  # type: ignore[misc]
            limit = READINGS * X.nbytes / bandwidth + n_rows * n_columns**2 / rate
            figures.setdefault(n_columns, []).append((n_rows, seconds, limit))
            print(f"{n_rows:9,} {1e3 * seconds:9.2f} {1e3 * limit:9.2f}", flush=True)
    if len(sys.argv) > 1:
        _draw(figures, sys.argv[1])


def _bandwidth() -> float:
    """Return bytes a second of a sum over an array far larger than caches."""
    long = np.ones(40_000_000)
    return long.nbytes / _best(long.sum)


def _gram_rate(n_columns: int) -> float:
    """Return multiplications and additions a second of a symmetric product, half of it counted."""
    block = np.ones((8192 if n_columns < 40 else 1024, n_columns))

    def product() -> None:
        for _ in range(20):
            if n_columns < 40:
                block.T @ block
            else:
                dsyrk(1.0, block.T)

    return float(20 * len(block) * n_columns**2 / _best(product))


def _best(work: Callable[[], object]) -> float:
    """Return CPU seconds of the best round."""
    seconds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def _draw(figures: dict[int, list[tuple[int, float, float]]], path: str) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for place, (n_columns, points) in enumerate(figures.items()):
        rows, seconds, limits = zip(*points, strict=True)
        shade = f"C{place}"
        axes.loglog(rows, seconds, "o-", color=shade)
        axes.loglog(rows, limits, ":", color=shade)
        axes.annotate(f" {n_columns} columns", (rows[-1], seconds[-1]), color=shade, va="center")
    axes.plot([], [], "o-", color="0.3", label="exact fit with its covariance")
    axes.plot([], [], ":", color="0.3", label="what the machine allows")
    axes.set_xlim(right=4_000_000)
    axes.set_xlabel("rows")
    axes.set_ylabel("CPU seconds, one thread")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
