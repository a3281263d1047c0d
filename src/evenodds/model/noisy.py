"""Fitting the noisy-logistic curve for a hypothesised asymmetry, with anchor evidence.

The likelihood is not concave in (theta, tau): the climb is damped, keeps tau within its
bounds, and starts from several noise rates (`noisy_starts`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenodds.model.evidence import Evidence
from evenodds.model.inverses import symmetric_inverse
from evenodds.model.noisy_problem import NoisyEvaluation, NoisyProblem
from evenodds.model.noisy_starts import first_rate, index_starts
from evenodds.model.noisy_sums import NoisyPoint
from evenodds.model.solver import with_secant
from evenodds.validation import FloatArray

# Beyond this rate labels are close to coins, and the curve close to flat.
LARGEST_RATE = 0.49
# Ends further below the best than this, in log-likelihood, are out of the running; ends that
# differ by less than this much, and in the noise rate by less than that, are one.
CONTENDING = 10.0
SAME_TOP, SAME_RATE = 0.01, 0.01
# A climb that comes this close below a known top, in squared standard errors, would end there.
SAME_HILL = 0.25
# The climb ends when score times step, the square of the error in standard errors, falls below
# this.
LAST_GAIN = 1e-19
# Or when this many steps are taken, or several in a row gain next to nothing: a curve that
# is a step creeps on forever.
MAX_STEPS = 60
CREEP = 1e-8
CREEP_OF_STEPS = 1e-4
MAX_CREEPING = 3
# Fewer rows than this many a parameter on the slope of the curve make it a step.
STEP_ROWS_A_PARAMETER = 2.0


@dataclass(frozen=True, slots=True)
class NoisyFit:
    """The best noisy-logistic curve for one hypothesised asymmetry."""

    here: NoisyEvaluation
    objective: float  # log-likelihood less the evidence's penalty
    rate_is_free: bool  # False where tau sits on its bound
    converged: bool
    n_steps: int

    @property
    def point(self) -> NoisyPoint:
        """The curve."""
        return self.here.point

    @property
    def is_step(self) -> bool:
        """Whether hardly any row lies on the slope of the curve."""
        return _is_step(self.here)


def _is_step(here: NoisyEvaluation) -> bool:
    return here.transition < STEP_ROWS_A_PARAMETER * len(here.point.coefficients)


@dataclass(frozen=True, slots=True)
class Secant:
    """The last step, the change of score it made, and whether tau was free."""

    step: FloatArray
    change: FloatArray
    free: bool


def find_tops(
    problem: NoisyProblem,
    evidence: Evidence,
    asymmetry: float,
    plain_coefficients: FloatArray,
    last_gain: float = LAST_GAIN,
    *,
    known: Sequence[NoisyFit] = (),
) -> list[NoisyFit]:
    """Climb from starts at many noise rates; return the tops that contend, the best first.

    Tops that are known already are among them, and no climb goes up the same hill again.
    """
    plain = NoisyPoint(plain_coefficients, first_rate(asymmetry), asymmetry)
    first = climb_noisy(problem, evidence, asymmetry, plain, last_gain, known=known)
    tops = [*known, first]
    for start in index_starts(problem, evidence, first.point):
        tops.append(climb_noisy(problem, evidence, asymmetry, start, last_gain, known=tops))
    return contending(tops)


def contending(ends: list[NoisyFit]) -> list[NoisyFit]:
    """Return the ends that are different tops not far below the best, the best first."""
    tops: list[NoisyFit] = []
    for end in sorted(ends, key=lambda end: -end.objective):
        if tops and end.objective < tops[0].objective - CONTENDING:
            break
        if not any(_same_top(end, top) for top in tops):
            tops.append(end)
    return tops


def _same_top(one: NoisyFit, other: NoisyFit) -> bool:
    near = abs(one.objective - other.objective) < SAME_TOP
    return near and abs(one.point.rate - other.point.rate) < SAME_RATE


def climb_noisy(
    problem: NoisyProblem,
    evidence: Evidence,
    asymmetry: float,
    start: NoisyPoint,
    last_gain: float = LAST_GAIN,
    *,
    rates: tuple[float, float] | None = None,
    patience: int = MAX_CREEPING,
    known: Sequence[NoisyFit] = (),
) -> NoisyFit:
    """Climb by damped Fisher scoring with the noise rate between its bounds.

    `rates` replaces the bounds; equal ones hold the noise rate where it is. `patience` is the
    number of steps in a row that may gain next to nothing. Close below one of the `known` tops
    the climb ends with that one.
    """
    bounds = rates or rate_bounds(asymmetry)
    rate = min(max(start.rate, bounds[0]), bounds[1])
    theta = evidence.onto(start.coefficients)
    here = problem.evaluate(NoisyPoint(theta, rate, asymmetry))
    objective = here.log_likelihood - evidence.penalty(theta)
    damping, creeping = 0.0, 0
    secant: Secant | None = None
    score, information = reduced(here, evidence)
    for step_number in range(1, max(MAX_STEPS, patience) + 1):
        free = _free(here.point.rate, score[-1], bounds)
        step = _step(score, information, free, damping, secant)
        step = _within_bounds(step, information, score, here.point.rate, bounds)
        gain = float(score @ step)
        if gain <= last_gain:
            return NoisyFit(here, objective, free, True, step_number)
        there = problem.evaluate(moved_point(here.point, evidence, step, bounds))
        reached = there.log_likelihood - evidence.penalty(there.point.coefficients)
        # Near the top the gain drowns in the rounding of the sum; trust the derivatives there.
        rounding = 1e-13 * abs(objective)
        if reached > objective or (gain < 1e-6 and reached > objective - rounding):
            before = score
            score, information = reduced(there, evidence)
            secant = Secant(step, before - score, free)
            creep = CREEP_OF_STEPS if _is_step(there) else CREEP
            creeping = creeping + 1 if reached - objective < creep < gain else 0
            here, objective = there, reached
            top = _top_of_hill(here.point, objective, known, evidence)
            if top is not None:
                return top
            damping = damping / 10 if damping > 1e-6 else 0.0
            if creeping == patience:
                return NoisyFit(here, objective, free, False, step_number)
        else:
            damping = max(10 * damping, 1e-3)
            secant = None
            if damping > 1e12:
                return NoisyFit(here, objective, free, False, step_number)
    return NoisyFit(here, objective, free, False, step_number)


def _top_of_hill(
    point: NoisyPoint, objective: float, known: Sequence[NoisyFit], evidence: Evidence
) -> NoisyFit | None:
    """Return the known top that a climb is about to reach."""
    for top in known:
        off_rate = point.rate - top.point.rate
        if objective > top.objective or abs(off_rate) > SAME_RATE or top.is_step:
            continue
        off = np.append(point.coefficients - top.point.coefficients, off_rate)
        distance = off @ top.here.information[:-1, :-1] @ off
        if distance + off[:-1] @ evidence.precision @ off[:-1] < SAME_HILL:
            return top
    return None


def asymmetry_direction(fit: NoisyFit) -> FloatArray:
    """Return the direction in (theta, tau, Delta) in which the asymmetry moves.

    On its lower bound tau is half the size of the asymmetry, so it moves along.
    """
    direction = np.zeros(len(fit.point.coefficients) + 2)
    direction[-1] = 1
    on_lower_bound = not fit.rate_is_free and fit.point.rate <= abs(fit.point.asymmetry) / 2
    if on_lower_bound:
        direction[-2] = np.sign(fit.point.asymmetry) / 2
    return direction


def along_the_tangent(fit: NoisyFit, evidence: Evidence, asymmetry: float) -> NoisyPoint:
    """Return where a fit moves, to first order, when the hypothesised asymmetry does."""
    change = asymmetry - fit.point.asymmetry
    _, information = reduced(fit.here, evidence)
    moving = fit.here.information @ asymmetry_direction(fit)
    pull = np.append(evidence.basis.T @ moving[:-2], moving[-2])
    kept = len(pull) if fit.rate_is_free else len(pull) - 1
    step = np.zeros(len(pull))
    step[:kept] = -change * symmetric_inverse(information[:kept, :kept]) @ pull[:kept]
    there = moved_point(fit.point, evidence, step, rate_bounds(asymmetry))
    return NoisyPoint(there.coefficients, there.rate, asymmetry)


def reduced_score(score: FloatArray, point: NoisyPoint, evidence: Evidence) -> FloatArray:
    """Return the score of the free coefficients and tau, with the evidence."""
    total = score[:-1] + evidence.penalty_score(point.coefficients)
    return np.append(evidence.basis.T @ total, score[-1])


def reduced(here: NoisyEvaluation, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    """Return score and information of the free coefficients and tau, with the evidence."""
    n_parameters = len(here.point.coefficients)
    basis, n_free = evidence.basis, evidence.basis.shape[1]
    score = reduced_score(here.score[:-1], here.point, evidence)
    information = np.empty((n_free + 1, n_free + 1))
    block = here.information[:n_parameters, :n_parameters] + evidence.precision
    information[:-1, :-1] = basis.T @ block @ basis
    border = basis.T @ here.information[:n_parameters, n_parameters]
    information[:-1, -1] = information[-1, :-1] = border
    information[-1, -1] = here.information[n_parameters, n_parameters]
    return score, information


def rate_bounds(asymmetry: float) -> tuple[float, float]:
    """Return the noise rates that leave both flip rates possible."""
    return abs(asymmetry) / 2, LARGEST_RATE


def _free(rate: float, rate_score: float, bounds: tuple[float, float]) -> bool:
    """Tell whether tau may move: it is inside its bounds, or wants to go inwards."""
    low, high = bounds
    if low == high:
        return False
    if rate <= low:
        return rate_score > 0
    return rate < high or rate_score < 0


def _step(
    score: FloatArray,
    information: FloatArray,
    free: bool,
    damping: float,
    secant: "Secant | None",
) -> FloatArray:
    """Return the damped scoring step; tau stands still where it is not free."""
    n_free = len(score) if free else len(score) - 1
    block = information[:n_free, :n_free]
    if damping > 0:
        block = block + damping * np.diag(block.diagonal())
    inverse = symmetric_inverse(block)
    if secant is not None and secant.free == free:
        inverse = with_secant(inverse, secant.step[:n_free], secant.change[:n_free])
    step = np.zeros(len(score))
    step[:n_free] = inverse @ score[:n_free]
    return step


def _within_bounds(
    step: FloatArray,
    information: FloatArray,
    score: FloatArray,
    rate: float,
    bounds: tuple[float, float],
) -> FloatArray:
    """Stop tau at its bound and let theta make the best of it."""
    target = min(max(rate + step[-1], bounds[0]), bounds[1])
    if target == rate + step[-1]:
        return step
    shortened = np.empty(len(step))
    shortened[-1] = target - rate
    inverse = symmetric_inverse(information[:-1, :-1])
    shortened[:-1] = inverse @ (score[:-1] - information[:-1, -1] * shortened[-1])
    return shortened


def moved_point(
    point: NoisyPoint, evidence: Evidence, step: FloatArray, bounds: tuple[float, float]
) -> NoisyPoint:
    """Return where a step of (free coefficients, tau) leads, with tau between its bounds."""
    rate = min(max(point.rate + float(step[-1]), bounds[0]), bounds[1])
    coefficients = point.coefficients + evidence.basis @ step[:-1]
    return NoisyPoint(coefficients, rate, point.asymmetry)
