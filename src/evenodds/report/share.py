"""What there is to say about a share of positives: tested where it is known, or corrected."""

from dataclasses import asdict
from typing import Any, Final

from evenodds.inference.audit.share import CorrectedShareResult, GroupSharesResult
from evenodds.inference.prior import PriorTestResult
from evenodds.report import wording
from evenodds.report.audit import audit_assumptions
from evenodds.report.sheet import (
    Caption,
    Key,
    Sheet,
    SheetPicture,
    SheetTable,
    View,
    row_each,
)
from evenodds.validation import signed

TOLD: Final = {
    "labels": "how often either label is wrong",
    "rates": "flip rates alone",
}
SAME_RATES: Final = (
    "A flip depends on the true class alone, and the audited flip rates are those of these rows."
)
READING: Final = (
    "A filled mark is the share truly positive with its interval, a grey one that of the labels."
)
PICTURE: Final = "How many are truly positive?"


def share_sheet(result: CorrectedShareResult, view: View) -> Sheet:
    """Return the sheet of one corrected share."""
    interval = result.confidence_interval(view.level)
    positive = wording.show_label(result.positive)
    around = f"{view.level:.0%} interval from {_ends(result, view)}"
    inside = interval.low <= result.given_share <= interval.high
    verdict = (
        f"{100 * result.share:.1f}% of the rows are truly {positive}, {around}; "
        f"{100 * result.given_share:.1f}% are labelled so"
        f"{'' if inside else ', which lies outside'}."
    )
    return Sheet(
        result=result,
        view=view,
        question=PICTURE,
        headline=f"About {100 * interval.low:.0f} to {100 * interval.high:.0f}% are truly "
        f"{positive}; {100 * result.given_share:.0f}% are labelled so.",
        verdict=verdict,
        keys=(
            Key("Truly positive", f"{result.share:.3f}", around),
            Key("Labelled positive", f"{result.given_share:.3f}", f"of {result.n_rows:,} rows"),
        ),
        facts=[
            ("share", f"{result.share:.4f} truly {positive}"),
            ("", around),
            ("labels", f"{result.given_share:.4f} of {result.n_rows:,} rows"),
            ("flip rates", f"alpha = {result.alpha:.3f}, beta = {result.beta:.3f}"),
            ("audited rows", f"{result.n_audited:,}, telling {TOLD[result.by]}"),
        ],
        answers={"confidence_interval": asdict(interval)},
        takes=_assumptions(result),
        made_with=[("by", result.by)],
        formulas="share_formulas.html",
        python=wording.repeat_call(
            [f"# given: the labels of all {result.n_rows:,} rows; audit: what audit_test returned"],
            "corrected_share",
            ["given, audit"],
        ),
        words=wording.explained("Audit", "Flip"),
        holds="counts of rows, no rows",
        pictures={"shares": SheetPicture(PICTURE, _share_caption)},
    )


def group_shares_sheet(result: GroupSharesResult, view: View) -> Sheet:
    """Return the sheet of corrected shares by group."""
    return Sheet(
        result=result,
        view=view,
        question="Are the labels of one group flipped more often?",
        headline=_headline(result, view),
        verdict=_verdict(result, view),
        keys=() if result.pvalue is None else (
            Key("Evidence against equal rates", wording.show_pvalue(result.pvalue)),
        ),
        facts=_facts(result),
        tables=(_table(result, view),),
        answers={
            "intervals": [
                {"group": one.group, **asdict(one.result.confidence_interval(view.level))}
                for one in result.shares
            ]
        },
        takes=_assumptions(result.shares[0].result),
        made_with=[("by", result.shares[0].result.by)],
        formulas="share_formulas.html",
        python=wording.repeat_call(
            ["# given, groups: labels of all rows, and whose each is; audits: {group: audit_test}"],
            "corrected_share",
            ["given, audits", "groups=groups"],
        ),
        words=wording.explained("Audit", "Flip", "p-value"),
        holds="the names of groups and counts of rows, no rows",
        pictures={"shares": SheetPicture(PICTURE, _groups_caption)},
    )  # fmt: skip


def _ends(result: CorrectedShareResult, view: View) -> str:
    """Write the ends of an interval."""
    interval = result.confidence_interval(view.level)
    return f"{interval.low:.3f} to {interval.high:.3f}"


def _assumptions(result: CorrectedShareResult) -> list[str]:
    """Return what a correction takes for granted."""
    if result.by == "rates":
        return [SAME_RATES, *audit_assumptions("true")]
    within = "stratum" if len(result.strata) > 2 else ""
    return audit_assumptions(result.sampled_by, within=within)


def _headline(result: GroupSharesResult, view: View) -> str:
    if result.pvalue is None:
        return "Groups are corrected each by its own audit; their rates are not compared."
    if result.pvalue < view.significance:
        return "Yes: groups do not share their flip rates."
    return "Not shown: one pair of flip rates fits all groups, and unequal ones may too."


