"""One null fit for each hypothesised asymmetry, and the anchors as equations about it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import nnls

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError
from evenodds.model.noisy_fit import (
    NoisyFit,
    along_the_tangent,
    climb_noisy,
    contending,
    find_tops,
    finish_noisy,
    rate_bounds,
)
from evenodds.model.noisy_likelihood import Evidence, NoisyPoint, NoisyProblem
from evenodds.validation import FloatArray

# A fit on a sample may stop this far short, in squared standard errors of the sample.
LAST_GAIN_ON_SAMPLE = 1e-4
# Asymmetries this far from where tops were last looked for are searched afresh.
SEARCH_EVERY = 0.1


class NullFits:
    """Null fits for one set of evidence, each started from its neighbours.

    The first fit is the best of all tops that a search finds; with many rows they are found
    on a sample and carried over. Later ones start from the nearest fits so far: all tops that
    contend are followed, since another may be the best elsewhere.
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
        self._tops: dict[float, list[NoisyFit]] = {}
        self._searched: list[float] = []
        self.sampled = SampledFits(problem, evidence) if problem.samples else None

    def at(self, asymmetry: float) -> NoisyFit:
        """Return the null fit for a hypothesised asymmetry."""
        if asymmetry not in self._tops:
            best, *others = self._nearby(asymmetry) if self._tops else self._first(asymmetry)
            self._tops[asymmetry] = [self._settled(best), *others]
        return self._tops[asymmetry][0]

    def _settled(self, top: NoisyFit) -> NoisyFit:
        """Climb on where a climb ran out of steps on its way."""
        if top.converged or top.is_step:
            return top
        problem, at = self.problem, top.point
        further = climb_noisy(
            problem, self.evidence, at.asymmetry, at, problem.last_gain, seen=top.here
        )
        return contending([top, further])[0]

    def refitted(self, evidence: Evidence, asymmetry: float) -> NoisyFit:
        """Return the fit with other evidence, from where these fits are."""
        self.at(asymmetry)
        problem = self.problem
        ends = [
            climb_noisy(problem, evidence, asymmetry, top.point, problem.last_gain, seen=top.here)
            for top in self._tops[asymmetry]
        ]
        return contending(ends)[0]

    def _first(self, asymmetry: float) -> list[NoisyFit]:
        problem, evidence = self.problem, self.evidence
        if not problem.samples:
            known = [] if self._near is None else [self._near.point]
            return self._search(
                asymmetry, [climb_noisy(problem, evidence, asymmetry, point) for point in known]
            )
        if self._near is not None:
            return [finish_noisy(problem, evidence, self._near, 1.0)]
        total, gain = problem.rows.total_weight, problem.last_gain
        smallest, *larger = problem.samples
        share = smallest.rows.total_weight / total
        tops = find_tops(smallest, evidence.scaled(share), asymmetry, self._plain, gain)
        for sample in larger:
            share = sample.rows.total_weight / total
            tops = contending(
                [
                    climb_noisy(sample, evidence.scaled(share), asymmetry, top.point, gain)
                    for top in tops
                ]
            )
        return [finish_noisy(problem, evidence, tops[0], share)]

    def _search(self, asymmetry: float, known: Sequence[NoisyFit] = ()) -> list[NoisyFit]:
        """Look for all tops, besides those that are known."""
        self._searched.append(asymmetry)
        return find_tops(self.problem, self.evidence, asymmetry, self._plain, known=known)

    def _nearby(self, asymmetry: float) -> list[NoisyFit]:
        """Fit from where the nearest fits lead."""
        known = sorted(self._tops, key=lambda other: abs(other - asymmetry))[:3]
        nearest = self._tops[known[0]]
        if self.sampled is not None:
            problem, share = self.problem, self.sampled.share
            near = [self._tops[other][0].point for other in known[:2]]
            pilot = self.sampled.carried(near, asymmetry)
            fit = finish_noisy(problem, self.evidence, pilot, share, problem.last_gain)
            return self._search(asymmetry, [fit]) if fit.is_step else [fit]
        starts = [along_the_tangent(top, self.evidence, asymmetry) for top in nearest]
        if len(known) == 3 and abs(asymmetry - known[0]) <= 2 * (max(known) - min(known)):
            starts[0] = _between([self._tops[other][0].point for other in known], asymmetry)
        gain = self.problem.last_gain
        ends = [
            climb_noisy(self.problem, self.evidence, asymmetry, start, gain) for start in starts
        ]
        tops = contending(ends)
        far = all(abs(asymmetry - searched) > SEARCH_EVERY for searched in self._searched)
        if far or tops[0].is_step:
            tops = self._search(asymmetry, tops)
        return tops


