"""Fitting the clean curve in spite of flipped labels, and saying which labels look flipped."""

import warnings
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.optimize import root

from evenodds.errors import ImprecisionWarning, InputError
from evenodds.model.bounded_scoring import CREEP, MAX_CREEPING, Place, climb_bounded
from evenodds.model.logistic import measure_columns
from evenodds.model.neighbours import middles
from evenodds.model.noisy_fit import (
    CREEP_OF_STEPS,
    FIRST_RATE,
    IN_FLIP_RATES,
    LAST_GAIN,
    STEEP,
    STEEPNESSES,
    NoisyFit,
    best_curves,
    contending,
    flip_rates,
    index_along,
    is_step,
    point_of,
)
from evenodds.model.noisy_likelihood import (
    Evidence,
    NoisyEvaluation,
    NoisyPoint,
    NoisyProblem,
    small_sample,
)
from evenodds.model.sums import Scaling, counts_of, shifted, unshifted
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray, check_between

# How far a flip rate is searched where the other is known, and where neither is; and both together.
FARTHEST, FARTHEST_OF_BOTH, LARGEST_SUM = 0.45, 0.7, 0.98
# Flip rates to start climbs from, at the best curves along a direction; so many of these, the
# best first, are climbed from, and so many directions are looked along.
START_RATES = (0.02, 0.15, 0.3, 0.42)
MOST_CLIMBS, DIRECTIONS = 10, 2
# Climbs that look for tops stop this far short, in squared standard errors; the last one goes on.
SEARCH_GAIN = 1e-3
PATIENCE = 200
# How hard the curve at the centre of the columns is pulled to 1/2, as a share of the ridge.
CENTRE_SHARE = 1e-3
# With fewer rows a parameter the shape of the curve says nothing about its plateaus.
ROWS_A_PARAMETER = 5


@dataclass(frozen=True, slots=True)
class RobustCurve:
    """A clean logistic curve with the flip rates of the labels it was fitted to."""

    coefficients: FloatArray  # intercept first, on the scale of the data
    alpha: float
    beta: float
    log_likelihood: float
    n_steps: int

    def log_odds(self, features: FloatArray) -> FloatArray:
        """Return the clean log-odds."""
        return np.asarray(self.coefficients[0] + features @ self.coefficients[1:])

    def posterior(self, features: FloatArray) -> FloatArray:
        """Return the probability of being truly positive."""
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-self.log_odds(features)))

    def flip_probability(self, features: FloatArray, labels: FloatArray) -> FloatArray:
        """Return the probability that the given label (0 or 1) is not the true one."""
        clean = self.posterior(features)
        noisy = self.beta + (1 - self.alpha - self.beta) * clean
        wrong_ones = self.beta * (1 - clean)
        wrong_zeros = self.alpha * clean
        given = np.where(labels == 1, noisy, 1 - noisy)
        wrong = np.where(labels == 1, wrong_ones, wrong_zeros)
        return np.divide(wrong, given, out=np.zeros_like(wrong), where=given > 0)


def fit_robust(
    rows: Rows, *, alpha: float | None = None, beta: float | None = None, ridge: float = 1e-4
) -> RobustCurve:
    """Fit the noisy-logistic curve and return its clean part.

    Parameters
    ----------
    rows : Rows
        The data.
    alpha, beta : float, optional
        Known flip rates of positives and negatives; those not given are estimated, from
        the shape of the curve alone.
    ridge : float, default 1e-4
        Strength of a penalty on the slopes, in spreads (half-widths of the middle 68%) of the
        features, as a share of the rows. It keeps the fit finite when columns repeat each other
        or separate the labels.
    """
    for rate, name in ((alpha, "alpha"), (beta, "beta")):
        if rate is not None:
            check_between(rate, name, 0, 1, closed="left")
    if alpha is not None and beta is not None and alpha + beta >= 1:
        raise InputError(f"alpha + beta is {alpha + beta:g} but must be below 1.")
    problem, evidence = ridged_problem(rows, ridge)
    fit = _fit_rates(problem, evidence, rate_bounds(alpha, beta))
    outside = problem.outside(fit.point).coefficients
    return RobustCurve(
        coefficients=unshifted(outside, problem.scaling.shift),
        alpha=max(fit.point.alpha, 0.0),
        beta=max(fit.point.beta, 0.0),
        log_likelihood=fit.here.log_likelihood,
        n_steps=fit.n_steps,
    )


