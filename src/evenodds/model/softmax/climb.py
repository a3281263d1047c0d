"""Fitting a multinomial logistic curve seen through flipped labels.

Like its two-class sibling the likelihood has more than one hill: the climb is damped, keeps
the rates within their bounds, starts from several rates and slopes and keeps the best end.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenodds.model.inverses import symmetric_inverse
from evenodds.model.softmax.flips import FlipFamily
from evenodds.model.softmax.sums import ClassData, ClassEvaluation, ClassPoint, evaluate
from evenodds.model.solver import with_secant
from evenodds.validation import FloatArray

# Shares of labels drawn afresh from all classes, to start from.
START_SHARES = (0.02, 0.2, 0.4, 0.6)
# How much steeper than the best curve so far the next starts are, how much likelihood a steeper
# end must gain to be started from in turn, and how often.
STEEPER = (2.0, 5.0, 12.0)
WORTH_ANOTHER = 1e-2
MOST_ROUNDS = 4
# The climb ends when score times step, the square of the error in standard errors, falls below
# this; one that only prepares the next may stop earlier.
LAST_GAIN = 1e-8
LAST_GAIN_ON_THE_WAY = 1e-2
MAX_STEPS = 60
# Steps in a row that may gain next to nothing.
CREEP = 1e-8
MAX_CREEPING = 3
# Fewer uncertain rows a parameter than this make the curve a step.
STEP_ROWS_A_PARAMETER = 2.0


@dataclass(frozen=True, slots=True)
class ClassFit:
    """The best curve for hypothesised asymmetries."""

    here: ClassEvaluation
    free: NDArray[np.bool_]  # which rates are off their bounds
    converged: bool

    @property
    def point(self) -> ClassPoint:
        """The curve and its rates."""
        return self.here.point

    @property
    def is_step(self) -> bool:
        """Whether hardly any row's class is uncertain."""
        n_parameters = self.point.coefficients.size + len(self.free)
        return self.here.transition < STEP_ROWS_A_PARAMETER * n_parameters

    @property
    def nuisance(self) -> NDArray[np.intp]:
        """Places of the coefficients and of the free rates among all derivatives."""
        n_theta = self.point.coefficients.size
        return np.concatenate([np.arange(n_theta), n_theta + np.flatnonzero(self.free)])


@dataclass(frozen=True, slots=True)
class Secant:
    """The last step, the change of score it made, and which rates moved."""

    step: FloatArray
    change: FloatArray
    free: NDArray[np.bool_]


def fit_classes(data: ClassData, family: FlipFamily) -> ClassFit:
    """Fit with no asymmetry: from the best curves of a grid of rates, then from steeper ones."""
    on_the_way = partial(climb, data, family, last_gain=LAST_GAIN_ON_THE_WAY)
    profile = _profile(data, family)
    heights = [-np.inf, *(held.here.log_likelihood for held in profile), -np.inf]
    hills = [
        on_the_way(held.point)
        for number, held in enumerate(profile, start=1)
        if heights[number] >= max(heights[number - 1], heights[number + 1])
    ]
    best = _highest(hills)
    for _ in range(MOST_ROUNDS):
        # Strong noise on a steep curve looks like little noise on a mild one: that hill is wide,
        # the steep one narrow and sometimes higher.
        point = best.point
        steeper = _highest(
            [on_the_way(replace(point, coefficients=by * point.coefficients)) for by in STEEPER]
        )
        if steeper.here.log_likelihood <= best.here.log_likelihood + WORTH_ANOTHER:
            break
        best = steeper
    return climb(data, family, best.point)


def _profile(data: ClassData, family: FlipFamily) -> list[ClassFit]:
    """Return the best curve at each rate of the grid, each from the one before."""
    none = np.zeros(len(family.leanings))
    curve = np.zeros((data.n_classes - 1, data.design.shape[1]))
    found, seen = [], 1.0
    for share in START_SHARES:
        # Noise flattens slopes by the share it draws afresh.
        start = ClassPoint(
            curve * seen / (1 - share), _rates_for(share, data.n_classes, family), none
        )
        held = climb(data, family, start, held=True, last_gain=LAST_GAIN_ON_THE_WAY)
        found.append(held)
        curve, seen = held.point.coefficients, 1 - share
    return found