def _verdict(result: GroupSharesResult, view: View) -> str:
    if result.pvalue is None:
        return f"Shares are corrected by group. No test of equal flip rates: {result.withheld}."
    shown = wording.show_pvalue(result.pvalue)
    if result.pvalue < view.significance:
        return (
            f"That all groups have the same two flip rates is rejected ({shown}): correct each "
            "by its own audit, as here, not by one for all."
        )
    return (
        f"That all groups have the same two flip rates is not rejected ({shown}). "
        f"{wording.NOT_SHOWN} they do: the intervals say what remains possible."
    )


def _facts(result: GroupSharesResult) -> list[tuple[str, str]]:
    facts = [("groups", f"{len(result.shares)}, with {result.n_rows:,} labelled rows")]
    if result.statistic is None or result.pvalue is None:
        return facts
    return [
        *facts,
        ("same rates", f"chi-squared {result.statistic:.2f}, {wording.show_pvalue(result.pvalue)}"),
        ("common rates", f"alpha = {result.alpha:.3f}, beta = {result.beta:.3f}"),
    ]


def _table(result: GroupSharesResult, view: View) -> SheetTable:
    return row_each(
        "Shares of positives by group",
        result.shares,
        {
            "group": lambda one: str(one.group),
            "rows": lambda one: f"{one.result.n_rows:,}",
            "audited": lambda one: f"{one.result.n_audited:,}",
            "alpha": lambda one: f"{one.result.alpha:.3f}",
            "beta": lambda one: f"{one.result.beta:.3f}",
            "labelled": lambda one: f"{one.result.given_share:.3f}",
            "truly": lambda one: f"{one.result.share:.3f}",
            f"{view.level:.0%} interval": lambda one: _ends(one.result, view),
        },
    )


def _share_caption(result: CorrectedShareResult, view: View) -> Caption:
    return Caption(READING, share_sheet(result, view).verdict)


def _groups_caption(result: GroupSharesResult, view: View) -> Caption:
    return Caption(READING, _verdict(result, view))


def shown_shares(result: Any) -> list[tuple[str, CorrectedShareResult]]:
    """Return the rows of the figure: each group, or all rows."""
    if isinstance(result, GroupSharesResult):
        return [(str(one.group), one.result) for one in result.shares]
    return [("all rows", result)]


def prior_sheet(result: PriorTestResult, view: View) -> Sheet:
    """Return the sheet of a prior test."""
    rejected = result.pvalue < view.significance
    outcome, pvalue = "rejected" if rejected else "not rejected", wording.show_pvalue(result.pvalue)
    shares = f"{result.noisy_prior:.1%} of the labels are positive, {result.prior:.1%} should be"
    verdict = f"{_what(result)} is {outcome} ({pvalue}): {shares}."
    if not rejected:
        verdict += (
            " Flips that cancel out leave no trace in a share, so this does not show that labels "
            "are right."
        )
    return Sheet(
        result=result,
        view=view,
        question="Are as many labels positive as there should be?",
        headline=f"{_what(result)} is {outcome}.",
        verdict=verdict,
        keys=(
            Key("Evidence", pvalue, f"against the null {result.null!r}"),
            Key("Labelled positive", f"{result.noisy_prior:.1%}", f"{result.prior:.1%} should be"),
        ),
        facts=_prior_facts(result),
        takes=[
            "The true share of positives is known as well as was said.",
            "Labels are independent of each other.",
        ],
        made_with=[("null", result.null)],
        formulas="prior_formulas.html",
        python=wording.repeat_call(
            [],
            "prior_test",
            [
                f"{result.n_positive}, {result.n_rows}, {result.prior!r}",
                f"null={result.null!r}",
                f"prior_standard_error={result.prior_standard_error!r}",
            ],
        ),
        words=wording.explained(
            *("Flip", "Uniform noise", "alpha, beta", "Asymmetry"),
            *(["p-value"] if result.null == "uniform" else []),  # whose words are of equal flips
        ),
        holds="two counts and a share, no rows",
    )


def _what(result: PriorTestResult) -> str:
    return "Uniform noise" if result.null == "uniform" else "The hypothesis of clean labels"


def _prior_facts(result: PriorTestResult) -> list[tuple[str, str]]:
    """Return the numbers of a prior test, named for a reader."""
    error = f" ± {result.prior_standard_error:g}" if result.prior_standard_error else ""
    lines = [
        ("null", result.null),
        ("labels", f"{result.n_positive:,} of {result.n_rows:,} positive"),
        ("share", f"{result.noisy_prior:.4f} observed, {result.prior:g}{error} stated"),
        ("p-value", f"{result.pvalue:.4g}"),
    ]
    if result.noise_rate is not None:
        lines.append(("noise rate", f"{result.noise_rate:.3f}, if the noise is uniform"))
    if result.asymmetry is not None:
        lines.append(("asymmetry", f"beta − alpha = {signed(result.asymmetry)}"))
    return lines
