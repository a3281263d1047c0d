r"""The share truly positive, from given labels and an audit of some of them.

Where the audited rows are some of those labelled, the audit tells how often either label is
wrong, and ``pi = P + A - B``: positive labels, plus flipped positives, less flipped negatives. A
sum over strata and labels. Where it tells flip rates alone, ``P = beta (1 - pi) + (1 - alpha) pi``
(Rogan and Gladen 1978). For a hypothesised pi either equation is linear in binomial shares: these
are fitted under it, and what is left over is read off its own distribution, as in the stratified
audit (theory page, "The share truly positive").
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from evenodds.errors import InputError
from evenodds.inference.audit.annotators import AnnotatorAuditResult
from evenodds.inference.audit.counts import Flips, refuse_lookalikes
from evenodds.inference.audit.result import (
    AuditStratum,
    AuditTestResult,
    SampledBy,
    cells_of,
    inverted,
)
from evenodds.inference.audit.stratified import Cells, LikeliestShares, deviate
from evenodds.inference.profile import ConfidenceInterval
from evenodds.inference.results import Diagnostic, Result, frame_row, versions_in_use
from evenodds.rows.labels import distinct_labels, label_column, plain
from evenodds.validation import (
    FloatArray,
    check_between,
    check_whole,
    counted,
    join_quoted,
    kind_of_value,
)

By = Literal["labels", "rates"]
MOST_STEPS = 60
# Draws of the test that groups share their rates, and their seed.
DRAWS, SEED = 9999, 0
# Its fit by given label ends where a step explains so little of chi-squared; the longest step of a
# logit, how often it is halved, and the step of derivatives.
SETTLED, LONGEST, MOST_HALVES, STEP = 1e-9, 3.0, 30, 1e-6
# Rates are kept this far from 0 and 1 where they divide.
EDGE = 1e-9
# In that fit rates may come this near, from no nearer at first.
NEVER, FIRST = 1e-15, 1e-4


def z_by_labels(share: float, cells: Cells) -> float:
    """Return z of a share truly positive, from how often either label is wrong."""
    parts = np.where(cells.positive, -cells.weights, cells.weights)
    fit = LikeliestShares.of(*cells.counts_with_added(), parts)
    wrong = fit.shares(fit.pull_for(np.array([share - cells.positive_share]), MOST_STEPS))[0]
    # The rows are one outcome of what makes them; the draw has its own part of that.
    chance = share * (1 - share) / float(cells.n_rows.sum())
    chance -= float((parts**2 * wrong * (1 - wrong) / cells.n_rows).sum())
    return deviate(cells.wrong, cells.audited, wrong, parts, max(chance, 0.0))


def z_by_rates(share: float, flips: Flips, given_counts: tuple[int, int]) -> float:
    """Return z of a share truly positive, from flip rates alone: P = beta (1 - pi) + ..."""
    hits = np.array([flips.flipped_positive, flips.flipped_negative, given_counts[1]], dtype=float)
    rows = np.array([flips.n_positive, flips.n_negative, sum(given_counts)], dtype=float)
    parts = np.array([share, share - 1, 1.0])
    fit = LikeliestShares.of(hits, rows, parts)
    chances = fit.shares(fit.pull_for(np.array([share]), MOST_STEPS))[0]
    return deviate(hits, rows, chances, parts, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CorrectedShareResult(Result):
    """The share truly positive among rows whose labels are noisy.

    Attributes
    ----------
    share : float
        Estimate of the share truly positive.
    given_share : float
        Share of positive labels.
    by : {"labels", "rates"}
        What the audit told: how often either label is wrong, or the flip rates alone.
    alpha, beta : float
        Flip rates of the audit.
    positive, negative : object
        The two labels.
    n_rows, n_audited : int
        Rows that carry a label, and rows that were audited.
    given_counts : tuple of int
        Rows labelled negative and positive.
    counts : Flips
        Audited rows of either true class, and the flipped ones among them.
    sampled_by : str
        How the audited rows were drawn.
    strata : tuple of AuditStratum
        By labels: rows, audited and wrong ones of each label (and stratum). Empty by rates.
    diagnostics : tuple of Diagnostic
        What was checked, and what to doubt.
    versions : dict
        Of the libraries that the numbers depend on.

    Notes
    -----
    ``result.plot("shares")`` draws the corrected share beside that of the labels.
    """

    share: float
    given_share: float
    by: By
    alpha: float
    beta: float
    positive: Any
    negative: Any
    n_rows: int
    n_audited: int
    given_counts: tuple[int, int]
    counts: Flips
    sampled_by: SampledBy
    strata: tuple[AuditStratum, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    versions: dict[str, str] = field(default_factory=versions_in_use)

    def z(self, share: float) -> float:
        """Return the standardised distance of the estimate from a hypothesised share."""
        inside = min(max(share, EDGE), 1 - EDGE)
        if self.strata:
            return z_by_labels(inside, cells_of(self.strata, self.positive))
        return z_by_rates(inside, self.counts, self.given_counts)

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Return the shares that are not rejected at ``1 - level``; within 0 and 1.

        Where flip rates allow no share at all, the one that they come nearest to.
        """
        check_between(level, "level", 0, 1, closed="neither")
        if abs(self.z(self.share)) > -ndtri((1 - level) / 2):
            return ConfidenceInterval(low=self.share, high=self.share, level=level)
        low, high = inverted(self.z, self.share, level)
        return ConfidenceInterval(low=low, high=high, level=level)

    def _rows(self, level: float) -> list[dict[str, Any]]:
        ends = self.confidence_interval(level)
        return [{**frame_row(self), "low": ends.low, "high": ends.high}]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShare:
    """The corrected share of one group."""

    group: Any
    result: CorrectedShareResult


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroupSharesResult(Result):
    """Corrected shares by group, and a test that groups share their flip rates.

    Attributes
    ----------
    shares : tuple of GroupShare
        The groups, in order.
    statistic, pvalue : float or None
        Of "every group has the same alpha and the same beta": Pearson's chi-squared about the
        common rates, read off draws from them. None where it is withheld.
    withheld : str or None
        Why there is no test.
    alpha, beta : float or None
        The common rates.
    positive, negative : object
        The two labels.
    n_rows : int
        Rows that carry a label, in all groups.
    diagnostics : tuple of Diagnostic
        Groups without a share, and why.
    versions : dict
        Of the libraries that the numbers depend on.

    Notes
    -----
    ``result.plot("shares")`` draws every group, the corrected share beside that of the labels.
    """

    shares: tuple[GroupShare, ...]
    statistic: float | None
    pvalue: float | None
    withheld: str | None
    alpha: float | None
    beta: float | None
    positive: Any
    negative: Any
    n_rows: int
    diagnostics: tuple[Diagnostic, ...] = ()
    versions: dict[str, str] = field(default_factory=versions_in_use)

    def _rows(self, level: float) -> list[dict[str, Any]]:
        return [{"group": one.group, **one.result._rows(level)[0]} for one in self.shares]


