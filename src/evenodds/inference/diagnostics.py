"""What was checked beside the test itself, each as a number and a plain sentence.

None is acted upon in silence: they qualify a verdict, they never change it. Where a
check needs a significance level it is 5 %.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from evenodds.inference.equations import AnchorEquations
from evenodds.inference.noise_aware import BoundaryStatistic, Direction
from evenodds.inference.profile import Alternative, Reference
from evenodds.inference.results import Diagnostic
from evenodds.model.noisy import NoisyFit
from evenodds.model.noisy_problem import small_sample
from evenodds.rows.base import Rows, name_column
from evenodds.rows.span import Span
from evenodds.validation import FloatArray

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


def tipping_point(
    null: Direction,
    stated: float,
    alternative: Alternative,
    reference: Reference,
    declared: float,
) -> Diagnostic:
    """Say how far all anchors would have to be off, together, to change the verdict.

    A rejection is doubted where that is less than the tolerance that was declared.
    """
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
        concern=rejected and abs(moved - stated) < declared,
        message=(
            f"If the true posterior at the anchors were {moved:.2f} on average instead of "
            f"{stated:.2f}, the test would {outcome} at 5%."
        ),
    )


def groups_check(rows: Rows) -> Diagnostic | None:
    """Say whether there are enough groups for a variance by groups; None without groups."""
    if rows.n_groups is None:
        return None
    few = rows.n_groups < FEW_GROUPS
    verdict = ": too few for a variance by groups" if few else ""
    return Diagnostic(
        name="groups",
        message=f"There are {rows.n_groups:,} groups{verdict}.",
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


def leave_one_out(
    statistic: BoundaryStatistic,
    equations: AnchorEquations,
    alternative: Alternative,
    reference: Reference,
) -> Diagnostic | None:
    """Say whether any single anchor decides the verdict; None with one anchor.

    Each is left out of a fit of its own. Of many, those that the curve puts highest and lowest:
    leaving out one between moves less.
    """
    n_anchors = len(equations.targets)
    if n_anchors < 2:
        return None
    point = statistic.fits.at(0.0).point
    by_height = np.argsort(equations.design @ point.coefficients - equations.targets)
    ends = by_height
    if n_anchors > MOST_LEFT_OUT:
        ends = np.concatenate([by_height[: MOST_LEFT_OUT // 2], by_height[-MOST_LEFT_OUT // 2 :]])
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
        message += f": one case can change the verdict (look at anchor {odd})."
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
