"""The test on rows whose true label was looked up."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, get_args

from scipy.optimize import brentq
from scipy.special import ndtri

from evenodds.inference.audit.counts import (
    Flips,
    GroupedRows,
    Groupings,
    check_both_classes,
    check_both_given,
    degrees_of_freedom,
    read_audited,
    read_given_counts,
    refuse_needless_counts,
)
from evenodds.inference.audit.exact import (
    exact_pvalues,
    exact_z,
    fewest_wrong,
    given_pvalues,
    given_z,
    is_countable,
    is_small,
)
from evenodds.inference.audit.result import AuditTestResult, SampledBy
from evenodds.inference.audit.score import AuditByGiven, design_effect, flips_z
from evenodds.inference.profile import (
    EXACT_MARGINS,
    Alternative,
    Profile,
    Reference,
    tabulate,
    walk,
)
from evenodds.inference.results import Diagnostic, check_alternative
from evenodds.validation import check_choice

# With fewer degrees of freedom than this the t distribution costs much power.
FEW_DEGREES = 10.0
# With flips in fewer groups than this, how they go together in that class is hardly seen.
FEW_FLIPPED = 5


def better_than_chance(alpha: float, beta: float) -> Diagnostic:
    """Check that a given label says something about the true one."""
    total = alpha + beta
    if total < 1:
        return Diagnostic(
            name="better than chance",
            message=f"Labels follow the truth: alpha + beta is {total:.2f}, below 1.",
            concern=False,
            statistic=total,
        )
    return Diagnostic(
        name="better than chance",
        message=f"alpha + beta is {total:.2f}: these labels follow the truth no better than a "
        "coin. Are the columns of true and given labels the right ones, and their labels not "
        "swapped?",
        concern=True,
        statistic=total,
    )


def size_check(flips: Flips, exact: bool, design_effect: float = 1.0) -> Diagnostic:
    """Say on what the p-value rests."""
    fewest = flips.fewest_expected / design_effect
    rests = "enough for the score test"
    rows = "rows"
    if exact:
        rests = "so p-value and intervals are exact, and somewhat cautious"
    elif design_effect > 1:
        rests, rows = "for the score test by groups", "rows' worth of independent answers"
    return Diagnostic(
        name="audit size",
        message=f"With equal flips {fewest:.1f} {rows} are expected in the smallest cell of true "
        f"by flipped, {rests}.",
        concern=False,
        statistic=fewest,
    )


def groups_check(
    grouped: GroupedRows | None, groupings: Groupings, design_effect: float
) -> tuple[Diagnostic, ...]:
    """Say what groups do to the variance, and doubt an answer that rests on few of them."""
    if grouped is None:
        return ()
    if not groupings:
        message = "No group has two rows: they are tested as independent rows."
        return (Diagnostic(name="groups", message=message, concern=False),)
    sizes = " and ".join(f"{one.n_groups:,} of up to {one.largest:,} rows" for one in groupings)
    degrees = degrees_of_freedom(groupings)
    message = (
        f"Groups: {sizes}. The variance is {design_effect:.2f} times that of independent rows, "
        f"and z is the normal deviate of a t statistic with {degrees:,.1f} degrees of freedom."
    )
    few = degrees < FEW_DEGREES
    flipped = min(min(one.flipped) for one in groupings)
    if few:
        message += (
            " So few groups carry the variance that only large asymmetries can be found: audit "
            "more groups, not more rows of these."
        )
    if flipped < FEW_FLIPPED:
        message += (
            f" In one true class {flipped} group{'s hold' if flipped != 1 else ' holds'} a flip: "
            "how flips go together there is hardly seen, and the test is cautious."
        )
    doubt = few or flipped < FEW_FLIPPED
    return (Diagnostic(name="groups", message=message, concern=doubt, statistic=degrees),)


def given_size_check(audit: AuditByGiven, method: str) -> Diagnostic:
    """Say on what the p-value rests, and doubt what is not exact with few wrong labels."""
    fewest = fewest_wrong(audit)
    consequence = {
        "score": "enough for the score test",
        "exact": "p-value and interval of the asymmetry are exact for the counts given, and "
        "cautious; intervals of the flip rates are those of the likelihood ratio",
        "likelihood": "too few for the score test, and "
        + ("groups allow no exact one" if audit.groupings else "too many rows for an exact one")
        + ": p-value and intervals are those of the likelihood ratio, which is approximate here; "
        "audit more rows of that label",
    }[method]
    return Diagnostic(
        name="audit size",
        message=f"In one given class {fewest:.1f} labels are wrong (or right), as seen or as equal "
        f"flips would have it: {consequence}.",
        concern=method == "likelihood",
        statistic=fewest,
    )


# Sizes of the score near which the exact z is computed, on either side of the estimate.
LADDER = (0.3, 0.7, 1.1, 1.4, 1.7, 2.0, 2.3, 2.6, 3.0, 3.5, 4.2, 5.0)
GIVEN_LADDER = (0.7, 1.4, 2.0, 2.6, 3.5)
# Confidence levels whose ends are found to this width of the scale.
PINNED_LEVELS = (0.9, 0.95, 0.99)
PINNED_WIDTH = 2e-4
GIVEN_PINNED_WIDTH = 1e-3
LIMITS = (-1.0, 1.0)
# The rates of an audit by given class degenerate at the very ends.
GIVEN_LIMITS = (-0.999, 0.999)


def score_table(flips: Flips, groupings: Groupings = ()) -> Profile:
    """Return the score's z for all asymmetries."""
    estimate = flips.beta - flips.alpha
    return tabulate(lambda value: flips_z(flips, value, groupings), estimate, LIMITS)