class SampledFits:
    """Null fits on a sample of the rows: they cost little and move as those of all rows do."""

    def __init__(self, problem: NoisyProblem, evidence: Evidence) -> None:
        self.problem = problem.samples[-1]
        self.share = self.problem.rows.total_weight / problem.rows.total_weight
        self.evidence = evidence.scaled(self.share)
        self._known: dict[float, NoisyFit] = {}

    def at(self, asymmetry: float, start: NoisyPoint) -> NoisyFit:
        """Return the fit of the sample, from where a fit of all rows is."""
        if asymmetry not in self._known:
            gain = LAST_GAIN_ON_SAMPLE
            self._known[asymmetry] = climb_noisy(
                self.problem, self.evidence, asymmetry, start, gain
            )
        return self._known[asymmetry]

    def refitted(self, evidence: Evidence, fit: NoisyFit) -> NoisyFit:
        """Return a fit of the sample with evidence of its own."""
        at, gain = fit.point, LAST_GAIN_ON_SAMPLE
        return climb_noisy(self.problem, evidence, at.asymmetry, at, gain, seen=fit.here)

    def carried(self, near: list[NoisyPoint], asymmetry: float) -> NoisyFit:
        """Return where fits of all rows, the nearest first, lead: as the sample moves.

        How far the sample is off changes slowly, so it is carried on from the nearest fits.
        """
        fits = [self.at(point.asymmetry, point) for point in near]
        there = self.at(asymmetry, along_the_tangent(fits[0], self.evidence, asymmetry))
        off = _between(
            [_moved(point, fit.point, -1.0) for point, fit in zip(near, fits, strict=True)],
            asymmetry,
        )
        moved = _moved(there.point, off)
        low, high = rate_bounds(asymmetry)
        moved = replace(moved, rate=min(max(moved.rate, low), high))
        return replace(there, here=replace(there.here, point=moved))


def _moved(point: NoisyPoint, by: NoisyPoint, times: float = 1.0) -> NoisyPoint:
    """Return a point plus a multiple of another."""
    coefficients = point.coefficients + times * by.coefficients
    return NoisyPoint(coefficients, point.rate + times * by.rate, point.asymmetry)


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


# In spreads of a column; beyond it no digits are left.
FARTHEST_ANCHOR = 1e6


@dataclass(frozen=True, slots=True)
class AnchorEquations:
    """Anchors on the log-odds scale: ``A theta = t + e``, ``e ~ N(0, V)``."""

    design: FloatArray  # A, in the solver's coordinates
    targets: FloatArray  # t
    covariance: FloatArray  # V
    stated: FloatArray  # the posteriors behind t
    spreads: FloatArray | float = 1.0  # of the columns, on the solver's scale
    found: bool = False  # e is an error of place: cases were looked for, not posteriors estimated

    @classmethod
    def of(
        cls, anchors: Anchors | None, points: FloatArray, problem: NoisyProblem
    ) -> "AnchorEquations":
        """Put anchors on the log-odds scale; posteriors of 0 and 1 are not on it.

        Without anchors there are no equations.
        """
        design = problem.design(points)
        if anchors is None:
            return cls(design, np.empty(0), np.empty((0, 0)), np.empty(0))
        stated = anchors.posterior
        ends = (stated <= 0) | (stated >= 1)
        if ends.any():
            raise AnchorError(
                f"posterior is {float(stated[np.argmax(ends)]):g} at anchor "
                f"{int(np.argmax(ends)) + 1} but this test needs them strictly between 0 and 1: a "
                "certain case says nothing about where the boundary runs. Leave it out, or state a "
                "posterior you could bet on, such as 0.9 with a tolerance of 0.05."
            )
        stretch = 1 / (stated * (1 - stated))
        if not np.abs(design).max() < FARTHEST_ANCHOR:
            raise AnchorError(
                "an anchor lies absurdly far from the data: check the units of its columns."
            )
        return cls(
            design=design,
            targets=np.log(stated / (1 - stated)),
            covariance=anchors.error_covariance() * np.outer(stretch, stretch),
            stated=stated,
            spreads=problem.scaling.spreads,
            found=anchors.source_covariance is None,
        )

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
        return Evidence.of(
            self.design, self.targets, self.covariance, found=self.found, spreads=self.spreads
        )


Weights = Literal["equal", "optimal"]


def equal_weights(n_anchors: int) -> FloatArray:
    """Return the same weight for every anchor."""
    return np.full(n_anchors, 1 / n_anchors)


def optimal_weights(covariance: FloatArray, design: FloatArray) -> FloatArray:
    """Return the non-negative weights, summing to one, with the smallest variance.

    Minimising ``u' A C A' u`` on the simplex is non-negative least squares: with
    ``C = R R'`` and ``R b = e_1`` (every anchor has a leading 1) the minimiser of
    ``|R' A' v - b|`` over ``v >= 0`` is proportional to it.
    """
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise AnchorError(
            "weights='optimal' needs a curve whose slopes are all determined, and these rows do "
            "not determine them: use weights='equal', or more rows."
        ) from None
    leading = np.zeros(design.shape[1])
    leading[0] = 1
    weights, _ = nnls(root.T @ design.T, np.linalg.solve(root, leading))
    return np.asarray(weights / weights.sum())


def check_weights(weights: Weights, anchors: Anchors) -> None:
    """Refuse optimal weights for anchors with a tolerance."""
    if weights == "optimal" and not anchors.strict:
        raise AnchorError(
            "weights='optimal' needs strict anchors (tolerance 0): with a tolerance it favours "
            "misplaced anchors and loses power. Use weights='equal'."
        )
