"""What was checked beside the test itself, each as a number and a plain sentence.

None is acted upon in silence: they qualify a verdict, they never change it. Where a
check needs a significance level it is 5%.

A fit that has seen them fits them too well: it gives way to wrong anchors.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, ndtri

from evenodds.inference.noise_aware import BoundaryStatistic, free_directions, grouped_scores
from evenodds.inference.null_fits import AnchorEquations
from evenodds.inference.profile import Alternative, Reference
from evenodds.inference.results import Diagnostic
from evenodds.model.bent_curve import FreeCurve
from evenodds.model.curve_shape import N_BENDS, bend_sums
from evenodds.model.noisy_fit import NoisyFit
from evenodds.model.noisy_likelihood import (
    RATE_MOVES,
    AuditTerms,
    Evidence,
    NoisyEvaluation,
    NoisyPoint,
    NoisyProblem,
    small_sample,
)
from evenodds.model.softmax import ClassFit
from evenodds.model.sums import chi_squared, symmetric_inverse
from evenodds.rows.base import Rows, Span, name_column
from evenodds.validation import FloatArray, counted

LEVEL = 0.05
# Below this a check that speaks of a wrong model or anchor is a reason for doubt.
DOUBT_BELOW = 0.01
# Of more anchors than this, only the highest and the lowest are left out in turn.
MOST_LEFT_OUT = 24
# Rows of the rarer label a parameter, below which the normal approximation is poor.
ROWS_A_PARAMETER = 10
UNSETTLED = "The fit did not settle on one curve: treat the numbers as rough."
# Fewer groups than this make their variance unreliable.
FEW_GROUPS = 30


def doubt_check(
    name: str,
    statistic: float,
    pvalue: float,
    *,
    doubt: str,
    fine: str,
    below: float = DOUBT_BELOW,
) -> Diagnostic:
    """Say what a test beside the test found: a doubt where its p-value is small."""
    concern = pvalue < below
    message = doubt if concern else fine
    return Diagnostic(
        name=name, message=message, concern=concern, statistic=statistic, pvalue=pvalue
    )


def tipping_point(
    z: float,
    moved_by: Callable[[float], float],
    stated: float,
    alternative: Alternative,
    *,
    reference: Reference,
    declared: float,
    whose: str = "anchors",
) -> Diagnostic:
    """Say how far all anchors would have to be off, together, to change the verdict.

    `moved_by` returns the true posterior that lowers z by so much. A rejection is doubted where
    that is less than the tolerance that was declared.
    """
    above, below = reference.critical(LEVEL, alternative)
    above = math.inf if alternative == "less" else above
    below = -math.inf if alternative == "greater" else below
    rejected = not below <= z <= above
    moved = moved_by(z - (above if abs(z - above) <= abs(z - below) else below))
    outcome = "no longer reject uniform noise" if rejected else "reject uniform noise"
    message = (
        f"If the true posterior at the {whose} were {moved:.2f} on average instead of "
        f"{stated:.2f}, the test would {outcome} at 5%."
        if 0 < moved < 1
        else f"No error of the expert on the {whose} would make the test {outcome} at 5%."
    )
    return Diagnostic(
        name="tipping point",
        statistic=moved - stated,
        concern=rejected and abs(moved - stated) < declared,
        message=message,
    )


def groups_check(n_groups: int | None) -> Diagnostic | None:
    """Say whether there are enough groups for a variance by groups; None without groups."""
    if n_groups is None:
        return None
    few = n_groups < FEW_GROUPS
    verdict = ": too few for a variance by groups" if few else ""
    return Diagnostic(
        name="groups",
        message=f"Rows come in {counted(n_groups, 'group')}{verdict}.",
        concern=few,
        statistic=float(n_groups),
    )


def shape_alone() -> Diagnostic:
    """Say what a test without anchors rests on."""
    return Diagnostic(
        name="no anchors",
        concern=True,
        message=(
            "Without anchors this test rests on the shape of the curve alone. A posterior that "
            "levels off by itself looks exactly like flipped labels: confirm with toss-up cases."
        ),
    )


def rate_untold() -> Diagnostic:
    """Say why there are no flip rates."""
    return Diagnostic(
        name="noise rate",
        concern=False,
        message=(
            "These data cannot tell how often labels are flipped: a steeper curve with more flips "
            "fits as well, as where rows lie in few places. The test does not need the rates."
        ),
    )


def companion_check(boundary: float, joint: float | None, why_not: str) -> Diagnostic:
    """Set the p-values of the boundary and the joint test side by side."""
    name = "boundary and joint"
    if joint is None:
        message = f"The joint test is not available: {why_not}"
        return Diagnostic(name=name, message=message, concern=False)
    differ = (boundary < LEVEL) != (joint < LEVEL)
    if not differ:
        message = f"The joint test agrees (its p-value is {joint:.2g})."
    elif joint < LEVEL:
        message = (
            f"The joint test, which also reads the shape of the curve, rejects (p = {joint:.2g}): "
            "the shape, not the anchors, carries the difference. Believe it only if the "
            "posterior is truly logistic; a curve that levels off by itself looks the same."
        )
    else:
        message = (
            f"The joint test does not reject (p = {joint:.2g}): the shape of the curve speaks "
            "against what the anchors say."
        )
    return Diagnostic(name=name, message=message, concern=differ, pvalue=joint)


def leave_one_out(
    statistic: BoundaryStatistic,
    equations: AnchorEquations,
    alternative: Alternative,
    reference: Reference,
) -> Diagnostic | None:
    """Say whether any single anchor decides the verdict; None with one anchor.

    Each is left out of a fit of its own. Of many, those that the curve puts highest and lowest,
    and those with the largest errors of their own: leaving out another moves less.
    """
    n_anchors = len(equations.targets)
    if n_anchors < 2:
        return None
    point = statistic.fits.at(0.0).point
    by_height = np.argsort(equations.design @ point.coefficients - equations.targets)
    ends = by_height
    if n_anchors > MOST_LEFT_OUT:
        loosest = np.argsort(-equations.covariance.diagonal(), kind="stable")[: MOST_LEFT_OUT // 4]
        each = (MOST_LEFT_OUT - len(loosest)) // 2
        ends = np.unique(np.concatenate([by_height[:each], by_height[-each:], loosest]))
    pvalues = {
        int(left_out): reference.pvalue(statistic.without(equations, int(left_out)), alternative)
        for left_out in ends
    }
    return leave_one_out_check(pvalues)


def leave_one_out_check(pvalues: dict[int, float]) -> Diagnostic:
    """Say what p-values come of leaving out each anchor in turn."""
    low, high = min(pvalues.values()), max(pvalues.values())
    mixed = low < LEVEL <= high
    message = f"Leaving out one anchor at a time gives p-values from {low:.2g} to {high:.2g}"
    if mixed:
        rejections = sum(pvalue < LEVEL for pvalue in pvalues.values())
        few = rejections < len(pvalues) / 2
        odd = (min if few else max)(pvalues, key=lambda anchor: pvalues[anchor])
        message += f": one case can change the verdict (look at anchor {odd + 1})."
    else:
        message += ": no single case decides."
    return Diagnostic(name="leave one out", message=message, concern=mixed, statistic=high)


def range_check(rows: Rows, points: FloatArray) -> Diagnostic:
    """Say which anchors lie outside the range of the data."""
    outside = _outside(small_sample(rows), points)
    if outside.any():  # of a sample where rows are many: only now all of them are looked at
        outside = _outside(rows, points)
    count = int(outside.any(axis=1).sum())
    if count == 0:
        message = "All anchors lie within the range of the data."
    else:
        anchor, column = (int(places[0]) for places in np.nonzero(outside))
        name = name_column(rows.feature_names, column)
        message = (
            f"Outside the range of the data: {count} of {counted(len(points), 'anchor')} (anchor "
            f"{anchor + 1} in column {name}). There the curve is extrapolated."
        )
    return Diagnostic(
        name="range of the data", message=message, concern=count > 0, statistic=float(count)
    )


def _outside(rows: Rows, points: FloatArray) -> NDArray[np.bool_]:
    span = rows.sum_over_rows(Span(rows.n_features))
    return (points < span.low) | (points > span.high)


def step_check(fit: NoisyFit) -> Diagnostic:
    """Say whether the null fit is a step, with nearly no rows on its slope."""
    return slope_check(
        fit,
        step="The fitted curve is a step: only about {rows:.0f} rows lie on its slope. The sample "
        "is too small or too noisy for this test; use the bootstrap, or more rows.",
        fine="About {rows:,.0f} rows lie on the slope of the curve.",
    )


def slope_check(fit: NoisyFit | ClassFit, *, step: str, fine: str) -> Diagnostic:
    """Say whether a fit settled, with rows on the slopes of its curves."""
    rows, concern = fit.here.transition, fit.is_step or not fit.converged
    message = step if fit.is_step else UNSETTLED if concern else fine
    return Diagnostic(
        name="step", message=message.format(rows=rows), concern=concern, statistic=rows
    )


def rows_check(rows: Rows) -> Diagnostic:
    """Say whether there are enough rows for the normal approximation."""
    positives = rows.positive_weight()
    rarer = min(positives, rows.total_weight - positives)
    return enough_rows(rarer / (rows.n_features + 1), "the rarer class")


def enough_rows(each: float, whose: str) -> Diagnostic:
    """Say whether so many rows a parameter, of one label, are enough."""
    few = each < ROWS_A_PARAMETER
    shown = f"{each:.1f}" if few else f"{each:,.0f}"
    verdict = f": below about {ROWS_A_PARAMETER} p-values are unreliable." if few else "."
    return Diagnostic(
        name="rows per parameter",
        message=f"{shown} rows of {whose} per parameter{verdict}",
        concern=few,
        statistic=each,
    )


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
    if least.pvalue >= DOUBT_BELOW and not all(agreement.would_see for agreement in found):
        return _untold("anchors and curve", "whether the anchors agree with one another")
    return doubt_check(
        "anchors and curve",
        least.size,
        least.pvalue,
        doubt=f"The anchors do not lie where they say on one curve (p = {least.pvalue:.2g}); "
        f"anchor {least.worst + 1} is furthest from where the others put it, by {least.size:.1f} "
        "standard errors. That anchor, the tolerance or the model is wrong.",
        fine=f"The anchors agree with one another (p = {least.pvalue:.2g}); a case of 0.9 among "
        "toss-ups would have been seen.",
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
        would_see=WRONG / float(errors.max()) > critical + SEEN_BEYOND,
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
    score, information, with_others = bend_sums(small, small.outside(free.point))
    shared = with_others * problem.factors
    lever = shared @ symmetric_inverse(here.information)
    scale = 1 / np.sqrt(np.maximum(information.diagonal(), 1e-300))
    # The score of the bends where everything else is at its best, by one scoring step.
    score = score - lever @ here.score
    information = information - lever @ shared.T
    score, information = score * scale, information * np.outer(scale, scale)
    parts = [slice(0, N_BENDS), slice(N_BENDS, None)] if len(score) > N_BENDS else [slice(None)]
    found = [chi_squared(score[part], information[part, part], least=1e-8) for part in parts]
    pvalues = [float(chdtrc(rank, statistic)) for statistic, rank in found if rank]
    if not pvalues:
        return _untold("link", "whether the curve is logistic between its plateaus")
    pvalue = min(1.0, len(pvalues) * min(pvalues))
    return doubt_check(
        "link",
        max(statistic for statistic, _ in found),
        pvalue,
        doubt=f"The curve is not logistic in these columns (p = {pvalue:.2g}): the estimate and "
        "the p-value may both be off.",
        fine=f"No bend away from the logistic shape was seen (p = {pvalue:.2g}). A posterior that "
        "levels off by itself cannot be seen: it looks like flips.",
    )


def _untold(name: str, what: str) -> Diagnostic:
    """Say what a check could not tell."""
    return Diagnostic(name=name, message=f"These data cannot tell {what}.", concern=False)


# Directions in which the rows know less than this share of what the audit knows cannot disagree.
SAYS_NOTHING = 1e-3
# Below this many flips expected in a class the audit's part of z is far from normal.
FEW_FLIPS = 2.0


def audit_check(fit: NoisyFit, evidence: Evidence, audit: AuditTerms | None) -> Diagnostic | None:
    """Test the audit's flip rates against those of the rows, with the asymmetry free.

    A score test of two more parameters, by which the rates of the audit differ.
    """
    if audit is None:
        return None
    rates = audit.rates_at(fit.point)
    score, precision = rates.score, rates.information
    # Free coefficients, tau and Delta; how alpha and beta move with them.
    basis = free_directions(evidence, 2)
    moves = np.zeros((2, basis.shape[1]))
    moves[:, -2:] = RATE_MOVES
    prior = np.zeros_like(fit.here.information)
    prior[:-2, :-2] = evidence.precision
    total = basis.T @ (fit.here.information + prior) @ basis
    shared = precision @ moves
    covariance = precision - shared @ symmetric_inverse(total) @ shared.T
    scale = np.sqrt(np.maximum(precision.diagonal(), 1e-300))
    share = covariance / np.outer(scale, scale)
    statistic, rank = chi_squared(score / scale, share, zero=0.0, least=SAYS_NOTHING)
    if rank == 0:
        return None
    pvalue = float(chdtrc(rank, statistic))
    return doubt_check(
        "audit",
        statistic,
        pvalue,
        doubt=f"The audit does not fit what rows and anchors say of the flips (p = {pvalue:.2g}): "
        "the audit, an anchor or the curve is wrong, or the audited rows are of another kind.",
        fine=f"The audit fits what rows and anchors say of the flips (p = {pvalue:.2g}).",
    )


def audit_size_check(null: NoisyFit, audit: AuditTerms | None) -> Diagnostic | None:
    """Check that enough flips are expected in the audit for the normal law."""
    if audit is None:
        return None
    expected = [
        n * min(rate, 1 - rate)
        for n, rate in (
            (audit.n_positive, null.point.alpha),
            (audit.n_negative, null.point.beta),
        )
        if n > 0
    ]
    fewest = max(min(expected), 0.0)
    few = fewest < FEW_FLIPS
    message = (
        f"Under uniform noise only {fewest:.1f} flips are expected among the audited rows of one "
        "class: one flip more or less may decide. Test the audit by itself too, with audit_test, "
        "which is exact."
        if few
        else f"Under uniform noise {fewest:.1f} flips or more are expected in each audited class."
    )
    return Diagnostic(name="audit size", message=message, concern=few, statistic=fewest)
