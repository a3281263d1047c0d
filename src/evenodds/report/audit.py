"""What there is to say about an audit."""

from dataclasses import asdict
from typing import Final

from evenodds.inference.audit.result import AuditTestResult
from evenodds.report import wording
from evenodds.report.sheet import Assumption, Caption, Sheet, SheetPicture, SheetTable, View
from evenodds.validation import counted

DRAWN: Final = {"random": "at random", "true": "by true class", "given": "by given label"}
TESTS: Final = {
    "boschloo": "Boschloo's exact unconditional test",
    "exact": "exact unconditional test",
    "likelihood": "likelihood-ratio test",
    "score": "score test",
    "stratified": "score test within strata",
}
INTERVALS: Final = ("confidence_interval", "alpha_interval", "beta_interval")


def audit_sheet(result: AuditTestResult, view: View) -> Sheet:
    """Return the sheet of an audit test."""
    test = f"{TESTS[result.method]}{', by groups' if result.groupings else ''}"
    return Sheet(
        result=result,
        view=view,
        question=wording.QUESTION,
        headline=wording.headline(result, view.significance, view.margin),
        verdict=" ".join([wording.verdict(result, view.significance), *_look(result, view)]),
        keys=wording.profile_keys(result, view, test=test, flipped="Flipped"),
        facts=[("test", test), *_facts(result, view)],
        page_facts=(wording.equivalence_fact(result, view),),
        answers={
            **wording.interval_answers(result, view, *INTERVALS),
            "equivalence": asdict(result.equivalence(view.margin)),
        },
        tables=(_table(result), *([_strata_table(result)] if result.strata else [])),
        next_steps=_next_steps(result, view.significance),
        assumptions=_assumptions(result),
        made_with=[
            ("test", test),
            ("rows drawn", _drawn(result)),
            ("alternative", result.alternative),
        ],
        formulas="audit_formulas.html",
        python=_python(result),
        words=wording.explained("Audit", *wording.NOISES, *wording.RATES, *wording.NUMBERS),
        holds="counts of audited rows, no rows",
        pictures={
            "rates": SheetPicture("How often is either class flipped?", _rates_caption),
            **wording.profile_pictures("audit"),
        },
    )


def _look(result: AuditTestResult, view: View) -> list[str]:
    """Say which of the planned looks this is, and whether to go on."""
    if not result.looks:
        return []
    which = f"look {result.look} of {len(result.looks)}"
    ahead = result.next_look(view.significance)
    if result.pvalue < view.significance:
        return [f"The verdict stands at {which}{': the audit may stop here' if ahead else ''}."]
    if ahead is None:
        return [f"This was {which}, the last one planned."]
    return [
        f"This is {which}: the next is at {ahead.n_rows:,} rows, where z must be beyond "
        f"{ahead.critical:.2f}; nothing in between counts."
    ]


def _assumptions(result: AuditTestResult) -> list[Assumption]:
    """Return what this audit takes for granted."""
    within = "stratum" if result.strata else ""
    usual = audit_assumptions(result.sampled_by, _independence(result), within)
    if not result.by_chances:
        return usual
    return [Assumption("Every row was drawn with the chance that was recorded."), *usual[1:]]


def _independence(result: AuditTestResult) -> str:
    """Say which rows are taken as independent."""
    if result.groupings:
        return "Rows of different groups are flipped independently of each other."
    shared = "those that share an item or an annotator need groups."
    return f"{wording.FLIPPED_INDEPENDENTLY.removesuffix('.')}: {shared}"


def _drawn(result: AuditTestResult) -> str:
    """Say how rows were drawn."""
    if result.by_chances:
        return f"with recorded chances, in {counted(result.n_strata, 'step')} of them"
    if not result.strata:
        return DRAWN[result.sampled_by]
    return f"{DRAWN[result.sampled_by]} within {result.n_strata} strata"


def audit_assumptions(
    sampled_by: str, independence: str = wording.FLIPPED_INDEPENDENTLY, within: str = ""
) -> list[Assumption]:
    """Return what an audit takes for granted, what it rests on most first."""
    both = " and given label" if sampled_by == "given" else ""
    drawn = {
        "random": "Audited rows were drawn at random from the data, not because they looked wrong.",
        "true": "Within each true class audited rows were drawn at random.",
        "given": "Within each given label audited rows were drawn at random, and the counts are "
        "those of the data they were drawn from.",
    }[sampled_by]
    if within:
        drawn = (
            f"Within each {within}{both} audited rows were drawn at random, and the counts are "
            "those of the data they were drawn from."
        )
    right = "The looked-up label is right, and whoever looked it up did not see the given one."
    return [Assumption(statement) for statement in (drawn, right, independence)]


