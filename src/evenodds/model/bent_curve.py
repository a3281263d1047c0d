"""The posterior of the labels as a spline in the fitted index, by weighted least squares.

``p = beta + (1 - alpha - beta) s(theta'x)`` by maximum likelihood in (theta, alpha, beta). The
rates stay above a small floor, so that no row gets an unbounded weight where labels look clean.

Around the noisy-logistic curve ``p_0 = beta + (1 - alpha - beta) u``, ``u = s(theta'x)``, the
posterior is ``p_0 + J'delta`` with

    J = (natural cubic spline in u,  u (1 - u) (1, x)).

The straight part of the spline is class-conditional noise, its bends are whatever else the
labels do along the index, and the last columns are what an error of theta does: the covariance
of delta therefore holds the error of the index. ``delta`` is linear in the labels, with weights
``1/(p_0 (1 - p_0))``, so it exists always and is close to normal (theory page, "Contours").
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from evenodds.model.logistic import GroupedScores
from evenodds.model.noisy_fit import (
    IN_FLIP_RATES,
    LARGEST_RATE,
    LAST_GAIN,
    flip_rates,
    is_step,
    point_of,
)
from evenodds.model.noisy_likelihood import NoisyEvaluation, NoisyPoint, NoisyProblem, squeezed
from evenodds.model.sums import shifted, symmetric_inverse, weigh
from evenodds.rows.base import Block
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
    starts = [point_of(plain_coefficients / (1 - sum(rates)), rates) for rates in START_RATES]
    ends = [_climb(small, start) for start in starts]
    smooth = [end for end in ends if not is_step(end)]
    if not smooth:
        clean = NoisyPoint(plain_coefficients, LEAST_RATE, 0.0)
        return FreeCurve(problem.evaluate(clean), plain=True)
    best = max(smooth, key=_objective)
    if small is not problem:
        best = _climb(problem, best.point, last_gain=problem.last_gain)
    return FreeCurve(best, plain=False)


def _objective(here: NoisyEvaluation) -> float:
    """Return the log-likelihood, that of the sure cases included."""
    return here.log_likelihood + SURE_CASES * float(np.log1p(-flip_rates(here.point)).sum())


def _climb(
    problem: NoisyProblem, start: NoisyPoint, last_gain: float = LAST_GAIN
) -> NoisyEvaluation:
    """Climb by damped Fisher scoring, both rates between their bounds."""
    here, damping = problem.evaluate(start), 0.0
    for _ in range(MOST_STEPS):
        score, information = _in_flip_rates(here)
        rates = flip_rates(here.point)
        outwards = (rates <= LEAST_RATE) & (score[-2:] < 0)
        outwards |= (rates >= LARGEST_RATE) & (score[-2:] > 0)
        free = np.append(np.ones(len(score) - 2, dtype=bool), ~outwards)
        block = information[np.ix_(free, free)]
        damped = block + damping * np.diag(block.diagonal())
        step = np.zeros(len(score))
        step[free] = symmetric_inverse(damped) @ score[free]
        moved = np.clip(rates + step[-2:], LEAST_RATE, LARGEST_RATE)
        there = problem.evaluate(point_of(here.point.coefficients + step[:-2], moved))
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
    turn[-2:, -2:] = IN_FLIP_RATES
    score, information = turn.T @ here.score, turn.T @ here.information @ turn
    kept = 1 - flip_rates(here.point)
    score[-2:] -= SURE_CASES / kept
    information[[-2, -1], [-2, -1]] += SURE_CASES / kept**2
    return score, information


def natural_spline(values: FloatArray, knots: FloatArray) -> FloatArray:
    """Return the basis of natural cubic splines, (values, knots): 1, the value, then the bends.

    The bends are differences of truncated cubes whose second and third derivatives vanish
    beyond the last knot.
    """
    scale = (knots[-1] - knots[0]) ** 2
    basis = np.empty((len(values), len(knots)))
    basis[:, 0] = 1
    basis[:, 1] = values
    beyond = np.maximum(values - knots[-1], 0) ** 3
    last = (np.maximum(values - knots[-2], 0) ** 3 - beyond) / (knots[-1] - knots[-2])
    for number, knot in enumerate(knots[:-2], start=2):
        cube = (np.maximum(values - knot, 0) ** 3 - beyond) / (knots[-1] - knot)
        basis[:, number] = (cube - last) / scale
    return basis


# Knots lie evenly on the fitted clean posterior between these.
OUTER_KNOTS = (0.1, 0.9)
# At least and at most so many; in between they grow with the fifth root of the rows on the slope.
FEWEST_KNOTS, MOST_KNOTS = 5, 12
# Values of the index are told apart up to so many.
PLACES = 50


@dataclass(frozen=True, slots=True)
class BendingDesign:
    """How rows enter: the curve started from, and the columns of what may be added to it."""

    curve: NoisyPoint  # for features that are shifted, not scaled
    shift: FloatArray | None
    factors: FloatArray  # scale of each column of (1, x)
    knots: FloatArray

    def of(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``p_0`` and J for features as they are in the data."""
        moved = shifted(features, self.shift)
        index = squeezed(moved, self.curve.coefficients)
        slope = index * (1 - index)
        along = np.column_stack([slope, moved * slope[:, None]]) * self.factors
        return self.curve.squeeze(index), np.hstack([natural_spline(index, self.knots), along])

    @property
    def n_columns(self) -> int:
        """Width of J."""
        return len(self.knots) + len(self.factors)

    def normal_equations(self, block: Block) -> tuple[FloatArray, FloatArray]:
        """Return score and information of the weighted least squares in a block."""
        base, columns = self.of(block.features)
        precision = 1 / (base * (1 - base))
        weigh(block, precision)
        weighted = columns * precision[:, None]
        return weighted.T @ (block.labels - base), weighted.T @ columns

    def score_variance(self, added: FloatArray, block: Block) -> tuple[FloatArray]:
        """Return the variance of the scores in a block.

        By the curve started from or the fitted one, whichever is larger: where the first puts a
        plateau at the floor and the rows do not, its weights would promise far too much.
        """
        base, columns = self.of(block.features)
        fitted = base + columns @ added
        known = base * (1 - base)
        variance = np.maximum(known, fitted * (1 - fitted)) / known**2
        weigh(block, variance)
        return ((columns * variance[:, None]).T @ columns,)

    def scores(self, added: FloatArray, block: Block) -> FloatArray:
        """Return the score of each row of a block at the solution."""
        base, columns = self.of(block.features)
        weighted = (block.labels - base - columns @ added) / (base * (1 - base))
        weigh(block, weighted)
        return np.asarray(columns * weighted[:, None])


