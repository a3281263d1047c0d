"""What there is to say about a test of several classes."""

from dataclasses import asdict
from typing import Final

from evenodds.inference.multiclass.result import MulticlassTestResult, SplitRecord
from evenodds.report import wording
from evenodds.report.confusion import matrix_facts, matrix_table
from evenodds.report.sheet import (
    UNSEEN,
    Assumption,
    Caption,
    Key,
    Sheet,
    SheetPicture,
    SheetTable,
    View,
)
from evenodds.validation import counted, signed


def leaning_splits(result: MulticlassTestResult, view: View) -> list[SplitRecord]:
    """Return the splits that lean, the surest first."""
    return [record for record in result.surest_first if record.rejected(view.significance)]


def gains_from(result: MulticlassTestResult, record: SplitRecord) -> str:
    """Say which way a split leans."""
    first, second = _named(record.positive), _named(record.negative)
    if result.scheme == "one-vs-rest":
        second = "the rest"
    return f"{first} gains from {second}" if _gains(record) else f"{second} gains from {first}"


def _named(classes: tuple[object, ...]) -> str:
    return " or ".join(map(repr, classes))


def _gains(record: SplitRecord) -> bool:
    """Tell whether the side named first gains."""
    return (record.asymmetry or 0.0) > 0


def multiclass_headline(result: MulticlassTestResult, view: View) -> str:
    """Return the outcome in one line, for a reader who reads no further."""
    if result.withheld is not None:
        return f"{wording.CANNOT_TELL}: no split has numbers that mean anything."
    leaning = leaning_splits(result, view)
    if not leaning:
        return f"{wording.not_shown(result)}: these labels fit even noise, and uneven noise too."
    more = f" ({len(leaning)} splits lean in all)" if len(leaning) > 1 else ""
    return f"{wording.shown_so(result)}: {gains_from(result, leaning[0])}{more}."


def multiclass_verdict(result: MulticlassTestResult, view: View) -> str:
    """Return the outcome in some sentences."""
    if result.withheld is not None:
        return f"{wording.CANNOT_TELL} whether flips are even. {result.withheld}"
    sentences = _found(result, view)
    withheld = [record.name for record in result.splits if record.withheld is not None]
    if withheld:
        of_them = f"{len(withheld)} splits" if len(withheld) > 3 else ", ".join(withheld)
        sentences.append(f"{wording.CANNOT_TELL} about {of_them}.")
    untested = sum(bool(record.untested) for record in result.splits)
    if untested:
        n_all = len(result.splits)
        sentences.append(
            f"Tested: {n_all - untested} of {n_all} splits; nothing is known about the others."
        )
    return " ".join(sentences)


def _found(result: MulticlassTestResult, view: View) -> list[str]:
    """Say what the splits that have numbers show."""
    leaning = leaning_splits(result, view)
    if leaning:
        what = "Even noise" if result.scheme == "one-vs-one" else "Uniform noise"
        splits = "pair" if result.scheme == "one-vs-one" else "split"
        plural = "s" if len(leaning) > 1 else ""
        listed = "; ".join(_size(record, view.level) for record in leaning[:3])
        rest = f"; and {len(leaning) - 3} more" if len(leaning) > 3 else ""
        return [
            f"{what} is rejected ({wording.show_pvalue(result.pvalue)}, splits counted): "
            f"{gains_from(result, leaning[0])}.",
            f"Asymmetry of the leaning {splits}{plural}: {listed}{rest}.",
        ]
    intervals = [record.confidence_interval(view.level) for record in result.tested]
    widest = max(max(-interval.low, interval.high) for interval in intervals)
    return [
        f"No split leans beyond chance ({wording.show_pvalue(result.pvalue)}, splits counted).",
        f"{wording.NOT_SHOWN} flips are even: asymmetries up to {widest:.2f} fit some split too.",
    ]


def _size(record: SplitRecord, level: float) -> str:
    """Write the asymmetry of a split with its interval."""
    interval = record.confidence_interval(level)
    reach = f"{level:.0%} interval from {signed(interval.low)} to {signed(interval.high)}"
    return f"{record.name}: {signed(record.asymmetry)}, {reach}"


def split_table(result: MulticlassTestResult, view: View) -> SheetTable:
    """Return a line a split."""
    rows = []
    for record in result.splits:
        shown = [record.name, f"{record.n_rows:,}", str(record.n_anchors)]
        if record.tested:
            interval = record.confidence_interval(view.level)
            alpha, beta = (max(rate or 0.0, 0.0) for rate in (record.alpha, record.beta))
            shown += [
                signed(record.asymmetry),
                f"{signed(interval.low)} to {signed(interval.high)}",
                f"{alpha:.3f} / {beta:.3f}",
                f"{record.null_ratio:g} : 1",
                f"{record.adjusted_pvalue:.2g}",
            ]
        else:
            shown += ["not tested" if record.withheld is None else "withheld", "", "", "", ""]
        rows.append(tuple(shown))
    numbers = ("asymmetry", f"{view.level:.0%} interval", "alpha / beta", "null", "adjusted p")
    return SheetTable("Splits", ("split", "rows", "toss-ups", *numbers), tuple(rows))


