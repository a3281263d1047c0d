"""The splits of a test of several classes, a line each."""

from typing import Final

from evenodds.inference.multiclass.results import MulticlassTestResult
from evenodds.report.sheet import SheetTable
from evenodds.report.view import View

RATES: Final = (
    "Alpha and beta of a split",
    "Estimated share of the side named first that is labelled as the other, and the reverse. They "
    "go with the asymmetry, so that one near 0 may be estimated below 0. Under uniform noise they "
    "are as the null says, 3 : 1 for one class against three; the asymmetry is what departs from "
    "that, so it is beta less alpha only where the null is 1 : 1.",
)
INTERVAL: Final = (
    "Interval of a split",
    "For this split alone: it holds 0 where the p-value of this split, before splits are counted, "
    "is above the level.",
)


def split_table(result: MulticlassTestResult, view: View) -> SheetTable:
    """Return a line a split."""
    level = 1 - view.significance
    rows = []
    for record in result.splits:
        if not record.tested:
            why = "not tested" if record.withheld is None else "withheld"
            shown = (record.name, f"{record.n_rows:,}", str(record.n_anchors), why)
            rows.append((*shown, "", "", "", ""))
            continue
        interval = record.confidence_interval(level)
        rows.append(
            (
                record.name,
                f"{record.n_rows:,}",
                str(record.n_anchors),
                f"{record.asymmetry:+.3f}",
                f"{interval.low:+.3f} to {interval.high:+.3f}",
                f"{record.alpha:.3f} / {record.beta:.3f}",
                f"{record.null_ratio:g} : 1",
                f"{record.adjusted_pvalue:.2g}",
            )
        )
    return SheetTable(
        title="Splits",
        header=(
            "split",
            "rows",
            "toss-ups",
            "asymmetry",
            f"{level:.0%} interval",
            "alpha / beta",
            "null",
            "adjusted p",
        ),
        rows=tuple(rows),
    )


def shared_errors(result: MulticlassTestResult) -> str:
    """Say how large an error the toss-ups of a split share."""
    tested = result.tested
    low, high = (pick(split.shared_tolerance for split in tested) for pick in (min, max))
    span = f"±{low:g}" if low == high else f"±{low:g} to ±{high:g}"
    ways = {"by default" if split.shared_is_default else "as stated" for split in tested}
    return f"an error of {span} within a split ({', '.join(sorted(ways))})"
