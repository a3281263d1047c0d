"""Level and power of the checks beside a test: ``python -m tests.calibration.checks``."""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import stats
from scipy.special import expit, logit

import evenodds as eo
from evenodds.inference.diagnostics import DOUBT_BELOW, anchor_check, curve_shape_check
from evenodds.inference.noise_aware import FittedRows
from evenodds.inference.null_fits import AnchorEquations
from evenodds.model.bent_curve import fit_free_rates
from evenodds.rows.memory import read_rows
from evenodds.simulation.rejection import Setting
from tests.calibration.rare import logistic_world, most_rejections
from tests.calibration.result_checks import RESULT_CELLS, ResultCell

WORLDS = {
    "two features": (0.5, 2, "normal"),
    "one feature": (0.3, 1, "normal"),
    "five features": (0.3, 5, "normal"),
    "rare": (0.08, 3, "normal"),
    "skewed": (0.4, 2, "skewed"),
    "rare and skewed": (0.15, 3, "skewed"),
}
NOISES = {
    "clean": eo.UniformNoise(0.0),
    "uniform .2": eo.UniformNoise(0.2),
    "flips .25 / .05": eo.ClassConditionalNoise(0.25, 0.05),
}
# So many take long, and leave no doubt: fewer runs do.
MANY_ANCHORS = 500
# Toss-ups as they should be, rows of the data drawn at random, or one case at 0.9 among them.
ANCHORS = ("honest", "random rows", "one at 0.9")


def points_of(kind: str, X, anchors, coefficients, rng):
    """Return anchors of a kind in place of honest ones."""
    if kind == "random rows":
        return X[rng.choice(len(X), len(anchors), replace=False)]
    points = anchors.points.copy()
    if kind == "one at 0.9":
        slopes = coefficients[1:]
        points[0] += slopes * logit(0.9) / (slopes @ slopes)
    return points


@dataclass(frozen=True)
class AnchorCell:
    """Anchors of a kind in a world: how often they are flagged, and what could not be told."""

    world: str
    noise: str
    kind: str
    k: int
    n: int = 2000

    @property
    def columns(self) -> tuple[str, str, str]:
        """Check, labels and anchors, for the table."""
        return "anchors and curve", f"{self.world}, {self.noise}", f"{self.k} {self.kind}"

    def flags(self, seed: int, run: int) -> tuple[bool, bool]:
        """Return whether the anchors are doubted, and whether the check could not tell."""
        setting = Setting(
            world=logistic_world(*WORLDS[self.world]),
            noise=NOISES[self.noise],
            n_rows=self.n,
            n_anchors=self.k,
            tolerance=0.05,
            shared_tolerance=0.05,
            seed=seed,
        )
        trial, rng = setting.draw(run), np.random.default_rng([seed, run])
        coefficients = true_coefficients(self.world)
        points = points_of(self.kind, trial.features, trial.anchors, coefficients, rng)
        fitted = FittedRows.of(read_rows(trial.features, trial.labels))
        equations = AnchorEquations.of(eo.Anchors(points), points, fitted.problem)
        free = fit_free_rates(fitted.problem.small, fitted.plain_coefficients)
        check = anchor_check(fitted.problem, free, fitted.plain_coefficients, equations)
        return check.concern, "cannot tell" in check.message


def true_coefficients(world: str) -> np.ndarray:
    """Return the coefficients of a logistic world, read off its own posterior."""
    X = np.eye(WORLDS[world][1] + 1, WORLDS[world][1])[::-1]
    log_odds = logit(logistic_world(*WORLDS[world]).posterior(X))
    return np.append(log_odds[0], log_odds[1:][::-1] - log_odds[0])


BENDS = {
    "quadratic index": lambda X: expit(-0.8 + X[:, 0] - X[:, 1] + 0.4 * (X[:, 0] - X[:, 1]) ** 2),
    "t link, 2 degrees": lambda X: stats.t.cdf(3 * (X[:, 0] - X[:, 1]), 2),
    "the same, shallow": lambda X: stats.t.cdf(1.5 * (X[:, 0] - X[:, 1]), 2),
    "interaction": lambda X: expit(X[:, 0] - X[:, 1] + 0.7 * X[:, 0] * X[:, 1]),
}


