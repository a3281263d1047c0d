"""The front door for rows whose true label was looked up."""

from dataclasses import replace
from typing import Any, Literal, get_args

from evenodds.inference.audit.by_given import AuditByGiven
from evenodds.inference.audit.checks import (
    better_than_chance,
    given_size_check,
    groups_check,
    size_check,
)
from evenodds.inference.audit.counts import (
    Flips,
    check_both_classes,
    check_both_given,
    read_audited,
    read_given_counts,
    refuse_needless_counts,
)
from evenodds.inference.audit.exact import exact_pvalues, exact_z
from evenodds.inference.audit.exact_given import given_pvalues, given_z, is_countable, is_small
from evenodds.inference.audit.grouped_rows import GroupedRows
from evenodds.inference.audit.result import AuditTestResult, SampledBy
from evenodds.inference.audit.tables import (
    exact_table,
    given_exact_table,
    given_root_table,
    given_table,
    score_table,
)
from evenodds.inference.audit.two_proportions import design_effect, flips_z
from evenodds.inference.profile import Alternative, Reference
from evenodds.inference.results import check_alternative
from evenodds.validation import check_choice

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
