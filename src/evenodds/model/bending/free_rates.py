"""The noisy-logistic curve with both flip rates free: where a curve that bends starts from.

``p = beta + (1 - alpha - beta) s(theta'x)`` by maximum likelihood in (theta, alpha, beta). The
rates stay above a small floor, so that no row gets an unbounded weight where labels look clean.
"""

from dataclasses import dataclass

import numpy as np

from evenodds.model.inverses import symmetric_inverse
from evenodds.model.noisy import LARGEST_RATE, LAST_GAIN, STEP_ROWS_A_PARAMETER
from evenodds.model.noisy_problem import NoisyEvaluation, NoisyProblem
from evenodds.model.noisy_sums import NoisyPoint
from evenodds.validation import FloatArray

LEAST_RATE = 0.002
# Flip rates (alpha, beta) to climb from; slopes of the plain fit are stretched to match.
START_RATES = ((0.02, 0.02), (0.15, 0.15), (0.02, 0.2), (0.2, 0.02))
# As if so many sure cases of either class had been seen with the right label: where few rows lie
# on a plateau, the likelihood alone would rather have a steep curve that ends half-way. More would
# win against 10,000 rows of very noisy labels, which hardly know their rates.
SURE_CASES = 0.25
MOST_STEPS = 60
# A climb that gains less than this in a step has arrived, or creeps towards a step curve.
LEAST_GAIN = 1e-7
MOST_DAMPING = 1e8
# Derivatives of (tau, Delta) in (alpha, beta).
_RATES = np.array([[0.5, 0.5], [-1.0, 1.0]])


@dataclass(frozen=True, slots=True)
class FreeCurve:
    """A noisy-logistic curve; `plain` where no noisy one could be told from a step."""

    here: NoisyEvaluation
    plain: bool

    @property
    def point(self) -> NoisyPoint:
        """The curve, on the solver's scale."""
        return self.here.point


def fit_free_rates(problem: NoisyProblem, plain_coefficients: FloatArray) -> FreeCurve:
    """Climb from several flip rates and keep the best end that is no step.

    With many rows the search is done on a sample; what is left to do on all of them is little.
    """
    small = problem.small
    ends = [_climb(small, _start(plain_coefficients, *rates)) for rates in START_RATES]
    smooth = [end for end in ends if not _is_step(end)]
    if not smooth:
        clean = NoisyPoint(plain_coefficients, LEAST_RATE, 0.0)
        return FreeCurve(problem.evaluate(clean), plain=True)
    best = max(smooth, key=_objective)
    if small is not problem:
        best = _climb(problem, best.point, last_gain=problem.last_gain)
    return FreeCurve(best, plain=False)


def _start(coefficients: FloatArray, alpha: float, beta: float) -> NoisyPoint:
    return _point(coefficients / (1 - alpha - beta), np.array([alpha, beta]))


def _point(coefficients: FloatArray, rates: FloatArray) -> NoisyPoint:
    """Return the curve with these flip rates (alpha, beta)."""
    alpha, beta = (float(rate) for rate in rates)
    return NoisyPoint(coefficients, (alpha + beta) / 2, beta - alpha)


def _rates(point: NoisyPoint) -> FloatArray:
    """Return the flip rates (alpha, beta) of a curve."""
    return np.array([point.alpha, point.beta])


def _objective(here: NoisyEvaluation) -> float:
    """Return the log-likelihood, that of the sure cases included."""
    return here.log_likelihood + SURE_CASES * float(np.log1p(-_rates(here.point)).sum())


def _is_step(here: NoisyEvaluation) -> bool:
    return here.transition < STEP_ROWS_A_PARAMETER * len(here.point.coefficients)


def _climb(
    problem: NoisyProblem, start: NoisyPoint, last_gain: float = LAST_GAIN
) -> NoisyEvaluation:
    """Climb by damped Fisher scoring, both rates between their bounds."""
    here, damping = problem.evaluate(start), 0.0
    for _ in range(MOST_STEPS):
        score, information = _in_flip_rates(here)
        rates = _rates(here.point)
        outwards = (rates <= LEAST_RATE) & (score[-2:] < 0)
        outwards |= (rates >= LARGEST_RATE) & (score[-2:] > 0)
        free = np.append(np.ones(len(score) - 2, dtype=bool), ~outwards)
        block = information[np.ix_(free, free)]
        damped = block + damping * np.diag(block.diagonal())
        step = np.zeros(len(score))
        step[free] = symmetric_inverse(damped) @ score[free]
        moved = np.clip(rates + step[-2:], LEAST_RATE, LARGEST_RATE)
        there = problem.evaluate(_point(here.point.coefficients + step[:-2], moved))
        gain = _objective(there) - _objective(here)
        if gain >= 0:
            here, damping = there, damping / 10
        else:
            damping = max(10 * damping, 1e-3)
        small = 0 <= gain < LEAST_GAIN or float(score @ step) < last_gain
        if small or damping > MOST_DAMPING:
            return here
    return here


def _in_flip_rates(here: NoisyEvaluation) -> tuple[FloatArray, FloatArray]:
    """Return score and information in (theta, alpha, beta), the sure cases included."""
    turn = np.eye(len(here.score))
    turn[-2:, -2:] = _RATES
    score, information = turn.T @ here.score, turn.T @ here.information @ turn
    kept = 1 - _rates(here.point)
    score[-2:] -= SURE_CASES / kept
    information[[-2, -1], [-2, -1]] += SURE_CASES / kept**2
    return score, information