Audits: TypeAlias = Mapping[Any, AuditTestResult] | AnnotatorAuditResult


@overload
def corrected_share(
    given: Any, audit: AuditTestResult, *, groups: None = ..., elsewhere: bool = ...
) -> CorrectedShareResult: ...


@overload
def corrected_share(
    given: Any, audit: Audits, *, groups: Any = ..., elsewhere: bool = ...
) -> GroupSharesResult: ...


def corrected_share(
    given: Any, audit: AuditTestResult | Audits, *, groups: Any = None, elsewhere: bool = False
) -> CorrectedShareResult | GroupSharesResult:
    r"""Return the share truly positive among rows with noisy labels, after an audit of some.

    Errors of the labels and of the audit are both carried: the share of positive labels is off
    by as much as flips do not cancel, and the audit knows these from a sample.

    Parameters
    ----------
    given : array-like, or dict of counts
        Given labels of all rows, audited ones included; or rows by label, ``{label: count}``.
        By group: ``{group: {label: count}}``, or labels with `groups`.
    audit : AuditTestResult, or dict of them by group, or AnnotatorAuditResult
        What `audit_test` made of the audited rows; by group, of each (`annotator_audit` makes
        all of them at once).
    groups : array-like, optional
        With an audit for each group: the group of each row of `given`.
    elsewhere : bool, default False
        Whether the audited rows are other rows than those of `given`, where positives may be
        rarer or commoner (a judge's errors on a benchmark): then flip rates alone are used.

    Returns
    -------
    CorrectedShareResult or GroupSharesResult
        The second with an audit for each group: their shares, and a test that they share alpha
        and beta ("is one group's labels flipped more?").

    Raises
    ------
    InputError
        If labels and audit do not fit together; the message says what to do.

    See Also
    --------
    audit_test : Makes the audit.

    Notes
    -----
    Rows audited at random, by given label or within strata tell how often either label is wrong,
    and the share is the sum

    .. math:: \hat\pi = P + \sum_{\tilde y_c = 0} W_c \hat e_c - \sum_{\tilde y_c = 1} W_c \hat e_c

    over strata and labels, valid whatever flips depend on. Rows audited by true class, or
    elsewhere, tell flip rates alone, and :math:`\hat\pi = (P - \hat\beta)/(1 - \hat\alpha -
    \hat\beta)` [1]_: valid if flips depend on the class alone and rates are the same there.
    It needs many more audited rows; where alpha + beta is near 1 it knows nothing.

    Intervals invert a test that is read off the distribution of a weighted sum of binomial counts
    under the hypothesis, so that few or no wrong rows are no trouble, and they stay within 0 and
    1 (theory page, "The share truly positive"; coverage is measured on the page "Audits"). They
    are of the process that made the rows; for these very rows they are cautious.

    Rows count as independent: an audit with groups of its own (several answers an item) is
    refused.

    References
    ----------
    .. [1] Rogan, W. J., Gladen, B. (1978). Estimating prevalence from the results of a screening
           test. American Journal of Epidemiology 107, 71-76.

    Examples
    --------
    >>> import evenodds as eo
    >>> true = ["good"] * 55 + ["bad"] * 45  # what people said of 100 answers
    >>> given = ["good"] * 52 + ["bad"] * 3 + ["good"] * 18 + ["bad"] * 27  # what a judge said
    >>> audit = eo.audit_test(true, given, positive="good")
    >>> result = eo.corrected_share({"good": 700, "bad": 300}, audit)  # of 1,000 answers
    >>> round(result.share, 2)  # the judge is too kind
    0.55
    >>> interval = result.confidence_interval()
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.46, 0.63)
    """
    if isinstance(audit, AuditTestResult):
        if groups is not None:
            raise InputError(
                "groups goes with an audit for each group: give {group: audit_test(...)}, or "
                "annotator_audit(true, given, group) of the audited rows."
            )
        return _one_share(_count(given, audit), audit, elsewhere)
    audits = _by_group(audit)
    counts, others = _count_groups(given, groups, audits)
    shares = []
    for name, one in audits.items():
        try:
            shares.append(GroupShare(group=name, result=_one_share(counts[name], one, elsewhere)))
        except InputError as error:
            raise InputError(f"of group {name!r}: {error}") from None
    first = shares[0].result
    left_out = dict.fromkeys(others, "none of its rows were audited")
    if isinstance(audit, AnnotatorAuditResult):
        left_out |= {one.annotator: one.why for one in audit.untested}
    test = _test_of_rates(list(audits.values()))
    return GroupSharesResult(
        shares=tuple(shares),
        **test,
        positive=first.positive,
        negative=first.negative,
        n_rows=sum(one.result.n_rows for one in shares),
        diagnostics=tuple(
            Diagnostic(name="group", message=f"{name!r} is left out: {why}", concern=True)
            for name, why in left_out.items()
        ),
    )  # fmt: skip


