"""What there is to say about a test of several classes."""

from dataclasses import asdict
from functools import partial
from typing import Final

from evenodds.inference.multiclass.results import MulticlassTestResult, SplitRecord
from evenodds.report.assumptions import UNSEEN, Assumption
from evenodds.report.confusion_sheet import matrix_facts, matrix_table
from evenodds.report.multiclass_words import (
    gains_from,
    leaning_splits,
    multiclass_headline,
    multiclass_verdict,
)
from evenodds.report.sheet import Caption, Key, Sheet, SheetPicture, versions
from evenodds.report.split_table import INTERVAL, RATES, shared_errors, split_table
from evenodds.report.verdict import name_interval, show_pvalue, with_minus
from evenodds.report.view import View
from evenodds.report.words import FLIP, NOT_REJECTED, PVALUE

QUESTION: Final = "Are some classes flipped more often than others?"
HALF: Final = {
    "one-vs-one": "the two classes of the pair are equally likely, whatever else it could be",
    "one-vs-rest": "the class is as likely as all others together",
    "output-codes": "the two sides of the split are equally likely",
}
NULL: Final = {
    "one-vs-one": "the two classes of a pair are flipped into each other equally often",
    "one-vs-rest": "every label is flipped equally often, and to every other class alike",
    "output-codes": "every label is flipped equally often, and to every other class alike",
}
ADJUSTED: Final = {
    "one-vs-one": "strongest first, each with those before it free (Holm's factors)",
    "one-vs-rest": "by Holm's method",
    "output-codes": "by Holm's method",
}
UNIFORM_CLASSES: Final = (
    "Uniform noise",
    "A share of the labels is drawn afresh from all classes alike.",
)
LEANS: Final = (
    "A split leans",
    "More labels cross it one way than even noise would carry. The side named first gains where "
    "the asymmetry is positive.",
)
TOSS_UP: Final = ("Anchor, toss-up", "A case where an expert could not tell the two sides apart.")


def multiclass_sheet(result: MulticlassTestResult, view: View) -> Sheet:
    """Return the sheet of a test of several classes."""
    audited = () if result.audit is None else (matrix_table(result.audit),)
    return Sheet(
        question=QUESTION,
        headline=multiclass_headline(result, view),
        verdict=multiclass_verdict(result, view),
        rejected=result.pvalue < view.significance,
        keys=_keys(result, view),
        facts=_facts(result),
        tables=(split_table(result, view), *audited),
        checks=result.diagnostics,
        next_steps=_next_steps(result, view),
        assumptions=_assumptions(result),
        settings=[
            ("scheme", result.scheme),
            ("p-values adjusted", ADJUSTED[result.scheme]),
            ("significance", f"{view.significance:g}"),
            *versions(result.versions),
        ],
        formulas="multiclass_formulas.html",
        python=_python(result),
        answers={
            "intervals": {
                record.name: asdict(record.confidence_interval(1 - view.significance))
                for record in result.tested
            }
        },
        words=[FLIP, UNIFORM_CLASSES, LEANS, RATES, INTERVAL, TOSS_UP, NOT_REJECTED, PVALUE],
        holds="counts of rows and numbers a split, no rows",
        version=result.versions["evenodds"],
        pictures=lambda: _pictures(result, view),
    )


def _keys(result: MulticlassTestResult, view: View) -> tuple[Key, ...]:
    if result.withheld is not None:
        return (Key("Evidence against even flips", "withheld", "these data cannot tell"),)
    strongest = result.surest_first[0]
    interval = strongest.confidence_interval(1 - view.significance)
    return (
        Key(
            "Evidence against even flips",
            show_pvalue(result.pvalue),
            f"{len(result.tested)} splits counted",
        ),
        Key(
            f"Strongest: {strongest.name}",
            with_minus(f"{strongest.asymmetry:+.3f}"),
            name_interval(interval),
        ),
        Key(
            "Wrong labels, by estimate",
            f"{100 * (result.noise_rate or 0.0):.1f} %",
            "over all classes",
        ),
    )


