"""Correcting a plan by simulation where rows are few beside columns and noise.

On exemplary data the curve is known as well as endless rows would know it. With few rows a
parameter the fitted curve follows chance, and its statistic is centred nearer 0. How much
depends on the world, the noise and the method, so it is measured where the plan is, and the plan
is worked out again.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from evenodds.errors import ImprecisionWarning
from evenodds.inference.boundary import Boundary
from evenodds.inference.joint import Joint
from evenodds.noise import ClassConditionalNoise
from evenodds.planning.question import Question, Shortfall
from evenodds.simulation.parallel import carry_out
from evenodds.simulation.setting import PValues, Setting
from evenodds.simulation.world import World
from evenodds.validation import MOST_RUNS, FloatArray, check_whole

# A plan with fewer rows than these is corrected. Rows are counted as clean, balanced ones: flips
# thin them by (1 - alpha - beta)^2, a rare label by twice its share.
ROWS_A_PARAMETER, FEWEST_ROWS = 60, 400
# Data sets that a correction is measured on, unless said otherwise.
RUNS = 200
MOST_ROUNDS = 5
# Two answers in a row this close, on the log scale, are one; what was measured this near the
# newest answer is averaged.
SETTLED, NEAR = 0.1, 0.25
RUNS_A_TASK = 25
MOST_FACTOR = 2.0
# Apart from the seeds of whoever simulates the plan again, to check it.
SEED_OFFSET = 1_000_003
SHARE_SEED, SHARE_ROWS = 7, 4000


@dataclass(frozen=True, slots=True)
class Point:
    """A plan's rows, anchors and noise; rows are None where summary numbers have their own."""

    noise: ClassConditionalNoise
    n_rows: int | None
    n_anchors: int

    def distance(self, other: "Point") -> float:
        """Return how far two plans are apart, on the log scale."""
        pairs = (
            (self.n_rows or 1, other.n_rows or 1),
            (max(self.n_anchors, 1), max(other.n_anchors, 1)),
            (abs(self.noise.asymmetry) or 1, abs(other.noise.asymmetry) or 1),
        )
        return max(abs(math.log(one / two)) for one, two in pairs)


def settled(
    question: Question, solve: Callable[[Question], Point], *, runs: int, workers: int = 1
) -> tuple[Point, Question]:
    """Return a plan that allows for few rows, with the question it answers.

    `solve` works the plan out by the formula; where that has too few rows, `runs` data sets are
    simulated there, the formula is corrected to what they show, and so on until the plan stays.
    """
    n_runs = check_whole(runs, "runs", at_most=MOST_RUNS)
    plan = solve(question)
    seen: list[tuple[Point, Shortfall]] = []
    for number in range(MOST_ROUNDS):
        if n_runs == 0 or not has_few_rows(question, plan):
            return plan, question
        seen.append((plan, _measured(question, plan, n_runs, workers, number)))
        question = replace(question, shortfall=_averaged(seen))
        previous, plan = plan, solve(question)
        if plan.distance(previous) < SETTLED:
            return plan, question
    warnings.warn(
        f"the plan still moved after {MOST_ROUNDS} corrections by simulation: check it with "
        "rejection_rate.",
        ImprecisionWarning,
        stacklevel=3,
    )
    return plan, question


def has_few_rows(question: Question, plan: Point) -> bool:
    """Tell whether a plan has fewer rows than the formula is known to be right for."""
    world = question.design
    if not isinstance(world, World) or not isinstance(question.method, Boundary | Joint):
        return False  # the formula of the paper's test is close from 500 rows on
    if plan.n_rows is None or plan.noise.asymmetry == 0:
        return False
    features = world.draw_features(SHARE_ROWS, np.random.default_rng(SHARE_SEED))
    positives = float(world.posterior(features).mean())
    thinned = (1 - plan.noise.alpha - plan.noise.beta) ** 2 * 2 * min(positives, 1 - positives)
    needed = max(FEWEST_ROWS, ROWS_A_PARAMETER * (features.shape[1] + 1))
    return bool(plan.n_rows / world.row_copies * thinned < needed)


def _averaged(seen: list[tuple[Point, Shortfall]]) -> Shortfall:
    """Return the newest shortfall, averaged with those measured near it."""
    newest, last = seen[-1]
    near = [short.moved(last.at) for plan, short in seen if plan.distance(newest) < NEAR]
    return Shortfall(at=last.at, factor=float(np.mean([short.factor for short in near])))


def _measured(question: Question, plan: Point, runs: int, workers: int, number: int) -> Shortfall:
    """Return the factor on z with which the formula rejects as often as simulated data do.

    Not the mean of z itself: with few rows some fits go far astray, and it would follow these.
    """
    rejected = _pvalues(question, plan, runs, workers, number) < question.significance
    rate = float(np.clip(rejected.mean(), 0.5 / runs, 1 - 0.5 / runs))
    n_rows = plan.n_rows or 0

    def excess(factor: float) -> float:
        short = replace(question, shortfall=Shortfall(at=n_rows, factor=factor))
        return short.power(plan.noise, n_rows, plan.n_anchors) - rate

    if excess(0.0) >= 0:
        factor = 0.0
    elif excess(MOST_FACTOR) <= 0:
        factor = MOST_FACTOR
    else:
        factor = float(brentq(excess, 0.0, MOST_FACTOR, xtol=1e-4))
    return Shortfall(at=n_rows, factor=factor)


def _pvalues(question: Question, plan: Point, runs: int, workers: int, number: int) -> FloatArray:
    """Return p-values of simulated data sets; nan where one could not be tested."""
    if not isinstance(question.design, World):
        raise TypeError("summary numbers cannot be simulated")
    setting = Setting(
        world=question.design,
        noise=plan.noise,
        n_rows=plan.n_rows or 0,
        n_anchors=plan.n_anchors,
        tolerance=question.tolerance,
        shared_tolerance=question.shared_tolerance,
        seed=question.seed + SEED_OFFSET + number,
    )
    done = carry_out(
        PValues(setting, question.method, question.alternative),
        [range(start, min(start + RUNS_A_TASK, runs)) for start in range(0, runs, RUNS_A_TASK)],
        workers=workers,
        size=len,
    )
    if done.interrupted:
        raise KeyboardInterrupt
    return np.concatenate([part for part in done.results if part is not None])
