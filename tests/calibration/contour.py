"""Level and power of the contour test: ``python -m tests.calibration.contour``.

Prints two Markdown tables of the docs page: how often each rung is rejected, and which answers
are given where wider noise may go unseen.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import stats

import evenodds as eo
from evenodds.inference.contour.ladder import Estimates, fit_noise, group_anchors
from evenodds.simulation.world import LinearIndex, World
from evenodds.simulation.worlds import find_world, many_features, two_bells

skewed, probit, hard_cases = (
    partial(find_world, name) for name in ("skewed", "probit", "hard cases")
)

FIVE = (0.1, 0.3, 0.5, 0.7, 0.9)
THREE = (0.2, 0.5, 0.8)
WITH_ENDS = (0.0, 0.2, 0.5, 0.8, 1.0)
# As far from 0 and 1 as a tolerance of a tenth asks.
INNER = (0.15, 0.3, 0.5, 0.7, 0.85)
TENTHS = tuple(round(0.1 * step, 1) for step in range(1, 10))
# A case this sure is as good as certain.
CERTAIN = 1e-4
SAME_ROWS, OTHER_ROWS = "model of the same rows", "model of other rows"
# A model states posteriors between these, of so many cases at most.
STATED = (0.05, 0.95)
MOST_STATED = 400


def balanced(posterior: np.ndarray) -> np.ndarray:
    """Return a factor on flip rates: none at toss-ups, more the surer the case."""
    return 2 * np.abs(2 * posterior - 1)


@dataclass(frozen=True)
class Cell:
    """One setting to simulate, and the noise that is true in it."""

    name: str
    world: Callable[[], World]
    n: int
    alpha: float
    beta: float
    truth: str
    posteriors: tuple[float, ...] = FIVE
    each: int = 4
    tolerance: float = 0.0
    shared: float = 0.0
    stated_by: str = "expert"
    tilt: float = 0.0

    def draw(self, seed: int, run: int):
        """Return features, labels, anchors and groups of one run."""
        rng = np.random.default_rng([seed, run])
        world = self.world()
        noise = eo.ClassConditionalNoise(self.alpha, self.beta)
        trial = world.draw(self.n, 0, noise, rng)
        if self.tilt:
            trial = replace(trial, labels=tilted_labels(world, self.tilt, trial.features, rng))
        if self.stated_by == SAME_ROWS:
            return trial.features, trial.labels, by_model(trial.features, trial.true_labels), None
        if self.stated_by == OTHER_ROWS:
            return trial.features, trial.labels, by_model(*world.draw_rows(self.n, rng)), None
        stated = np.repeat(self.posteriors, self.each)
        errors = rng.uniform(-self.tolerance, self.tolerance, len(stated))
        errors += rng.uniform(-self.shared, self.shared)
        sure = (stated == 0) | (stated == 1)
        true = np.clip(stated + np.where(sure, 0, errors), CERTAIN, 1 - CERTAIN)
        seeds = world.draw_anchor_seeds(len(stated), rng)
        anchors = eo.Anchors(
            world.index.move_to(seeds, world.link.index_at(true)),
            posterior=stated,
            tolerance=np.where(sure, 0, self.tolerance),
            shared_tolerance=self.shared,
        )
        return trial.features, trial.labels, anchors, trial.groups

    def test(self, seed: int, run: int, engine: str) -> eo.ContourTestResult:
        """Return the result of one run."""
        X, labels, anchors, groups = self.draw(seed, run)
        return eo.contour_test(X, labels, anchors, groups=groups, engine=engine)


def by_model(X: np.ndarray, true: np.ndarray) -> eo.Anchors:
    """State posteriors by a logistic curve fitted to true labels, with their covariance."""
    fit = eo.fit_logistic(X, true)
    posterior = 1 / (1 + np.exp(-fit.log_odds(X)))
    chosen = np.flatnonzero((posterior > STATED[0]) & (posterior < STATED[1]))[:MOST_STATED]
    slopes = (posterior * (1 - posterior))[chosen]
    covariance = fit.log_odds_covariance(X[chosen]) * np.outer(slopes, slopes)
    return eo.Anchors(
        X[chosen], posterior=posterior[chosen], tolerance=0, source_covariance=covariance
    )


def tilted_labels(world: World, tilt: float, features: np.ndarray, rng) -> np.ndarray:
    """Draw labels along another index: every other slope is longer, the rest are shorter.

    Normal features leave both indices spread (nearly) alike, so the flips balance at every
    posterior: only cases of one contour are labelled apart.
    """
    intercept, *slopes = world.index.coefficients
    lean = np.where(np.arange(len(slopes)) % 2, 1 - tilt, 1 + tilt)
    other = replace(world, index=LinearIndex(np.array([intercept, *(slopes * lean)])))
    return (rng.random(len(features)) < other.posterior(features)).astype(np.int8)


def rare() -> World:
    return two_bells(0.15)


def ten_features() -> World:
    return many_features(10)


def rare_four_times() -> World:
    return replace(rare(), name="clustered", row_copies=4)


def near(make: Callable[[], World]) -> Callable[[], World]:
    """Return a world whose anchors lie where rows do, as a local fit needs them."""
    return lambda: replace(make(), draw_anchor_seeds=make().draw_features)


def sure_cases() -> World:
    return replace(skewed(), name="sure cases", flip_weight=balanced)


def gentle() -> World:
    """Return normal features and a slope that never gets steep: plateaus are hardly seen."""
    return replace(many_features(2), name="gentle", index=LinearIndex(np.array([0.0, 1.5, 1.05])))


def few_features() -> World:
    return many_features(2)


def five_features() -> World:
    return many_features(5)


def hard(make: Callable[[], World]) -> Callable[[], World]:
    """Return a world whose flips peak at a toss-up, where they have the rate that is named."""
    return lambda: replace(make(), name="hard cases", flip_weight=lambda p: 4 * p * (1 - p))


LEVEL_CELLS = (
    Cell("rare", rare, 2000, 0.0, 0.0, "clean"),
    Cell("rare", rare, 2000, 0.2, 0.2, "uniform"),
    Cell("rare", rare, 5000, 0.1, 0.1, "uniform"),
    Cell("rare", rare, 5000, 0.3, 0.3, "uniform"),
    Cell("rare", rare, 5000, 0.05, 0.2, "class-conditional"),
    Cell("rare, 3 contours", rare, 5000, 0.1, 0.1, "uniform", THREE),
    Cell("rare, 9 contours", rare, 5000, 0.1, 0.1, "uniform", TENTHS),
    Cell("rare, with 0 and 1", rare, 5000, 0.1, 0.1, "uniform", WITH_ENDS),
    Cell("rare, rows repeated", rare_four_times, 8000, 0.1, 0.1, "uniform"),
    Cell("skewed", skewed, 2000, 0.0, 0.0, "clean"),
    Cell("skewed", skewed, 2000, 0.2, 0.05, "class-conditional"),
    Cell("skewed, tolerance", skewed, 3000, 0.1, 0.1, "uniform", tolerance=0.08),
    Cell("rare, tolerance", rare, 5000, 0.1, 0.1, "uniform", tolerance=0.05),
    Cell("skewed, shared error", skewed, 3000, 0.1, 0.1, "uniform", tolerance=0.04, shared=0.05),
    Cell("probit", probit, 4000, 0.1, 0.1, "uniform"),
    Cell("10 features", ten_features, 3000, 0.1, 0.1, "uniform"),
    Cell("5 features", lambda: many_features(5), 6000, 0.3, 0.3, "uniform"),
    Cell("20 features", lambda: many_features(20), 6000, 0.2, 0.2, "uniform"),
    Cell("gentle", gentle, 3000, 0.3, 0.3, "uniform"),
    Cell("gentle", gentle, 10000, 0.4, 0.4, "uniform"),
)
MODEL_CELLS = tuple(
    Cell(f"{name}, {whose}", world, n, alpha, beta, truth, stated_by=whose)
    for name, world, n, alpha, beta, truth in (
        ("rare", rare, 2000, 0.1, 0.1, "uniform"),
        ("10 features", ten_features, 1500, 0.0, 0.0, "clean"),
        ("10 features", ten_features, 1500, 0.1, 0.1, "uniform"),
        ("10 features", ten_features, 1500, 0.25, 0.05, "class-conditional"),
    )
    for whose in (OTHER_ROWS, SAME_ROWS)
)
POWER_CELLS = (
    Cell("rare", rare, 5000, 0.05, 0.15, "class-conditional"),
    Cell("skewed", skewed, 2000, 0.05, 0.15, "class-conditional"),
    Cell("hard cases", hard_cases, 5000, 0.15, 0.15, "instance-dependent"),
    Cell("hard cases", hard_cases, 20000, 0.15, 0.15, "instance-dependent"),
    Cell("sure cases", sure_cases, 5000, 0.15, 0.15, "instance-dependent"),
    Cell(
        "tilted, tolerance", gentle, 5000, 0.0, 0.0, "instance-dependent", tolerance=0.05, tilt=0.3
    ),
    *(
        Cell(
            f"tilted, {whose}",
            ten_features,
            1500,
            0.0,
            0.0,
            "instance-dependent",
            stated_by=whose,
            tilt=0.2,
        )
        for whose in (OTHER_ROWS, SAME_ROWS)
    ),
)
LOCAL_CELLS = (
    Cell("rare, near", near(rare), 2000, 0.0, 0.0, "clean"),
    Cell("rare, near", near(rare), 5000, 0.1, 0.1, "uniform"),
    Cell("rare, near", near(rare), 5000, 0.05, 0.2, "class-conditional"),
    Cell("skewed, near", near(skewed), 2000, 0.0, 0.0, "clean"),
    Cell("skewed, near", near(skewed), 5000, 0.1, 0.1, "uniform"),
    Cell("hard cases, near", near(hard_cases), 5000, 0.15, 0.15, "instance-dependent"),
)
# Hard-case noise of the stated size, 20 in 100 at a toss-up: nothing less may be the answer.
HARD_CELLS = tuple(
    Cell(name, hard(make), n, 0.2, 0.2, "instance-dependent", posteriors, each, tolerance)
    for name, make, n, each, tolerance, posteriors in (
        *(
            (f"{features} features", make, n, 4, tolerance, posteriors)
            for features, make in ((2, few_features), (5, five_features))
            for n in (1000, 4000)
            for tolerance, posteriors in ((0.05, FIVE), (0.1, INNER))
        ),
        ("rare", rare, 4000, 4, 0.05, FIVE),
        ("2 features", few_features, 20_000, 12, 0.05, FIVE),
    )
)
# Worlds in which a rung is the truth, from data that hardly tell to ample ones.
NAMED_CELLS = tuple(
    Cell(f"{features} features", make, n, alpha, beta, truth, posteriors, each, tolerance)
    for alpha, beta, truth in (
        (0.0, 0.0, "clean"),
        (0.1, 0.1, "uniform"),
        (0.05, 0.2, "class-conditional"),
    )
    for features, make, n, each, tolerance, posteriors in (
        (2, few_features, 1000, 4, 0.1, INNER),
        (5, five_features, 4000, 4, 0.05, FIVE),
        (2, few_features, 20_000, 4, 0.0, FIVE),
        (2, few_features, 20_000, 12, 0.05, FIVE),
    )
)
RUNGS = ("clean", "uniform", "class-conditional")
# Runs of a cell of answers, unless fewer are asked for.
ANSWER_RUNS = 200
ANSWERS = (*RUNGS, "instance-dependent", "cannot tell")


def rejections(cell: Cell, runs: int, seed: int, engine: str) -> np.ndarray:
    """Return which rungs each run rejects at 5%, by itself."""
    return np.array([_rejected(cell, seed, run, engine) for run in range(runs)])


def _rejected(cell: Cell, seed: int, run: int, engine: str) -> list[float]:
    """Return 1 for each rung that a run rejects, nan for a run that could not be tested."""
    try:
        result = cell.test(seed, run, engine)
    except eo.AnchorError:
        return [np.nan] * len(RUNGS)  # too few rows around an anchor for a local fit
    return [float(rung.pvalue < 0.05) for rung in result.rungs]


def answers(cell: Cell, runs: int, seed: int) -> tuple[np.ndarray, float]:
    """Return how often each of ANSWERS is given, and how often the ladder passes the truth."""
    results = [cell.test(seed, run, "spline") for run in range(runs)]
    given = [result.reached() for result in results]
    places = [ANSWERS.index(result.not_rejected()) for result in results]
    past = np.mean([place > ANSWERS.index(cell.truth) for place in places])
    return np.array([given.count(answer) for answer in ANSWERS]) / runs, float(past)


def too_simple(cell: Cell, shares: np.ndarray) -> float:
    """Return how often the answer is a noise simpler than the truth."""
    return float(shares[: ANSWERS.index(cell.truth)].sum())


def plain_rejections(cell: Cell, runs: int, seed: int) -> float:
    """Return how often the line is rejected around a plain logistic curve, which cannot bend."""
    rejected = 0
    for run in range(runs):
        X, labels, anchors, _ = cell.draw(seed, run)
        fit = eo.fit_logistic(X, labels, covariance="sandwich")
        posterior = 1 / (1 + np.exp(-fit.log_odds(anchors.points)))
        slopes = posterior * (1 - posterior)
        covariance = fit.log_odds_covariance(anchors.points) * np.outer(slopes, slopes)
        contours = group_anchors(anchors)
        estimates = Estimates(posterior, covariance).averaged(contours.averaging)
        line = fit_noise("class-conditional", contours, estimates)
        rejected += (line.pvalue or 1.0) < 0.05
    return rejected / runs


def true_rungs(cell: Cell) -> list[int]:
    """Return the rungs whose hypothesis holds in a cell."""
    order = (*RUNGS, "instance-dependent")
    return [place for place, rung in enumerate(RUNGS) if order.index(cell.truth) <= place]


def print_answers(runs: int, seed: int) -> int:
    """Print which answers are given, and return in how many cells one is wrong too often."""
    runs = min(runs, ANSWER_RUNS)
    cells = (*HARD_CELLS, *NAMED_CELLS)
    upper = float(stats.binom.ppf(1 - 1e-3 / len(cells), runs, 0.05) / runs)
    failures = 0
    print(f"\nAnswers, {runs} runs; too simple, or past the truth, at most {upper:.3f}\n")
    print("| world | rows | cases a contour | tolerance | truth | " + " | ".join(ANSWERS), end="")
    print(" | past the truth |\n" + "|---" * (6 + len(ANSWERS)) + "|")
    for cell in cells:
        shares, past = answers(cell, runs, seed)
        failures += max(too_simple(cell, shares), past) > upper
        shown = " | ".join(f"{share:.3f}" for share in shares)
        flips = f"{cell.alpha:g}, {cell.beta:g}"
        truth = "hard cases" if cell in HARD_CELLS else cell.truth
        print(
            f"| {cell.name} | {cell.n} | {cell.each} | {cell.tolerance:g} | {truth} ({flips}) | "
            f"{shown} | {past:.3f} |",
            flush=True,
        )
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--engine", default="spline")
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--answers", action="store_true", help="the table of answers alone")
    options = parser.parse_args()
    if options.answers:
        return int(print_answers(options.runs, options.seed) > 0)
    upper = level_bound(options.runs)
    started = time.process_time()
    failures = 0
    print(f"Engine {options.engine}, {options.runs} runs at 5%; a true rung at most {upper:.3f}\n")
    print("| world | rows | alpha, beta | truth | clean | uniform | line | past the truth |")
    print("|---|---|---|---|---|---|---|---|")
    everywhere = (*LEVEL_CELLS, *MODEL_CELLS, *POWER_CELLS)
    for cell in LOCAL_CELLS if options.engine == "local" else everywhere:
        found = rejections(cell, options.runs, options.seed, options.engine)
        untested = int(np.isnan(found[:, 0]).sum())
        found = found[~np.isnan(found[:, 0])]
        if len(found) == 0:
            print(f"| {cell.name} | {cell.n} | not tested in any run |")
            continue
        rates, true = found.mean(axis=0), true_rungs(cell)
        past = found[:, : true[0] + 1].all(axis=1).mean() if true else np.nan
        failures += bool(true) and past > upper
        shown = " | ".join(f"{rate:.3f}" for rate in rates)
        print(
            f"| {cell.name} | {cell.n} | {cell.alpha:g}, {cell.beta:g} | {cell.truth} | {shown} | "
            f"{past:.3f} |{f' {untested} not tested' if untested else ''}",
            flush=True,
        )
    print("\nThe line around a plain logistic curve:")
    for cell in LEVEL_CELLS[1:4]:
        rate = plain_rejections(cell, options.runs, options.seed)
        print(f"  {cell.name} {cell.n} rows, {cell.alpha:g}, {cell.beta:g}: {rate:.3f}", flush=True)
    if options.engine == "spline":
        failures += print_answers(options.runs, options.seed)
    print(f"\n{time.process_time() - started:.0f} CPU seconds, {failures} cells out of their band")
    return int(failures > 0)


def level_bound(runs: int) -> float:
    """Return a rate that no valid cell exceeds, with one false alarm in a thousand suites."""
    return float(
        stats.binom.ppf(1 - 1e-3 / (len(LEVEL_CELLS) + len(MODEL_CELLS)), runs, 0.05) / runs
    )


if __name__ == "__main__":
    sys.exit(main())
