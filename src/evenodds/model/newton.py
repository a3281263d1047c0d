"""Climbing a concave log-likelihood: damped Newton, and a cheaper climb for many rows.

Both use derivatives only. Along a line a concave function keeps rising while
its slope is positive, so the slope at the far end of a step says whether the
step went too far; the log-likelihood itself, a logarithm a row, is not needed.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from evenodds.validation import FloatArray

# Root-mean-square change of the linear predictor at which a last step ends the climb. Newton
# squares the error, so the coefficients end at the rounding floor; the curvature is right to 1e-10.
LAST_STEP = 1e-10
# The chord climb may enter its exact Newton step from a point this far away, times the root of
# the number of rows in its sample: the curvature is moved along that step by the sample, whose
# error shrinks with that root, and ends right to 2e-8.
LAST_CHORD_STEP = 2e-8
# What a sample that moves the last curvature should leave of error in a covariance, and what it
# may leave, both as estimated.
COVARIANCE_ERROR, MOST_COVARIANCE_ERROR = 2e-8, 5e-8
MAX_ITERATIONS = 40
# Passes of the score alone that may fail to halve the step before Newton goes on.
MAX_SLOW_STEPS = 8
MAX_HALVINGS = 30
MAX_BENDS = 12
BENT_ENOUGH = 1e-6
# A step has gone too far when the slope at its end is this negative, relative to the start.
OVERSHOT = -0.5
# Where the curvature has fallen to this share of the first one, labels may be separated.
FLAT = 1e-6


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A log-likelihood with its first and (negative) second derivative at one point."""

    log_likelihood: float
    score: FloatArray
    information: FloatArray

    def __add__(self, other: "Evaluation") -> "Evaluation":
        return Evaluation(
            self.log_likelihood + other.log_likelihood,
            self.score + other.score,
            self.information + other.information,
        )

    def __neg__(self) -> "Evaluation":
        return Evaluation(-self.log_likelihood, -self.score, -self.information)


# A step, and how much the score falls along it.
Secant = tuple[FloatArray, FloatArray]


class Likelihood(Protocol):
    """What the solver climbs."""

    def score(self, coefficients: FloatArray) -> FloatArray: ...

    def evaluate(self, coefficients: FloatArray) -> Evaluation: ...


@dataclass(frozen=True, slots=True)
class Optimum:
    """Where the climb ended."""

    coefficients: FloatArray
    information: FloatArray
    log_likelihood: float
    n_iterations: int
    converged: bool
    reason: str


def newton(problem: Likelihood, start: FloatArray, last_step: float = LAST_STEP) -> Optimum:
    """Climb by Newton steps, halved when they overshoot.

    Returns an optimum with ``converged=False`` and the reason when the curvature
    vanishes or the steps do not shrink: signs that no finite optimum exists.
    """
    coefficients = start
    here = problem.evaluate(coefficients)
    for iteration in range(1, MAX_ITERATIONS + 1):
        step = _newton_step(here)
        if step is None:
            return _stopped(coefficients, here, iteration, "the curvature vanished")
        if _size(step, here) <= last_step:
            return _polished(coefficients, here, step, iteration)
        slope = here.score @ step
        there = problem.evaluate(coefficients + step)
        for _ in range(MAX_HALVINGS):
            if there.score @ step > OVERSHOT * slope:
                break
            step, slope = step / 2, slope / 2
            there = problem.evaluate(coefficients + step)
        coefficients, here = coefficients + step, there
    return _stopped(coefficients, here, MAX_ITERATIONS, "the steps did not shrink")


@dataclass(frozen=True, slots=True)
class Sample:
    """The likelihood of some of the rows."""

    likelihood: Likelihood
    n_rows: int
    share: float  # of all rows, by weight

    @property
    def reach(self) -> float:
        """How large a step the sample can move a curvature along, at most."""
        return float(LAST_CHORD_STEP * np.sqrt(self.n_rows))

    def change(self, coefficients: FloatArray, step: FloatArray) -> FloatArray:
        """Return how the curvature of all rows changes along a step, as the sample shows it."""
        near, far = (self.likelihood.evaluate(coefficients + part * step) for part in (0, 1))
        return (far.information - near.information) / self.share