@dataclass(frozen=True)
class LinkCell:
    """Labels of a logistic world or of a bent one: how often the link is flagged."""

    world: str
    noise: str
    n: int

    @property
    def columns(self) -> tuple[str, str, str]:
        """Check, labels and anchors, for the table."""
        return "link", f"{self.world}, {self.noise}", ""

    def flags(self, seed: int, run: int) -> tuple[bool, bool]:
        """Return whether the link is doubted, and whether the check could not tell."""
        rng = np.random.default_rng([seed, run])
        if self.world in BENDS:
            X = rng.normal(size=(self.n, 3))
            true = (rng.random(self.n) < BENDS[self.world](X)).astype(int)
        else:
            X, true = logistic_world(*WORLDS[self.world]).draw_rows(self.n, rng)
        fitted = FittedRows.of(read_rows(X, NOISES[self.noise].flip(true, rng)))
        free = fit_free_rates(fitted.problem.small, fitted.plain_coefficients)
        check = curve_shape_check(fitted.problem, free)
        return check.concern, "cannot tell" in check.message


HONEST = tuple(AnchorCell(world, noise, "honest", 12) for world in WORLDS for noise in NOISES)
WRONG = tuple(
    AnchorCell(world, noise, kind, k)
    for world in WORLDS
    for noise in NOISES
    for kind, k in (("random rows", 12), ("random rows", 60), ("one at 0.9", 12))
) + tuple(AnchorCell(world, "uniform .2", "random rows", MANY_ANCHORS) for world in WORLDS)
LOGISTIC = tuple(
    LinkCell(world, noise, n)
    for world in ("two features", "five features", "rare")
    for noise in NOISES
    for n in (2000, 8000)
)
BENT = tuple(LinkCell(world, noise, 8000) for world in BENDS for noise in ("clean", "uniform .2"))


def needed(cell: AnchorCell | LinkCell | ResultCell) -> float | None:
    """Return the power that a cell must have; None where the level is measured."""
    if isinstance(cell, ResultCell):
        return cell.asked
    if isinstance(cell, LinkCell):
        if cell.world not in BENDS:
            return None
        # A t link is close to plateaus, the more so in noise or where the curve is shallow.
        told = cell.noise == "clean" and cell.world != "the same, shallow"
        return 0.5 if told or cell.world in {"quadratic index", "interaction"} else 0.0
    return {"honest": None, "random rows": 0.99, "one at 0.9": 0.9}[cell.kind]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--skip", type=int, default=0, help="so many cells")
    options = parser.parse_args()
    runs, failures, started = options.runs, 0, time.perf_counter()
    cells = (*HONEST, *WRONG, *LOGISTIC, *BENT, *RESULT_CELLS)
    levels = sum(needed(cell) is None for cell in cells)
    most = most_rejections(runs, levels, DOUBT_BELOW)
    print(f"Doubted in {runs} runs; level at most {most / runs:.3f} at nominal {DOUBT_BELOW:g}\n")
    print("| check | labels | anchors | rows | doubted | says nothing |")
    print("|---|---|---|---|---|---|")
    with ProcessPoolExecutor(options.workers) as pool:
        for cell in cells[options.skip :]:
            many = isinstance(cell, AnchorCell) and cell.k >= MANY_ANCHORS
            runs = max(options.runs // 8, 1) if many else options.runs
            found = list(pool.map(partial(cell.flags, 23), range(runs), chunksize=5))
            doubted, untold = np.sum(found, axis=0)
            wanted = needed(cell)
            low = None if wanted is None else stats.binom.ppf(1e-3, runs, wanted)
            bad = doubted > most if low is None else doubted < low
            failures += bool(bad)
            print(
                f"| {' | '.join(cell.columns)} | {cell.n:,} | "
                f"{doubted / runs:.3f} | {untold / runs:.3f} |"
                + ("  <-- out of bounds" if bad else ""),
                flush=True,
            )
    seconds = time.perf_counter() - started
    print(f"\n{failures} out of bounds; {seconds:.0f} s on {options.workers} cores")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
