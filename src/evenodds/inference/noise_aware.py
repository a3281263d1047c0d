"""What the boundary and the joint test share: one null fit, two directions.

For a hypothesised asymmetry the noisy-logistic curve is fitted with the anchors as
evidence. *Boundary* then asks whether the curve crosses 1/2 at the anchors; *joint* asks
whether the likelihood still rises with the asymmetry (theory page, "Noise-aware tests").
"""

from dataclasses import dataclass, replace

import numpy as np

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError
from evenodds.model.evidence import Evidence
from evenodds.model.noisy import (
    NoisyFit,
    along_the_tangent,
    asymmetry_direction,
    climb_noisy,
    fit_noisy,
    plain_starts,
    symmetric_inverse,
)
from evenodds.model.noisy_chord import finish_noisy
from evenodds.model.noisy_groups import GroupedNoisyScores
from evenodds.model.noisy_problem import NoisyProblem
from evenodds.model.noisy_sums import NoisyPoint
from evenodds.validation import FloatArray


@dataclass(frozen=True, slots=True)
class AnchorEquations:
    """Anchors on the log-odds scale: ``A theta = t + e``, ``e ~ N(0, V)``."""

    design: FloatArray  # A, in the solver's coordinates
    targets: FloatArray  # t
    covariance: FloatArray  # V
    stated: FloatArray  # the posteriors behind t

    @classmethod
    def of(cls, anchors: Anchors, points: FloatArray, problem: NoisyProblem) -> "AnchorEquations":
        """Put anchors on the log-odds scale; posteriors of 0 and 1 are not on it."""
        stated = anchors.posterior
        ends = (stated <= 0) | (stated >= 1)
        if ends.any():
            raise AnchorError(
                f"posterior is {float(stated[np.argmax(ends)]):g} at anchor {int(np.argmax(ends))} "
                "but this test needs them strictly between 0 and 1: a certain case says "
                "nothing about where the boundary runs. Leave it out."
            )
        stretch = 1 / (stated * (1 - stated))
        design = problem.design(points)
        if not np.abs(design).max() < FARTHEST_ANCHOR:
            raise AnchorError(
                "an anchor lies absurdly far from the data: check the units of its columns."
            )
        return cls(
            design=design,
            targets=np.log(stated / (1 - stated)),
            covariance=anchors.error_covariance() * np.outer(stretch, stretch),
            stated=stated,
        )

    @classmethod
    def none(cls, n_parameters: int) -> "AnchorEquations":
        """Return no equations at all."""
        nothing = np.empty(0)
        return cls(np.empty((0, n_parameters)), nothing, np.empty((0, 0)), nothing)

    def averaged(self, weights: FloatArray) -> "AnchorEquations":
        """Return the one equation that is the weighted mean of all."""
        return AnchorEquations(
            design=(weights @ self.design)[None, :],
            targets=np.array([weights @ self.targets]),
            covariance=np.array([[weights @ self.covariance @ weights]]),
            stated=np.array([weights @ self.stated]),
        )

    def evidence(self) -> Evidence:
        """Return what the equations say about the coefficients."""
        if len(self.targets) == 0:
            return Evidence.none(self.design.shape[1])
        return Evidence.of(self.design, self.targets, self.covariance)


# In spreads of a column; beyond it no digits are left.
FARTHEST_ANCHOR = 1e6
# Asymmetries that a noise rate of at most 0.49 leaves room for, less a hair.
LIMITS = (-0.97, 0.97)


@dataclass(frozen=True, slots=True)
class Direction:
    """A statistic at one null fit: the ratio of a distance and its standard error.

    `slope` is how fast z changes with the hypothesised asymmetry, to first order. `usable`
    is False at a step, which fits anything and so is no evidence for its asymmetry.
    """

    z: float
    slope: float
    distance: float
    standard_error: float
    usable: bool


