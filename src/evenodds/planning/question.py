"""What a plan asks: a test with its settings, the data it is for, and how often it rejects.

On exemplary data the curve is known as well as endless rows would know it. With few rows a
parameter the fitted curve follows chance, and its statistic is centred nearer 0. How much
depends on the world, the noise and the method, so it is measured where the plan is, and the plan
is worked out again.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypedDict

import numpy as np
from scipy.optimize import brentq

from evenodds.errors import ImprecisionWarning, InputError
from evenodds.inference.asymmetry import read_method
from evenodds.inference.method import Method, MethodName
from evenodds.inference.profile import Alternative
from evenodds.inference.results import check_alternative
from evenodds.noise import ClassConditionalNoise
from evenodds.planning.expected_data import (
    FINE,
    MOST_ANCHORS,
    AnchorPlan,
    AnchorVariance,
    Centre,
    Centres,
    Grain,
    centres,
)
from evenodds.simulation.own_data import PilotWorld
from evenodds.simulation.rejection import PValues, Setting
from evenodds.simulation.world import World
from evenodds.simulation.worlds import find_world
from evenodds.validation import MOST_RUNS, check_between, check_tolerances, check_whole

Design: TypeAlias = str | World | AnchorVariance

# Rows that stand for "as many as you like", and the most that a plan is made for.
ENDLESS_ROWS = 1e12
MOST_ROWS = 10**12
# With fewer rows of one label a pilot says too little about the curve.
FEWEST_PILOT_ROWS = 30


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What few rows do to a statistic, beside its centre on exemplary data.

    Measured `at` a number of rows: the factor on its mean. It is taken to approach 1 as the root
    of the rows grows, which is slower than seen where rows are many.
    """

    at: float
    factor: float

    def of(self, centre: Centre, n_rows: float) -> Centre:
        """Return a centre corrected for a number of rows."""
        return replace(centre, mean=centre.mean * self.moved(max(n_rows, self.at)).factor)

    def moved(self, n_rows: float) -> "Shortfall":
        """Return what this one foretells for another number of rows."""
        share = float(np.sqrt(self.at / n_rows))
        return Shortfall(at=n_rows, factor=1 - (1 - self.factor) * share)


