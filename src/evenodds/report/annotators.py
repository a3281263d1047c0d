"""What there is to say about the audits of several annotators."""

from dataclasses import asdict
from typing import Final

from evenodds.inference.audit.annotators import AnnotatorAuditResult, AnnotatorTest
from evenodds.report import wording
from evenodds.report.audit import DRAWN, INTERVALS, audit_assumptions
from evenodds.report.sheet import Caption, Key, Sheet, SheetPicture, SheetTable, View
from evenodds.validation import join_quoted, signed

QUESTION: Final = "Who flips one class more often than the other?"
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
        question=QUESTION,
        headline=_headline(result, named),
        verdict=_verdict(result, named, view),
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
        keys=_keys(result, named, view),
        facts=[
            ("annotators", f"{len(result.tests)} tested, {len(result.untested)} not"),
            ("audited rows", f"{result.n_rows:,}, drawn {DRAWN[result.sampled_by]}"),
            ("alternative", wording.ALTERNATIVES[result.alternative]),
            ("flip rates", f"alpha of the true {result.positive!r}"),
            ("", f"beta of the true {result.negative!r}"),
        ],
        tables=_tables(result, view),
        next_steps=_next_steps(named),
        assumptions=audit_assumptions(result.sampled_by),
        made_with=[
            ("rows drawn", DRAWN[result.sampled_by]),
            ("alternative", result.alternative),
        ],
        formulas="annotator_formulas.html",
        python=_python(result),
        words=[
            *wording.explained("Audit", *wording.NOISES, *wording.RATES),
            ADJUSTED,
            *wording.explained(*wording.OUTCOMES),
        ],
        holds="the names of annotators and counts of their audited rows, no rows",
        pictures={"annotators": SheetPicture(QUESTION, _annotators_caption)},
    )


def _headline(result: AnnotatorAuditResult, named: list[AnnotatorTest]) -> str:
    if not named:
        return "Nobody is shown to: that clears nobody either."
    who = join_quoted([test.annotator for test in named], limit=3)
    return f"{len(named)} of {len(result.tests)}: {who}."


def _verdict(result: AnnotatorAuditResult, named: list[AnnotatorTest], view: View) -> str:
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


def _keys(result: AnnotatorAuditResult, named: list[AnnotatorTest], view: View) -> tuple[Key, ...]:
    found = sum(test.benjamini_hochberg < view.significance for test in result.tests)
    first = result.tests[0]
    return (
        Key("Named", f"{len(named)} of {len(result.tests)}", f"Holm at {view.percent}"),
        Key(
            "Strongest evidence", wording.show_pvalue(first.holm), f"adjusted, {first.annotator!r}"
        ),
        Key("Worth a look", f"{found}", f"Benjamini-Hochberg at {view.percent}"),
    )


def _tables(result: AnnotatorAuditResult, view: View) -> tuple[SheetTable, ...]:
    rows = []
    for test in result.tests:
        one, interval = test.result, test.result.confidence_interval(view.level)
        rates = f"{one.alpha:.3f}", f"{one.beta:.3f}", signed(one.asymmetry)
        pvalues = map(_short, (one.pvalue, test.holm, test.benjamini_hochberg))
        bounds = f"{signed(interval.low, 2)} to {signed(interval.high, 2)}"
        rows.append((str(test.annotator), f"{one.n_rows:,}", *rates, bounds, *pvalues))
    interval_name = f"{view.level:.0%} int."
    header = ("who", "rows", "alpha", "beta", "b - a", interval_name, "p", "Holm", "BH")
    ranked = SheetTable("Annotators, strongest evidence first", header, tuple(rows))
    if not result.untested:
        return (ranked,)
    others = tuple((str(one.annotator), f"{one.n_rows:,}", one.why) for one in result.untested)
    return ranked, SheetTable("Not tested", ("who", "rows", "why"), others)


def _short(pvalue: float) -> str:
    """Write a p-value for a column."""
    return wording.show_pvalue(pvalue).removeprefix("p ").removeprefix("= ").replace("< ", "<")


def _next_steps(named: list[AnnotatorTest]) -> list[str]:
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


def _python(result: AnnotatorAuditResult) -> str:
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
