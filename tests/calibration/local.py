"""Level, power and failures of the local test: ``python -m tests.calibration.local``."""

import sys
import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import stats

import evenodds as eo
from evenodds.inference.asymmetry import null_statistic
from evenodds.inference.local import flip_rates
from evenodds.rows.memory import read_rows
from evenodds.simulation.rejection import Setting
from evenodds.simulation.world import LinearIndex
from evenodds.simulation.worlds import find_world, many_features, two_bells

CRITICAL = stats.norm.isf(0.025)
CANDIDATES = 40


def among_cases(world):
    """Return the world with toss-ups that an expert would find among its cases."""
    return replace(world, draw_anchor_seeds=partial(_nearly_undecided, world))


def _nearly_undecided(world, k, rng):
    """Return k cases, out of many, that are closest to a toss-up."""
    cases = world.draw_features(CANDIDATES * k, rng)
    nearest = np.argsort(np.abs(world.posterior(cases) - 0.5))[: 4 * k]
    return cases[rng.permutation(nearest)[:k]]


STEEP = LinearIndex(np.array([-1.0, 4, 1]), direction=np.array([1.0, 0]), bend=4.0)
STEEP_BEND = replace(find_world("quadratic"), name="steep bend", index=STEEP)
WORLDS = {
    "paper": two_bells(),
    "rare": two_bells(0.15),
    "skewed": find_world("skewed"),
    "probit": find_world("probit"),
    "plateau": find_world("plateau"),
    "quadratic": find_world("quadratic"),
    "steep bend": STEEP_BEND,
    "3 features": many_features(3),
    "5 features": many_features(5),
}

# Worlds of which the level of the boundary test is known already.
LOGISTIC = ("paper", "rare", "skewed", "3 features", "5 features")


@dataclass(frozen=True)
class Cell:
    """One setting: level or power at some noise, in a world, with rows and anchors."""

    what: str  # level, power, or fails: a level that is not claimed
    world: str
    n: int
    k: int
    alpha: float
    beta: float
    tolerance: float = 0.0

    @property
    def name(self):
        """A short name for tests."""
        return f"{self.what} {self.world} n={self.n} k={self.k} flips={self.alpha:g}/{self.beta:g}"

    def draw(self, run, seed=1):
        """Return one data set, the same whoever asks."""
        return Setting(
            world=among_cases(WORLDS[self.world]),
            noise=eo.ClassConditionalNoise(self.alpha, self.beta),
            n_rows=self.n,
            n_anchors=self.k,
            tolerance=self.tolerance,
            seed=seed,
        ).draw(run)


LEVEL_CELLS = (
    Cell("level", "paper", 2000, 1, 0.0, 0.0),
    Cell("level", "paper", 2000, 8, 0.2, 0.2),
    Cell("level", "paper", 500, 8, 0.1, 0.1),
    Cell("level", "rare", 2000, 1, 0.2, 0.2),
    Cell("level", "rare", 2000, 8, 0.1, 0.1),
    Cell("level", "rare", 8000, 8, 0.2, 0.2),
    Cell("level", "rare", 2000, 8, 0.1, 0.1, tolerance=0.1),
    Cell("level", "skewed", 2000, 8, 0.2, 0.2),
    Cell("level", "probit", 2000, 8, 0.1, 0.1),
    Cell("level", "plateau", 2000, 8, 0.1, 0.1),
    Cell("level", "quadratic", 2000, 1, 0.1, 0.1),
    Cell("level", "quadratic", 2000, 8, 0.1, 0.1),
    Cell("level", "quadratic", 8000, 8, 0.2, 0.2),
    Cell("level", "3 features", 4000, 8, 0.1, 0.1),
)
POWER_CELLS = (
    Cell("power", "paper", 2000, 8, 0.05, 0.15),
    Cell("power", "rare", 2000, 8, 0.05, 0.15),
    Cell("power", "skewed", 2000, 8, 0.05, 0.15),
    Cell("power", "quadratic", 2000, 8, 0.05, 0.15),
    Cell("power", "rare", 8000, 8, 0.05, 0.15),
    Cell("power", "3 features", 4000, 8, 0.05, 0.15),
)
FAILING_CELLS = (
    Cell("fails", "steep bend", 500, 8, 0.1, 0.1),
    Cell("fails", "steep bend", 2000, 8, 0.1, 0.1),
    Cell("fails", "steep bend", 8000, 8, 0.1, 0.1),
    Cell("fails", "quadratic", 2000, 64, 0.0, 0.0),
    Cell("fails", "5 features", 2000, 8, 0.1, 0.1),
    Cell("fails", "5 features", 50_000, 8, 0.1, 0.1),
)


@dataclass(frozen=True)
class Found:
    """What the tests did in some runs of a cell."""

    local: float
    refused: int
    boundary: float
    bias: float  # mean error of the estimated asymmetry
    standard_error: float  # mean of its own


def measure(cell, runs, *, boundary=True, seed=1):
    """Return how often each test rejects; runs without rows near an anchor are refused."""
    rejected, errors, widths, others = [], [], [], []
    for run in range(runs):
        trial = cell.draw(run, seed)
        rows = read_rows(trial.features, trial.labels)
        if boundary:
            z, _ = null_statistic(rows, trial.anchors, eo.Boundary())
            others.append(abs(z) > CRITICAL)
        try:
            line = eo.Local().line(rows, trial.anchors)
        except eo.AnchorError:
            continue
        rejected.append(abs(line.z(0.0)) > CRITICAL)
        errors.append(2 * line.height() - 1 - (cell.beta - cell.alpha))
        widths.append(2 * line.standard_error(0.0))
    return Found(
        local=float(np.mean(rejected)) if rejected else float("nan"),
        refused=runs - len(rejected),
        boundary=float(np.mean(others)) if boundary else float("nan"),
        bias=float(np.mean(errors)) if errors else float("nan"),
        standard_error=float(np.mean(widths)) if widths else float("nan"),
    )