def shared_errors(result: MulticlassTestResult) -> str:
    """Say how large an error the toss-ups of a split share."""
    splits = result.splits
    low, high = (pick(split.shared_tolerance for split in splits) for pick in (min, max))
    span = f"±{low:g}" if low == high else f"±{low:g} to ±{high:g}"
    ways = {"by default" if split.shared_is_default else "as stated" for split in splits}
    return f"an error of {span} within a split ({', '.join(sorted(ways))})"


QUESTION: Final = "Are some classes flipped more often than others?"
HALF: Final = {
    "one-vs-one": "the two classes of the pair are equally likely, whatever else it could be",
    "one-vs-rest": "the class is as likely as all others together",
    "output-codes": "the two sides of the split are equally likely",
}
UNIFORMLY: Final = "every label is flipped equally often, and to every other class alike"
NULL: Final = {
    "one-vs-one": "the two classes of a pair are flipped into each other equally often",
    "one-vs-rest": UNIFORMLY,
    "output-codes": UNIFORMLY,
}
ADJUSTED: Final = "by Holm's method"
WORDS: Final = [
    *wording.explained("Flip"),
    ("Uniform noise", "A share of the labels is drawn afresh from all classes alike."),
    (
        "A split leans",
        "More labels cross it one way than even noise would carry. The side named first gains "
        "where the asymmetry is positive.",
    ),
    (
        "Alpha and beta of a split",
        "Estimated share of the side named first that is labelled as the other, and the reverse. "
        "They go with the asymmetry, so that one near 0 may be estimated below 0, and is given as "
        "0. Under uniform noise they are as the null says, 3 : 1 for one class against three; the "
        "asymmetry is what "
        "departs from that, so it is beta less alpha only where the null is 1 : 1.",
    ),
    (
        "Interval of a split",
        "For this split alone, that of a pair whatever flips there are between other classes: it "
        "holds 0 where the p-value of this split, before splits are counted, is above the level.",
    ),
    ("Anchor, toss-up", "A case where an expert could not tell the two sides apart."),
    *wording.explained(*wording.OUTCOMES),
]


def multiclass_sheet(result: MulticlassTestResult, view: View) -> Sheet:
    """Return the sheet of a test of several classes."""
    audited = () if result.audit is None else (matrix_table(result.audit),)
    return Sheet(
        result=result,
        view=view,
        question=QUESTION,
        headline=multiclass_headline(result, view),
        verdict=multiclass_verdict(result, view),
        keys=_keys(result, view),
        facts=_facts(result),
        tables=(split_table(result, view), *audited),
        next_steps=_next_steps(result, view),
        takes=_assumptions(result),
        made_with=[("scheme", result.scheme), ("p-values adjusted", ADJUSTED)],
        formulas="multiclass_formulas.html",
        python=_python(result),
        answers={
            "intervals": {
                record.name: asdict(record.confidence_interval(view.level))
                for record in result.tested
            }
        },
        words=WORDS,
        holds="counts of rows and numbers a split, no rows",
        pictures=_pictures(result),
    )


def _keys(result: MulticlassTestResult, view: View) -> tuple[Key, ...]:
    if result.withheld is not None:
        return (Key("Evidence against even flips", "withheld", "these data cannot tell"),)
    strongest = result.surest_first[0]
    interval = strongest.confidence_interval(view.level)
    counted, wrong = f"{len(result.tested)} splits counted", 100 * (result.noise_rate or 0.0)
    size = signed(strongest.asymmetry)
    return (
        Key("Evidence against even flips", wording.show_pvalue(result.pvalue), counted),
        Key(f"Strongest: {strongest.name}", size, wording.name_interval(interval)),
        Key("Wrong labels, by estimate", f"{wrong:.1f}%", f"over all classes{_at_even(result)}"),
    )


def _at_even(result: MulticlassTestResult) -> str:
    """Say what the share of wrong labels takes for granted: among pairs nothing."""
    return "" if result.scheme == "one-vs-one" else ", if no split leans"