def _one_share(
    given_counts: tuple[int, int], audit: AuditTestResult, elsewhere: bool
) -> CorrectedShareResult:
    """Correct one share."""
    if audit.groupings:
        raise InputError(
            "the audit has groups, but a share takes rows as independent: audit one answer an "
            "item, without groups."
        )
    n_rows = sum(given_counts)
    labelled = given_counts[1] / n_rows
    by: By = "rates" if elsewhere or audit.sampled_by == "true" else "labels"
    strata: tuple[AuditStratum, ...] = ()
    if by == "rates":
        share = _rogan_gladen(labelled, audit)
    else:
        strata = audit.strata or _labels_as_strata(given_counts, audit)
        if audit.given_counts is not None and audit.given_counts != given_counts:
            raise InputError(
                f"given has {given_counts[0]:,} rows labelled {audit.negative!r} and "
                f"{given_counts[1]:,} labelled {audit.positive!r}, but the audit was drawn from "
                f"{audit.given_counts[0]:,} and {audit.given_counts[1]:,}: give the labels that it "
                "was drawn from."
            )
        share = cells_of(strata, audit.positive).seen.prior
    return CorrectedShareResult(
        share=min(max(share, 0.0), 1.0),
        given_share=labelled,
        by=by,
        alpha=audit.alpha,
        beta=audit.beta,
        positive=audit.positive,
        negative=audit.negative,
        n_rows=n_rows,
        n_audited=audit.n_rows,
        given_counts=given_counts,
        counts=audit.counts,
        sampled_by=audit.sampled_by,
        strata=strata,
        diagnostics=(
            *(() if by == "labels" else (_fits_the_rates(share, labelled, audit),)),
            *((_read_early(audit),) if audit.look > 1 else ()),
        ),
    )


