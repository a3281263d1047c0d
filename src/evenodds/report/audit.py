"""What there is to say about an audit, and about its size."""

from dataclasses import asdict
from functools import partial
from typing import Final

from evenodds.inference.audit.result import AuditTestResult
from evenodds.inference.profile import ConfidenceInterval
from evenodds.planning.audit_size import AuditSize
from evenodds.report.sheet import (
    UNSEEN,
    Assumption,
    Key,
    Sheet,
    SheetPicture,
    SheetTable,
    View,
    versions,
)
from evenodds.report.text import listed, wrapped
from evenodds.report.wording import (
    ALTERNATIVES,
    AUDIT,
    CLASS_CONDITIONAL_NOISE,
    FLIP,
    NOT_REJECTED,
    PVALUE,
    QUESTION,
    UNIFORM_NOISE,
    flipped_more,
    headline,
    name_interval,
    show_interval,
    show_pvalue,
    verdict,
    with_minus,
)

DRAWN: Final = {
    "random": "at random",
    "true": "by true class",
    "given": "by given label",
}
TESTS: Final = {
    "boschloo": "Boschloo's exact unconditional test",
    "exact": "exact unconditional test",
    "likelihood": "likelihood-ratio test",
    "score": "score test",
}


def audit_sheet(result: AuditTestResult, view: View) -> Sheet:
    """Return the sheet of an audit test."""
    equivalence = result.equivalence(view.margin)
    return Sheet(
        question=QUESTION,
        headline=headline(result, view.significance, view.margin),
        verdict=verdict(result, view.significance),
        rejected=result.pvalue < view.significance,
        keys=_keys(result, view),
        facts=_facts(result, view.significance),
        page_facts=(
            ("equivalence", f"size below {view.margin:g}: {show_pvalue(equivalence.pvalue)}"),
        ),
        answers={
            "confidence_interval": asdict(result.confidence_interval(1 - view.significance)),
            "alpha_interval": asdict(result.alpha_interval(1 - view.significance)),
            "beta_interval": asdict(result.beta_interval(1 - view.significance)),
            "equivalence": asdict(equivalence),
        },
        tables=(_table(result),),
        checks=result.diagnostics,
        next_steps=_next_steps(result, view.significance),
        assumptions=audit_assumptions(result.sampled_by, _independence(result)),
        settings=[
            ("test", _test(result)),
            ("rows drawn", DRAWN[result.sampled_by]),
            ("alternative", result.alternative),
            *view.settings(),
            ("positive label", repr(result.positive)),
            ("negative label", repr(result.negative)),
            *versions(result.versions),
        ],
        formulas="audit_formulas.html",
        python=_python(result),
        words=[AUDIT, FLIP, UNIFORM_NOISE, CLASS_CONDITIONAL_NOISE, NOT_REJECTED, PVALUE],
        holds="counts of audited rows, no rows",
        version=result.versions["evenodds"],
        pictures=lambda: _pictures(result, view),
    )


def _test(result: AuditTestResult) -> str:
    """Name the test."""
    return f"{TESTS[result.method]}{', by groups' if result.groupings else ''}"


def _independence(result: AuditTestResult) -> str:
    """Say which rows are taken as independent."""
    if result.groupings:
        return "Rows of different groups are flipped independently of each other."
    return (
        "Rows are flipped independently of each other: those that share an item or an annotator "
        "need groups."
    )


def audit_assumptions(
    sampled_by: str, independence: str = "Rows are flipped independently of each other."
) -> list[Assumption]:
    """Return what an audit takes for granted, what it rests on most first."""
    drawn = {
        "random": "Audited rows were drawn at random from the data, not because they looked wrong.",
        "true": "Within each true class audited rows were drawn at random.",
        "given": "Within each given label audited rows were drawn at random, and the counts are "
        "those of the data they were drawn from.",
    }[sampled_by]
    statements = (
        drawn,
        "The looked-up label is right, and whoever looked it up did not see the given one.",
        independence,
    )
    return [Assumption(statement=statement, seen=UNSEEN, concern=False) for statement in statements]


