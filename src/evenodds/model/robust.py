"""Fitting the clean curve in spite of flipped labels, and saying which labels look flipped."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from evenodds.errors import ImprecisionWarning, InputError
from evenodds.model.logistic import measure_columns
from evenodds.model.noisy_fit import NoisyFit, climb_noisy
from evenodds.model.noisy_likelihood import Evidence, NoisyPoint, NoisyProblem
from evenodds.model.sums import Scaling, unshifted
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray, check_between

# How far the search goes: for a flip rate when the other is known, else for the asymmetry.
FARTHEST = 0.45
# Noise rate that every climb starts from when it is not given.
FIRST_RATE = 0.1
LAST_GAIN = 1e-19
PATIENCE = 60
RATE_DIGITS = 4
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
        Strength of a penalty on the slopes of standardised features, as a share of the rows. It
        keeps the fit finite when columns repeat each other or separate the labels.
    """
    problem = NoisyProblem(rows, _forgiving_scaling(rows))
    evidence = _ridge(rows.n_features + 1, ridge * rows.total_weight)
    for rate, name in ((alpha, "alpha"), (beta, "beta")):
        if rate is not None:
            check_between(rate, name, 0, 1, closed="left")
    if alpha is not None and beta is not None and alpha + beta >= 1:
        raise InputError(f"alpha + beta is {alpha + beta:g} but must be below 1.")
    fit = _fit_rates(problem, evidence, alpha, beta)
    outside = problem.outside(fit.point).coefficients
    return RobustCurve(
        coefficients=unshifted(outside, problem.scaling.shift),
        alpha=max(fit.point.alpha, 0.0),
        beta=max(fit.point.beta, 0.0),
        log_likelihood=fit.here.log_likelihood,
        n_steps=fit.n_steps,
    )


def _fit_rates(
    problem: NoisyProblem, evidence: Evidence, alpha: float | None, beta: float | None
) -> NoisyFit:
    """Fit with both, one or none of the flip rates known."""
    latest = NoisyPoint(np.zeros(problem.rows.n_features + 1), FIRST_RATE, 0.0)

    def fit_at(asymmetry: float, rate: float | None) -> NoisyFit:
        nonlocal latest
        held = None if rate is None else (rate, rate)
        start = NoisyPoint(latest.coefficients, latest.rate if rate is None else rate, asymmetry)
        fit = climb_noisy(
            problem, evidence, asymmetry, start, LAST_GAIN, rates=held, patience=PATIENCE
        )
        latest = fit.point
        return fit

    def at_rates(one: float, other: float) -> NoisyFit:
        """Fit with flip rates as they are known, or else as they are given."""
        first, second = one if alpha is None else alpha, other if beta is None else beta
        return fit_at(second - first, (first + second) / 2)

    if alpha is not None and beta is not None:
        return _polished(problem, evidence, at_rates(alpha, beta))

    def candidate(free: float) -> NoisyFit:
        neither = alpha is None and beta is None
        return fit_at(free, None) if neither else at_rates(free, free)

    # With one rate known the other is free; with none, the asymmetry is, and tau follows.
    known = alpha if alpha is not None else beta
    low, high = (-FARTHEST, FARTHEST) if known is None else (0.0, min(FARTHEST, 0.98 - known))
    if high <= 0:
        raise InputError(f"a flip rate of {known:g} leaves no room for the other.")
    best = minimize_scalar(
        lambda free: -candidate(float(free)).objective,
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-7},
    )
    chosen = candidate(float(best.x))
    few = problem.rows.n_counted < ROWS_A_PARAMETER * len(latest.coefficients)
    if few or chosen.is_step or not chosen.converged:
        warnings.warn(
            "these rows are too few, or too cleanly separated, to estimate flip rates from the "
            "shape of the curve; they are taken as 0: give alpha and beta, or more rows.",
            ImprecisionWarning,
            stacklevel=4,
        )
        chosen = at_rates(0.0, 0.0)
    found = chosen.point
    # The likelihood is so flat in the rates that digits beyond these are rounding error.
    rounded = (max(round(rate, RATE_DIGITS), 0.0) for rate in (found.alpha, found.beta))
    return _polished(problem, evidence, at_rates(*rounded))


def _polished(problem: NoisyProblem, evidence: Evidence, fit: NoisyFit) -> NoisyFit:
    """Finish a fit whose climb did not settle.

    On (nearly) separated labels the expected information is far from the true curvature and
    scoring steps swing; a quasi-Newton search, which learns the curvature, does not.
    """
    if fit.converged:
        return fit

    def loss(coefficients: FloatArray) -> tuple[float, FloatArray]:
        here = problem.evaluate(NoisyPoint(coefficients, fit.point.rate, fit.point.asymmetry))
        score = here.score[: len(coefficients)] + evidence.basis @ evidence.free_score(coefficients)
        return evidence.penalty(coefficients) - here.log_likelihood, -score

    start = fit.point.coefficients
    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-12}).x
    here = problem.evaluate(NoisyPoint(found, fit.point.rate, fit.point.asymmetry))
    return replace(fit, here=here, objective=here.log_likelihood - evidence.penalty(found))


def _forgiving_scaling(rows: Rows) -> Scaling:
    """Return a scaling that takes constant columns as they are: the ridge copes with them."""
    moments, shift = measure_columns(rows)
    return Scaling.by(shift, np.where(moments.spreads > 0, moments.spreads, 1.0))


def _ridge(n_parameters: int, strength: float) -> Evidence:
    """Return a Gaussian pull of all slopes towards zero."""
    return Evidence.pulling(np.r_[1e-3, np.ones(n_parameters - 1)] * strength)