def _read_early(audit: AuditTestResult) -> Diagnostic:
    """Doubt an interval that takes an audit as planned for the look where it stopped."""
    return Diagnostic(
        name="looks",
        message=f"The audit was read {audit.look} times as it grew, and the interval of the share "
        "takes it as planned for its last size: it may miss the truth somewhat more often than "
        "it says.",
        concern=True,
    )


def _rogan_gladen(labelled: float, audit: AuditTestResult) -> float:
    """Return the share that flip rates make of the share of positive labels."""
    if audit.given_counts is not None:
        raise InputError(
            "elsewhere goes with rows audited at random or by true class: by given label or within "
            "strata, the audit tells how often labels are wrong in its own data."
        )
    if audit.alpha + audit.beta >= 1:
        raise InputError(
            f"alpha + beta is {audit.alpha + audit.beta:.2f} in the audit: labels no better than a "
            "coin say nothing of the share. Are true and given labels swapped?"
        )
    return (labelled - audit.beta) / (1 - audit.alpha - audit.beta)


def _fits_the_rates(share: float, labelled: float, audit: AuditTestResult) -> Diagnostic:
    """Doubt a share of positive labels that the flip rates alone do not allow."""
    outside = not 0 <= share <= 1
    message = f"{labelled:.1%} of the labels are positive, which the audited flip rates allow."
    if outside:
        rate, low = (audit.beta, True) if share < 0 else (1 - audit.alpha, False)
        message = (
            f"{labelled:.1%} of the labels are positive, {'fewer' if low else 'more'} than the "
            f"{rate:.1%} that the audited flip rates would give if no row were truly "
            f"{audit.positive if low else audit.negative!r}: the share is cut off at "
            f"{0 if low else 1}. Are the rates the same in these rows?"
        )
    return Diagnostic(name="rates", message=message, concern=outside, statistic=share)


def _labels_as_strata(
    given_counts: tuple[int, int], audit: AuditTestResult
) -> tuple[AuditStratum, ...]:
    """Return both given labels as cells; rows audited at random are random within each."""
    counts, found = audit.counts, []
    for n_rows, label, audited, wrong in (
        (given_counts[0], audit.negative, counts.given_negative, counts.flipped_positive),
        (given_counts[1], audit.positive, counts.given_positive, counts.flipped_negative),
    ):
        if n_rows < audited:
            raise InputError(
                f"given has {counted(n_rows, 'row')} labelled {label!r}, but {audited:,} such rows "
                "were audited: give the labels of all rows, audited ones included; or, if other "
                "rows were audited, elsewhere=True."
            )
        if n_rows and not audited:
            raise InputError(
                f"given has {counted(n_rows, 'row')} labelled {label!r}, and none was audited: "
                "audit some of them."
            )
        if n_rows:
            found.append(
                AuditStratum(
                    stratum="all", given=label, n_rows=n_rows, n_audited=audited, n_wrong=wrong
                )
            )
    return tuple(found)


def _count(given: Any, audit: AuditTestResult) -> tuple[int, int]:
    """Return rows labelled negative and positive, from labels or counts."""
    pair = audit.negative, audit.positive
    column = None if isinstance(given, Mapping) else label_column(given, "given")
    if column is None:
        labels = list(given)
    else:
        labels = distinct_labels(column, "given") if len(column) else []
    refuse_lookalikes(labels, "labels of given")
    counts = [0, 0]
    if not labels or not all(_place(label, pair) for label in labels):
        shown = join_quoted([str(plain(label)) for label in labels], limit=5) or "no label"
        raise InputError(
            f"given has {shown} but the audit's labels are {join_quoted(map(str, pair))}: write "
            "them in the same words."
        )
    for label in labels:
        count = given[label] if column is None else int((column == label).sum())
        place = _place(label, pair)[0]
        counts[place] = check_whole(count, f"given of {str(pair[place])!r}")
    negative, positive = counts
    if not negative + positive:
        raise InputError("given counts no row: give the labels of all rows.")
    return negative, positive


def _place(label: Any, pair: tuple[Any, Any]) -> list[int]:
    """Return which of two labels this is: 1 is True, and may have been read as "1"."""
    word = plain(label)
    return [k for k, one in enumerate(pair) if word == one or str(word) == str(one)]


