"""Fitting the noisy-logistic curve for a hypothesised asymmetry, with anchor evidence.

The likelihood has several tops, mostly along the noise rate: labels that look like a shallow
curve without noise may fit better as a steep one with much of it. Along a given direction of
the features a curve has three parameters only: steepness, crossing and noise rate. Rows that
are counted in bins of the index give the likelihood of all of them in one product, and the
best curve of each noise rate is where a climb starts.

The likelihood is not concave in (theta, tau): the climb is damped, keeps tau within its
bounds, and starts from several noise rates (`index_starts`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from evenodds.model.bounded_scoring import (
    CREEP,
    MAX_CREEPING,
    STEP_ROWS_A_PARAMETER,
    Place,
    climb_bounded,
)
from evenodds.model.newton import with_secant
from evenodds.model.noisy_likelihood import Evidence, NoisyEvaluation, NoisyPoint, NoisyProblem
from evenodds.model.sums import counts_of, shifted, symmetric_inverse
from evenodds.rows.base import Block
from evenodds.validation import FloatArray

# The first start is the plain curve with next to no noise; the others are the best curves of
# these noise rates along the direction it leads to.
FIRST_RATE = 0.005
RATES = (0.18, 0.3, 0.42)
# In spreads of the index, rows are counted in bins up to REACH from its mean.
REACH, BINS = 6.0, 120
STEEPNESSES = np.geomspace(0.2, 12.0, 9)
CROSSINGS = np.linspace(-5.0, 5.0, 21)
# Much noise around a steep curve may be a top beside a shallow one that is the best of the grid.
STEEP = STEEPNESSES[STEEPNESSES > 2]
# Steeper ones, for few rows, where the likelihood may prefer a step.
STEPS = np.geomspace(20.0, 60.0, 3)
FEW_ROWS_A_PARAMETER = 300
# A curve off an exact constraint is ranked as if that had this precision.
CONSTRAINT_PRECISION = 4.0


# Derivatives of (tau, Delta) in the flip rates (alpha, beta).
IN_FLIP_RATES = np.array([[0.5, 0.5], [-1.0, 1.0]])


def point_of(coefficients: FloatArray, flip_rates: Iterable[float]) -> NoisyPoint:
    """Return the curve with these flip rates (alpha, beta)."""
    alpha, beta = (float(rate) for rate in flip_rates)
    return NoisyPoint(coefficients, (alpha + beta) / 2, beta - alpha)


def flip_rates(point: NoisyPoint) -> FloatArray:
    """Return the flip rates (alpha, beta) of a curve."""
    return np.array([point.alpha, point.beta])


def first_rate(asymmetry: float) -> float:
    """Return a noise rate just inside its lower bound."""
    return max(FIRST_RATE, abs(asymmetry) / 2 + 1e-3)


def index_starts(
    problem: NoisyProblem, evidence: Evidence, near: NoisyPoint
) -> Iterator[NoisyPoint]:
    """Return starts of several noise rates along the direction of a curve at hand."""
    index = index_along(problem, evidence, near.coefficients)
    few = problem.rows.n_rows < FEW_ROWS_A_PARAMETER * len(near.coefficients)
    for coefficients, rate in grid_starts(index, evidence, near.asymmetry, few_rows=few):
        yield NoisyPoint(coefficients[0], float(rate[0]), near.asymmetry)


def index_counts(
    problem: NoisyProblem, coefficients: FloatArray
) -> tuple[float, float, FloatArray, FloatArray]:
    """Return mean and spread of an index, and positive and negative labels in bins along it.

    The spread is 1 where the index does not vary.
    """
    rows, index = problem.rows, (problem.scaling.rescaled(coefficients)[1:], problem.scaling.shift)
    weight, total, squares = rows.totals(partial(_index_moments, *index))
    mean = float(total / weight)
    variance = squares / weight - mean**2
    spread = float(np.sqrt(variance)) if variance > 0 else 1.0
    return mean, spread, *rows.totals(partial(_index_labels, *index, mean, spread))


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """A direction of the features, labels along it and the pull of evidence, a row a replicate."""

    slopes: FloatArray  # (replicates, features)
    mean: FloatArray  # of features @ slopes
    spread: FloatArray
    positives: FloatArray  # (replicates, bins)
    negatives: FloatArray
    pulls: FloatArray  # (replicates, parameters)


def index_along(problem: NoisyProblem, evidence: Evidence, coefficients: FloatArray) -> Index:
    """Return the direction of a curve at hand, as the only replicate."""
    mean, spread, positives, negatives = index_counts(problem, coefficients)
    return Index(
        slopes=coefficients[None, 1:],
        mean=np.array([mean]),
        spread=np.array([spread]),
        positives=positives[None, :],
        negatives=negatives[None, :],
        pulls=evidence.pull[None, :],
    )


def grid_starts(
    index: Index, evidence: Evidence, asymmetry: float, *, few_rows: bool
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Return the best coefficients of each noise rate, and the rates, for every replicate.

    At the highest rate the best steep curve is another start, where it is not the best of all.
    With few rows the best of steps comes on top, at whichever rate it has.
    """
    rates = np.maximum(RATES, first_rate(asymmetry))
    for rate in rates:
        coefficients, _ = best_curves(index, evidence, asymmetry, STEEPNESSES, float(rate))
        yield coefficients, np.full(len(coefficients), rate)
    steep, _ = best_curves(index, evidence, asymmetry, STEEP, float(rates[-1]))
    if not np.array_equal(steep, coefficients):
        yield steep, np.full(len(steep), rates[-1])
    if few_rows:
        found = [best_curves(index, evidence, asymmetry, STEPS, float(rate)) for rate in rates]
        winner = np.argmax([objective for _, objective in found], axis=0)
        chosen = np.stack([coefficients for coefficients, _ in found])
        yield chosen[winner, np.arange(len(winner))], rates[winner]