def show_rate(rate: float, interval: ConfidenceInterval) -> str:
    """Write a flip rate with its interval."""
    bounds = f"from {interval.low:.3f} to {interval.high:.3f}"
    return f"{rate:.3f}, {interval.level:.0%} interval {bounds}"


def _facts(result: AuditTestResult, significance: float) -> list[tuple[str, str]]:
    interval = result.confidence_interval(1 - significance)
    level = 1 - significance
    alpha = show_rate(result.alpha, result.alpha_interval(level))
    beta = show_rate(result.beta, result.beta_interval(level))
    lines = [
        ("test", _test(result)),
        ("alternative", ALTERNATIVES[result.alternative]),
        ("statistic", f"z = {result.statistic:.3f}, {show_pvalue(result.pvalue)}"),
        ("asymmetry", f"beta - alpha = {result.asymmetry:+.3f}"),
        ("", f"{interval.level:.0%} interval {show_interval(interval, digits=3)}"),
        ("flip rates", f"of the true {result.positive!r}: alpha = {alpha}"),
        ("", f"of the true {result.negative!r}: beta = {beta}"),
        ("audited rows", f"{result.n_rows:,}, drawn {DRAWN[result.sampled_by]}"),
    ]
    if result.groupings:
        counted = " and ".join(f"{one.n_groups:,}" for one in result.groupings)
        lines.append(
            ("groups", f"{counted}; variance {result.design_effect:.2f} times that of single rows")
        )
    if result.given_counts is not None:
        negative, positive = result.given_counts
        lines.append(
            (
                "whole data",
                f"{negative:,} labelled {result.negative!r}, "
                f"{positive:,} labelled {result.positive!r}",
            )
        )
    return lines


def _table(result: AuditTestResult) -> SheetTable:
    """Return the counts of true by given labels."""
    counts = result.counts
    rows = (
        (
            f"truly {result.positive!r}",
            counts.n_positive - counts.flipped_positive,
            counts.flipped_positive,
            counts.n_positive,
        ),
        (
            f"truly {result.negative!r}",
            counts.flipped_negative,
            counts.n_negative - counts.flipped_negative,
            counts.n_negative,
        ),
    )
    return SheetTable(
        title="Audited rows",
        header=("", f"given {result.positive!r}", f"given {result.negative!r}", "all"),
        rows=tuple((name, *(f"{count:,}" for count in numbers)) for name, *numbers in rows),
    )


def _keys(result: AuditTestResult, view: View) -> tuple[Key, ...]:
    interval = result.confidence_interval(1 - view.significance)
    return (
        Key(
            "Evidence against equal flips",
            show_pvalue(result.pvalue),
            f"z = {with_minus(f'{result.statistic:.2f}')}, {_test(result)}",
        ),
        Key(
            "Asymmetry, beta − alpha",
            with_minus(f"{result.asymmetry:+.3f}"),
            name_interval(interval),
        ),
        Key(
            "Flipped",
            f"{100 * result.alpha:.1f} % / {100 * result.beta:.1f} %",
            f"of true {result.positive!r} / of true {result.negative!r}",
        ),
    )


def _next_steps(result: AuditTestResult, significance: float) -> list[str]:
    if result.pvalue >= significance:
        more = (
            "audit more groups, rather than more rows of these"
            if result.groupings
            else "audit more rows: evenodds audit --plan --alpha A --beta B, or audit_size, tells "
            "how many"
        )
        return [
            f"To find smaller asymmetries, {more}.",
            "To support uniform noise, test equivalence with a margin you can live with: "
            "result.equivalence(margin=0.05), or --gate equivalence --margin 0.05.",
        ]
    more, less = flipped_more(result)
    return [
        f"Relabel: rows labelled {less} hide the missing {more}; look at those first.",
        f"Train robustly: NoiseAwareLogisticRegression(alpha={result.alpha:.3f}, "
        f"beta={result.beta:.3f}) learns the clean curve from these labels.",
        "Find who: with a column of annotators, evenodds audit --annotator COL tests each of them.",
    ]