def _by_group(audit: Any) -> dict[Any, AuditTestResult]:
    """Return an audit for each group, in order."""
    if isinstance(audit, AnnotatorAuditResult):
        found = {test.annotator: test.result for test in audit.tests}
    elif isinstance(audit, Mapping) and all(
        isinstance(one, AuditTestResult) for one in audit.values()
    ):
        found = {plain(name): one for name, one in audit.items()}
    else:
        raise InputError(
            f"audit is {kind_of_value(audit)} but must be what audit_test or annotator_audit "
            "returns, or {group: audit_test(...)}."
        )
    refuse_lookalikes(list(found), "groups of audit")
    labels = {(str(one.negative), str(one.positive)) for one in found.values()}
    if len(labels) != 1 or len(found) < 2:
        raise InputError("audit needs at least two groups, with the same two labels in each.")
    return dict(sorted(found.items(), key=lambda pair: str(pair[0])))


def _count_groups(
    given: Any, groups: Any, audits: dict[Any, AuditTestResult]
) -> tuple[dict[Any, tuple[int, int]], list[Any]]:
    """Return rows by label for each group that was audited, and the groups that were not."""
    names = {str(name): name for name in audits}
    if isinstance(given, Mapping):
        refuse_lookalikes(list(given), "groups of given")
        told = {str(plain(name)): counts for name, counts in given.items()}
        absent = [name for name in names if not isinstance(told.get(name), Mapping)]
        if groups is not None or absent:
            raise InputError(
                "given needs counts for each group, {group: {label: count}}, without groups; or "
                "the labels of all rows, with groups."
            )
        others = [plain(name) for name in given if str(plain(name)) not in names]
        return {one: _count(told[name], audits[one]) for name, one in names.items()}, others
    labels = label_column(given, "given")
    if groups is None:
        raise InputError("groups is missing: with an audit for each group, say whose row each is.")
    who = label_column(groups, "groups")
    if who.shape != labels.shape:
        raise InputError(
            f"groups has shape {who.shape} but given has {len(labels):,} rows: say whose each is."
        )
    values = distinct_labels(who, "groups")
    refuse_lookalikes(values, "groups")
    written = {str(plain(value)): value for value in values}
    for name, one in names.items():
        if name not in written:
            raise InputError(f"groups has no row of {one!r}, which was audited.")
    others = [plain(value) for name, value in written.items() if name not in names]
    counts = {one: _count(labels[who == written[name]], audits[one]) for name, one in names.items()}
    return counts, others


def _test_of_rates(audits: list[AuditTestResult]) -> dict[str, Any]:
    """Test that all groups have the same alpha and the same beta."""
    designs = {one.sampled_by for one in audits}
    if any(one.strata or one.groupings for one in audits) or len(designs) > 1:
        why = "audits within strata, or drawn in different ways: compare the groups' intervals"
        return dict.fromkeys(("statistic", "pvalue", "alpha", "beta")) | {"withheld": why}
    flips = [one.counts for one in audits]
    if designs == {"given"}:
        counts = [one.given_counts for one in audits if one.given_counts]
        rates, statistic, pvalue = shared_rates_by_given(flips, counts)
    else:
        rates, statistic, pvalue = shared_rates(flips)
    return {
        "statistic": statistic, "pvalue": pvalue, "withheld": None,
        "alpha": rates[0], "beta": rates[1],
    }  # fmt: skip


def shared_rates(flips: list[Flips]) -> tuple[tuple[float, float], float, float]:
    """Return common flip rates of groups, the chi-squared about them, and its p-value."""
    hits = np.array([(one.flipped_positive, one.flipped_negative) for one in flips], dtype=float)
    rows = np.array([(one.n_positive, one.n_negative) for one in flips], dtype=float)
    common = hits.sum(axis=0) / rows.sum(axis=0)
    chances = np.broadcast_to(common, hits.shape).ravel()
    slopes = np.tile(np.eye(2), (len(flips), 1))
    statistic, pvalue = _drawn_chi_squared(hits.ravel(), rows.ravel(), chances, slopes)
    return (float(common[0]), float(common[1])), statistic, pvalue


