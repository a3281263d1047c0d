"""The record of a split, before and after it is tested."""

from dataclasses import replace
from typing import Final

from evenodds.anchors import Anchors
from evenodds.inference.multiclass.attribution import Finding
from evenodds.inference.multiclass.results import SplitRecord
from evenodds.inference.multiclass.splits import Scheme, Split
from evenodds.inference.results import Diagnostic
from evenodds.rows.classes import ClassRows
from evenodds.validation import FloatArray

BEYOND: Final = Diagnostic(
    name="estimate",
    message="No possible asymmetry carries the curve to these toss-ups; the estimate is the end of "
    "the scale. Read the direction, not the size.",
    concern=True,
)


def untested_record(
    split: Split, anchors: Anchors | None, rows: ClassRows, counts: FloatArray, scheme: Scheme
) -> SplitRecord:
    """Return the record of a split before anything is known of it."""
    names = rows.classes.names
    sides = (*split.positive, *split.negative)
    even = ", and the pair is taken to be even" if scheme == "one-vs-one" else ""
    return SplitRecord(
        name=split.name(rows.classes, rest=scheme == "one-vs-rest"),
        positive=tuple(names[k] for k in split.positive),
        negative=tuple(names[k] for k in split.negative),
        left_out=tuple(name for k, name in enumerate(names) if k not in sides),
        null_ratio=len(split.negative) / len(split.positive),
        n_rows=round(float(counts[list(sides)].sum())),
        n_anchors=0 if anchors is None else len(anchors),
        shared_tolerance=0.0 if anchors is None else anchors.shared_tolerance,
        shared_is_default=anchors is not None and anchors.shared_is_default,
        untested=f"no toss-ups were given for it{even}." if anchors is None else "",
    )


def tested_record(
    split: SplitRecord, found: Finding | None, checks: tuple[Diagnostic, ...]
) -> SplitRecord:
    """Return the record of a split with what was found, if it was tested."""
    if found is None:
        return split
    beyond = abs(found.asymmetry) > 1
    asymmetry = min(max(found.asymmetry, -1.0), 1.0)
    out, into = len(split.negative) * found.rate, len(split.positive) * found.rate
    return replace(
        split,
        statistic=found.statistic,
        pvalue=found.pvalue,
        adjusted_pvalue=found.adjusted,
        asymmetry=asymmetry,
        standard_error=found.standard_error,
        # Not cut off at 0: the two must differ by the asymmetry beside them.
        alpha=out - asymmetry / 2,
        beta=into + asymmetry / 2,
        diagnostics=(BEYOND, *checks) if beyond else checks,
    )
