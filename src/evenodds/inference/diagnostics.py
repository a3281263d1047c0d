"""What was checked beside the test itself, each as a number and a plain sentence.

None is acted upon in silence: they qualify a verdict, they never change it. Where a
check needs a significance level it is 5 %.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, expit

from evenodds.inference.equations import AnchorEquations
from evenodds.inference.noise_aware import Direction, boundary_direction
from evenodds.inference.profile import Alternative, Profile, Reference
from evenodds.inference.results import Diagnostic
from evenodds.model.inverses import chi_squared, symmetric_inverse
from evenodds.model.noisy import NoisyFit
from evenodds.model.noisy_link import BendSums
from evenodds.model.noisy_problem import NoisyProblem, small_sample
from evenodds.rows.base import Rows, name_column
from evenodds.rows.span import Span
from evenodds.validation import FloatArray

LEVEL = 0.05
# Below this a check that speaks of a wrong model or anchor is a reason for doubt.
DOUBT_BELOW = 0.01
# Rows of the rarer label a parameter, below which the normal approximation is poor.
ROWS_A_PARAMETER = 10
UNSETTLED = "The fit did not settle on one curve: treat the numbers as rough."
# Fewer groups than this make their variance unreliable.
FEW_GROUPS = 30


def tipping_point(
    null: Direction, stated: float, alternative: Alternative, reference: Reference
) -> Diagnostic:
    """Say how far all anchors would have to be off, together, to change the verdict."""
    above, below = reference.critical(LEVEL, alternative)
    above = math.inf if alternative == "less" else above
    below = -math.inf if alternative == "greater" else below
    rejected = not below <= null.z <= above
    # Raising the anchors' true log-odds lowers z, so z must come down to here by that shift.
    nearest = above if abs(null.z - above) <= abs(null.z - below) else below
    shift = (null.z - nearest) * null.standard_error
    moved = float(expit(math.log(stated / (1 - stated)) + shift))
    outcome = "no longer reject uniform noise" if rejected else "reject uniform noise"
    return Diagnostic(
        name="tipping point",
        statistic=moved - stated,
        concern=rejected and abs(moved - stated) < 0.02,
        message=(
            f"If the true posterior at the anchors were {moved:.2f} on average instead of "
            f"{stated:.2f}, the test would {outcome} at 5%."
        ),
    )


def root_check(profile: Profile) -> Diagnostic | None:
    """Say so where no asymmetry makes the statistic zero; None where one does."""
    left = abs(profile(profile.estimate))
    if left < 0.01:
        return None
    return Diagnostic(
        name="estimate",
        statistic=left,
        concern=True,
        message=(
            "No asymmetry that could be tried fits these labels and anchors; the estimate is only "
            "where the search ended. Read the direction, not the size."
        ),
    )


def groups_check(rows: Rows) -> Diagnostic | None:
    """Say whether there are enough groups for a variance by groups; None without groups."""
    if rows.n_groups is None:
        return None
    few = rows.n_groups < FEW_GROUPS
    verdict = "too few for a variance by groups" if few else "enough for a variance by groups"
    return Diagnostic(
        name="groups",
        message=f"There are {rows.n_groups:,} groups: {verdict}.",
        concern=few,
        statistic=float(rows.n_groups),
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


def anchor_check(
    fit: NoisyFit, equations: AnchorEquations, group_scores: FloatArray | None
) -> Diagnostic:
    """Test the anchors against the curve with the asymmetry free, and name the worst."""
    gaps, covariance = _anchor_gaps(fit, equations, group_scores)
    statistic, rank = chi_squared(gaps, covariance)
    pvalue = float(chdtrc(rank, statistic))
    concern = pvalue < DOUBT_BELOW
    standardised = np.abs(gaps) / np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
    worst = int(np.argmax(standardised))
    message = (
        f"The anchors do not fit the curve (p = {pvalue:.2g}); anchor {worst} is furthest off, by "
        f"{standardised[worst]:.1f} standard errors. That anchor, the tolerance or the model is "
        "wrong."
        if concern
        else f"The anchors fit the curve (p = {pvalue:.2g})."
    )
    return Diagnostic(
        name="anchors and curve",
        message=message,
        concern=concern,
        statistic=statistic,
        pvalue=pvalue,
    )


def _anchor_gaps(
    fit: NoisyFit, equations: AnchorEquations, group_scores: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the gaps between curve and anchors, asymmetry free, with their covariance.

    One scoring step in (theta, tau, Delta), without the anchors, from the fit.
    """
    n_parameters = len(fit.point.coefficients)
    kept = _estimated(fit)
    inverse = symmetric_inverse(fit.here.information[np.ix_(kept, kept)])
    step = inverse @ fit.here.score[kept]
    coefficients = fit.point.coefficients + step[:n_parameters]
    design = equations.design
    covariance = inverse
    if group_scores is not None:
        levers = group_scores[:, kept] @ inverse
        covariance = levers.T @ levers
    curve = design @ covariance[:n_parameters, :n_parameters] @ design.T
    return design @ coefficients - equations.targets, curve + equations.covariance