def given_table(audit: AuditByGiven) -> Profile:
    """Return the z of an audit by given class for all asymmetries."""
    return walk(audit.at, GIVEN_LIMITS)


def given_root_table(audit: AuditByGiven) -> Profile:
    """Return the root of the likelihood ratio of an audit by given class."""
    return walk(audit.root_at, GIVEN_LIMITS)


def given_exact_table(audit: AuditByGiven, at_zero: float) -> Profile:
    """Return the z of the exact p-values of an audit by given class."""
    rough = given_root_table(audit)
    estimate = audit.seen.beta - audit.seen.alpha

    def ladder(limit: float) -> list[float]:
        side = 1 if limit > estimate else -1
        found = (rough.crossing(-side * size, side) for size in GIVEN_LADDER)
        rungs = [rung for rung in found if rung is not None and side * (rung - estimate) > 0]
        return sorted({*rungs, limit}, reverse=side < 0)

    z = partial(given_z, audit)
    return _exact_table(z, estimate, at_zero, ladder, width=GIVEN_PINNED_WIDTH)


def exact_table(flips: Flips, at_zero: float) -> Profile:
    """Return the z of the exact p-values; `at_zero` is that of the test itself."""
    estimate = flips.beta - flips.alpha
    ladder = partial(_ladder, flips, estimate)
    return _exact_table(partial(exact_z, flips), estimate, at_zero, ladder)


def _exact_table(
    exact: Callable[[float], float],
    estimate: float,
    at_zero: float,
    ladder: Callable[[float], list[float]],
    width: float = PINNED_WIDTH,
) -> Profile:
    """Tabulate an exact z on the rungs of a ladder, closely where usual intervals end."""
    knots = {0.0: at_zero}
    knots.setdefault(estimate, 0.0)

    def z(asymmetry: float) -> float:
        if asymmetry not in knots:
            knots[asymmetry] = exact(asymmetry)
        return knots[asymmetry]

    for margin in EXACT_MARGINS:
        z(margin)
        z(-margin)
    for limit in LIMITS:
        rungs = [estimate, *ladder(limit)]
        for rung in rungs:
            z(rung)
        for level in PINNED_LEVELS:
            _pin_down(z, rungs, float(-ndtri((1 - level) / 2)), width)
    ordered = tuple(sorted(knots))
    return Profile(ordered, tuple(knots[knot] for knot in ordered), estimate)


def _ladder(flips: Flips, estimate: float, limit: float) -> list[float]:
    """Return where the score reaches the sizes of the ladder, and the limit."""
    sizes = [size for size in LADDER if size < abs(flips_z(flips, limit))]
    rungs = [
        float(brentq(lambda x, size=size: abs(flips_z(flips, x)) - size, estimate, limit))
        for size in sizes
    ]
    return [*rungs, limit] if limit != estimate else rungs


def _pin_down(
    z: Callable[[float], float], rungs: list[float], critical: float, width: float
) -> None:
    """Halve between the rungs where z first passes a critical value."""
    crossed = next((ends for ends in pairwise(rungs) if abs(z(ends[1])) > critical), None)
    if crossed is None:
        return
    inner, outer = crossed
    while abs(outer - inner) > width:
        middle = (inner + outer) / 2
        inner, outer = (inner, middle) if abs(z(middle)) > critical else (middle, outer)


# With fewer rows than this expected in a cell the test is exact.
SMALL_CELL = 10.0
# Zooms on the worst nuisance rate for the test itself; its table makes do with one.
ZOOMS = 4