class NullFits:
    """Null fits for one set of evidence, each started from its neighbours.

    The first fit starts from the plain curve at several noise rates; with many rows it is
    found on a sample and carried over. Later ones start from the nearest fits so far.
    """

    def __init__(
        self,
        problem: NoisyProblem,
        evidence: Evidence,
        plain_coefficients: FloatArray,
        near: NoisyFit | None = None,
    ) -> None:
        self.problem = problem
        self.evidence = evidence
        self._plain = plain_coefficients
        self._near = near  # a fit with other evidence, to start from where rows are many
        self._fits: dict[float, NoisyFit] = {}

    def at(self, asymmetry: float) -> NoisyFit:
        """Return the null fit for a hypothesised asymmetry."""
        if asymmetry not in self._fits:
            fit = self._nearby(asymmetry) if self._fits else self._first(asymmetry)
            self._fits[asymmetry] = fit
        return self._fits[asymmetry]

    def _first(self, asymmetry: float) -> NoisyFit:
        if self._near is not None and self.problem.samples:
            return finish_noisy(self.problem, self.evidence, self._near, 1.0)
        starts = plain_starts(self._plain, asymmetry, self.problem.rows.n_rows)
        pilot_problem, share = self.problem, 1.0
        for sample in self.problem.samples:  # the smallest first
            share = sample.rows.total_weight / self.problem.rows.total_weight
            found = fit_noisy(
                sample, self.evidence.scaled(share), asymmetry, starts, self.problem.last_gain
            )
            starts, pilot_problem = [found.point], sample
        if pilot_problem is self.problem:
            return fit_noisy(self.problem, self.evidence, asymmetry, starts)
        return finish_noisy(self.problem, self.evidence, found, share)

    def _nearby(self, asymmetry: float) -> NoisyFit:
        """Fit from where the nearest fits lead."""
        known = sorted(self._fits, key=lambda other: abs(other - asymmetry))[:3]
        nearest = self._fits[known[0]]
        if len(known) < 3 or abs(asymmetry - known[0]) > 2 * (max(known) - min(known)):
            start = along_the_tangent(nearest, self.evidence, asymmetry)
        else:
            start = _between([self._fits[other].point for other in known], asymmetry)
        fit = climb_noisy(self.problem, self.evidence, asymmetry, start, self.problem.last_gain)
        if not fit.is_step:
            return fit
        again = fit_noisy(
            self.problem,
            self.evidence,
            asymmetry,
            plain_starts(self._plain, asymmetry, self.problem.rows.n_rows),
        )
        return max(fit, again, key=lambda end: end.objective)


def _between(points: list[NoisyPoint], asymmetry: float) -> NoisyPoint:
    """Return the polynomial through several fits, at another asymmetry."""
    knots = [point.asymmetry for point in points]
    shares = [
        float(np.prod([(asymmetry - other) / (knot - other) for other in knots if other != knot]))
        for knot in knots
    ]
    coefficients = np.array(shares) @ np.array([point.coefficients for point in points])
    rate = sum(share * point.rate for share, point in zip(shares, points, strict=True))
    return NoisyPoint(coefficients, float(rate), asymmetry)


class BoundaryStatistic:
    """The boundary test's z as a function of the hypothesised asymmetry."""

    def __init__(
        self, problem: NoisyProblem, equation: AnchorEquations, plain_coefficients: FloatArray
    ) -> None:
        self.equation = equation
        self.fits = NullFits(problem, equation.evidence(), plain_coefficients)

    def at(self, asymmetry: float) -> Direction:
        """Return the statistic at a hypothesised asymmetry."""
        fit = self.fits.at(asymmetry)
        return boundary_direction(fit, self.equation, grouped_scores(self.fits.problem, fit))


class JointStatistic:
    """The joint test's z as a function of the hypothesised asymmetry."""

    def __init__(
        self,
        problem: NoisyProblem,
        evidence: Evidence,
        plain_coefficients: FloatArray,
        near: NoisyFit | None = None,
    ) -> None:
        self.evidence = evidence
        self.fits = NullFits(problem, evidence, plain_coefficients, near)

    def at(self, asymmetry: float) -> Direction:
        """Return the statistic at a hypothesised asymmetry."""
        fit = self.fits.at(asymmetry)
        return joint_direction(fit, self.evidence, grouped_scores(self.fits.problem, fit))