def _estimated(fit: NoisyFit) -> list[int]:
    """Return the places of theta, Delta and, where it is free, tau among all parameters."""
    n_parameters = len(fit.point.coefficients)
    free_rate = [n_parameters] if fit.rate_is_free else []
    return [*range(n_parameters), n_parameters + 1, *free_rate]


def leave_one_out(
    null: NoisyFit,
    equations: AnchorEquations,
    group_scores: FloatArray | None,
    alternative: Alternative,
    reference: Reference,
) -> Diagnostic | None:
    """Say whether any single anchor decides the verdict; None with one anchor."""
    n_anchors = len(equations.targets)
    if n_anchors < 2:
        return None
    pvalues = []
    for left_out in range(n_anchors):
        weights = np.full(n_anchors, 1 / (n_anchors - 1))
        weights[left_out] = 0
        without = boundary_direction(null, equations.averaged(weights), group_scores)
        pvalues.append(reference.pvalue(without.z, alternative))
    return leave_one_out_check(pvalues)


def leave_one_out_check(pvalues: list[float]) -> Diagnostic:
    """Say what p-values come of leaving out each anchor in turn."""
    n_anchors = len(pvalues)
    low, high = min(pvalues), max(pvalues)
    mixed = low < LEVEL <= high
    message = f"Leaving out one anchor at a time gives p-values from {low:.2g} to {high:.2g}"
    if mixed:
        rejections = sum(pvalue < LEVEL for pvalue in pvalues)
        odd = int(np.argmin(pvalues) if rejections < n_anchors / 2 else np.argmax(pvalues))
        message += f": one case can change the verdict (look at anchor {odd})."
    else:
        message += ": no single case decides."
    return Diagnostic(name="leave one out", message=message, concern=mixed, statistic=high)


def curve_shape_check(problem: NoisyProblem, fit: NoisyFit) -> Diagnostic:
    """Test whether the curve between its plateaus bends away from the logistic shape."""
    if problem.rows.n_groups is not None:
        message = "The shape of the curve was not tested: rows come in groups."
        return Diagnostic(name="link", message=message, concern=False)
    seen = problem.small
    here = fit.here if seen is problem else seen.evaluate(fit.point)
    sums = seen.rows.sum_over_rows(BendSums(seen.outside(fit.point), seen.scaling.shift))
    kept = _estimated(fit)
    inverse = symmetric_inverse(here.information[np.ix_(kept, kept)])
    shared = (sums.with_others * problem.factors)[:, kept]
    lever = shared @ inverse
    # The score of the bends where everything else is at its best, by one scoring step.
    score = sums.score - lever @ here.score[kept]
    information = sums.information - lever @ shared.T
    statistic = float(score @ symmetric_inverse(information) @ score)
    pvalue = float(chdtrc(len(score), max(statistic, 0.0)))
    concern = pvalue < DOUBT_BELOW
    message = (
        f"The curve bends away from the logistic shape (p = {pvalue:.2g}): every test that fits it "
        "may be wrong. A formula helps if it is the right one; if you know none, look true labels "
        "up (audit_test)."
        if concern
        else f"The curve between its plateaus looks logistic (p = {pvalue:.2g})."
    )
    return Diagnostic(
        name="link", message=message, concern=concern, statistic=statistic, pvalue=pvalue
    )


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
            f"{count} of {len(points)} anchors lie outside the range of the data (anchor {anchor} "
            f"in column {name}): there the curve is extrapolated."
        )
    return Diagnostic(
        name="range of the data", message=message, concern=count > 0, statistic=float(count)
    )


def _outside(rows: Rows, points: FloatArray) -> NDArray[np.bool_]:
    span = rows.sum_over_rows(Span(rows.n_features))
    beyond: NDArray[np.bool_] = (points < span.low) | (points > span.high)
    return beyond


def step_check(fit: NoisyFit) -> Diagnostic:
    """Say whether the null fit is a step, with nearly no rows on its slope."""
    rows = fit.here.transition
    if fit.is_step:
        message = (
            f"The fitted curve is a step: only about {rows:.0f} rows lie on its slope. The "
            "sample is too small or too noisy for this test; use the bootstrap, or more rows."
        )
    elif not fit.converged:
        message = UNSETTLED
    else:
        message = f"About {rows:,.0f} rows lie on the slope of the curve."
    concern = fit.is_step or not fit.converged
    return Diagnostic(name="step", message=message, concern=concern, statistic=rows)


def rows_check(rows: Rows) -> Diagnostic:
    """Say whether there are enough rows for the normal approximation."""
    positives = rows.positive_weight()
    rarer = min(positives, rows.total_weight - positives)
    return enough_rows(rarer / (rows.n_features + 1), "the rarer label")


def enough_rows(each: float, whose: str) -> Diagnostic:
    """Say whether so many rows a parameter, of one label, are enough."""
    few = each < ROWS_A_PARAMETER
    shown = f"{each:.1f}" if few else f"{each:,.0f}"
    verdict = (
        f"fewer than about {ROWS_A_PARAMETER} make p-values too small"
        if few
        else "enough for the normal approximation"
    )
    return Diagnostic(
        name="rows per parameter",
        message=f"There are {shown} rows of {whose} a parameter: {verdict}.",
        concern=few,
        statistic=each,
    )