def _facts(result: AuditTestResult, view: View) -> list[tuple[str, str]]:
    lines = wording.profile_facts(result, view)
    for title, name, label in (
        ("flip rates", "alpha", result.positive),
        ("", "beta", result.negative),
    ):
        interval = getattr(result, f"{name}_interval")(view.level)
        bounds = f"{view.level:.0%} interval from {interval.low:.3f} to {interval.high:.3f}"
        rate = f"{name} = {getattr(result, name):.3f}"
        lines.append((title, f"of the true {label!r}: {rate}, {bounds}"))
    lines.append(("audited rows", f"{result.n_rows:,}, drawn {_drawn(result)}"))
    if result.looks:
        above, below = result.reference.critical(view.significance, result.alternative)
        sizes = ", ".join(f"{n:,}" for n in result.looks)
        told = f"{result.look} of {len(result.looks)}, planned at {sizes} rows"
        lines.append(("look", f"{told}; here z must be beyond {max(above, -below):.3f}"))
    if result.groupings:
        counted = " and ".join(f"{one.n_groups:,}" for one in result.groupings)
        more = f"variance {result.design_effect:.2f} times that of single rows"
        lines.append(("groups", f"{counted}; {more}"))
    if result.given_counts is not None:
        counts = zip(result.given_counts, (result.negative, result.positive), strict=True)
        told = ", ".join(f"{count:,} labelled {label!r}" for count, label in counts)
        lines.append(("whole data", told))
    return lines


def _table(result: AuditTestResult) -> SheetTable:
    """Return the counts of true by given labels."""
    counts = result.counts
    lost, won = counts.flipped_positive, counts.flipped_negative
    rows = (
        (result.positive, counts.n_positive - lost, lost, counts.n_positive),
        (result.negative, won, counts.n_negative - won, counts.n_negative),
    )
    return SheetTable(
        title="Audited rows",
        header=("", f"given {result.positive!r}", f"given {result.negative!r}", "all"),
        rows=tuple((f"truly {name!r}", *(f"{one:,}" for one in some)) for name, *some in rows),
    )


def _strata_table(result: AuditTestResult) -> SheetTable:
    """Return rows, audited and wrong ones of every stratum and given label."""
    rows = (
        (
            one.stratum,
            repr(one.given),
            *(f"{n:,}" for n in (one.n_rows, one.n_audited, one.n_wrong)),
        )
        for one in result.strata
    )
    return SheetTable(
        title="Strata",
        header=("stratum", "given", "rows", "audited", "wrong"),
        rows=tuple(rows),
    )


def _next_steps(result: AuditTestResult, significance: float) -> list[str]:
    if result.pvalue >= significance:
        more = (
            "audit more groups, rather than more rows of these"
            if result.groupings
            else "audit more rows: evenodds audit plan --alpha A --beta B, or audit_size, tells "
            "how many"
        )
        return [
            f"{wording.SMALLER} {more}.",
            *wording.equivalence_step(),
        ]
    more, less = wording.flipped_more(result)
    rates = f"alpha={result.alpha:.3f}, beta={result.beta:.3f}"
    return [
        f"Relabel: rows labelled {less} hide the missing {more}; look at those first.",
        f"{wording.train_robustly(rates)} from these labels.",
        "Find who: with a column of annotators, evenodds audit --annotator COL tests each of them.",
    ]


def _python(result: AuditTestResult) -> str:
    """Return the call that repeats the test."""
    arguments = ["true, given", f"sampled_by={result.sampled_by!r}"]
    if result.by_chances:
        arguments = ["true, given", "inclusion=inclusion"]
    elif result.strata:
        arguments += ["strata=strata", "given_counts=given_counts"]
    elif result.given_counts is not None:
        negative, positive = result.given_counts
        counts = f"{{{result.negative!r}: {negative}, {result.positive!r}: {positive}}}"
        arguments.append(f"given_counts={counts}")
    arguments += [f"alternative={result.alternative!r}", f"positive={result.positive!r}"]
    comments = [f"# true, given: both labels of the {result.n_rows:,} audited rows"]
    if result.by_chances:
        comments = ["# of all rows: true (None where not drawn), given, chance to be drawn"]
    elif result.strata:
        comments += [
            "# strata: the stratum of each of them",
            "# given_counts: {stratum: {label: rows of the data}}",
        ]
    if result.looks:
        arguments.append(f"looks={result.looks!r}")
    if result.groupings:
        one = len(result.groupings) == 1
        comments.append(
            f"# {'groups' if one else 'items, annotators'}: which of them belong together"
        )
        arguments.append(f"groups={'groups' if one else '(items, annotators)'}")
    return wording.repeat_call(comments, "audit_test", arguments)


def _rates_caption(result: AuditTestResult, view: View) -> Caption:
    """Return how the figure is read, and what it says."""
    scaled = (
        " The audited rows are weighted to the whole data, so a rate is not the share of these "
        "counts."
        if result.given_counts is not None
        else ""
    )
    reading = (
        "A mark is the share of a true class that carries the wrong label, the bar its "
        f"{view.level:.0%} interval, and the counts are those of the audit.{scaled} "
        "Bars that overlap may still differ: the test looks at their difference."
    )
    finding = (
        f"Of the true {result.positive!r} {100 * result.alpha:.1f}% are flipped, of the true "
        f"{result.negative!r} {100 * result.beta:.1f}%."
    )
    return Caption(reading, finding)