def audit_test(
    true: Any,
    given: Any,
    *,
    sampled_by: str = "random",
    given_counts: Any = None,
    alternative: str = "two-sided",
    positive: Any = None,
    groups: Any = None,
) -> AuditTestResult:
    r"""Test whether one class is flipped more often, on rows whose true label was looked up.

    The null hypothesis is uniform noise: the share of flipped labels is the same in both true
    classes. No features and no anchors are needed.

    Parameters
    ----------
    true : array-like of shape (n_rows,)
        True labels of the audited rows: 0/1, -1/+1, bool or two strings.
    given : array-like of shape (n_rows,)
        Their given labels, in the same words.
    sampled_by : {"random", "true", "given"}
        How the audited rows were chosen: at random, so many of each true class, or so many of
        each given label (the usual audit). An audit by given class needs `given_counts`.
    given_counts : dict or pair of int, optional
        Rows of the whole data by given label, audited rows included: ``{label: count}``, or
        (negative, positive). Used with ``sampled_by="given"`` only.
    alternative : {"two-sided", "greater", "less"}
        "greater" means that negatives are flipped more often (beta > alpha).
    positive : object, optional
        The positive label; default the larger, True, or the later in sort order.
    groups : array-like of shape (n_rows,) or pair of them, optional
        What rows share: the item they are answers to, or the annotator who gave them. Rows of
        one group are then not taken as independent; groups are. Where rows share items and
        annotators, give both: ``groups=(items, annotators)``.

    Returns
    -------
    AuditTestResult

    Raises
    ------
    InputError
        If the labels cannot be used; the message says what to do.

    See Also
    --------
    annotator_audit : One test for each annotator.
    audit_size : How many rows to audit.
    asymmetry_test : Takes an audit beside, or instead of, anchors.

    Notes
    -----
    At random or by true class the flips of each class are binomial. With fewer than 10 rows
    expected in a cell the p-value is Boschloo's exact unconditional one [1]_ and the interval
    inverts exact tests ordered by the score [2]_; its level is at most the nominal one. Else
    the score test of Miettinen and Nurminen [3]_.

    By given class the audit estimates :math:`q_1 = P(y = 0 \mid \tilde y = 1)` and
    :math:`q_0 = P(y = 1 \mid \tilde y = 0)`, and `given_counts` the share :math:`s` of positive
    labels; the score test is that of :math:`\beta - \alpha` with

    .. math:: \alpha = \frac{q_0 (1 - s)}{q_0 (1 - s) + (1 - q_1) s}, \quad
              \beta = \frac{q_1 s}{q_1 s + (1 - q_0)(1 - s)},

    the error of :math:`s` included. With fewer than 5 wrong labels in a given class, seen or
    expected, its variance may vanish under the null hypothesis: then the p-value is the exact
    unconditional one for :math:`s` as counted, tables ordered by the likelihood ratio, and the
    interval inverts it. Where there are too many tables to go through (about 150 rows of either
    label) the root of the likelihood ratio takes its place, and a diagnostic says so.

    With `groups` the variance of independent rows grows by what pairs of rows in one group
    have in common, a design effect as in [4]_, and z is the normal deviate of a t statistic
    whose degrees of freedom count the groups that carry the variance. It is then the score or
    the likelihood ratio, never exact. Without `groups` several answers to one item, or many by
    one annotator, make p-values too small; arrays do not show that.

    It cannot be trusted if the rows were chosen by anything that goes with the labels being
    wrong (suspicious rows first), or if the audit itself errs.

    References
    ----------
    .. [1] Boschloo, R. D. (1970). Raised conditional level of significance for the 2 x 2-table.
           Statistica Neerlandica 24, 1-9.
    .. [2] Chan, I. S. F., Zhang, Z. (1999). Test-based exact confidence intervals for the
           difference of two binomial proportions. Biometrics 55, 1202-1209.
    .. [3] Miettinen, O., Nurminen, M. (1985). Comparative analysis of two rates. Statistics in
           Medicine 4, 213-226.
    .. [4] Rao, J. N. K., Scott, A. J. (1992). A simple method for the analysis of clustered
           binary data. Biometrics 48, 577-585.

    Examples
    --------
    >>> import evenodds as eo
    >>> true = ["ill"] * 40 + ["well"] * 160
    >>> given = ["well"] * 10 + ["ill"] * 30 + ["ill"] * 8 + ["well"] * 152
    >>> result = eo.audit_test(true, given, positive="ill")
    >>> round(result.alpha, 2), round(result.beta, 2)  # a quarter of the ill are missed
    (0.25, 0.05)
    >>> result.pvalue < 0.01
    True
    """
    labels = read_audited(true, given, positive)
    design: SampledBy = check_choice(sampled_by, "sampled_by", get_args(SampledBy))  # type: ignore[assignment]
    return audit_counts(
        labels.flips(),
        sampled_by=design,
        given_counts=given_counts,
        alternative=check_alternative(alternative),
        positive=labels.positive,
        negative=labels.negative,
        grouped=GroupedRows.read(groups, labels),
    )