def shared_rates_by_given(
    flips: list[Flips], given_counts: list[tuple[int, int]]
) -> tuple[tuple[float, float], float, float]:
    """Return the same for rows drawn by given label; labels of all rows have their error too."""
    hits = np.array([(one.flipped_negative, one.flipped_positive) for one in flips], dtype=float)
    rows = np.array([(one.given_positive, one.given_negative) for one in flips], dtype=float)
    told = np.array([(positive, negative) for negative, positive in given_counts], dtype=float)
    wrong = told * hits / rows
    positives = told[:, 0] - wrong[:, 0] + wrong[:, 1]
    negatives = told.sum(axis=1) - positives
    start = wrong[:, 1].sum() / positives.sum(), wrong[:, 0].sum() / negatives.sum()
    seen = np.column_stack([hits, told[:, 0]]).ravel()
    total = np.column_stack([rows, told.sum(axis=1)]).ravel()
    fitted = _likeliest(seen, total, np.r_[start, positives / told.sum(axis=1)])
    rates, chances = fitted[:2], _chances_by_given(fitted)
    slopes = [(_chances_by_given(fitted + step) - _chances_by_given(fitted - step)).ravel()
              for step in _each(fitted)]  # fmt: skip
    statistic, pvalue = _drawn_chi_squared(
        seen, total, chances.ravel(), np.column_stack(slopes) / (2 * STEP)
    )
    return (float(rates[0]), float(rates[1])), statistic, pvalue


def _likeliest(hits: FloatArray, rows: FloatArray, start: FloatArray) -> FloatArray:
    """Return the rates that fit binomial counts best, by Fisher's scoring of their logits."""
    shares = np.clip(hits / rows, NEVER, 1 - NEVER)

    def chances(logits: FloatArray) -> FloatArray:
        return np.clip(_chances_by_given(expit(logits)).ravel(), NEVER, 1 - NEVER)

    def deviance(logits: FloatArray) -> float:
        own = chances(logits)
        logs = hits * np.log(own / shares) + (rows - hits) * np.log((1 - own) / (1 - shares))
        return float(-2 * logs.sum())

    logits = logit(np.clip(start, FIRST, 1 - FIRST))
    for _ in range(MOST_STEPS):
        own = chances(logits)
        scale = np.sqrt(rows / (own * (1 - own)))
        slopes = [chances(logits + step) - chances(logits - step) for step in _each(logits)]
        weighed = np.column_stack(slopes) / (2 * STEP) * scale[:, None]
        ahead = np.linalg.lstsq(weighed, (shares - own) * scale, rcond=None)[0]
        if ((weighed @ ahead) ** 2).sum() < SETTLED:
            break
        ahead /= max(np.abs(ahead).max() / LONGEST, 1.0)
        before = deviance(logits)
        halves = (logits + ahead / 2**times for times in range(MOST_HALVES))
        logits = next((one for one in halves if deviance(one) < before), logits)
    return np.asarray(expit(logits))


def _each(values: FloatArray) -> FloatArray:
    """Return a small step of each value, the others at rest."""
    return STEP * np.eye(len(values))


def _chances_by_given(fitted: FloatArray) -> FloatArray:
    """Return how likely labels are wrong, positive and negative ones, and positive at all."""
    alpha, beta, priors = fitted[0], fitted[1], fitted[2:]
    labelled = (1 - priors) * beta + priors * (1 - alpha)
    return np.column_stack(
        [(1 - priors) * beta / labelled, priors * alpha / (1 - labelled), labelled]
    )


def _drawn_chi_squared(
    hits: FloatArray, rows: FloatArray, chances: FloatArray, slopes: FloatArray
) -> tuple[float, float]:
    """Return Pearson's chi-squared about fitted chances, and its p-value by draws from them.

    In every draw the rates are fitted again, to first order: `slopes` are the derivatives of the
    chances in them, and the residuals that they explain are left out.
    """
    inside = np.clip(chances, EDGE, 1 - EDGE)
    scale = np.sqrt(rows * inside * (1 - inside))
    directions, strengths, _ = np.linalg.svd(slopes * (rows / scale)[:, None], full_matrices=False)
    directions = directions[:, strengths > 1e-9 * max(strengths[0], 1e-300)]

    def chi_squared(counts: NDArray[Any]) -> FloatArray:
        residuals = (counts - rows * inside) / scale
        explained = ((residuals @ directions) ** 2).sum(axis=-1)
        return np.asarray((residuals**2).sum(axis=-1) - explained)

    seen = float(chi_squared(hits))
    drawn = np.random.default_rng(SEED).binomial(rows.astype(int), inside, (DRAWS, len(rows)))
    as_far = int((chi_squared(drawn) >= seen * (1 - 1e-9) - 1e-9).sum())
    return max(seen, 0.0), (1 + as_far) / (1 + DRAWS)