def _highest(ends: list[ClassFit]) -> ClassFit:
    return max(ends, key=lambda end: end.here.log_likelihood)


def climb(
    data: ClassData,
    family: FlipFamily,
    start: ClassPoint,
    *,
    held: bool = False,
    last_gain: float = LAST_GAIN,
) -> ClassFit:
    """Climb by damped Fisher scoring with secants; `held` keeps the rates where they are."""
    low, _ = family.lowest_rates(start.asymmetries)
    high = np.maximum(family.highest_rates, low)
    rates = np.clip(start.rates, low, high)
    look = partial(evaluate, data, family, leaning=False)
    here = look(ClassPoint(start.coefficients, rates, start.asymmetries))
    damping, creeping = 0.0, 0
    free = np.zeros(len(rates), dtype=bool)
    secant: Secant | None = None
    for _ in range(MAX_STEPS):
        free = np.zeros(len(rates), dtype=bool) if held else _free(here, low, high)
        step = _step(here, free, damping, secant, (low, high))
        gain = float(here.score[: len(step)] @ step)
        if gain <= last_gain:
            return ClassFit(evaluate(data, family, here.point), free, True)
        ahead = _moved(here.point, step, low, high)
        there, gained = here, -np.inf
        if family.keeps_classes(ahead.rates, ahead.asymmetries):
            there = look(ahead)
            gained = there.log_likelihood - here.log_likelihood
        rounding = 1e-13 * abs(here.log_likelihood)
        if gained > 0 or (gain < 1e-6 and gained > -rounding):
            secant = Secant(step, (here.score - there.score)[: len(step)], free)
            creeping = creeping + 1 if gained < CREEP < gain else 0
            here = there
            damping = damping / 10 if damping > 1e-6 else 0.0
            if creeping == MAX_CREEPING:
                break
        else:
            damping, secant = max(10 * damping, 1e-3), None
            if damping > 1e12:
                break
    return ClassFit(evaluate(data, family, here.point), free, False)


def _rates_for(share: float, n_classes: int, family: FlipFamily) -> FloatArray:
    """Return rates under which this share of labels is drawn afresh from all classes."""
    rates = np.full(len(family.exchanges), share / n_classes)
    return np.asarray(np.minimum(rates, family.highest_rates))


def _free(here: ClassEvaluation, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
    """Tell which rates may move: inside their bounds, or wanting to go inwards."""
    rates = here.point.rates
    n_theta = here.point.coefficients.size
    wish = here.score[n_theta : n_theta + len(rates)]
    at_low, at_high = rates <= low, rates >= high
    return np.asarray(~(at_low & (wish <= 0)) & ~(at_high & (wish >= 0)))


def _step(
    here: ClassEvaluation,
    free: NDArray[np.bool_],
    damping: float,
    secant: "Secant | None",
    bounds: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Return the damped scoring step; a rate that would leave its bounds stops there."""
    low, high = bounds
    n_theta, rates = here.point.coefficients.size, here.point.rates
    n_steps = n_theta + len(rates)
    step = np.zeros(n_steps)
    moving = np.concatenate([np.ones(n_theta, dtype=bool), free])
    score = here.score[:n_steps].copy()
    information = here.information[:n_steps, :n_steps]
    for _ in range(len(rates) + 1):
        block = information[np.ix_(moving, moving)]
        inverse = symmetric_inverse(block + damping * np.diag(block.diagonal()))
        if secant is not None and (secant.free == moving[n_theta:]).all():
            inverse = with_secant(inverse, secant.step[moving], secant.change[moving])
        step[moving] = inverse @ (score - information @ np.where(moving, 0.0, step))[moving]
        target = rates + step[n_theta:]
        beyond = moving[n_theta:] & ((target < low) | (target > high))
        if not beyond.any():
            return step
        step[n_theta:][beyond] = (np.clip(target, low, high) - rates)[beyond]
        moving[n_theta:][beyond] = False
    return step


def _moved(point: ClassPoint, step: FloatArray, low: FloatArray, high: FloatArray) -> ClassPoint:
    n_theta = point.coefficients.size
    coefficients = point.coefficients + step[:n_theta].reshape(point.coefficients.shape)
    rates = np.clip(point.rates + step[n_theta:], low, high)
    return ClassPoint(coefficients, rates, point.asymmetries)
