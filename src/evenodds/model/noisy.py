"""Fitting the noisy-logistic curve for a hypothesised asymmetry, with anchor evidence.

The likelihood is not concave in (theta, tau): the climb is damped, keeps tau within its
bounds, starts from several noise rates and keeps the best end.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from evenodds.model.evidence import Evidence
from evenodds.model.noisy_sums import NoisyPoint, NoisyScore, NoisySums
from evenodds.model.scaling import Scaling
from evenodds.model.solver import with_secant
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray

# Beyond this rate labels are close to coins, and the curve close to flat.
LARGEST_RATE = 0.49
# Noise rates to start from; slopes of the plain fit are stretched to match.
START_RATES = (0.005, 0.1, 0.25)
# The climb ends when a step promises less than this in log-likelihood: 1e-7 standard errors.
LAST_GAIN = 1e-14
# Or when this many steps are taken; a curve that is a step creeps on forever.
MAX_STEPS = 100
# Fewer rows than this many a parameter on the slope of the curve make it a step.
STEP_ROWS_A_PARAMETER = 2.0


@dataclass(frozen=True, slots=True)
class NoisyEvaluation:
    """The likelihood of the rows at a point, on the solver's scale, without evidence."""

    point: NoisyPoint
    log_likelihood: float
    score: FloatArray  # of theta, tau, Delta
    information: FloatArray
    transition: float


@dataclass(frozen=True, slots=True)
class NoisyProblem:
    """The noisy-logistic likelihood of `rows` on the solver's scale."""

    rows: Rows
    scaling: Scaling

    def evaluate(self, point: NoisyPoint) -> NoisyEvaluation:
        """Return log-likelihood, score and expected information (one full pass)."""
        sums = self.rows.sum_over_rows(NoisySums(self.outside(point), self.scaling.shift))
        factors = self.factors
        return NoisyEvaluation(
            point=point,
            log_likelihood=sums.log_likelihood,
            score=sums.score * factors,
            information=sums.information * np.outer(factors, factors),
            transition=sums.transition,
        )

    def score(self, point: NoisyPoint) -> FloatArray:
        """Return the score of (theta, tau) (one cheap pass)."""
        sums = self.rows.sum_over_rows(NoisyScore(self.outside(point), self.scaling.shift))
        return sums.score * self.factors[:-1]

    def design(self, points: FloatArray) -> FloatArray:
        """Return anchor points in the solver's coordinates, with a leading 1."""
        moved = points if self.scaling.shift is None else points - self.scaling.shift
        return np.column_stack([np.ones(len(points)), moved]) * self.scaling.factors

    def outside(self, point: NoisyPoint) -> NoisyPoint:
        """Return a point for the sums, whose features are shifted but not scaled."""
        coefficients = self.scaling.rescaled(point.coefficients)
        return NoisyPoint(coefficients, point.rate, point.asymmetry)

    @property
    def factors(self) -> FloatArray:
        """Scale of the derivatives in (theta, tau, Delta)."""
        return np.concatenate([self.scaling.factors, [1.0, 1.0]])


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
        return self.here.transition < STEP_ROWS_A_PARAMETER * len(self.point.coefficients)


def plain_starts(coefficients: FloatArray, asymmetry: float) -> list[NoisyPoint]:
    """Return starts from a plain fit, stretched for several noise rates."""
    starts = []
    for rate in START_RATES:
        tau = max(rate, abs(asymmetry) / 2 + 1e-3)
        starts.append(NoisyPoint(coefficients / (1 - 2 * tau), tau, asymmetry))
    return starts


def fit_noisy(
    problem: NoisyProblem, evidence: Evidence, asymmetry: float, starts: Iterable[NoisyPoint]
) -> NoisyFit:
    """Climb from every start and return the best end."""
    ends = [_climb(problem, evidence, asymmetry, start) for start in starts]
    return max(ends, key=lambda end: end.objective)


