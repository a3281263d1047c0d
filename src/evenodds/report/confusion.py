"""What there is to say about the tests of a confusion matrix."""

from typing import Final

from evenodds.inference.multiclass.confusion import ConfusionTestResult, MatrixTest
from evenodds.report.sheet import Assumption, Caption, Key, Sheet, SheetPicture, SheetTable, View
from evenodds.report.wording import FLIPPED_INDEPENDENTLY, explained, show_pvalue

QUESTION: Final = "How were true classes turned into labels?"
MEANINGS: Final = {
    "uniform": "every class is flipped equally often, to every other class alike",
    "symmetry": "as many rows go from one class to another as come back (Bowker)",
    "homogeneity": "each label is given as often as its class occurs (Stuart-Maxwell)",
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
        assumptions=[
            Assumption("Audited rows were drawn at random, or at random within each true class."),
            Assumption(
                "The looked-up class is right, and whoever looked it up did not see the label."
            ),
            Assumption(FLIPPED_INDEPENDENTLY),
        ],
        made_with=[(name, str(value)) for name, value in result.settings.items()],
        formulas="confusion_formulas.html",
        python=_python(result),
        words=explained("Flip", "p-value"),
        holds="counts of audited rows, no rows",
        pictures={
            "confusion": SheetPicture(
                "How often does each class get each label?", _confusion_caption
            )
        },
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
    return SheetTable(
        title="Audited rows",
        header=("", *(f"given {name!r}" for name in result.classes)),
        rows=tuple(
            (f"truly {name!r}", *(f"{count:,}" for count in row))
            for name, row in zip(result.classes, result.counts, strict=True)
        ),
    )


def _how(test: MatrixTest, result: ConfusionTestResult) -> str:
    """Write the statistic, if there is any flip to make one of."""
    if result.noise_rate == 0:
        return "no flip seen"
    drawn = ", drawn p-value" if test.reference == "Monte Carlo" else ""
    return f"chi2 = {test.statistic:.2f} on {test.degrees_of_freedom}{drawn}"


def _largest(result: ConfusionTestResult) -> str:
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


def _confusion_caption(result: ConfusionTestResult, view: View) -> Caption:
    return Caption(
        "Each row is a true class; each number the share of it given the label below.",
        f"{_largest(result)}.",
    )