def boundary_direction(
    fit: NoisyFit, equation: AnchorEquations, group_scores: FloatArray | None = None
) -> Direction:
    """Return how far the curve's own crossing of the stated posterior is from the anchors.

    One scoring step from the null fit, without the evidence, estimates the log-odds at the
    weighted anchor; its variance is that of the curve plus that of the anchors.
    """
    n_parameters = len(fit.point.coefficients)
    n_nuisance = n_parameters + fit.rate_is_free
    contrast = np.zeros(n_nuisance)
    contrast[:n_parameters] = equation.design[0]
    inverse = symmetric_inverse(fit.here.information[:n_nuisance, :n_nuisance])
    lever = inverse @ contrast
    estimate = contrast[:n_parameters] @ fit.point.coefficients
    distance = float(estimate + lever @ fit.here.score[:n_nuisance] - equation.targets[0])
    if group_scores is None:
        curve_variance = float(contrast @ lever)
    else:
        curve_variance = float(((group_scores[:, :n_nuisance] @ lever) ** 2).sum())
    standard_error = float(np.sqrt(curve_variance + equation.covariance[0, 0]))
    # A higher hypothesised asymmetry explains positive labels away and lowers the log-odds.
    slope = -float(lever @ (fit.here.information @ asymmetry_direction(fit))[:n_nuisance])
    return Direction(
        z=distance / standard_error,
        slope=slope / standard_error,
        distance=distance,
        standard_error=standard_error,
        usable=not fit.is_step,
    )


def joint_direction(
    fit: NoisyFit, evidence: Evidence, group_scores: FloatArray | None = None
) -> Direction:
    """Return the efficient score for the asymmetry, with the anchors' information counted.

    Without noise or asymmetry either flip rate can only grow: the one that raises the
    likelihood decides, and where neither does, the statistic is zero.
    """
    target = asymmetry_direction(fit)
    if fit.rate_is_free or fit.point.rate > 0:
        return _efficient_score(fit, evidence, target, group_scores)
    target[-2] = 0.5
    more_beta = _efficient_score(fit, evidence, target, group_scores)
    target[-2] = -0.5
    more_alpha = _efficient_score(fit, evidence, target, group_scores)
    if max(more_beta.z, -more_alpha.z) <= 0:
        return replace(more_beta, z=0.0)
    return more_beta if more_beta.z > -more_alpha.z else more_alpha


def _efficient_score(
    fit: NoisyFit, evidence: Evidence, target: FloatArray, group_scores: FloatArray | None
) -> Direction:
    """Return the score along `target`, less what the nuisance parameters explain of it."""
    n_parameters = len(fit.point.coefficients)
    # Coordinates: free coefficients, then tau if it is free.
    n_free = evidence.basis.shape[1]
    nuisance = np.zeros((n_parameters + 2, n_free + fit.rate_is_free))
    nuisance[:n_parameters, :n_free] = evidence.basis
    if fit.rate_is_free:
        nuisance[n_parameters, n_free] = 1
    rows_information = fit.here.information
    prior = nuisance[:n_parameters].T @ evidence.precision @ nuisance[:n_parameters]
    inverse = symmetric_inverse(nuisance.T @ rows_information @ nuisance + prior)
    mixed = nuisance.T @ (rows_information @ target)
    if group_scores is None:
        information = float(target @ rows_information @ target - mixed @ inverse @ mixed)
    else:
        residual = target - nuisance @ (inverse @ mixed)
        anchors = float(mixed @ inverse @ prior @ inverse @ mixed)
        information = float(((group_scores @ residual) ** 2).sum()) + anchors
    # The nuisance score is zero at the null fit, up to where the climb stopped.
    slack = fit.here.score[:n_parameters] + evidence.penalty_score(fit.point.coefficients)
    nuisance_score = nuisance.T @ np.concatenate([slack, fit.here.score[n_parameters:]])
    score = float(fit.here.score @ target - mixed @ inverse @ nuisance_score)
    standard_error = float(np.sqrt(max(information, 1e-300)))
    return Direction(
        z=score / standard_error,
        slope=-information / standard_error,
        distance=score,
        standard_error=standard_error,
        usable=not fit.is_step,
    )


def grouped_scores(problem: NoisyProblem, fit: NoisyFit) -> FloatArray | None:
    """Return scores summed within groups at a fit, or None where rows have no groups."""
    rows = problem.rows
    if rows.n_groups is None:
        return None
    outside = problem.outside(fit.point)
    empty = GroupedNoisyScores(outside, problem.scaling.shift, rows.n_groups)
    scores = rows.sum_over_rows(empty).scores
    return scores * problem.factors