Bounds = tuple[FloatArray, FloatArray]


def rate_bounds(alpha: float | None, beta: float | None) -> Bounds:
    """Return the least and the largest flip rates (alpha, beta); those known are both."""
    unknown = np.array([alpha is None, beta is None])
    low = np.array([rate or 0.0 for rate in (alpha, beta)])
    farthest = FARTHEST_OF_BOTH if unknown.all() else FARTHEST
    high = np.minimum(farthest, LARGEST_SUM - low[::-1])
    if (high[unknown] <= 0).any():
        raise InputError(f"a flip rate of {low.max():g} leaves no room for the other.")
    return low, np.where(unknown, high, low)


def _fit_rates(problem: NoisyProblem, evidence: Evidence, bounds: Bounds) -> NoisyFit:
    """Fit with flip rates between their bounds, or 0 where the rows cannot tell them."""
    fit = best_top(problem, evidence, bounds)
    few = problem.rows.n_counted < ROWS_A_PARAMETER * len(fit.point.coefficients)
    if (few or fit.is_step) and (bounds[0] < bounds[1]).any():
        warnings.warn(
            "these rows are too few, or too cleanly separated, to estimate flip rates from the "
            "shape of the curve; they are taken as 0: give alpha and beta, or more rows.",
            ImprecisionWarning,
            stacklevel=4,
        )
        fit = best_top(problem, evidence, (bounds[0], bounds[0]))
    return _polished(problem, evidence, fit)


def best_top(problem: NoisyProblem, evidence: Evidence, bounds: Bounds) -> NoisyFit:
    """Return the best of all tops; with many rows they are looked for on a sample."""
    total = problem.rows.total_weight
    smallest, *larger = *problem.samples, problem
    tops = _find_tops(smallest, evidence.scaled(smallest.rows.total_weight / total), bounds)
    for each in larger:
        weaker = evidence.scaled(each.rows.total_weight / total)
        tops = contending([climb(each, weaker, top.point, bounds) for top in tops])
    return climb(problem, evidence, tops[0].point, bounds, last_gain=LAST_GAIN, patience=PATIENCE)


def _find_tops(problem: NoisyProblem, evidence: Evidence, bounds: Bounds) -> list[NoisyFit]:
    """Climb from many flip rates; return the tops that contend, the best first.

    Starts lie along the direction of the plain curve, then along that of the best top found.
    """
    rates = np.clip([FIRST_RATE, FIRST_RATE], *bounds)
    flat = point_of(np.zeros(problem.rows.n_features + 1), rates)
    plain = climb(problem, evidence, flat, (rates, rates))
    tops, looked_along = [plain, climb(problem, evidence, plain.point, bounds)], [plain.point]
    for _ in range(DIRECTIONS):
        starts = _starts(problem, evidence, looked_along[-1], bounds)
        tops = contending([*tops, *(climb(problem, evidence, each, bounds) for each in starts)])
        others = [top.point for top in tops if all(top.point is not seen for seen in looked_along)]
        if not others:
            break
        looked_along.append(others[0])
    return tops


def _starts(
    problem: NoisyProblem, evidence: Evidence, near: NoisyPoint, bounds: Bounds
) -> list[NoisyPoint]:
    """Return the best curves of many flip rates along the direction of one at hand."""
    index = index_along(problem, evidence, near.coefficients)
    found: dict[float, NoisyPoint] = {}
    low, high = bounds
    for pair in product(*np.clip(START_RATES, low[:, None], high[:, None])):
        rates = np.array(pair)
        # Without noise a label on the wrong plateau would be impossible.
        at = point_of(near.coefficients, np.maximum(rates, FIRST_RATE))
        for steepnesses in (STEEPNESSES, STEEP):
            curves, objectives = best_curves(index, evidence, at.asymmetry, steepnesses, at.rate)
            found[float(objectives[0])] = point_of(curves[0], rates)
    return [found[objective] for objective in sorted(found, reverse=True)[:MOST_CLIMBS]]