RATES = (eo.ClassConditionalNoise(0.2, 0.1), eo.ClassConditionalNoise(0.0, 0.0))
SURE = np.array([[1.5, 1.5], [1.2, 1.8], [1.8, 1.2]])
TOSS_UPS = np.array([[0.0, 0.0], [0.8, -0.8], [-0.8, 0.8]])


def rate_coverage(noise, runs, n=2000, seed=1):
    """Return how often 95% intervals of alpha, beta and the asymmetry hold the truth.

    Anchors are toss-ups and sure cases of the paper's world, taken as exact.
    """
    anchors = eo.Anchors(
        np.vstack([TOSS_UPS, SURE, -SURE]), posterior=[0.5] * 3 + [1] * 3 + [0] * 3, tolerance=0
    )
    held = np.zeros(3)
    for run in range(runs):
        trial = two_bells().draw(n, 1, noise, np.random.default_rng([seed, run]))
        line = eo.Local().line(read_rows(trial.features, trial.labels), anchors)
        rates = flip_rates(line, 2 * line.height() - 1)
        for place, (rate, truth) in enumerate(zip(rates, (noise.alpha, noise.beta), strict=True)):
            held[place] += rate.low <= truth <= rate.high
        held[2] += abs(line.z(noise.asymmetry)) <= CRITICAL
    return held / runs


# How far past a kink sure cases lie, rows and runs.
KINKS = ((0.5, 1500, 150), (0.1, 1500, 150), (0.02, 1500, 150), (0.1, 5000, 80))


def kink_coverage(past, n, runs, seed=7):
    """Return how often intervals hold alpha and beta where the posterior stops rising at 0 and 1.

    It is (1 + x)/2 from -1 to 1 along the first of two features; sure cases lie `past` there.
    """
    noise, aside = RATES[0], np.array([-0.5, 0.0, 0.5])
    places = np.repeat([0.0, 1 + past, -1 - past], 3)
    points = np.column_stack([places, np.tile(aside, 3)])
    anchors = eo.Anchors(points, posterior=np.repeat([0.5, 1.0, 0.0], 3), tolerance=0)
    held = np.zeros(2)
    for run in range(runs):
        rng = np.random.default_rng([seed, n, run])
        features = rng.normal(size=(n, 2))
        true = rng.random(n) < np.clip((1 + features[:, 0]) / 2, 0, 1)
        rows = read_rows(features, noise.flip(true.astype(int), rng))
        line = eo.Local().line(rows, anchors)
        rates = flip_rates(line, 2 * line.height() - 1)
        for place, (rate, truth) in enumerate(zip(rates, (noise.alpha, noise.beta), strict=True)):
            held[place] += rate.low <= truth <= rate.high
    return held / runs


def main(runs=(400, 100, 60)):
    """Measure every cell and print a table; fail where a claimed level is not held."""
    started, broken = time.process_time(), []
    print("| what | world | rows | anchors | alpha, beta | tolerance | local | boundary | "
          "bias | standard error | refused |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for cells, number in zip((LEVEL_CELLS, POWER_CELLS, FAILING_CELLS), runs, strict=True):
        most = stats.binom.ppf(1 - 1e-3, number, 0.05) / number
        for cell in cells:
            beside = cell.what == "power" or cell.world not in LOGISTIC
            found = measure(cell, number, boundary=beside)
            boundary = f"{found.boundary:.3f}" if beside else ""
            print(
                f"| {cell.what} | {cell.world} | {cell.n:,} | {cell.k} | {cell.alpha:g}, "
                f"{cell.beta:g} | {cell.tolerance:g} | {found.local:.3f} | {boundary} | "
                f"{found.bias:+.3f} | {found.standard_error:.3f} | {found.refused} of {number} |",
                flush=True,
            )
            if cell.what == "level" and found.local > most:
                broken.append(cell.name)
        if cells is LEVEL_CELLS:
            print(f"<!-- a level of 0.05 is rejected above {most:.3f} -->", flush=True)
    print("\n| alpha, beta | interval of alpha | of beta | of the asymmetry |\n|---|---|---|---|")
    for noise in RATES:
        alpha, beta, asymmetry = rate_coverage(noise, runs[0])
        # On clean labels the rates sit on their bound, and their intervals are known to be short.
        held = asymmetry if noise.alpha == 0 else min(alpha, beta, asymmetry)
        if held < stats.binom.ppf(1e-3, runs[0], 0.95) / runs[0]:
            broken.append(f"coverage at {noise.alpha:g}, {noise.beta:g}")
        print(
            f"| {noise.alpha:g}, {noise.beta:g} | {alpha:.3f} | {beta:.3f} | {asymmetry:.3f} |",
            flush=True,
        )
    print("\n| past the kink | rows | runs | interval of alpha | of beta |\n|---|---|---|---|---|")
    for past, n, number in KINKS:
        alpha, beta = kink_coverage(past, n, number)
        print(f"| {past:g} | {n:,} | {number} | {alpha:.3f} | {beta:.3f} |", flush=True)
    print(f"{time.process_time() - started:.0f} CPU seconds", file=sys.stderr)
    if broken:
        sys.exit(f"level or coverage not held: {'; '.join(broken)}")


if __name__ == "__main__":
    main()