def _facts(result: MulticlassTestResult) -> list[tuple[str, str]]:
    counts = ", ".join(
        f"{count:,} {name!r}"
        for name, count in zip(result.classes, result.class_counts, strict=True)
    )
    lines = [
        ("scheme", result.scheme),
        ("null", NULL[result.scheme]),
        ("toss-up means", HALF[result.scheme]),
        ("p-values adjusted", ADJUSTED[result.scheme]),
    ]
    if result.withheld is None:
        lines += [
            ("all splits", f"{show_pvalue(result.pvalue)} (the smallest adjusted one)"),
            ("wrong labels", f"{result.noise_rate:.3f} by estimate, if no split leans"),
        ]
    lines += [
        ("rows", f"{result.n_rows:,} with {result.n_features} features"),
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
        record = leaning[0]
        gains = (record.asymmetry or 0.0) > 0
        hiding = record.positive if gains else record.negative
        steps.append(
            f"Look through rows labelled {' or '.join(repr(name) for name in hiding)} near the "
            "toss-ups: the lost rows hide there."
        )
    if any(record.untested for record in result.splits):
        steps.append("Name toss-ups for the splits not tested; they are taken to be even.")
    if result.audit is None:
        steps.append(
            "Look up the true class of some hundred rows drawn at random: confusion_test then "
            "sees every flip, not only those at the toss-ups."
        )
    if result.tested and not leaning:
        steps.append("To find smaller asymmetries, add rows first, then toss-ups.")
    return steps


def _assumptions(result: MulticlassTestResult) -> list[Assumption]:
    seen = {check.name: check for check in result.diagnostics}
    link, step = seen.get("link"), seen["step"]
    anchors = [c for r in result.tested for c in r.diagnostics if c.name == "anchors and curve"]
    contradicted = sum(check.concern for check in anchors)
    return [
        Assumption(
            statement="A flip depends on the true class alone, not on the features.",
            seen=UNSEEN,
            concern=False,
        ),
        Assumption(
            statement="Toss-ups are right within their tolerance, and were chosen without a look "
            "at the labels.",
            seen=f"Toss-ups contradict each other in {contradicted} of {len(anchors)} splits."
            if anchors
            else UNSEEN,
            concern=contradicted > 0,
        ),
        Assumption(
            statement="Log-odds between any two classes are linear in the columns.",
            seen=UNSEEN if link is None else link.message,
            concern=link is not None and link.concern,
        ),
        Assumption(
            statement="Many rows lie between the classes.", seen=step.message, concern=step.concern
        ),
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
        *(f"    {_key(result, r)}: eo.Anchors(...),  # {r.n_anchors} toss-ups" for r in asked[:8]),
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


def _pictures(result: MulticlassTestResult, view: View) -> dict[str, SheetPicture]:
    from evenodds.report import pairs_figure as drawn

    leaning = leaning_splits(result, view)
    finding = "No split leans beyond chance." if result.tested else "These data cannot tell."
    if leaning:
        finding = f"{gains_from(result, leaning[0])}."
    pictures = {}
    if result.scheme == "one-vs-one":
        pictures["pairs"] = SheetPicture(
            question="Which class gains from which?",
            draw=partial(drawn.pairs_figure, result, view),
            caption=lambda: Caption(
                reading="Each number is how much more of the class across is labelled as the class "
                "down than the other way round; framed pairs lean beyond chance, hatched ones "
                "were not tested or are withheld.",
                finding=finding,
            ),
        )
    pictures["splits"] = SheetPicture(
        question="Which splits lean, and by how much?",
        draw=partial(drawn.splits_figure, result, view),
        caption=lambda: Caption(
            reading="Each line is the interval of one split by itself; filled diamonds lean "
            "with all splits counted.",
            finding=finding,
        ),
    )
    return pictures
