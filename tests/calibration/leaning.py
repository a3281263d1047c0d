"""Anchors that all lean the same way inside their tolerance: ``make calibration``.

An expert is off by the same lean at every toss-up. Leans are drawn evenly over the tolerance,
or lie at its very edge; the anchors are told the tolerance and nothing else.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import stats

import evenodds as eo
from evenodds.inference.asymmetry import null_statistic
from evenodds.inference.noise_aware import FittedRows
from evenodds.rows.memory import read_rows
from evenodds.simulation.world import LinearIndex, World
from tests.calibration.cells import WORLDS

TOLERANCE = 0.05
# The most that twelve anchors at the edge reject, at the worst number of rows (theory page, 3.4).
AT_THE_EDGE = 0.15
# Where the smallest margin is compared with the interval of many rows.
MANY_ROWS = (
    ("paper, near", "boundary", 1_000_000),
    ("paper, near", "joint", 1_000_000),
    ("paper, near", "wald", 1_000_000),
    ("paper, near", "local", 100_000),  # held in memory with their distances
    ("three features", "boundary", 1_000_000),
    ("three features", "joint", 1_000_000),
    ("three features", "wald", 1_000_000),
)
CRITICAL = stats.norm.isf(0.025)


def _normal(n, rng):
    return rng.normal(size=(n, 3))


def _box(k, rng):
    return rng.uniform(-2, 2, size=(k, 3))


LEANING_WORLDS = {
    "paper, near": (WORLDS["paper, near"], 0.1),
    "three features": (
        World(
            name="three features",
            draw_features=_normal,
            index=LinearIndex(np.array([0.0, 1.5, -1.0, 0.5])),
            draw_anchor_seeds=_box,
        ),
        0.2,
    ),
}


@dataclass(frozen=True)
class Cell:
    """One setting to simulate; `edge` puts every anchor at the edge of the tolerance."""

    world: str
    n: int
    k: int
    edge: bool

    @property
    def tests(self) -> dict[str, tuple[eo.Boundary | eo.Joint, float | None]]:
        """Methods with the shared tolerance they are told; the default's alone in most cells."""
        asked = {"boundary": (eo.Boundary(), None)}
        if self.world == "paper, near" and (self.k == 6 or not self.edge):
            asked["joint"] = (eo.Joint(), None)
        if self.world == "paper, near" and self.k == 6:
            asked["none shared"] = (eo.Boundary(), 0.0)
        return asked

    def rejects(self, seed: int, run: int) -> list[bool]:
        """Tell which of the tests reject uniform noise."""
        rng = np.random.default_rng([seed, run])
        world, rate = LEANING_WORLDS[self.world]
        lean = TOLERANCE if self.edge else rng.uniform(-TOLERANCE, TOLERANCE)
        X, true = world.draw_rows(self.n, rng)
        labels = eo.UniformNoise(rate).flip(true, rng)
        points = replace(world, anchor_bias=lean).draw_anchors(self.k, rng).points
        rows = read_rows(X, labels)
        fitted = FittedRows.of(rows)
        found = []
        for method, shared in self.tests.values():
            anchors = eo.Anchors(points, tolerance=TOLERANCE, shared_tolerance=shared)
            z, _ = null_statistic(rows, anchors, method, fitted)
            found.append(abs(z) > CRITICAL)
        return found


CELLS = tuple(
    Cell(world, n, k, edge)
    for edge in (False, True)
    for world in LEANING_WORLDS
    for n in (2000, 8000)
    for k in (6, 12)
)


def most_rejections(runs: int, tests: int, rate: float) -> int:
    """Return the most rejections in any of `tests` that a true rate leaves likely."""
    return int(stats.binom.ppf(1 - 1e-3 / tests, runs, rate))


def margin_and_half_width(world: str, method: str, n: int, seed: int = 62) -> tuple[float, float]:
    """Return the smallest margin, and half the width of the 90% interval it is the limit of."""
    rng = np.random.default_rng(seed)
    place, rate = LEANING_WORLDS[world]
    X, true = place.draw_rows(n, rng)
    anchors = eo.Anchors(place.draw_anchors(12, rng).points, tolerance=TOLERANCE)
    result = eo.asymmetry_test(X, eo.UniformNoise(rate).flip(true, rng), anchors, method=method)
    interval = result.confidence_interval(0.9)
    return result.smallest_margin(0.05), (interval.high - interval.low) / 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    runs, failures = options.runs, 0
    tests = sum(len(cell.tests.keys() - {"none shared"}) for cell in CELLS)
    print("| lean | world | rows | anchors | boundary | joint | bound | boundary, none shared |")
    print("|---|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(options.workers) as pool:
        for cell in CELLS:
            found = list(pool.map(partial(cell.rejects, 61), range(runs), chunksize=20))
            rates = dict(zip(cell.tests, np.mean(found, axis=0), strict=True))
            rate = AT_THE_EDGE if cell.edge else 0.05
            bound = most_rejections(runs, tests, rate) / runs
            bad = any(rate > bound for test, rate in rates.items() if test != "none shared")
            failures += bad
            boundary, joint, alone = (
                f"{rates[test]:.3f}" if test in rates else ""
                for test in ("boundary", "joint", "none shared")
            )
            lean = "all at the edge" if cell.edge else "drawn within ±0.05"
            print(
                f"| {lean} | {cell.world} | {cell.n:,} | {cell.k} | {boundary} | {joint} | "
                f"at most {bound:.3f} | {alone} |" + ("  <-- out of bounds" if bad else ""),
                flush=True,
            )
    print("| world | method | smallest margin, 4,000 rows | many rows | with these | half |")
    print("|---|---|---|---|---|---|")
    for world, method, n in MANY_ROWS:
        few, _ = margin_and_half_width(world, method, 4000)
        smallest, half = margin_and_half_width(world, method, n)
        bad = not smallest < half < max(1.05 * smallest, 0.01)
        failures += bad
        print(
            f"| {world} | {method} | {few:.3f} | {n:,} | {smallest:.3f} | {half:.3f} |"
            + ("  <-- out of bounds" if bad else ""),
            flush=True,
        )
    print(f"{failures} out of bounds")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
