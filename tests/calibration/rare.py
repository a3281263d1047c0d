"""Level with few positives and much noise: ``python -m tests.calibration.rare``."""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit

import evenodds as eo
from evenodds.simulation.rejection import Setting
from evenodds.simulation.world import World
from tests.calibration.cells import null_statistics

CRITICAL = stats.norm.isf(0.025)
SLOPES = np.array([1.5, -1.0, 0.5])
# Slopes of more features are scaled, so that classes stay about as far apart.
FEW_FEATURES, INDEX_SPREAD = 6, 2.5
FEATURES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "skewed": lambda rng, size: rng.exponential(size=size),
}


@cache
def logistic_world(positives: float, n_features: int = 3, features: str = "normal") -> World:
    """Return a world that is logistic in its features, with a share of true positives."""
    X = FEATURES[features](np.random.default_rng(0), (20_000, n_features))
    slopes = np.resize(SLOPES, n_features)
    if n_features > FEW_FEATURES:
        slopes *= INDEX_SPREAD / np.linalg.norm(slopes)
    intercept = brentq(lambda shift: expit(shift + X @ slopes).mean() - positives, -60, 60)
    return eo.data_world(X, coefficients=[intercept, *slopes])


@dataclass(frozen=True)
class Cell:
    """One setting: a logistic world under uniform noise, with honest tolerances."""

    positives: float
    tau: float
    n: int
    k: int
    tolerance: float
    shared: float
    n_features: int = 3
    features: str = "normal"

    def statistics(self, seed: int, run: int) -> tuple[float, float]:
        """Return z(0) of boundary and joint in one run; nan where it is withheld."""
        setting = Setting(
            world=logistic_world(self.positives, self.n_features, self.features),
            noise=eo.UniformNoise(self.tau),
            n_rows=self.n,
            n_anchors=self.k,
            tolerance=self.tolerance,
            shared_tolerance=self.shared,
            seed=seed,
        )
        trial = setting.draw(run)
        return null_statistics(trial.features, trial.labels, trial.anchors)


CELLS = (
    Cell(0.05, 0.25, 1500, 6, 0.1, 0.05),
    Cell(0.03, 0.1, 2000, 6, 0.05, 0.05),
    Cell(0.03, 0.4, 6000, 6, 0.1, 0.1),
    Cell(0.03, 0.0, 1500, 6, 0.05, 0.0),
    Cell(0.05, 0.35, 3000, 6, 0.1, 0.05),
    Cell(0.08, 0.2, 6000, 12, 0.1, 0.1, 5),
    Cell(0.1, 0.4, 3000, 12, 0.05, 0.05),
    Cell(0.1, 0.25, 500, 6, 0.1, 0.0),
    Cell(0.12, 0.3, 2000, 6, 0.02, 0.0),
    Cell(0.12, 0.1, 4000, 1, 0.0, 0.0, 2),
    Cell(0.2, 0.3, 1000, 6, 0.1, 0.05, 3, "skewed"),
    Cell(0.1, 0.2, 3000, 12, 0.05, 0.05, 3, "skewed"),
    Cell(0.3, 0.25, 500, 6, 0.05, 0.05),
    Cell(0.3, 0.4, 6000, 12, 0.1, 0.0, 2),
    Cell(0.5, 0.4, 1000, 6, 0.05, 0.05),
    Cell(0.5, 0.2, 6000, 12, 0.02, 0.02, 6),
    Cell(0.5, 0.0, 500, 12, 0.1, 0.1, 2),
    # Many toss-ups whose places err.
    Cell(0.1, 0.2, 2000, 60, 0.05, 0.05),
    Cell(0.1, 0.2, 2000, 60, 0.02, 0.02),
    Cell(0.1, 0.2, 2000, 60, 0.1, 0.0),
    Cell(0.05, 0.3, 4000, 24, 0.05, 0.05),
    Cell(0.4, 0.2, 4000, 200, 0.05, 0.05, 2),
)
# As many columns as are let in: about 1 for every 50 rows, a few more where rows are few.
WIDE_CELLS = (
    Cell(0.5, 0.2, 2000, 8, 0.0, 0.0, 20),
    Cell(0.5, 0.0, 2000, 8, 0.0, 0.0, 40),
    Cell(0.5, 0.1, 2000, 8, 0.0, 0.0, 40),
    Cell(0.2, 0.1, 2000, 8, 0.05, 0.05, 40),
    Cell(0.5, 0.05, 1000, 8, 0.0, 0.0, 39),
    Cell(0.3, 0.1, 5000, 8, 0.05, 0.05, 90),
)


def most_rejections(runs: int, tests: int, rate: float = 0.05) -> int:
    """Return the most rejections that chance explains, over all tests together."""
    return int(stats.binom.ppf(1 - 1e-3 / tests, runs, rate))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--wide", action="store_true", help="only the cells of many columns")
    options = parser.parse_args()
    runs, failures, started = options.runs, 0, time.perf_counter()
    cells = WIDE_CELLS if options.wide else (*CELLS, *WIDE_CELLS)
    bound = most_rejections(runs, 2 * len(CELLS + WIDE_CELLS))
    print(f"Rejections at 5% in {runs} runs of uniform noise, at most {bound / runs:.3f}\n")
    print(
        "| positives | tau | rows | features | anchors | tolerance | boundary | joint | withheld |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(options.workers) as pool:
        for cell in cells:
            found = list(pool.map(partial(cell.statistics, 11), range(runs), chunksize=20))
            z = np.array(found)
            rejections = (np.abs(z) > CRITICAL).sum(axis=0)
            withheld = np.isnan(z).mean(axis=0)
            bad = (rejections > bound).any()
            failures += bool(bad)
            print(
                f"| {cell.positives:.0%} | {cell.tau:g} | {cell.n:,} | {cell.n_features} "
                f"{cell.features} | {cell.k} | {cell.tolerance:g} + {cell.shared:g} | "
                f"{rejections[0] / runs:.3f} | {rejections[1] / runs:.3f} | {withheld[0]:.2f} / "
                f"{withheld[1]:.2f} |" + ("  <-- out of bounds" if bad else ""),
                flush=True,
            )
    seconds = time.perf_counter() - started
    print(f"\n{failures} out of bounds; {seconds:.0f} s on {options.workers} cores")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
