"""The contour test where the index has few values: ``python -m tests.calibration.few_values``.

Prints a table of the docs page on contours: uniform noise of 20% on one column, how often it is
rejected, and in how many data sets it is so without a doubt of the check "places".
"""

import argparse
import sys

import numpy as np

import evenodds as eo
from tests.calibration.contour import level_bound

STATED = np.repeat([0.15, 0.3, 0.5, 0.7, 0.85], 2)
INTERCEPT, RATE, SEED = 0.3, 0.2, 21


def draw_values(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return a column of a spread of 1: evenly common levels, or a rounded normal one."""
    name, number = kind.split()
    if name == "levels":
        levels = np.arange(int(number)) - (int(number) - 1) / 2
        return np.asarray(rng.choice(levels / levels.std(), (n, 1)))
    return np.round(rng.normal(size=(n, 1)) * float(number)) / float(number)


def flags(kind: str, slope: float, n: int, run: int) -> tuple[bool, bool]:
    """Return whether uniform noise is rejected, and whether the places are doubted."""
    rng = np.random.default_rng([SEED, run])
    X = draw_values(kind, n, rng)
    true = rng.random(n) < 1 / (1 + np.exp(-INTERCEPT - slope * X[:, 0]))
    labels = np.where(rng.random(n) < RATE, ~true, true).astype(int)
    points = (np.log(STATED / (1 - STATED)) - INTERCEPT)[:, None] / slope
    found = eo.contour_test(X, labels, eo.Anchors(points, posterior=STATED, tolerance=0))
    doubted = any(check.name == "places" for check in found.diagnostics)
    pvalue = found.rungs[1].pvalue
    return pvalue is not None and pvalue < 0.05, doubted


CELLS = [
    *((f"levels {number}", 1.7) for number in (2, 3, 4, 5, 6, 7)),
    ("levels 8", 3.0),
    ("levels 12", 3.0),
    ("rounded 2", 1.7),  # to halves of a spread
]
SIZES = (3000, 10_000)


def main() -> int:
    """Print the table; the exit code says whether a rejection slips through too often."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    failures = 0
    print("| values | slope | rows | uniform rejected | doubted | rejected without doubt |")
    print("|---|---|---|---|---|---|")
    for kind, slope in CELLS:
        for n in SIZES:
            found = np.array([flags(kind, slope, n, run) for run in range(runs)])
            silent = (found[:, 0] & ~found[:, 1]).mean()
            failures += silent > level_bound(runs)
            shares = " | ".join(f"{share:.3f}" for share in found.mean(axis=0))
            print(f"| {kind} | {slope:g} | {n} | {shares} | {silent:.3f} |", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