def best_curves(
    index: Index,
    evidence: Evidence,
    asymmetry: float,
    steepnesses: FloatArray,
    rate: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the best curve of a noise rate along each index, with its objective."""
    kept, lost = _log_chances(tuple(steepnesses), rate, asymmetry)
    likelihood = index.positives @ kept.T + index.negatives @ lost.T
    steep = np.repeat(steepnesses, len(CROSSINGS)) / index.spread[:, None]
    intercept = -steep * (np.tile(CROSSINGS, len(steepnesses)) * index.spread[:, None])
    intercept -= steep * index.mean[:, None]
    objective = likelihood - _penalty(index, evidence, intercept, steep)
    place = np.arange(len(objective)), np.argmax(objective, axis=1)
    coefficients = np.column_stack([intercept[place], steep[place][:, None] * index.slopes])
    return coefficients, objective[place]


def _penalty(
    index: Index, evidence: Evidence, intercept: FloatArray, steep: FloatArray
) -> FloatArray:
    """Return what the evidence takes off, up to a constant, for (intercept, steep * slopes)."""
    slopes = index.slopes
    off = np.eye(len(evidence.origin)) - evidence.basis @ evidence.basis.T
    precision = evidence.precision + CONSTRAINT_PRECISION * off
    pull = index.pulls + CONSTRAINT_PRECISION * off @ evidence.origin
    mixed = (slopes @ precision[1:, 0])[:, None]
    square = np.einsum("bi,ij,bj->b", slopes, precision[1:, 1:], slopes)[:, None]
    quadratic = precision[0, 0] * intercept**2 + steep * (2 * intercept * mixed + steep * square)
    along = np.einsum("bi,bi->b", pull[:, 1:], slopes)[:, None]
    penalty = quadratic / 2 - pull[:, :1] * intercept - along * steep
    return np.asarray(penalty - evidence.found * np.log(steep))


@lru_cache(maxsize=64)
def _log_chances(
    steepnesses: tuple[float, ...], rate: float, asymmetry: float
) -> tuple[FloatArray, FloatArray]:
    """Return the log-chances of a positive and a negative label, a row a curve, a column a bin."""
    middles = (np.arange(BINS) + 0.5) * (2 * REACH / BINS) - REACH
    linear = np.array(steepnesses)[:, None, None] * (middles - CROSSINGS[:, None])
    chances = rate + asymmetry / 2 + (1 - 2 * rate) / (1 + np.exp(-linear))
    chances = chances.reshape(-1, BINS)
    return np.log(chances), np.log1p(-chances)


def _index_moments(
    slopes: FloatArray, shift: FloatArray | None, block: Block
) -> tuple[Any, Any, Any]:
    """Return weight, weighted sum and weighted squares of an index."""
    index, weights = shifted(block.features, shift) @ slopes, counts_of(block)
    return weights.sum(), weights @ index, weights @ index**2


def _index_labels(
    slopes: FloatArray, shift: FloatArray | None, mean: float, spread: float, block: Block
) -> tuple[Any, Any]:
    """Return positive and negative labels in bins of a standardised index."""
    index, weights = shifted(block.features, shift) @ slopes, counts_of(block)
    bins = bins_of((index - mean) / spread)
    positives, negatives = (
        np.bincount(bins, weights * given, BINS) for given in (block.labels, 1 - block.labels)
    )
    return positives, negatives


def bins_of(standardised: FloatArray) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    """Return the bin of each value, those beyond the reach in the outermost."""
    places = (standardised + REACH) * (BINS / (2 * REACH))
    return np.clip(places, 0, BINS - 1).astype(np.int64)


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
# Steps towards a curve that is a step creep on where they gain less than this.
CREEP_OF_STEPS = 1e-4


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
        return is_step(self.here)


def is_step(here: NoisyEvaluation) -> bool:
    """Tell whether hardly any row lies on the slope of a curve."""
    return here.transition < STEP_ROWS_A_PARAMETER * len(here.point.coefficients)


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
    seen: NoisyEvaluation | None = None,
) -> NoisyFit:
    """Climb by damped Fisher scoring with the noise rate between its bounds.

    `rates` replaces the bounds; equal ones hold the noise rate where it is. `patience` is the
    number of steps in a row that may gain next to nothing. A step close to one of the `known` tops
    ends the climb with that one. What the rows say at the start may have been `seen`.
    """
    bounds = rates or rate_bounds(asymmetry)

    def look(point: NoisyPoint) -> Place[NoisyEvaluation]:
        here = seen if seen is not None and _same(point, seen.point) else problem.evaluate(point)
        objective = here.log_likelihood - evidence.penalty(point.coefficients)
        creep = CREEP_OF_STEPS if is_step(here) else CREEP
        return Place(here, objective, *reduced(here, evidence), np.array([point.rate]), creep)

    reached: NoisyFit | None = None

    def arriving(place: Place[NoisyEvaluation], step: FloatArray) -> bool:
        nonlocal reached
        ahead = moved_point(place.here.point, evidence, step, bounds)
        reached = _top_of_hill(ahead, place.objective, known, evidence)
        return reached is not None

    rate = min(max(start.rate, bounds[0]), bounds[1])
    end = climb_bounded(
        look(NoisyPoint(evidence.onto(start.coefficients), rate, asymmetry)),
        lambda place, step: look(moved_point(place.here.point, evidence, step, bounds)),
        (np.array(bounds[:1]), np.array(bounds[1:])),
        last_gain,
        patience=patience,
        arriving=arriving,
    )
    here, free = end.place.here, bool(end.free[0])
    fit = NoisyFit(here, end.place.objective, free, end.converged, end.n_steps)
    # A climb that found the top by itself is one; others may have come to a known one.
    if not end.converged and reached is None:
        reached = _top_of_hill(here.point, end.place.objective, known, evidence)
    return fit if reached is None else reached


def _same(one: NoisyPoint, other: NoisyPoint) -> bool:
    same = np.array_equal(one.coefficients, other.coefficients)
    return same and (one.rate, one.asymmetry) == (other.rate, other.asymmetry)


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
        of_evidence = evidence.roots * (evidence.basis.T @ off[:-1])
        if distance + of_evidence @ of_evidence < SAME_HILL:
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
    of_rows = evidence.basis.T @ score[:-1]
    return np.append(of_rows + evidence.free_score(point.coefficients), score[-1])


def reduced(here: NoisyEvaluation, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    """Return score and information of the free coefficients and tau, with the evidence."""
    n_parameters = len(here.point.coefficients)
    basis, n_free = evidence.basis, evidence.basis.shape[1]
    score = reduced_score(here.score[:-1], here.point, evidence)
    information = np.empty((n_free + 1, n_free + 1))
    block = here.information[:n_parameters, :n_parameters]
    information[:-1, :-1] = basis.T @ block @ basis
    information[:-1, :-1] += evidence.free_information(here.point.coefficients)
    border = basis.T @ here.information[:n_parameters, n_parameters]
    information[:-1, -1] = information[-1, :-1] = border
    information[-1, -1] = here.information[n_parameters, n_parameters]
    return score, information


def rate_bounds(asymmetry: float) -> tuple[float, float]:
    """Return the noise rates that leave both flip rates possible."""
    return abs(asymmetry) / 2, LARGEST_RATE


def moved_point(
    point: NoisyPoint, evidence: Evidence, step: FloatArray, bounds: tuple[float, float]
) -> NoisyPoint:
    """Return where a step of (free coefficients, tau) leads, with tau between its bounds."""
    rate = min(max(point.rate + float(step[-1]), bounds[0]), bounds[1])
    coefficients = point.coefficients + evidence.basis @ step[:-1]
    return NoisyPoint(coefficients, rate, point.asymmetry)


# Cheap passes stop when the step after the next promises less than this: a few hundredths of a
# standard error, which the exact step that follows removes.
LAST_CHORD_GAIN = 1e-3
MAX_CHORD_PASSES = 8
# The share of the gain that a cheap step leaves, if the sample's curvature is off by a third.
SHRINKAGE = 1 / 8


def finish_noisy(
    problem: NoisyProblem,
    evidence: Evidence,
    pilot: NoisyFit,
    share: float,
    last_gain: float = LAST_CHORD_GAIN,
) -> NoisyFit:
    """Carry a fit on a share of the rows to all of them, mostly by cheap passes.

    The pilot lends its curvature, scaled up; secants correct it. Every pass but the last
    needs the score only. Where the noise rate is on its bound, or the passes do not settle,
    the ordinary climb takes over.
    """
    start = pilot.point
    if pilot.rate_is_free and not pilot.is_step:
        start = _chord(problem, evidence, pilot, share, last_gain)
    return climb_noisy(problem, evidence, start.asymmetry, start, problem.last_gain)


def _chord(
    problem: NoisyProblem, evidence: Evidence, pilot: NoisyFit, share: float, last_gain: float
) -> NoisyPoint:
    """Return a point close to the optimum on all rows, or the best seen if passes diverge."""
    bounds = rate_bounds(pilot.point.asymmetry)
    scaled = replace(pilot.here, information=pilot.here.information / share)
    _, information = reduced(scaled, evidence)
    inverse = symmetric_inverse(information)
    point, size = pilot.point, np.inf
    score = reduced_score(problem.score(point), point, evidence)
    for _ in range(MAX_CHORD_PASSES):
        step = inverse @ score
        gain = float(score @ step)
        if not 0 <= gain < size:
            return point
        following = moved_point(point, evidence, step, bounds)
        # What this step leaves to gain: by as much as the last one shrank it, if that was well.
        shrinkage = SHRINKAGE if size == np.inf else gain / size
        left = gain * shrinkage if shrinkage <= SHRINKAGE else gain
        if left <= last_gain or not bounds[0] < following.rate < bounds[1]:
            return following
        next_score = reduced_score(problem.score(following), following, evidence)
        inverse = with_secant(inverse, step, score - next_score)
        point, score, size = following, next_score, gain
    return point
