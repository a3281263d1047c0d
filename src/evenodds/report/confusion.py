"""What there is to say about the tests of a confusion matrix."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Final

from evenodds.inference.line.class_line import ClassLineResult, LinePair
from evenodds.inference.multiclass.confusion import ConfusionTestResult, MatrixTest
from evenodds.inference.multiclass.confusion_strata import ClassPair, StratifiedConfusionResult
from evenodds.report.sheet import (
    Caption,
    Key,
    Sheet,
    SheetPicture,
    SheetTable,
    View,
)
from evenodds.report.wording import (
    FLIPPED_INDEPENDENTLY,
    JUDGE_AGAIN,
    explained,
    show_interval,
    show_pvalue,
)
from evenodds.validation import signed

Confusion = ConfusionTestResult | StratifiedConfusionResult | ClassLineResult
QUESTION: Final = "How were true classes turned into labels?"
PAIRS_QUESTION: Final = "Does one class gain from another?"
MEANINGS: Final = {
    "uniform": "tests whether every class is flipped equally often, to every other class alike",
    "symmetry": "tests whether as many rows go from one class to another as come back (Bowker)",
    "homogeneity": "tests whether each label is given as often as its class occurs "
    "(Stuart-Maxwell)",
}


def confusion_sheet(result: ConfusionTestResult, view: View) -> Sheet:
    """Return the sheet of the tests of a confusion matrix."""
    rejected = result.pvalue < view.significance
    evidence = _how(result.uniform, result)
    return Sheet(
        result=result,
        view=view,
        question=QUESTION,
        headline=_headline(result, rejected),
        verdict=_verdict(result, view),
        keys=(
            Key("Evidence against uniform noise", show_pvalue(result.pvalue), evidence),
            Key("Wrong labels", f"{100 * result.noise_rate:.1f}%", f"of {result.n_rows:,} rows"),
        ),
        facts=[("rows", f"{result.n_rows:,}"), *matrix_facts(result)],
        tables=(matrix_table(result),),
        next_steps=_next_steps(result, rejected),
        takes=[
            "Audited rows were drawn at random, or at random within each true class.",
            LOOKED_UP_BLINDLY,
            FLIPPED_INDEPENDENTLY,
        ],
        made_with=[(name, str(value)) for name, value in result.settings.items()],
        formulas="confusion_formulas.html",
        python=_python(result),
        words=explained("Flip", "p-value"),
        holds="counts of audited rows, no rows",
        pictures=PICTURES,
    )


def _python(result: ConfusionTestResult) -> str:
    """Return the call that repeats the tests; settings matter where p-values were drawn."""
    tests = (result.uniform, result.symmetry, result.homogeneity)
    drawn = any(test.reference == "Monte Carlo" for test in tests)
    settings = [f"{name}={value}" for name, value in result.settings.items()] if drawn else []
    arguments = ", ".join(["true", "given", *settings])
    return f"import evenodds as eo\n\nresult = eo.confusion_test({arguments})"


def matrix_facts(result: ConfusionTestResult) -> list[tuple[str, str]]:
    """Return the three tests, a line each, and the share of wrong labels."""
    lines = [
        (test.name, f"{_how(test, result)}, {show_pvalue(test.pvalue)}: {MEANINGS[test.name]}")
        for test in (result.uniform, result.symmetry, result.homogeneity)
    ]
    return [*lines, ("wrong labels", f"{result.noise_rate:.3f} of the audited rows")]


def matrix_table(result: ConfusionTestResult) -> SheetTable:
    """Return the counts of true classes by given labels."""
    return _by_class("Audited rows", result, lambda i, j: f"{result.counts[i][j]:,}")


def _by_class(title: str, result: Confusion, cell: Callable[[int, int], str]) -> SheetTable:
    """Return a table of true classes by given labels, by their numbers."""
    numbers = range(len(result.classes))
    header = ("", *(f"given {name!r}" for name in result.classes))
    rows = ((f"truly {result.classes[i]!r}", *(cell(i, j) for j in numbers)) for i in numbers)
    return SheetTable(title, header, tuple(rows))


def _how(test: MatrixTest, result: ConfusionTestResult) -> str:
    """Write the statistic, if there is any flip to make one of."""
    if result.noise_rate == 0:
        return "no flip seen"
    drawn = ", drawn p-value" if test.reference == "Monte Carlo" else ""
    return f"chi2 = {test.statistic:.2f} on {test.degrees_of_freedom}{drawn}"


def _largest(result: Confusion) -> str:
    """Say which flip is the most frequent, as a rate."""
    rates = result.flip_rates()
    places = [(i, j) for i in range(len(rates)) for j in range(len(rates)) if i != j]
    i, j = max(places, key=lambda place: rates[place])
    if rates[i, j] == 0:
        return "No label is wrong"
    true, given = result.classes[i], result.classes[j]
    return f"{rates[i, j]:.1%} of rows truly {true!r} are labelled {given!r}"


def _headline(result: ConfusionTestResult, rejected: bool) -> str:
    if result.noise_rate == 0:
        return "Not shown to be uneven: no label of these rows is wrong."
    if not rejected:
        return "Not shown to be uneven: these flips fit uniform noise, and others too."
    return f"Unevenly: {_largest(result)}."


def _verdict(result: ConfusionTestResult, view: View) -> str:
    if result.noise_rate == 0:
        return (
            f"No label of {result.n_rows:,} rows is wrong: uniform noise is not rejected, which "
            "does not show that flips are uniform."
        )
    sentences = []
    if result.pvalue < view.significance:
        sentences.append(
            f"Uniform noise is rejected ({show_pvalue(result.pvalue)}); most often, "
            f"{_largest(result)}."
        )
    else:
        sentences.append(
            f"Uniform noise is not rejected ({show_pvalue(result.pvalue)}), which does not show "
            "that flips are uniform."
        )
    for test, broken, kept in (
        (result.symmetry, "Flips do not balance between classes", "Flips may balance"),
        (
            result.homogeneity,
            "Labels misstate how frequent classes are",
            "Class shares may be kept",
        ),
    ):
        said = broken if test.pvalue < view.significance else kept
        sentences.append(f"{said} ({show_pvalue(test.pvalue)}).")
    if len(set(map(sum, result.counts))) > 1:
        sentences.append(
            "The last two count rows: with classes of unequal size, uniform noise breaks them too."
        )
    return " ".join(sentences)


def _next_steps(result: ConfusionTestResult, rejected: bool) -> list[str]:
    if rejected:
        return [
            "Relabel the most frequent confusion first.",
            "Test the whole data with toss-ups between those classes: evenodds multiclass.",
        ]
    return ["To find smaller differences, audit more rows of the rarest class."]


def _confusion_caption(result: Confusion, view: View) -> Caption:
    return Caption(
        "Each row is a true class; each number the share of it given the label below.",
        f"{_largest(result)}.",
    )


PICTURES: Final = {
    "confusion": SheetPicture("How often does each class get each label?", _confusion_caption)
}
LOOKED_UP_BLINDLY: Final = (
    "The looked-up class is right, and whoever looked it up did not see the label."
)


def stratified_confusion_sheet(result: StratifiedConfusionResult, view: View) -> Sheet:
    """Return the sheet of a flip matrix looked up within strata."""
    found = [pair for pair in result.pairs if pair.adjusted < view.significance]
    looked_up = f"{result.n_audited:,} of {result.n_rows:,} rows looked up"
    return Sheet(
        result=result,
        view=view,
        question=PAIRS_QUESTION,
        headline=_pairs_headline(result, found),
        verdict=_pairs_verdict(result, found),
        keys=(
            Key("Evidence against equal shares", show_pvalue(result.pvalue), "adjusted for pairs"),
            Key("Wrong labels", f"{100 * result.noise_rate:.1f}%", looked_up),
        ),
        facts=[
            ("rows", looked_up),
            ("pairs", f"{len(found)} of {len(result.pairs)} lean; p-values by Holm's method"),
            ("wrong labels", f"{result.noise_rate:.3f} of all rows, as estimated"),
        ],
        tables=(_pairs_table(result, view), _rates_table(result, view)),
        next_steps=[
            "Relabel the most frequent confusion first."
            if found
            else "To find smaller differences, look more rows up."
        ],
        takes=[
            "Rows were drawn at random within each stratum, or each given label of a stratum, "
            "and strata were fixed before anybody looked.",
            LOOKED_UP_BLINDLY,
            "Rows are independent. What flips depend on does not matter.",
        ],
        made_with=[("cells", f"{len(result.strata)} of stratum and given label")],
        formulas="confusion_strata_formulas.html",
        python="import evenodds as eo\n\n"
        "result = eo.confusion_test(true, given, strata=strata, ...)  # how rows were drawn",
        words=explained("Flip", "p-value"),
        holds="counts of rows, no rows",
        pictures=PICTURES,
    )


def class_line_sheet(result: ClassLineResult, view: View) -> Sheet:
    """Return the sheet of the pairs of classes by cases judged along a score."""
    found = [pair for pair in result.pairs if pair.adjusted < view.significance]
    by = f" by {result.n_experts} experts" if result.n_experts > 1 else ""
    judged = f"{result.n_cases:,} of {result.n_rows:,} rows judged{by}"
    wrong = "not known" if result.noise_rate is None else f"{100 * result.noise_rate:.1f}%"
    blind = math.isnan(result.pvalue)
    rates, seen = result.rates, []
    if rates is not None:
        title = "Share of each true class given each label, as estimated"
        seen.append(_by_class(title, result, lambda i, j: f"{rates[i][j]:.3f}"))
    told = [
        ("pairs", f"{len(found)} of {len(result.pairs)} lean; p-values by Holm's method"),
        ("wrong labels", f"{wrong} of all rows, as estimated"),
    ]
    return Sheet(
        result=result,
        view=view,
        question=PAIRS_QUESTION,
        headline=f"These cases cannot tell: {re.split('[:;]', result.withheld or '')[0]}."
        if blind
        else _pairs_headline(result, found),
        verdict=f"These cases cannot tell: {result.withheld}."
        if blind
        else f"{_pairs_verdict(result, found)} {TAKEN}",
        keys=(
            Key("Evidence against equal shares", show_pvalue(result.pvalue), "adjusted for pairs"),
            Key("Wrong labels", wrong, judged),
        ),
        facts=[
            ("cases", f"{judged}, in {len(result.strata)} strata"),
            *([] if blind else told),
            ("shared tolerance", f"±{result.shared_tolerance:g} from one class to another"),
            *([("withheld", result.withheld)] if result.withheld and not blind else []),
        ],
        tables=(*([] if blind else [_pairs_table(result, view)]), *seen, _judged_strata(result)),
        answers={} if blind else {"intervals": _interval_answers(result, view)},
        next_steps=_steps_after_judging(result, found),
        takes=[
            ("Flips depend on the true class alone.", "flip matrix"),
            "Cases were drawn at random within each stratum, and strata were fixed before "
            "anybody was asked.",
            (
                "Experts are right on average in each stratum, up to the shared tolerance, and saw "
                "neither label nor score.",
                "experts",
            ),
            ("Probabilities did not see the label of their own row.", "own labels"),
            "Rows are independent.",
        ],
        made_with=[
            ("answers", "probability"),
            ("shared tolerance", f"{result.shared_tolerance:g}"),
        ],
        formulas="class_line_formulas.html",
        python="import evenodds as eo\n\n"
        'result = eo.line_test(scores, y, cases, stated, answers="probability")',
        words=[*explained("Flip"), *OF_CLASSES.items(), *explained("p-value")],
        holds="counts of rows and means and products of answers in each stratum, no rows",
        pictures={} if rates is None else PICTURES,
    )


OF_CLASSES: Final = {
    "Score": "A model's probability of each class as the given label, for a row that it was not "
    "fitted to.",
    "Stratum": "Rows of one predicted class, and of similar confidence.",
}
TAKEN: Final = "This assumes that a flip depends on the true class alone."


def _interval_answers(result: ClassLineResult, view: View) -> list[dict[str, object]]:
    """Return the intervals of all pairs, for JSON."""
    intervals = zip(result.pairs, result.asymmetry_intervals(view.level), strict=True)
    return [
        {"first": pair.first, "second": pair.second, "low": ends.low, "high": ends.high}
        for pair, ends in intervals
        if pair.asymmetry is not None
    ]


def _steps_after_judging(result: ClassLineResult, found: list[LinePair]) -> list[str]:
    if math.isnan(result.pvalue) and "answers" in str(result.withheld):
        return [JUDGE_AGAIN]
    if math.isnan(result.pvalue):
        return ["Make a score that tells all classes apart, or look true classes up."]
    if found:
        return [
            "Look up rows of the pair named, drawn by given label: evenodds elicit with --kind "
            "looked-up, or confusion_test. That needs no assumption about flips."
        ]
    return ["To find smaller differences, judge more cases, or look true classes up."]


def _judged_strata(result: ClassLineResult) -> SheetTable:
    """Return what labels and answers say of each class, stratum by stratum."""
    header = ("stratum", "rows", "cases", *map(str, result.classes))
    rows = []
    for one in result.strata:
        said = zip(one.given, one.stated, strict=True)
        shares = (f"{count / sum(one.given):.2f} / {mean:.2f}" for count, mean in said)
        rows.append((one.stratum, f"{sum(one.given):,}", f"{one.n_cases}", *shares))
    return SheetTable("Strata: share labelled so / stated mean", header, tuple(rows))


OfPairs = StratifiedConfusionResult | ClassLineResult
Pair = ClassPair | LinePair


def _pairs_headline(result: OfPairs, found: Sequence[Pair]) -> str:
    if not found:
        return "Not shown that any class gains from another."
    return f"Yes: {_gain(result, result.leading)}."


def _gain(result: OfPairs, pair: Pair) -> str:
    """Say which class of a pair gains, with both shares where they are known."""
    gains = pair.statistic > 0
    winner, loser = (pair.first, pair.second) if gains else (pair.second, pair.first)
    said = f"{winner!r} gains from {loser!r}"
    if pair.asymmetry is None or result.rates is None:
        return said
    i, j = result.classes.index(winner), result.classes.index(loser)
    return (
        f"{said}, {result.rates[j][i]:.1%} of which are labelled so "
        f"(the other way {result.rates[i][j]:.1%})"
    )


def _pairs_verdict(result: OfPairs, found: Sequence[Pair]) -> str:
    if not found:
        return (
            f"No pair of classes leans beyond chance ({show_pvalue(result.pvalue)}, adjusted for "
            f"{len(result.pairs)} pairs), which does not show that flips are even."
        )
    said = [
        f"{_gain(result, pair)}, {show_pvalue(pair.adjusted)}."
        for pair in sorted(found, key=lambda pair: pair.pvalue)
    ]
    return " ".join(said)


def _pairs_table(result: OfPairs, view: View) -> SheetTable:
    """Return each pair with the interval of what the first gains."""
    rows, pairs = [], tuple[Pair, ...](result.pairs)
    for pair, interval in zip(pairs, result.asymmetry_intervals(view.level), strict=True):
        size = pair.asymmetry
        gain, ends = ("withheld", "") if size is None else (signed(size), show_interval(interval))
        name = f"{pair.first} | {pair.second}"
        rows.append((name, gain, ends, show_pvalue(pair.pvalue), show_pvalue(pair.adjusted)))
    return SheetTable(
        title="What the first class gains from the second",
        header=("pair", "gain", f"{view.level:.0%} interval", "by itself", "adjusted"),
        rows=tuple(rows),
    )


def _rates_table(result: StratifiedConfusionResult, view: View) -> SheetTable:
    """Return the flip matrix with intervals."""

    def cell(i: int, j: int) -> str:
        ends = result.flip_interval(result.classes[i], result.classes[j], view.level)
        return f"{result.rates[i][j]:.3f} ({ends.low:.3f} to {ends.high:.3f})"

    interval = f"with {view.level:.0%} interval"
    return _by_class(f"Share of each true class given each label, {interval}", result, cell)