def _climb(
    problem: NoisyProblem, evidence: Evidence, asymmetry: float, start: NoisyPoint
) -> NoisyFit:
    """Climb by damped Fisher scoring with the noise rate between its bounds."""
    low = abs(asymmetry) / 2
    rate = min(max(start.rate, low), LARGEST_RATE)
    theta = evidence.onto(start.coefficients, np.eye(len(start.coefficients)))
    here = problem.evaluate(NoisyPoint(theta, rate, asymmetry))
    objective = here.log_likelihood - evidence.penalty(theta)
    damping = 0.0
    secant: tuple[FloatArray, FloatArray] | None = None
    for step_number in range(1, MAX_STEPS + 1):
        score, information = _reduced(here, evidence)
        free = _free(here.point.rate, score[-1], low)
        step = _step(score, information, free, damping, secant)
        step = _within_bounds(step, information, score, here.point.rate, low)
        gain = float(score @ step)
        if gain <= LAST_GAIN:
            return NoisyFit(here, objective, free, True, step_number)
        there = problem.evaluate(_moved(here.point, evidence, step, low))
        reached = there.log_likelihood - evidence.penalty(there.point.coefficients)
        if reached > objective or (gain < 1e-8 and reached > objective - 1e-9):
            new_score, _ = _reduced(there, evidence)
            secant = (step, score - new_score) if free else None
            here, objective = there, max(reached, objective)
            damping = damping / 10 if damping > 1e-6 else 0.0
        else:
            damping = max(10 * damping, 1e-3)
            secant = None
            if damping > 1e12:
                return NoisyFit(here, objective, free, False, step_number)
    return NoisyFit(here, objective, free, False, MAX_STEPS)


def _reduced(here: NoisyEvaluation, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    """Return score and information of the free coefficients and tau, with the evidence."""
    n_parameters = len(here.point.coefficients)
    basis, n_free = evidence.basis, evidence.basis.shape[1]
    theta_score = here.score[:n_parameters] + evidence.penalty_score(here.point.coefficients)
    score = np.append(basis.T @ theta_score, here.score[n_parameters])
    information = np.empty((n_free + 1, n_free + 1))
    block = here.information[:n_parameters, :n_parameters] + evidence.precision
    information[:-1, :-1] = basis.T @ block @ basis
    border = basis.T @ here.information[:n_parameters, n_parameters]
    information[:-1, -1] = information[-1, :-1] = border
    information[-1, -1] = here.information[n_parameters, n_parameters]
    return score, information


def _free(rate: float, rate_score: float, low: float) -> bool:
    """Tell whether tau may move: it is inside its bounds, or wants to go inwards."""
    if rate <= low:
        return rate_score > 0
    return rate < LARGEST_RATE or rate_score < 0


def _step(
    score: FloatArray,
    information: FloatArray,
    free: bool,
    damping: float,
    secant: tuple[FloatArray, FloatArray] | None,
) -> FloatArray:
    """Return the damped scoring step; tau stands still where it is not free."""
    n_free = len(score) if free else len(score) - 1
    block = information[:n_free, :n_free]
    inverse = symmetric_inverse(block + damping * np.diag(block.diagonal()))
    if secant is not None and free:
        inverse = with_secant(inverse, *secant)
    step = np.zeros(len(score))
    step[:n_free] = inverse @ score[:n_free]
    return step


def _within_bounds(
    step: FloatArray, information: FloatArray, score: FloatArray, rate: float, low: float
) -> FloatArray:
    """Stop tau at its bound and let theta make the best of it."""
    target = min(max(rate + step[-1], low), LARGEST_RATE)
    if target == rate + step[-1]:
        return step
    shortened = np.empty(len(step))
    shortened[-1] = target - rate
    inverse = symmetric_inverse(information[:-1, :-1])
    shortened[:-1] = inverse @ (score[:-1] - information[:-1, -1] * shortened[-1])
    return shortened


def _moved(point: NoisyPoint, evidence: Evidence, step: FloatArray, low: float) -> NoisyPoint:
    rate = min(max(point.rate + float(step[-1]), low), LARGEST_RATE)
    coefficients = point.coefficients + evidence.basis @ step[:-1]
    return NoisyPoint(coefficients, rate, point.asymmetry)


def symmetric_inverse(matrix: FloatArray, cutoff: float = 1e-10) -> FloatArray:
    """Return the inverse, or the pseudo-inverse where the matrix is (nearly) singular."""
    scale = np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
    balanced = matrix / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(balanced)
    kept = values > cutoff * values[-1]
    inverse: FloatArray = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    inverse /= np.outer(scale, scale)
    return inverse