def audit_counts(
    flips: Flips,
    *,
    sampled_by: SampledBy,
    given_counts: Any,
    alternative: Alternative,
    positive: Any,
    negative: Any,
    grouped: GroupedRows | None = None,
) -> AuditTestResult:
    """Run an audit test on its counts; see `audit_test`."""
    check_both_classes(flips, positive, negative)
    if sampled_by == "given":
        check_both_given(flips, positive, negative)
        counts = read_given_counts(given_counts, flips, positive, negative)
        return _by_given(AuditByGiven(flips, *counts), alternative, positive, negative, grouped)
    refuse_needless_counts(given_counts, sampled_by)
    groupings = () if grouped is None else grouped.groupings()
    exact = flips.fewest_expected < SMALL_CELL and not groupings
    profile = (
        exact_table(flips, exact_z(flips, 0.0, ZOOMS)) if exact else score_table(flips, groupings)
    )
    pvalue = (
        Reference().pvalue(profile.at_zero, alternative)
        if groupings
        else audit_pvalue(flips, alternative)
    )
    effect = design_effect(flips, groupings)
    return AuditTestResult(
        statistic=profile.at_zero,
        pvalue=pvalue,
        asymmetry=flips.beta - flips.alpha,
        alpha=flips.alpha,
        beta=flips.beta,
        method="boschloo" if exact else "score",
        alternative=alternative,
        sampled_by=sampled_by,
        positive=positive,
        negative=negative,
        n_rows=flips.n_rows,
        counts=flips,
        given_counts=None,
        diagnostics=(
            size_check(flips, exact, effect),
            *groups_check(grouped, groupings, effect),
            better_than_chance(flips.alpha, flips.beta),
        ),
        profile=profile,
        groupings=groupings,
        design_effect=effect,
    )


def _by_given(
    audit: AuditByGiven,
    alternative: Alternative,
    positive: Any,
    negative: Any,
    grouped: GroupedRows | None,
) -> AuditTestResult:
    """Run the test of an audit by given class."""
    given_counts = audit.given_negative, audit.given_positive
    if grouped is not None:
        audit = replace(audit, groupings=grouped.groupings(given_counts))
    effect = audit.design_effect()
    alpha, beta = audit.seen.alpha, audit.seen.beta
    method = given_method(audit)
    if method == "exact":
        profile = given_exact_table(audit, given_z(audit, 0.0))
    else:
        profile = given_table(audit) if method == "score" else given_root_table(audit)
    return AuditTestResult(
        statistic=profile.at_zero,
        pvalue=_given_pvalue(audit, alternative),
        asymmetry=beta - alpha,
        alpha=alpha,
        beta=beta,
        method=method,
        alternative=alternative,
        sampled_by="given",
        positive=positive,
        negative=negative,
        n_rows=audit.flips.n_rows,
        counts=audit.flips,
        given_counts=given_counts,
        diagnostics=(
            given_size_check(audit, method),
            *groups_check(grouped, audit.groupings, effect),
            better_than_chance(alpha, beta),
        ),
        profile=profile,
        groupings=audit.groupings,
        design_effect=effect,
    )


def audit_pvalue(
    flips: Flips, alternative: Alternative, given_counts: tuple[int, int] | None = None
) -> float:
    """Return the p-value alone, without interval and checks: what simulations need."""
    if given_counts is not None:
        return _given_pvalue(AuditByGiven(flips, *given_counts), alternative)
    if flips.fewest_expected >= SMALL_CELL:
        return Reference().pvalue(flips_z(flips, 0.0), alternative)
    return _on_the_side(exact_pvalues(flips, 0.0, ZOOMS), alternative)


def given_method(audit: AuditByGiven) -> Literal["exact", "likelihood", "score"]:
    """Return how an audit by given class is tested."""
    if not is_small(audit):
        return "score"
    return "exact" if is_countable(audit) and not audit.groupings else "likelihood"


def _given_pvalue(audit: AuditByGiven, alternative: Alternative) -> float:
    """Return the p-value of an audit by given class."""
    method = given_method(audit)
    if method == "exact":
        return _on_the_side(given_pvalues(audit, 0.0), alternative)
    found = audit.at(0.0) if method == "score" else audit.root_at(0.0)
    return Reference().pvalue(found.z, alternative)


def _on_the_side(pvalues: tuple[float, float], alternative: Alternative) -> float:
    """Return the p-value asked for, from those against a larger and a smaller asymmetry."""
    greater, less = pvalues
    both = min(2 * min(greater, less), 1.0)
    return {"two-sided": both, "greater": greater, "less": less}[alternative]