@dataclass(frozen=True, slots=True)
class BentCurve:
    """The fitted posterior of the labels, with the covariance of what was added."""

    design: BendingDesign
    added: FloatArray
    covariance: FloatArray
    transition: float  # rows on the slope of the curve
    plain: bool  # started from the plain curve: no noisy one could be told from a step
    places: float  # values of the index that rows on the slope have, the rarer the less

    def at(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the posterior of the labels at points, and its covariance."""
        base, columns = self.design.of(points)
        return base + columns @ self.added, columns @ self.covariance @ columns.T


def fit_bent(problem: NoisyProblem, plain_coefficients: FloatArray) -> BentCurve:
    """Fit the curve that can bend to rows of any kind."""
    start, rows = fit_free_rates(problem, plain_coefficients), problem.rows
    curve, shift = problem.outside(start.point), problem.scaling.shift
    (by_place,) = rows.totals(partial(slope_by_place, curve, shift))
    places = float(by_place.sum() ** 2 / (by_place**2).sum())
    knots = np.linspace(*OUTER_KNOTS, number_of_knots(start, places))
    design = BendingDesign(curve, shift, problem.scaling.factors, knots)
    score, information = rows.totals(design.normal_equations)
    inverse = symmetric_inverse(information)
    added = inverse @ score
    if rows.n_groups is None:
        (middle,) = rows.totals(partial(design.score_variance, added))
    else:
        empty = GroupedScores(partial(design.scores, added), rows.n_groups, len(added))
        middle = rows.sum_over_rows(empty).total()
    covariance = inverse @ middle @ inverse
    return BentCurve(design, added, covariance, start.here.transition, start.plain, places)


def slope_by_place(curve: NoisyPoint, shift: FloatArray | None, block: Block) -> tuple[FloatArray]:
    """Return how many rows lie on the slope of a curve, by the value of its index."""
    index = squeezed(shifted(block.features, shift), curve.coefficients)
    slope = index * (1 - index)
    weigh(block, slope)
    return (np.bincount((index * PLACES).astype(np.int64), slope, PLACES).astype(float),)


def number_of_knots(start: FreeCurve, places: float) -> int:
    """Return how many knots the rows on the slope of the curve, and their places, can bear."""
    wanted = min(1 + round(float(start.here.transition**0.2)), int(places))
    return min(max(wanted, FEWEST_KNOTS), MOST_KNOTS)
