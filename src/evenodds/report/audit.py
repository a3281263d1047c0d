"""What there is to say about an audit, of all rows or by annotator."""

from dataclasses import asdict
from typing import Final

from evenodds.inference.audit.annotators import AnnotatorAuditResult, AnnotatorTest
from evenodds.inference.audit.result import AuditTestResult
from evenodds.report import wording
from evenodds.report.sheet import (
    Caption,
    Key,
    Sheet,
    SheetPicture,
    SheetTable,
    View,
    row_each,
)
from evenodds.validation import counted, join_quoted, signed

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
        takes=_assumptions(result),
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


def _assumptions(result: AuditTestResult) -> list[str]:
    """Return what this audit takes for granted."""
    within = "stratum" if result.strata else ""
    usual = audit_assumptions(result.sampled_by, _independence(result), within)
    if not result.by_chances:
        return usual
    return ["Every row was drawn with the chance that was recorded.", *usual[1:]]


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
) -> list[str]:
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
    return [drawn, right, independence]


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
    columns = {
        "stratum": lambda one: one.stratum,
        "given": lambda one: repr(one.given),
        "rows": lambda one: f"{one.n_rows:,}",
        "audited": lambda one: f"{one.n_audited:,}",
        "wrong": lambda one: f"{one.n_wrong:,}",
    }
    return row_each("Strata", result.strata, columns)


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


WHO: Final = "Who flips one class more often than the other?"
ADJUSTED: Final = (
    "Adjusted p-value",
    "A p-value made larger for the number of annotators tested. Holm: the chance of naming anyone "
    "falsely stays below the level. Benjamini-Hochberg: the share of names that are false does.",
)


def annotator_sheet(result: AnnotatorAuditResult, view: View) -> Sheet:
    """Return the sheet of audits by annotator."""
    named = [test for test in result.tests if test.holm < view.significance]
    return Sheet(
        result=result,
        view=view,
        question=WHO,
        headline=_who_in_a_line(result, named),
        verdict=_who(result, named, view),
        answers={
            "equivalence": asdict(result.equivalence(view.margin)),
            "intervals": [
                {
                    "annotator": test.annotator,
                    **wording.interval_answers(test.result, view, *INTERVALS),
                }
                for test in result.tests
            ],
        },
        keys=_who_keys(result, named, view),
        facts=[
            ("annotators", f"{len(result.tests)} tested, {len(result.untested)} not"),
            ("audited rows", f"{result.n_rows:,}, drawn {DRAWN[result.sampled_by]}"),
            ("alternative", wording.ALTERNATIVES[result.alternative]),
            ("flip rates", f"alpha of the true {result.positive!r}"),
            ("", f"beta of the true {result.negative!r}"),
        ],
        tables=_ranking(result, view),
        next_steps=_after_naming(named),
        takes=audit_assumptions(result.sampled_by),
        made_with=[
            ("rows drawn", DRAWN[result.sampled_by]),
            ("alternative", result.alternative),
        ],
        formulas="annotator_formulas.html",
        python=_annotators_call(result),
        words=[
            *wording.explained("Audit", *wording.NOISES, *wording.RATES),
            ADJUSTED,
            *wording.explained(*wording.OUTCOMES),
        ],
        holds="the names of annotators and counts of their audited rows, no rows",
        pictures={"annotators": SheetPicture(WHO, _annotators_caption)},
    )


def _who_in_a_line(result: AnnotatorAuditResult, named: list[AnnotatorTest]) -> str:
    if not named:
        return "Nobody is shown to: that clears nobody either."
    who = join_quoted([test.annotator for test in named], limit=3)
    return f"{len(named)} of {len(result.tests)}: {who}."


def _who(result: AnnotatorAuditResult, named: list[AnnotatorTest], view: View) -> str:
    if not named:
        first, still = result.tests[0], f"{wording.NOT_SHOWN} they flip both equally often"
        if len(result.tests) == 1:
            return (
                f"The one annotator tested, {first.annotator!r}, is not shown to flip one class "
                f"more often than the other ({wording.show_pvalue(first.holm)}). {still}: the "
                "interval says what remains possible."
            )
        return (
            f"None of {len(result.tests)} annotators is shown to flip one class more often than "
            f"the other, with their number accounted for (smallest adjusted "
            f"{wording.show_pvalue(first.holm)}, of {first.annotator!r}). {still}: the intervals "
            "say what remains possible."
        )
    groups = []
    for label in map(wording.show_label, (result.positive, result.negative)):
        leaning = [
            test.annotator for test in named if wording.flipped_more(test.result)[0] == label
        ]
        if leaning:
            verb = "flips" if len(leaning) == 1 else "flip"
            groups.append(f"{join_quoted(leaning)} {verb} true {label} more often")
    return (
        f"Equal flips are rejected for {len(named)} of {len(result.tests)} annotators, with their "
        f"number accounted for (Holm, {view.percent}): {'; '.join(groups)}."
    )


