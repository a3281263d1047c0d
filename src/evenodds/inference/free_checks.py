"""Checks at a fit that has not seen the anchors: both flip rates free, from the rows alone.

A fit that has seen them fits them too well: it gives way to wrong anchors.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, ndtri

from evenodds.inference.equations import AnchorEquations
from evenodds.inference.noise_aware import grouped_scores
from evenodds.inference.results import Diagnostic
from evenodds.model.bending.free_rates import FreeCurve
from evenodds.model.inverses import chi_squared, symmetric_inverse
from evenodds.model.noisy_link import N_BENDS, BendSums
from evenodds.model.noisy_problem import NoisyEvaluation, NoisyProblem
from evenodds.model.noisy_sums import NoisyPoint
from evenodds.validation import FloatArray

# Below this a check that speaks of a wrong model or anchor is a reason for doubt.
DOUBT_BELOW = 0.01
# Strict anchors are taken as exact up to this half-width: their features have few digits.
LEAST_TOLERANCE = 0.01
# Standard errors by which the curve may be too steep.
TOO_STEEP = 2.5
# More anchors than this are checked by some of them.
MOST_ANCHORS = 400
# A wrong anchor in log-odds, 0.9 instead of 1/2, and how many standard errors beyond the
# critical value make it seen nine times out of ten.
WRONG, SEEN_BEYOND = float(np.log(9)), 1.28


def anchor_check(
    problem: NoisyProblem,
    free: FreeCurve,
    plain_coefficients: FloatArray,
    equations: AnchorEquations,
) -> Diagnostic | None:
    """Test whether the anchors lie where they say on one curve, and name the worst.

    Only differences between anchors count: what they say together is what the test tests. Two
    curves are asked, the free one and the plain one, and both must object: in few rows the free
    one is unsteady, in many the plain one may point a little aside. None with a single anchor.
    """
    n_anchors = len(equations.targets)
    if n_anchors < 2:
        return None
    small = problem.small
    plain = small.evaluate(NoisyPoint(plain_coefficients, 0.0, 0.0))
    n_parameters = len(plain_coefficients)
    asked = [_Curve.at(small, plain, n_parameters)]
    if not free.plain:
        full = _Curve.at(small, free.here, n_parameters + 2)
        steeper = max(full.length / asked[0].length, 1.0)
        better = np.sqrt(2 * max(free.here.log_likelihood - plain.log_likelihood, 1e-9))
        share = min(1.0, TOO_STEEP / better)
        asked = [
            replace(asked[0], stretch=steeper ** (share - 1)),
            replace(full, stretch=steeper**share),
        ]
    seen = np.linspace(0, n_anchors - 1, min(n_anchors, MOST_ANCHORS)).round().astype(int)
    found = [_agreement(curve, equations, seen) for curve in asked]
    least = max(found, key=lambda agreement: agreement.pvalue)
    if least.pvalue < DOUBT_BELOW:
        message = (
            f"The anchors do not lie where they say on one curve (p = {least.pvalue:.2g}); anchor "
            f"{least.worst} is furthest from where the others put it, by {least.size:.1f} standard "
            "errors. That anchor, the tolerance or the model is wrong."
        )
    elif all(agreement.would_see for agreement in found):
        message = (
            f"The anchors agree with one another (p = {least.pvalue:.2g}); a case of 0.9 among "
            "toss-ups would have been seen."
        )
    else:
        return _untold("anchors and curve", "whether the anchors agree with one another")
    return Diagnostic(
        name="anchors and curve",
        message=message,
        concern=least.pvalue < DOUBT_BELOW,
        statistic=least.size,
        pvalue=least.pvalue,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    """Coefficients of a curve that has not seen the anchors, and their covariance."""

    coefficients: FloatArray
    covariance: FloatArray
    stretch: float = 1.0  # what a log-odds of the clean curve can be on this one

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.coefficients[1:]))

    @classmethod
    def at(cls, problem: NoisyProblem, here: NoisyEvaluation, n_estimated: int) -> "_Curve":
        """Return the curve at a fit, whose first `n_estimated` parameters were estimated."""
        n_parameters = len(here.point.coefficients)
        inverse = symmetric_inverse(here.information[:n_estimated, :n_estimated])
        covariance = inverse[:n_parameters, :n_parameters]
        scores = grouped_scores(problem, here.point)
        if scores is not None:
            levers = scores[:, :n_estimated] @ inverse[:, :n_parameters]
            covariance = levers.T @ levers
        return cls(here.point.coefficients, covariance)


@dataclass(frozen=True, slots=True)
class _Agreement:
    """How well anchors agree with one another on one curve."""

    pvalue: float
    worst: int  # number of the anchor furthest from where the others put it
    size: float  # how far that is, in standard errors
    would_see: bool  # whether one wrong anchor would have been seen


def _agreement(curve: _Curve, equations: AnchorEquations, seen: NDArray[np.intp]) -> _Agreement:
    gaps, covariance = _anchor_gaps(curve, equations, seen)
    n = len(gaps)
    contrasts = np.linalg.qr(np.eye(n)[:, 1:] - 1 / n)[0]
    statistic, rank = chi_squared(contrasts.T @ gaps, contrasts.T @ covariance @ contrasts)
    from_the_others = (n * np.eye(n) - 1) / (n - 1)
    errors = np.sqrt(np.einsum("ij,jk,ik->i", from_the_others, covariance, from_the_others))
    sizes = np.abs(from_the_others @ gaps) / errors
    worst = int(np.argmax(sizes))
    # All a little off, or one far off: either way of being wrong is asked about.
    of_one = n * float(2 * ndtr(-sizes[worst]))
    critical = -float(ndtri(DOUBT_BELOW / 4 / n))
    return _Agreement(
        pvalue=min(1.0, 2 * float(chdtrc(rank, statistic)), 2 * of_one),
        worst=int(seen[worst]),
        size=float(sizes[worst]),
        would_see=WRONG / float(np.median(errors)) > critical + SEEN_BEYOND,
    )


def _anchor_gaps(
    curve: _Curve, equations: AnchorEquations, seen: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """Return the gaps between curve and anchors, with their covariance if the anchors are right.

    An anchor that is right lies on its contour, where an error of the curve's steepness moves
    nothing. So each is moved there, along the slopes, before the curve's error is counted; what
    steepness does to its own error comes on top of that.
    """
    design = equations.design[seen]
    gaps = design @ curve.coefficients - equations.targets[seen]
    slopes = np.append(0.0, curve.coefficients[1:])
    along = slopes / (slopes @ slopes)
    on_contour = design - np.outer(gaps, along)
    stretch = 1 / (equations.stated[seen] * (1 - equations.stated[seen]))
    own = equations.covariance[np.ix_(seen, seen)] + np.diag((LEAST_TOLERANCE * stretch) ** 2 / 3)
    return gaps, on_contour @ curve.covariance @ on_contour.T + own * curve.stretch**2


def curve_shape_check(problem: NoisyProblem, free: FreeCurve) -> Diagnostic | None:
    """Test whether the curve between its plateaus bends away from the logistic shape.

    Bends along the fitted index, and second-order terms of the features where these are few.
    """
    if problem.rows.n_groups is not None:
        message = "The shape of the curve was not tested: rows come in groups."
        return Diagnostic(name="link", message=message, concern=False)
    if free.plain:
        return _untold("link", "whether the curve is logistic between its plateaus")
    small, here = problem.small, free.here
    sums = small.rows.sum_over_rows(BendSums.at(small.outside(free.point), small))
    inverse = symmetric_inverse(here.information)
    shared = sums.with_others * problem.factors
    lever = shared @ inverse
    # The score of the bends where everything else is at its best, by one scoring step.
    score = sums.score - lever @ here.score
    information = sums.information - lever @ shared.T
    scale = 1 / np.sqrt(np.maximum(sums.information.diagonal(), 1e-300))
    score, information = score * scale, information * np.outer(scale, scale)
    parts = [slice(0, N_BENDS), slice(N_BENDS, None)] if len(score) > N_BENDS else [slice(None)]
    found = [chi_squared(score[part], information[part, part], least=1e-8) for part in parts]
    pvalues = [float(chdtrc(rank, statistic)) for statistic, rank in found if rank]
    if not pvalues:
        return _untold("link", "whether the curve is logistic between its plateaus")
    pvalue = min(1.0, len(pvalues) * min(pvalues))
    concern = pvalue < DOUBT_BELOW
    message = (
        f"The curve is not logistic in these columns (p = {pvalue:.2g}): the estimate and the "
        "p-value may both be off."
        if concern
        else f"No bend away from the logistic shape was seen (p = {pvalue:.2g}). A posterior that "
        "levels off by itself cannot be seen: it looks like flips."
    )
    statistic = max(statistic for statistic, _ in found)
    return Diagnostic(
        name="link", message=message, concern=concern, statistic=statistic, pvalue=pvalue
    )


def _untold(name: str, what: str) -> Diagnostic:
    """Say what a check could not tell."""
    return Diagnostic(name=name, message=f"These data cannot tell {what}.", concern=False)