@dataclass(frozen=True, slots=True)
class Pilot:
    """What samples of the rows lend to a climb on all of them."""

    start: FloatArray
    information: FloatArray  # scaled up to all rows
    sample: Sample
    parts: tuple[Sample, Sample]  # some of its rows, and others

    def off_by(self, coefficients: FloatArray, step: FloatArray) -> float:
        """Return the error of a covariance that the sample moves along a step.

        A share of ``sqrt(C_ii C_jj)``, told by how far two parts of the sample are apart.
        """
        one, other = self.parts
        apart = one.change(coefficients, step) - other.change(coefficients, step)
        covariance = np.linalg.inv(self.information)
        scale = np.sqrt(covariance.diagonal())
        moved = covariance @ apart @ covariance / np.multiply.outer(scale, scale)
        fewer = self.sample.n_rows * (1 / one.n_rows + 1 / other.n_rows)
        return float(np.abs(moved).max() / np.sqrt(fewer))


def chord(problem: Likelihood, pilot: Pilot) -> Optimum | None:
    """Climb with a borrowed curvature, then take one exact Newton step.

    Each pass needs the score only; secants (the BFGS update) correct the borrowed
    curvature along the way. A single pass at the end gives the exact curvature and
    the last step. Returns None when the sample misleads, for Newton to take over.
    """
    start, information = pilot.start, pilot.information
    inverse: FloatArray = np.linalg.inv(information).astype(np.float64)
    total_curvature = information[0, 0]
    coefficients, score = start, problem.score(start)
    previous_size, reach = np.inf, pilot.sample.reach
    known = False
    for iteration in range(1, MAX_ITERATIONS + 1):
        step = inverse @ score
        slope = score @ step
        if not slope >= 0:
            return None
        size = float(np.sqrt(slope / total_curvature))
        # The next error is about this step times the rate at which steps shrink.
        rate = min(size / previous_size, 0.5) if previous_size < np.inf else 0.5
        if size * rate <= reach and not known:
            off = pilot.off_by(coefficients, step) / size
            reach, known = min(reach, COVARIANCE_ERROR / max(off, 1e-300)), True
        if size * rate <= reach:
            coefficients = coefficients + step
            last = problem.evaluate(coefficients)
            final_step = _newton_step(last)
            if final_step is None or _size(final_step, last) > 2 * pilot.sample.reach:
                return None
            there = _polished(coefficients, last, final_step, iteration + 1)
            if pilot.off_by(coefficients, final_step) > MOST_COVARIANCE_ERROR:
                return _again(problem, there)
            return _corrected(there, final_step, pilot.sample)
        next_score = problem.score(coefficients + step)
        if not next_score @ step > OVERSHOT * slope or size > previous_size:
            return None
        inverse = with_secant(inverse, step, score - next_score)
        coefficients, score, previous_size = coefficients + step, next_score, size
    return None


def _again(problem: Likelihood, there: Optimum) -> Optimum | None:
    """Return an optimum with the curvature of all rows there, or None where it is lost."""
    last = problem.evaluate(there.coefficients)
    step = _newton_step(last)
    if step is None:
        return None
    return _polished(there.coefficients, last, step, there.n_iterations + 1)


def quasi_newton(
    problem: Likelihood, start: FloatArray, information: FloatArray, *known: Secant
) -> tuple[FloatArray, int]:
    """Return a point next to the optimum and the steps to it, by passes of the score only.

    `information` need only have the right shape, such as the Gram of the columns times a mean
    curvature: secants correct it along the way, first those already known. Where steps stop
    shrinking the point reached is returned, for Newton to go on from.
    """
    factor = cho_factor(information)
    pairs = [(step, change) for step, change in known if step @ change > 0]
    coefficients, score = start, problem.score(start)
    best, slow = np.inf, 0
    for n_steps in range(MAX_ITERATIONS):
        step = _by_secants(factor, pairs, score)
        slope = float(score @ step)
        if not slope >= 0:
            break
        size = float(np.sqrt(slope / information[0, 0]))
        slow = slow + 1 if size > best / 2 else 0
        if slow > MAX_SLOW_STEPS:
            break
        # The next error is about this step times the rate at which steps shrink.
        rate = min(size / best, 0.5) if best < np.inf else 0.5
        if size * rate <= 2 * LAST_CHORD_STEP:
            return coefficients + step, n_steps + 1
        best = min(size, best)
        next_score = problem.score(coefficients + step)
        for _ in range(MAX_HALVINGS):
            if next_score @ step > OVERSHOT * slope:
                break
            step, slope = step / 2, slope / 2
            next_score = problem.score(coefficients + step)
        if step @ (score - next_score) > 0:
            pairs.append((step, score - next_score))
        coefficients, score = coefficients + step, next_score
    return coefficients, n_steps