def _who_keys(
    result: AnnotatorAuditResult, named: list[AnnotatorTest], view: View
) -> tuple[Key, ...]:
    found = sum(test.benjamini_hochberg < view.significance for test in result.tests)
    first = result.tests[0]
    return (
        Key("Named", f"{len(named)} of {len(result.tests)}", f"Holm at {view.percent}"),
        Key(
            "Strongest evidence", wording.show_pvalue(first.holm), f"adjusted, {first.annotator!r}"
        ),
        Key("Worth a look", f"{found}", f"Benjamini-Hochberg at {view.percent}"),
    )


def _ranking(result: AnnotatorAuditResult, view: View) -> tuple[SheetTable, ...]:
    ranked = row_each(
        "Annotators, strongest evidence first",
        result.tests,
        {
            "who": lambda one: str(one.annotator),
            "rows": lambda one: f"{one.result.n_rows:,}",
            "alpha": lambda one: f"{one.result.alpha:.3f}",
            "beta": lambda one: f"{one.result.beta:.3f}",
            "b - a": lambda one: signed(one.result.asymmetry),
            f"{view.level:.0%} int.": lambda one: _bounds(one, view),
            "p": lambda one: _short(one.result.pvalue),
            "Holm": lambda one: _short(one.holm),
            "BH": lambda one: _short(one.benjamini_hochberg),
        },
    )
    if not result.untested:
        return (ranked,)
    others = {
        "who": lambda one: str(one.annotator),
        "rows": lambda one: f"{one.n_rows:,}",
        "why": lambda one: one.why,
    }
    return ranked, row_each("Not tested", result.untested, others)


def _bounds(test: AnnotatorTest, view: View) -> str:
    """Write the ends of an interval for a column."""
    interval = test.result.confidence_interval(view.level)
    return f"{signed(interval.low, 2)} to {signed(interval.high, 2)}"


def _short(pvalue: float) -> str:
    """Write a p-value for a column."""
    return wording.show_pvalue(pvalue).removeprefix("p ").removeprefix("= ").replace("< ", "<")


def _after_naming(named: list[AnnotatorTest]) -> list[str]:
    if not named:
        return [
            f"{wording.SMALLER} audit more rows of each annotator: audit_size, or "
            "evenodds audit plan, tells how many.",
        ]
    return [
        "Look at the flipped rows of those named together with them: they may read the "
        "instructions in another way.",
        "Relabel their rows, or leave them out, if enough remain.",
    ]


def _annotators_call(result: AnnotatorAuditResult) -> str:
    """Return the call that repeats the tests."""
    arguments = ["true, given, annotators", f"sampled_by={result.sampled_by!r}"]
    if result.sampled_by == "given":
        arguments.append("given_counts=counts")
    arguments += [f"alternative={result.alternative!r}", f"positive={result.positive!r}"]
    comment = f"# both labels of the {result.n_rows:,} audited rows, and who labelled each"
    return wording.repeat_call([comment], "annotator_audit", arguments)


def _annotators_caption(result: AnnotatorAuditResult, view: View) -> Caption:
    """Return how the figure is read, and what it says."""
    named = sum(test.holm < view.significance for test in result.tests)
    cut = (
        f" (These are the first {wording.MOST_SHOWN} of {len(result.tests)}.)"
        if len(result.tests) > wording.MOST_SHOWN
        else ""
    )
    reading = (
        "Each row is an annotator: the mark is how many more of the negatives than of the "
        f"positives they flip, the bar its {view.level:.0%} interval, taken by itself. "
        "Squares stand out even though so many were tested; with many annotators a few bars miss "
        "0 by chance."
    )
    return Caption(reading, f"{named} of {len(result.tests)} stand out.{cut}")