def climb(
    problem: NoisyProblem,
    evidence: Evidence,
    start: NoisyPoint,
    bounds: Bounds,
    *,
    last_gain: float = SEARCH_GAIN,
    patience: int = MAX_CREEPING,
) -> NoisyFit:
    """Climb by damped Fisher scoring in the coefficients and both flip rates."""
    turn = np.eye(len(start.coefficients) + 2)
    turn[-2:, -2:] = IN_FLIP_RATES
    precision = evidence.precision

    def look(coefficients: FloatArray, rates: FloatArray) -> Place[NoisyEvaluation]:
        here = problem.evaluate(point_of(coefficients, rates))
        score, information = turn.T @ here.score, turn.T @ here.information @ turn
        score[:-2] -= precision @ coefficients
        information[:-2, :-2] += precision
        objective = here.log_likelihood - evidence.penalty(coefficients)
        creep = CREEP_OF_STEPS if is_step(here) else CREEP
        return Place(here, objective, score, information, rates, creep)

    def move(place: Place[NoisyEvaluation], step: FloatArray) -> Place[NoisyEvaluation] | None:
        rates = np.clip(place.bounded + step[-2:], *bounds)
        if rates.sum() > max(LARGEST_SUM, bounds[0].sum()):
            return None
        return look(place.here.point.coefficients + step[:-2], rates)

    first = look(start.coefficients, np.clip(flip_rates(start), *bounds))
    end = climb_bounded(first, move, bounds, last_gain, patience=patience)
    free = bool(end.free.any())
    return NoisyFit(end.place.here, end.place.objective, free, end.converged, end.n_steps)


def _polished(problem: NoisyProblem, evidence: Evidence, fit: NoisyFit) -> NoisyFit:
    """Finish a fit whose climb did not settle, with its flip rates held.

    On (nearly) separated labels the expected information is far from the true curvature and
    scoring steps swing; a search for the place without a score, which learns the curvature, does
    not.
    """
    if fit.converged:
        return fit

    def score(coefficients: FloatArray) -> FloatArray:
        there = problem.evaluate(replace(fit.point, coefficients=coefficients))
        return there.score[:-2] - evidence.precision @ coefficients

    found = root(score, fit.point.coefficients, options={"xtol": 1e-12}).x
    here = problem.evaluate(replace(fit.point, coefficients=found))
    objective = here.log_likelihood - evidence.penalty(found)
    # Where that search went astray the climb's end is the better one.
    if objective < fit.objective - 1e-9 * abs(fit.objective):
        return fit
    return replace(fit, here=here, objective=objective)


def ridged_problem(rows: Rows, ridge: float) -> tuple[NoisyProblem, Evidence]:
    """Return the likelihood in standardised features, and a pull of their slopes towards zero.

    Spreads are those of the middle of each column, which a few far rows do not move.
    Constant columns are taken as they are: the pull copes with them.
    """
    moments, shift = measure_columns(rows)
    some = small_sample(rows).to_memory()
    centre, spreads = middles(shifted(some.features, shift), counts_of(some))
    spreads = np.where(spreads > 0, spreads, moments.spreads)
    spreads = np.where(spreads > 0, spreads, 1.0)
    scaling = Scaling(shift, np.r_[1.0, 1 / spreads], np.ones(rows.n_features))
    problem = NoisyProblem.of(rows, scaling)
    # The curve at the centre of the rows, and each slope.
    pulled = np.eye(rows.n_features + 1)
    pulled[0] = np.r_[1.0, centre / spreads] * CENTRE_SHARE**0.5
    pulled *= (ridge * rows.total_weight) ** 0.5
    return problem, Evidence.of(pulled, np.zeros(len(pulled)), np.eye(len(pulled)))