def _by_secants(factor: Any, pairs: list[Secant], score: FloatArray) -> FloatArray:
    """Return the step of a curvature corrected by secants (the BFGS update, not written out)."""
    left, shares = score, []
    for step, change in reversed(pairs):
        shares.append(float(step @ left) / float(step @ change))
        left = left - shares[-1] * change
    made: FloatArray = cho_solve(factor, left, check_finite=False)  # nan ends the climb
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        made = made + (share - float(change @ made) / float(step @ change)) * step
    return made


def is_lost(information: FloatArray, at_first: FloatArray) -> bool:
    """Tell whether hardly any curvature is left for some column beside those before it."""
    try:
        left, before = (np.linalg.cholesky(one).diagonal() ** 2 for one in (information, at_first))
    except np.linalg.LinAlgError:
        return True
    return not bool((left > FLAT * before).all())


def guided_newton(problem: Likelihood, pilot: Pilot) -> Optimum | None:
    """Climb by Newton steps that a sample bends, for rows that are costly to read.

    All that a Newton step leaves out is taken from the sample, so a step ends about the
    sample's own error times its square away from the optimum: two passes do. Returns None
    when the sample misleads, for Newton to take over.
    """
    coefficients, sample, previous_size = pilot.start, pilot.sample, np.inf
    for iteration in range(1, MAX_ITERATIONS + 1):
        here = problem.evaluate(coefficients)
        step = _newton_step(here)
        if step is None:
            return None
        size = _size(step, here)
        if size <= sample.reach and pilot.off_by(coefficients, step) <= COVARIANCE_ERROR:
            return _corrected(_polished(coefficients, here, step, iteration), step, sample)
        if not size < previous_size / 2:
            return None
        coefficients, previous_size = _bent(coefficients, step, here, sample), size
    return None


def _bent(
    coefficients: FloatArray, step: FloatArray, here: Evaluation, sample: Sample
) -> FloatArray:
    """Return where a Newton step leads when the sample supplies all it leaves out."""
    near, bent = sample.likelihood.evaluate(coefficients), step
    for _ in range(MAX_BENDS):
        score = sample.likelihood.score(coefficients + bent)
        left_over = (score - near.score + near.information @ bent) / sample.share
        following: FloatArray = np.linalg.solve(here.information, here.score + left_over).astype(
            np.float64
        )
        settled = np.abs(following - bent).max() <= BENT_ENOUGH * np.abs(bent).max()
        bent = following
        if settled:
            break
    return coefficients + bent


def _corrected(there: Optimum, step: FloatArray, sample: Sample) -> Optimum:
    """Return the optimum with what the last step left out, as a sample of the rows shows it.

    A Newton step neglects that the curvature changes along it. Over so small a step that
    change is well enough known from the sample: it moves the curvature to where the step
    ends, and gives the step its third-order term.
    """
    near = sample.likelihood.evaluate(there.coefficients - step)
    far = sample.likelihood.evaluate(there.coefficients)
    left_over = (far.score - near.score + near.information @ step) / sample.share
    information = there.information + (far.information - near.information) / sample.share
    correction = np.linalg.solve(information, left_over)
    return replace(there, coefficients=there.coefficients + correction, information=information)


def with_secant(inverse: FloatArray, step: FloatArray, change: FloatArray) -> FloatArray:
    """Return the inverse curvature made exact along `step` (the BFGS update)."""
    slope = step @ change
    if slope <= 0:
        return inverse
    product = inverse @ change
    factor = (1 + change @ product / slope) / slope
    return (
        inverse
        + factor * np.outer(step, step)
        - (np.outer(product, step) + np.outer(step, product)) / slope
    )


def _newton_step(here: Evaluation) -> FloatArray | None:
    """Return the Newton step, or None where the curvature is not positive."""
    try:
        step: FloatArray = np.linalg.solve(here.information, here.score).astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    return step if here.score @ step >= 0 and np.isfinite(step).all() else None


def _size(step: FloatArray, here: Evaluation) -> float:
    """Return the root-mean-square change of the linear predictor, weighted by curvature."""
    return float(np.sqrt(max(step @ here.information @ step, 0) / here.information[0, 0]))


def _polished(
    coefficients: FloatArray, here: Evaluation, step: FloatArray, iterations: int
) -> Optimum:
    """Return the optimum one last step away; the log-likelihood gains half the slope."""
    reason = f"the last step changed fitted log-odds by {_size(step, here):.1e}"
    gained = here.log_likelihood + float(here.score @ step) / 2
    return Optimum(coefficients + step, here.information, gained, iterations, True, reason)


def _stopped(coefficients: FloatArray, here: Evaluation, iterations: int, reason: str) -> Optimum:
    """Return where the climb was given up."""
    reached = here.log_likelihood
    return Optimum(coefficients, here.information, reached, iterations, False, reason)