def _python(result: AuditTestResult) -> str:
    """Return the call that repeats the test."""
    arguments = ["true, given", f"sampled_by={result.sampled_by!r}"]
    if result.given_counts is not None:
        negative, positive = result.given_counts
        counts = f"{{{result.negative!r}: {negative}, {result.positive!r}: {positive}}}"
        arguments.append(f"given_counts={counts}")
    arguments += [f"alternative={result.alternative!r}", f"positive={result.positive!r}"]
    groups = {0: (), 1: ("groups",), 2: ("items", "annotators")}[len(result.groupings)]
    if groups:
        arguments.append(f"groups={groups[0] if len(groups) == 1 else '(items, annotators)'}")
    lines = [
        "import evenodds as eo",
        "",
        f"# true, given: both labels of the {result.n_rows:,} audited rows",
        *([f"# {', '.join(groups)}: which of them belong together"] if groups else []),
        "result = eo.audit_test(",
        *(f"    {part}," for part in arguments),
        ")",
    ]
    return "\n".join(lines)


def _pictures(result: AuditTestResult, view: View) -> dict[str, SheetPicture]:
    # Drawing is slow to load.
    from evenodds.report.asymmetry import evidence_caption, power_caption
    from evenodds.report.curve_figures import (
        evidence_figure,
        power_curve_figure,
        rates_caption,
        rates_figure,
    )

    return {
        "rates": SheetPicture(
            "How often is either class flipped?",
            partial(rates_figure, result, view),
            partial(rates_caption, result, view),
        ),
        "evidence": SheetPicture(
            "How strong is the evidence for each asymmetry?",
            partial(evidence_figure, result, view),
            partial(evidence_caption, result, view),
        ),
        "power": SheetPicture(
            "What could this audit have found?",
            partial(power_curve_figure, result, view),
            partial(power_caption, result, view),
        ),
    }


CLOSE = 0.05
CLASSES = {"random": "expected to be truly", "true": "truly", "given": "labelled"}


def audit_size_verdict(plan: AuditSize) -> str:
    """Return the answer in two sentences."""
    drawn = CLASSES[plan.sampled_by]
    return (
        f"Audit {plan.n_rows:,} rows: {plan.n_positive:,} {drawn} positive and "
        f"{plan.n_negative:,} {drawn} negative. Flips of {plan.alpha:.1%} of positives and "
        f"{plan.beta:.1%} of negatives (beta - alpha {plan.beta - plan.alpha:+.3f}) are then found "
        f"with probability {plan.power:.2f} at level {plan.significance:g}."
    )


def describe_audit_size(plan: AuditSize) -> str:
    """Return a plan as plain text."""
    return "\n".join(
        [wrapped(audit_size_verdict(plan)), *listed("How far to trust it", audit_size_checks(plan))]
    )


def audit_size_checks(plan: AuditSize) -> list[str]:
    """Return what speaks to the plan."""
    sentences = []
    if plan.simulated_power is not None and plan.simulated_interval is not None:
        low, high = plan.simulated_interval
        far = max(low - plan.power, plan.power - high, 0.0)
        agreement = (
            "as the formula says"
            if far == 0
            else "close to the formula"
            if far <= CLOSE
            else "unlike the formula: go by this"
        )
        sentences.append(
            f"Simulated power: {plan.simulated_power:.2f} (95 % interval {low:.2f} to {high:.2f}), "
            f"{agreement}."
        )
    sentences.append(
        "It holds for rows drawn as said; suspicious rows first would tell nothing of the rest."
    )
    return sentences
