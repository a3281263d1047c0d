"""What a test of several classes has shown, in a line and in some sentences."""

from evenodds.inference.multiclass.results import MulticlassTestResult, SplitRecord
from evenodds.report.verdict import show_pvalue
from evenodds.report.view import View


def leaning_splits(result: MulticlassTestResult, view: View) -> list[SplitRecord]:
    """Return the splits that lean, the surest first."""
    return [record for record in result.surest_first if record.rejected(view.significance)]


def gains_from(result: MulticlassTestResult, record: SplitRecord) -> str:
    """Say which way a split leans."""
    first = " or ".join(repr(name) for name in record.positive)
    second = (
        "the rest"
        if result.scheme == "one-vs-rest"
        else " or ".join(repr(name) for name in record.negative)
    )
    gains = (record.asymmetry or 0.0) > 0
    more, less = (first, second) if gains else (second, first)
    return f"{more} gains from {less}"


def multiclass_headline(result: MulticlassTestResult, view: View) -> str:
    """Return the outcome in one line, for a reader who reads no further."""
    if result.withheld is not None:
        return "These data cannot tell: no split has numbers that mean anything."
    leaning = leaning_splits(result, view)
    doubted = any(check.concern for check in result.diagnostics)
    if not leaning:
        reserve = ", with reasons to doubt" if doubted else ""
        return f"Not shown{reserve}: these labels fit even noise, and uneven noise too."
    more = f" ({len(leaning)} splits lean in all)" if len(leaning) > 1 else ""
    start = "It seems so, with reasons to doubt" if doubted else "Yes"
    return f"{start}: {gains_from(result, leaning[0])}{more}."


def multiclass_verdict(result: MulticlassTestResult, view: View) -> str:
    """Return the outcome in some sentences."""
    if result.withheld is not None:
        return f"These data cannot tell whether flips are even. {result.withheld}"
    sentences = _found(result, view)
    withheld = [record.name for record in result.splits if record.withheld is not None]
    if withheld:
        of_them = f"{len(withheld)} splits" if len(withheld) > 3 else ", ".join(withheld)
        sentences.append(f"These data cannot tell of {of_them}.")
    untested = sum(bool(record.untested) for record in result.splits)
    if untested:
        n_all = len(result.splits)
        sentences.append(
            f"{n_all - untested} of {n_all} splits were tested; nothing is known of the others."
        )
    return " ".join(sentences)


def _found(result: MulticlassTestResult, view: View) -> list[str]:
    """Say what the splits that have numbers show."""
    leaning = leaning_splits(result, view)
    if leaning:
        what = "Even noise" if result.scheme == "one-vs-one" else "Uniform noise"
        listed = "; ".join(_size(record, 1 - view.significance) for record in leaning[:3])
        rest = f"; and {len(leaning) - 3} more" if len(leaning) > 3 else ""
        return [
            f"{what} is rejected ({show_pvalue(result.pvalue)}, splits counted): "
            f"{gains_from(result, leaning[0])}.",
            f"Asymmetries of what leans: {listed}{rest}.",
        ]
    widest = max(
        max(abs(interval.low), abs(interval.high))
        for interval in (
            record.confidence_interval(1 - view.significance) for record in result.tested
        )
    )
    return [
        f"No split leans beyond chance ({show_pvalue(result.pvalue)}, splits counted).",
        "That does not show that flips are even: asymmetries up to "
        f"{widest:.2f} fit some split too.",
    ]


def _size(record: SplitRecord, level: float) -> str:
    """Write the asymmetry of a split with its interval."""
    interval = record.confidence_interval(level)
    reach = f"{level:.0%} from {interval.low:+.3f} to {interval.high:+.3f}"
    return f"{record.name}: {record.asymmetry:+.3f}, {reach}"