EXACT = Shortfall(at=0.0, factor=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A test to be planned, with everything but noise, rows and anchors settled."""

    design: World | AnchorVariance
    method: Method
    alternative: Alternative
    tolerance: float
    shared_tolerance: float
    shared_is_default: bool
    significance: float
    seed: int
    grain: Grain = FINE
    shortfall: Shortfall = EXACT
    _known: dict[ClassConditionalNoise, Centres] = field(
        default_factory=dict, compare=False, repr=False
    )

    def simulation(self, plan: "Point", seed: int) -> PValues:
        """Return what tests data sets drawn as planned, whose summary numbers will not do."""
        if not isinstance(self.design, World):
            raise TypeError("summary numbers cannot be simulated")
        setting = Setting(
            world=self.design,
            noise=plan.noise,
            n_rows=plan.n_rows or 0,
            n_anchors=plan.n_anchors,
            tolerance=self.tolerance,
            shared_tolerance=self.shared_tolerance,
            seed=seed,
        )
        return PValues(setting, self.method, self.alternative)

    def power(self, noise: ClassConditionalNoise, n_rows: float | None, n_anchors: int) -> float:
        """Return the probability that the test rejects uniform noise."""
        if noise not in self._known:
            like = next(iter(self._known.values()), None)
            self._known[noise] = (
                centres(self.design, noise, self.method, self.seed, self.grain)
                if like is None
                else like.under(noise)
            )
        plan = AnchorPlan(
            n_anchors=n_anchors, tolerance=self.tolerance, shared_tolerance=self.shared_tolerance
        )
        found = self._known[noise].at(n_rows, plan)
        # Where both classes are flipped alike there is no mean to fall short.
        if n_rows is not None and noise.asymmetry:
            found = [self.shortfall.of(centre, n_rows) for centre in found]
        powers = [centre.power(self.significance, self.alternative) for centre in found]
        return float(np.mean(powers))


class Settings(TypedDict, total=False):
    """The settings of a test that every plan takes, as `power` describes them."""

    method: MethodName | Method | None
    alternative: Alternative
    tolerance: float
    shared_tolerance: float | None
    significance: float
    seed: int


def read_question(
    design: Design,
    *,
    method: MethodName | Method | None = None,
    alternative: Alternative = "two-sided",
    tolerance: float = 0.05,
    shared_tolerance: float | None = None,
    significance: float = 0.05,
    seed: int = 0,
) -> Question:
    """Check what a plan is asked to go by."""
    chosen = design if isinstance(design, AnchorVariance) else find_world(design)
    summary = isinstance(chosen, AnchorVariance)
    default: MethodName = "wald" if summary else "boundary"
    test = _check_settings(read_method(default if method is None else method))
    if summary and test.has_rates:
        raise InputError(
            "an AnchorVariance describes method 'wald' only: for other methods plan from a world, "
            "such as data_world(X, y) of a pilot sample."
        )
    if isinstance(chosen, PilotWorld):
        _check_pilot(chosen)
    read = chosen.tolerances if isinstance(chosen, World) else check_tolerances
    own, shared = read(tolerance, shared_tolerance)
    return Question(
        design=chosen,
        method=test,
        alternative=check_alternative(alternative),
        tolerance=own,
        shared_tolerance=shared,
        shared_is_default=shared_tolerance is None,
        significance=check_between(significance, "significance", 0, 1, closed="neither"),
        seed=check_whole(seed, "seed"),
    )


def _check_pilot(pilot: PilotWorld) -> None:
    """Refuse a pilot that hardly knows one of its labels."""
    label, count = min(pilot.label_counts, key=lambda pair: pair[1])
    if count < FEWEST_PILOT_ROWS:
        raise InputError(
            f"the pilot has {count:g} rows labelled {label!r} but a plan needs at least "
            f"{FEWEST_PILOT_ROWS} of each label: collect more of them, or plan from a named world."
        )


def _check_settings(method: Method) -> Method:
    """Refuse settings that the formulas do not cover; simulation covers all."""
    if not method.fits_curve:
        raise InputError(
            f"method is {method.name!r} but plans are worked out for the tests that fit one curve: "
            "use rejection_rate, which simulates, or plan for method 'boundary'."
        )
    for name, usual, law in (
        ("weights", "equal", "equal weights"),
        ("calibration", "asymptotic", "the normal law"),
    ):
        chosen = getattr(method, name, usual)
        if chosen != usual:
            raise InputError(
                f"{name} is {chosen!r} but plans are worked out for {law}: use rejection_rate, "
                "which simulates."
            )
    return method


def check_rows(n_rows: Any, question: Question) -> int | None:
    """Check a number of rows; summary numbers may come without."""
    if n_rows is not None:
        return check_whole(n_rows, "n_rows", at_least=1, at_most=MOST_ROWS)
    if not isinstance(question.design, AnchorVariance):
        raise InputError("n_rows is needed: a world does not say how much data you will have.")
    return None


def check_anchor_number(n_anchors: Any, question: Question) -> int:
    """Check a number of anchors; the joint test alone can do without."""
    fewest = 0 if question.method.reads_shape else 1
    k = check_whole(n_anchors, "n_anchors", at_least=fewest)
    if k > MOST_ANCHORS and not isinstance(question.design, AnchorVariance):
        raise InputError(f"n_anchors is {k} but plans consider at most {MOST_ANCHORS}.")
    return k


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
        one, two = (
            np.log([plan.n_rows or 1, plan.n_anchors or 1, abs(plan.noise.asymmetry) or 1])
            for plan in (self, other)
        )
        return float(np.abs(one - two).max())


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
    if not isinstance(world, World) or not question.method.has_rates:
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
    n_rows = plan.n_rows or 0
    drawn = question.simulation(plan, question.seed + SEED_OFFSET + number)
    pvalues, interrupted = drawn.of_all(runs, runs_a_task=RUNS_A_TASK, workers=workers)
    if interrupted:
        raise KeyboardInterrupt
    rejected = pvalues < question.significance  # not where the test could not be done
    rate = float(np.clip(rejected.mean(), 0.5 / runs, 1 - 0.5 / runs))

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
