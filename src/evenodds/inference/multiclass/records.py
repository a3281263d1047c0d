"""The record of a split, before and after it is tested."""

import math
from dataclasses import replace

from evenodds.anchors import Anchors
from evenodds.inference.multiclass.attribution import Finding
from evenodds.inference.multiclass.results import SplitRecord
from evenodds.inference.multiclass.splits import Scheme, Split
from evenodds.inference.results import Diagnostic
from evenodds.rows.classes import ClassRows
from evenodds.validation import FloatArray


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
    split: SplitRecord, found: Finding | str, checks: tuple[Diagnostic, ...]
) -> SplitRecord:
    """Return the record of a split with what was found, or with why it is withheld."""
    if isinstance(found, str):
        return replace(
            split,
            statistic=math.nan,
            pvalue=math.nan,
            adjusted_pvalue=math.nan,
            withheld=found,
            diagnostics=checks,
        )
    out, into = len(split.negative) * found.rate, len(split.positive) * found.rate
    return replace(
        split,
        statistic=found.statistic,
        pvalue=found.pvalue,
        adjusted_pvalue=found.adjusted,
        asymmetry=found.asymmetry,
        standard_error=found.standard_error,
        # Not cut off at 0: the two must differ by the asymmetry beside them.
        alpha=out - found.asymmetry / 2,
        beta=into + found.asymmetry / 2,
        diagnostics=checks,
    )