def _facts(result: MulticlassTestResult) -> list[tuple[str, str]]:
    counts = ", ".join(
        f"{count:,} {name!r}"
        for name, count in zip(result.classes, result.class_counts, strict=True)
    )
    lines = [
        ("scheme", result.scheme),
        ("null", NULL[result.scheme]),
        ("toss-up means", HALF[result.scheme]),
        ("p-values adjusted", ADJUSTED),
    ]
    if result.withheld is None:
        lines += [
            ("all splits", f"{wording.show_pvalue(result.pvalue)} (the smallest adjusted one)"),
            ("wrong labels", f"{result.noise_rate:.3f} by estimate{_at_even(result)}"),
        ]
    lines += [
        wording.rows_fact(result),
        ("labels", counts),
        ("toss-ups share", shared_errors(result)),
    ]
    if result.audit is not None:
        lines += [
            (f"audit: {name}" if name else "", value) for name, value in matrix_facts(result.audit)
        ]
    return lines


def _next_steps(result: MulticlassTestResult, view: View) -> list[str]:
    leaning = leaning_splits(result, view)
    steps = []
    if any(record.withheld is not None for record in result.splits):
        steps.append(
            "For the splits withheld, collect rows near their toss-ups, or use fewer columns."
        )
    if leaning:
        hiding = leaning[0].positive if _gains(leaning[0]) else leaning[0].negative
        steps.append(
            f"Look through rows labelled {_named(hiding)} near the toss-ups: the lost rows hide "
            "there."
        )
    if any(record.untested for record in result.splits):
        steps.append("Name toss-ups for the splits not tested.")
    if result.audit is None:
        steps.append(
            "Look up the true class of some hundred rows drawn at random: confusion_test then "
            "sees every flip, not only those at the toss-ups."
        )
    if result.tested and not leaning:
        steps.append(f"{wording.SMALLER} add rows first, then toss-ups.")
    return steps


def _assumptions(result: MulticlassTestResult) -> list[str | tuple[str, str] | Assumption]:
    anchors = [c for r in result.tested for c in r.diagnostics if c.name == "anchors and curve"]
    contradicted = sum(check.concern for check in anchors)
    several = counted(len(anchors), "split")
    seen = f"Toss-ups contradict each other in {contradicted} of {several}."
    return [
        wording.NOT_ON_FEATURES,
        Assumption(
            "Toss-ups are right within their tolerance, and were chosen without a look at the "
            "labels.",
            seen if anchors else UNSEEN,
            contradicted > 0,
        ),
        ("Log-odds between any two classes are linear in the columns.", "link"),
        ("Many rows lie between the classes.", "step"),
    ]


def _python(result: MulticlassTestResult) -> str:
    """Return the call that repeats the test."""
    asked = [record for record in result.splits if record.n_anchors]
    codes = ", codes=codes" if result.scheme == "output-codes" else ""
    lines = [
        "import evenodds as eo",
        "",
        f"# X, y: the {result.n_rows:,} rows and their labels",
        "anchors = {",
        *(
            f"    {_key(result, r)}: eo.Anchors(...),  # {counted(r.n_anchors, 'toss-up')}"
            for r in asked[:8]
        ),
        *(["    ..."] if len(asked) > 8 else []),
        "}",
        f"result = eo.multiclass_test(X, y, anchors, scheme={result.scheme!r}{codes})",
    ]
    return "\n".join(lines)


def _key(result: MulticlassTestResult, record: SplitRecord) -> str:
    """Return how a split is named in a dict of anchors."""
    if result.scheme == "one-vs-rest":
        return repr(record.positive[0])
    pair = result.scheme == "one-vs-one"
    return repr((*record.positive, *record.negative) if pair else record.name)


def _pictures(result: MulticlassTestResult) -> dict[str, SheetPicture]:
    splits = SheetPicture("Which splits lean, and by how much?", _splits_caption)
    pairs = SheetPicture("Which class gains from which?", _pairs_caption)
    return {**({"pairs": pairs} if result.scheme == "one-vs-one" else {}), "splits": splits}


def _pairs_caption(result: MulticlassTestResult, view: View) -> Caption:
    reading = (
        "Each number is how much more of the class across is labelled as the class down than the "
        "other way round; framed pairs lean beyond chance, hatched ones were not tested or are "
        "withheld."
    )
    return Caption(reading, _finding(result, view))


def _splits_caption(result: MulticlassTestResult, view: View) -> Caption:
    reading = (
        "Each line is the interval of one split by itself; filled diamonds lean with all splits "
        "counted."
    )
    return Caption(reading, _finding(result, view))


def _finding(result: MulticlassTestResult, view: View) -> str:
    leaning = leaning_splits(result, view)
    if leaning:
        return f"{gains_from(result, leaning[0])}."
    return "No split leans beyond chance." if result.tested else f"{wording.CANNOT_TELL}."
