"""What is checked beside a test of several classes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import chdtrc

from evenodds.inference.diagnostics import DOUBT_BELOW, UNSETTLED, enough_rows
from evenodds.inference.equations import AnchorEquations
from evenodds.inference.multiclass.crossing import Problem, SplitAnchors, split_log_odds
from evenodds.inference.multiclass.results import SplitRecord
from evenodds.inference.multiclass.splits import Split
from evenodds.inference.results import Diagnostic
from evenodds.model.inverses import ZERO, chi_squared, symmetric_inverse
from evenodds.model.softmax.climb import ClassFit
from evenodds.model.softmax.sums import ClassData, ClassPoint, evaluate
from evenodds.rows.classes import ClassRows
from evenodds.validation import FloatArray

# With more classes the bends of all curves are too many to test one by one.
MOST_BENT = 6
# Log-odds beyond which a bend no longer grows, so that one far row cannot decide.
HELD_AT = 8.0
# Splits whose withheld numbers are accounted for one by one.
MOST_NAMED = 3


def curve_check(fit: ClassFit) -> Diagnostic:
    """Say whether the curve settled, with rows on its slopes."""
    rows = fit.here.transition
    if fit.is_step:
        message = (
            f"The classes hardly overlap: only about {rows:.0f} rows lie between them. There is "
            "little to see at the toss-ups; use more rows or fewer columns."
        )
    elif not fit.converged:
        message = UNSETTLED
    else:
        message = f"About {rows:,.0f} rows lie between the classes."
    concern = fit.is_step or not fit.converged
    return Diagnostic(name="step", message=message, concern=concern, statistic=rows)


def rows_check(rows: ClassRows, counts: FloatArray) -> Diagnostic:
    """Say whether every class has enough rows for the normal approximation."""
    rarest = int(np.argmin(counts))
    each = float(counts[rarest]) / (rows.features.shape[1] + 1)
    return enough_rows(each, f"the rarest label, {rows.classes.names[rarest]!r},")


def withheld_check(records: Sequence[SplitRecord]) -> Diagnostic:
    """Say which splits the data cannot tell of, and why."""
    reasons = [f"{record.name}: {record.withheld}" for record in records[:MOST_NAMED]]
    count = "one split" if len(records) == 1 else f"{len(records)} splits"
    more = ["The splits say why of the others."] if len(records) > MOST_NAMED else []
    message = " ".join([f"These data cannot tell of {count}.", *reasons, *more])
    return Diagnostic(name="withheld", message=message, concern=True, statistic=float(len(records)))


def doubts_about(record: SplitRecord) -> tuple[Diagnostic, ...]:
    """Return the concerns about a split, named after it."""
    return tuple(
        replace(
            check, name=f"{record.name}: {check.name}", message=f"{record.name}: {check.message}"
        )
        for check in record.diagnostics
        if check.concern
    )


def shape_check(problem: Problem, fit: ClassFit) -> Diagnostic | None:
    """Test whether the log-odds between classes bend: squares of them as columns more.

    With the asymmetries of all splits free: noise that leans must not look like a bend. None
    where no bend is seen, since a mild one seldom is.
    """
    why = "rows come in groups" if problem.data.groups is not None else ""
    why = "they are steps" if fit.is_step else why
    if why:
        message = f"The shape of the curves was not tested: {why}."
        return Diagnostic(name="link", message=message, concern=False)
    data, point = problem.data, fit.point
    linear = np.clip(data.design @ point.coefficients.T, -HELD_AT, HELD_AT)
    bends = linear**2
    if data.n_classes > MOST_BENT:
        bends = bends.mean(axis=1, keepdims=True)
    bends -= bends.mean(axis=0)
    bends /= np.maximum(bends.std(axis=0), 1e-300)
    n_curves, n_columns = point.coefficients.shape
    wide = ClassData(np.hstack([data.design, bends]), data.labels, data.weights, data.n_classes)
    straight = np.hstack([point.coefficients, np.zeros((n_curves, bends.shape[1]))])
    here = evaluate(wide, problem.family, ClassPoint(straight, point.rates, point.asymmetries))
    width = n_columns + bends.shape[1]
    bent = np.concatenate([np.arange(n_columns, width) + k * width for k in range(n_curves)])
    plain = np.setdiff1d(np.arange(n_curves * width), bent)
    n_rates, n_all = len(fit.free), len(here.score)
    leaning = np.arange(n_curves * width + n_rates, n_all)
    kept = np.concatenate([plain, n_curves * width + np.flatnonzero(fit.free), leaning])
    lever = here.information[np.ix_(bent, kept)] @ symmetric_inverse(
        here.information[np.ix_(kept, kept)]
    )
    score = here.score[bent] - lever @ here.score[kept]
    information = (
        here.information[np.ix_(bent, bent)] - lever @ here.information[np.ix_(kept, bent)]
    )
    statistic, rank = chi_squared(score, information, zero=1e-8)
    pvalue = float(chdtrc(rank, statistic))
    if pvalue >= DOUBT_BELOW:
        return None
    message = (
        f"The log-odds between classes are not linear in the columns (p = {pvalue:.2g}), or flips "
        "differ more than these splits tell: give toss-ups of more pairs, or a formula if you know "
        "the right one; if you do not, look true labels up (confusion_test)."
    )
    return Diagnostic(
        name="link", message=message, concern=True, statistic=statistic, pvalue=pvalue
    )


def anchors_check(
    problem: Problem, fit: ClassFit, split: Split, equations: AnchorEquations
) -> Diagnostic | None:
    """Test whether the anchors of a split agree with each other; None with one anchor."""
    n_anchors = len(equations.targets)
    if n_anchors < 2:
        return None
    gaps, gradients = np.empty(n_anchors), []
    for number in range(n_anchors):
        one = SplitAnchors(split.positive, split.negative, equations.design[[number]], 0.0, 0.0)
        log_odds, gradient = split_log_odds(one, fit.point.coefficients)
        gaps[number] = log_odds - equations.targets[number]
        gradients.append(gradient)
    kept = fit.nuisance
    inverse = symmetric_inverse(fit.here.information[np.ix_(kept, kept)])
    n_theta = fit.point.coefficients.size
    slopes = np.array(gradients)
    covariance = slopes @ inverse[:n_theta, :n_theta] @ slopes.T + equations.covariance
    # Only differences between anchors: an asymmetry moves all of them together.
    centre = np.eye(n_anchors) - 1 / n_anchors
    apart, spread = centre @ gaps, centre @ covariance @ centre
    least = ZERO * float(covariance.diagonal().max())
    statistic, rank = chi_squared(apart, spread, zero=1e-6, least=least)
    pvalue = float(chdtrc(max(rank, 1), statistic))
    concern = pvalue < DOUBT_BELOW
    worst = int(np.argmax(np.abs(apart)))
    message = (
        f"Its toss-ups contradict each other (p = {pvalue:.2g}); anchor {worst} is furthest off. "
        "That anchor, the tolerance or the curve is wrong."
        if concern
        else f"Its toss-ups agree with each other (p = {pvalue:.2g})."
    )
    return Diagnostic(
        name="anchors and curve",
        message=message,
        concern=concern,
        statistic=statistic,
        pvalue=pvalue,
    )


def range_check(points: FloatArray, low: FloatArray, high: FloatArray) -> Diagnostic:
    """Say how many anchors of a split lie outside the range of the data."""
    count = int(((points < low) | (points > high)).any(axis=1).sum())
    message = (
        f"{count} of {len(points)} toss-ups lie outside the range of the data: there the curve is "
        "extrapolated."
        if count
        else "All toss-ups lie within the range of the data."
    )
    return Diagnostic(
        name="range of the data", message=message, concern=count > 0, statistic=float(count)
    )
