"""The test on rows whose true label was looked up."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, get_args

from scipy.optimize import brentq
from scipy.special import ndtri

from evenodds.errors import InputError
from evenodds.inference.audit.counts import (
    AuditedLabels,
    Flips,
    Groupings,
    Ways,
    check_both_classes,
    degrees_of_freedom,
    groupings_of,
    read_audited,
    read_given_counts,
    read_ways,
)
from evenodds.inference.audit.exact import (
    exact_pvalues,
    exact_z,
    fewest_wrong,
    given_pvalues,
    given_z,
    is_countable,
    is_small,
    on_the_side,
)
from evenodds.inference.audit.raters import raters_check, read_raters
from evenodds.inference.audit.result import AuditStratum, AuditTestResult, SampledBy, cells_of
from evenodds.inference.audit.score import AuditByGiven, AuditByTrue, Slanting
from evenodds.inference.audit.strata import (
    StratifiedRows,
    audited_check,
    line_check,
    read_inclusion,
    read_strata,
    refuse_in_strata,
)
from evenodds.inference.audit.stratified import StratifiedAudit
from evenodds.inference.cases.record import Cases
from evenodds.inference.looks import read_looks
from evenodds.inference.profile import (
    EXACT_MARGINS,
    Alternative,
    Profile,
    Reference,
    tabulate,
    walk,
)
from evenodds.inference.results import Diagnostic, check_alternative
from evenodds.validation import check_choice, check_same_order

Method = Literal["boschloo", "exact", "likelihood", "score"]
EXACT = ("boschloo", "exact")
# With fewer degrees of freedom than this the t distribution costs much power.
FEW_DEGREES = 10.0
# With flips in fewer groups than this, how they go together in that class is hardly seen.
FEW_FLIPPED = 5


# From here on labels hardly follow the truth, and a test within strata rejects equal flips too
# often (in 0.11 to 0.19 of audits where alpha and beta are 0.45; rightly at 0.4).
HARDLY = 0.82
# From here on labels tell the truth, the wrong way round.
REVERSED = 1.2


def better_than_chance(alpha: float, beta: float, *, strata: bool = False) -> Diagnostic:
    """Check that a given label says something about the true one."""
    total = alpha + beta
    if strata and HARDLY <= total < 1:
        return Diagnostic(
            name="better than chance",
            message=f"alpha + beta is {total:.2f}: these labels hardly follow the truth, and "
            "within strata equal flips are then rejected too often. Audit rows at random.",
            concern=True,
            statistic=total,
        )
    coin = "worse than a coin: they look reversed" if total > REVERSED else "no better than a coin"
    message = (
        f"Labels follow the truth: alpha + beta is {total:.2f}, below 1."
        if total < 1
        else f"alpha + beta is {total:.2f}, so that these labels follow the truth {coin}. Are the "
        "columns of true and given labels the right ones, and their labels not swapped?"
    )
    return Diagnostic(
        name="better than chance", message=message, concern=total >= 1, statistic=total
    )


def groups_check(groupings: Groupings, design_effect: float) -> Diagnostic:
    """Say what groups do to the variance, and doubt an answer that rests on few of them."""
    if not groupings:
        message = "No group has two rows: they are tested as independent rows."
        return Diagnostic(name="groups", message=message, concern=False)
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
    return Diagnostic(name="groups", message=message, concern=doubt, statistic=degrees)


def size_check(audit: AuditByTrue | AuditByGiven, method: Method) -> Diagnostic:
    """Say on what the p-value rests, and doubt what is not exact with few wrong labels."""
    if isinstance(audit, AuditByGiven):
        fewest = fewest_wrong(audit)
        why = "groups allow no exact one" if audit.groupings else "too many rows for an exact one"
        message = (
            f"In one given class {fewest:.1f} labels are wrong (or right), as seen or as equal "
            "flips would have it: "
        )
        rests = {
            "score": "enough for the score test",
            "exact": "p-value and interval of the asymmetry are exact for the counts given, and "
            "cautious; intervals of the flip rates are those of the likelihood ratio",
            "likelihood": f"too few for the score test, and {why}: p-value and intervals are those "
            "of the likelihood ratio, which is approximate here; audit more rows of that label",
        }[method]
    else:
        effect = audit.design_effect()
        fewest = audit.flips.fewest_expected / effect
        rows = "rows' worth of independent answers" if effect > 1 else "rows"
        message = (
            f"With equal flips {fewest:.1f} {rows} are expected in the smallest cell of true by "
            "flipped, "
        )
        rests = "for the score test by groups" if effect > 1 else "enough for the score test"
        if method == "boschloo":
            rests = "so p-value and intervals are exact, and somewhat cautious"
    return Diagnostic(
        name="audit size",
        message=f"{message}{rests}.",
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


def z_table(audit: AuditByTrue | AuditByGiven, method: Method) -> Profile:
    """Return z for all asymmetries."""
    if method in EXACT:
        return _exact_table(audit)
    if isinstance(audit, AuditByTrue):
        return tabulate(audit.z, audit.seen.asymmetry, LIMITS)
    return walk(_statistic(audit, method), GIVEN_LIMITS)


def _statistic(audit: AuditByGiven, method: Method) -> Callable[[float], Slanting]:
    """Return the score or the root of the likelihood ratio, as a function of the asymmetry."""
    return audit.at if method == "score" else audit.root_at


def _exact_table(audit: AuditByTrue | AuditByGiven) -> Profile:
    """Tabulate an exact z on the rungs of a ladder, closely where usual intervals end."""
    estimate = audit.seen.asymmetry
    if isinstance(audit, AuditByGiven):
        exact, at_zero, width = partial(given_z, audit), given_z(audit, 0.0), GIVEN_PINNED_WIDTH
        ladder = partial(_given_ladder, walk(audit.root_at, GIVEN_LIMITS), estimate)
    else:
        exact, at_zero = partial(exact_z, audit.flips), exact_z(audit.flips, 0.0, ZOOMS)
        ladder, width = partial(_ladder, audit, estimate), PINNED_WIDTH
    knots = {estimate: 0.0, 0.0: at_zero}

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


def _ladder(audit: AuditByTrue, estimate: float, limit: float) -> list[float]:
    """Return where the score reaches the sizes of the ladder, and the limit."""
    sizes = [size for size in LADDER if size < abs(audit.z(limit))]
    rungs = [
        float(brentq(lambda x, size=size: abs(audit.z(x)) - size, estimate, limit))
        for size in sizes
    ]
    return [*rungs, limit] if limit != estimate else rungs


def _given_ladder(rough: Profile, estimate: float, limit: float) -> list[float]:
    """Return where the likelihood ratio reaches the sizes of the ladder, and the limit."""
    side = 1 if limit > estimate else -1
    found = (rough.crossing(-side * size, side) for size in GIVEN_LADDER)
    rungs = [rung for rung in found if rung is not None and side * (rung - estimate) > 0]
    return sorted({*rungs, limit}, reverse=side < 0)


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
    sampled_by: SampledBy = "random",
    given_counts: Any = None,
    strata: Any = None,
    scores: Any = None,
    inclusion: Any = None,
    alternative: Alternative = "two-sided",
    positive: Any = None,
    groups: Any = None,
    looks: Any = None,
) -> AuditTestResult:
    r"""Test whether one class is flipped more often, on rows whose true label was looked up.

    The null hypothesis is uniform noise: the share of flipped labels is the same in both true
    classes. No features and no anchors are needed.

    Parameters
    ----------
    true : array-like of shape (n_rows,) or (n_rows, n_raters)
        True labels of the audited rows: 0/1, -1/+1, bool or two strings. Several raters: a column
        each, missing (None, nan or "") where one was not asked; the majority counts.
    given : array-like of shape (n_rows,)
        Their given labels, in the same words.
    sampled_by : {"random", "true", "given"}
        How the audited rows were chosen: at random, so many of each true class, or so many of
        each given label (the usual audit). An audit by given class needs `given_counts`.
    given_counts : dict or pair of int, optional
        Rows of the whole data by given label, audited rows included: ``{label: count}``, or
        (negative, positive). Used with ``sampled_by="given"``, and, by stratum
        (``{stratum: {label: count}}``), with `strata`.
    strata : Cases or array-like of shape (n_rows,), optional
        Where rows were drawn at random within strata of a score (``sampled_by="random"``), or
        within strata by given label (``"given"``): the stratum of each audited row, with
        `given_counts`; or the cases of `choose_cases`, with `scores`. With cases, `true` is the
        truth of ``cases.rows`` in that order, of which the last may be missing, and `given` the
        labels of *all* rows.
    scores : array-like of float, optional
        With ``strata=cases``: the scores of all rows that `choose_cases` had.
    inclusion : array-like of float, optional
        Where rows were drawn with chances that differ (the likelier to be wrong, the likelier to
        be drawn): the chance of *every* row to be drawn, above 0. `true` and `given` are then of
        all rows too, the truth missing (None, nan or "") where a row was not drawn.
    alternative : {"two-sided", "greater", "less"}
        "greater" means that negatives are flipped more often (beta > alpha).
    positive : object, optional
        The positive label; default the larger, True, or the later in sort order.
    groups : array-like of shape (n_rows,) or pair of them, optional
        What rows share: the item they are answers to, or the annotator who gave them. Rows of
        one group are then not taken as independent; groups are. Where rows share items and
        annotators, give both: ``groups=(items, annotators)``.
    looks : sequence of int, optional
        Where the audit is read while it grows: the numbers of audited rows at which it is, two to
        five of them, planned before the first. The audit has one of these sizes now. p-value and
        interval account for the looks so far: stop as soon as the verdict stands.

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

    Within strata, the share of flipped rows is the sum of the shares wrong in each stratum and
    given label, weighted by its rows; nothing is assumed of what flips depend on. z is the score,
    read off its own distribution under the hypothesis, a weighted sum of binomial counts, so that
    it holds with few wrong rows; rates and their intervals are those of the process that made
    the labels, as everywhere here (theory page, "The stratified audit"). With cases, a diagnostic
    compares the line through the strata, and speaks where it disagrees.

    With `inclusion`, rows of like chances (within a factor of 2, and with at least 5 audited rows)
    and one label are a stratum, in which rows weigh one over their chance (theory page, "Rows
    drawn with chances").

    With `looks`, the level is spent as O'Brien and Fleming would, little at first [5]_: the
    p-value is the smallest level at which this look would reject, the interval one of a sequence
    that holds at all looks together. Rows must come in a random order, or in that of
    `choose_cases`.

    With several raters the truth of a row is what most of them say; rows on which they are evenly
    divided are refused. A diagnostic says how far their errors may have moved the asymmetry.

    It cannot be trusted if the rows were chosen by anything that goes with the labels being
    wrong (suspicious rows first) and their chances were not recorded, or if the audit itself errs.

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
    .. [5] Lan, K. K. G., DeMets, D. L. (1983). Discrete sequential boundaries for clinical trials.
           Biometrika 70, 659-663.

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
    design: SampledBy = check_choice(sampled_by, "sampled_by", get_args(SampledBy))  # type: ignore[assignment]
    rated = read_raters(true)
    truth = true if rated is None else rated.truth
    if isinstance(strata, Cases):
        strata.check_order(true, "true")
        check_same_order(scores=scores, given=given)
    else:
        check_same_order(true=true, given=given, groups=groups, strata=strata, inclusion=inclusion)
    if looks is not None and (inclusion is not None or groups is not None):
        raise InputError(
            "looks goes without inclusion and groups: rows count as independent, and so many at "
            "each look. Leave one out."
        )
    if inclusion is not None:
        others = {"strata": strata, "scores": scores, "given_counts": given_counts}
        others |= {"groups": groups, "sampled_by": None if design == "random" else design}
        for name, value in others.items():
            if value is not None:
                raise InputError(
                    f"{name} goes without inclusion, which says all of how rows were drawn: leave "
                    "one out."
                )
        labels, cells, counts, chances = read_inclusion(truth, given, inclusion, positive)
        wrong = sum(one.n_wrong for one in cells)
        checks = (chances, audited_check(len(labels.true), wrong, len(cells)))
        found = _in_cells(labels, cells, counts, checks, check_alternative(alternative))
    elif strata is not None:
        refuse_in_strata(strata, design, groups)
        rows = read_strata(
            truth,
            given,
            strata,
            scores=scores,
            given_counts=given_counts,
            positive=positive,
            by_given=design == "given",
        )
        found = _within_strata(rows, check_alternative(alternative))
    else:
        if scores is not None:
            raise InputError("scores goes with strata=cases, the record of choose_cases.")
        labels = read_audited(truth, given, positive)
        found = audit_counts(
            labels.flips(),
            labels,
            sampled_by=design,
            given_counts=given_counts,
            alternative=check_alternative(alternative),
            ways=read_ways(groups, len(labels.true)),
        )
    if looks is not None:
        found = _looked_at(found, read_looks(looks, found.n_rows))
    if rated is not None:
        found = replace(found, diagnostics=(*found.diagnostics, raters_check(found, rated)))
    return found


def _looked_at(result: AuditTestResult, looks: tuple[int, ...]) -> AuditTestResult:
    """Return a result whose p-value accounts for the looks up to this one."""
    looked = replace(result, looks=looks)
    pvalue = looked.reference.pvalue(result.statistic, result.alternative)
    return replace(looked, pvalue=pvalue)


def _within_strata(found: StratifiedRows, alternative: Alternative) -> AuditTestResult:
    """Run an audit test within strata."""
    strata, borrowed = found.merged()
    n_audited, n_wrong = int(found.counts.found.sum()), int(found.wrong.sum())
    checks = audited_check(n_audited, n_wrong, len(strata), borrowed), line_check(found)
    negative, positive = found.counts.rows.sum(axis=0).tolist()
    result = _in_cells(found.labels, strata, (negative, positive), checks, alternative)
    return result if found.by_given else replace(result, sampled_by="random")


def _in_cells(
    labels: AuditedLabels,
    strata: tuple[AuditStratum, ...],
    given_counts: tuple[int, int],
    checks: tuple[Diagnostic | None, ...],
    alternative: Alternative,
) -> AuditTestResult:
    """Run an audit test on strata by given label."""
    audit = StratifiedAudit(cells_of(strata, labels.positive))
    profile, seen = audit.profile(), audit.seen
    return AuditTestResult(
        statistic=profile.at_zero,
        pvalue=Reference().pvalue(profile.at_zero, alternative),
        asymmetry=seen.asymmetry,
        alpha=seen.alpha,
        beta=seen.beta,
        method="stratified",
        alternative=alternative,
        sampled_by="given",
        positive=labels.positive,
        negative=labels.negative,
        n_rows=len(labels.true),
        counts=labels.flips(),
        given_counts=given_counts,
        diagnostics=(
            *(check for check in checks if check is not None),
            better_than_chance(seen.alpha, seen.beta, strata=True),
        ),
        profile=profile,
        strata=strata,
    )


def audit_counts(
    flips: Flips,
    labels: AuditedLabels,
    *,
    sampled_by: SampledBy,
    given_counts: Any,
    alternative: Alternative,
    ways: Ways | None = None,
) -> AuditTestResult:
    """Run an audit test on its counts; see `audit_test`."""
    check_both_classes(flips, sampled_by, labels)
    counts = read_given_counts(given_counts, sampled_by, flips, labels)
    groupings = () if ways is None else groupings_of(ways, labels, counts)
    audit = _audit_of(flips, counts, groupings)
    method = method_of(audit)
    profile, effect = z_table(audit, method), audit.design_effect()
    return AuditTestResult(
        statistic=profile.at_zero,
        pvalue=_pvalue(audit, method, alternative),
        asymmetry=audit.seen.asymmetry,
        alpha=audit.seen.alpha,
        beta=audit.seen.beta,
        method=method,
        alternative=alternative,
        sampled_by=sampled_by,
        positive=labels.positive,
        negative=labels.negative,
        n_rows=flips.n_rows,
        counts=flips,
        given_counts=counts,
        diagnostics=(
            size_check(audit, method),
            *([] if ways is None else [groups_check(groupings, effect)]),
            better_than_chance(audit.seen.alpha, audit.seen.beta),
        ),
        profile=profile,
        groupings=groupings,
        design_effect=effect,
    )


def audit_pvalue(
    flips: Flips, alternative: Alternative, given_counts: tuple[int, int] | None = None
) -> float:
    """Return the p-value alone, without interval and checks: what simulations need."""
    audit = _audit_of(flips, given_counts)
    return _pvalue(audit, method_of(audit), alternative)


def _audit_of(
    flips: Flips, given_counts: tuple[int, int] | None, groupings: Groupings = ()
) -> AuditByTrue | AuditByGiven:
    """Return an audit drawn by given class where there are counts, else at random."""
    if given_counts is None:
        return AuditByTrue(flips, groupings)
    return AuditByGiven(flips, *given_counts, groupings)


def method_of(audit: AuditByTrue | AuditByGiven) -> Method:
    """Return how an audit is tested."""
    if isinstance(audit, AuditByTrue):
        small = audit.flips.fewest_expected < SMALL_CELL and not audit.groupings
        return "boschloo" if small else "score"
    if not is_small(audit):
        return "score"
    return "exact" if is_countable(audit) and not audit.groupings else "likelihood"


def _pvalue(audit: AuditByTrue | AuditByGiven, method: Method, alternative: Alternative) -> float:
    """Return the p-value of no asymmetry."""
    if isinstance(audit, AuditByTrue):
        if method == "score":
            return Reference().pvalue(audit.z(0.0), alternative)
        greater, less = exact_pvalues(audit.flips, 0.0, ZOOMS)
    else:
        if method != "exact":
            return Reference().pvalue(_statistic(audit, method)(0.0).z, alternative)
        greater, less = given_pvalues(audit, 0.0)
    return float(on_the_side(greater, less, alternative))
