"""What is checked beside the local test."""

import numpy as np

from evenodds.anchors import TOSS_UP
from evenodds.inference.diagnostics import DOUBT_BELOW, LEVEL, leave_one_out_check
from evenodds.inference.local.line import AnchorLine
from evenodds.inference.profile import Alternative, Reference, pvalue_of
from evenodds.inference.results import Diagnostic, FlipRate
from evenodds.model.local.posteriors import LocalPosteriors, rows_needed

# Below this many effective rows a parameter the normal approximation is poor.
FEW_ROWS_A_PARAMETER = 10


def line_check(line: AnchorLine, asymmetry: float) -> Diagnostic | None:
    """Say whether the anchors agree with each other; None with too few to tell."""
    found = line.departure(asymmetry)
    if found is None:
        return None
    statistic, pvalue, worst = found
    concern = pvalue < DOUBT_BELOW
    message = (
        f"The anchors do not agree with each other (p = {pvalue:.2g}); anchor {worst} is furthest "
        "off. That anchor or the tolerance is wrong, or flips depend on the features."
        if concern
        else f"The anchors agree with each other (p = {pvalue:.2g})."
    )
    return Diagnostic(
        name="anchors and curve",
        message=message,
        concern=concern,
        statistic=statistic,
        pvalue=pvalue,
    )


def left_out_check(line: AnchorLine, alternative: Alternative) -> Diagnostic | None:
    """Say whether any single anchor decides the verdict; None where none can be missed."""
    remaining = [line.without(anchor) for anchor in range(len(line.stated))]
    if not all(
        len(rest.stated) and rest.stated.min() <= TOSS_UP <= rest.stated.max() for rest in remaining
    ):
        return None
    return leave_one_out_check(
        {place: pvalue_of(rest.z(0.0), alternative) for place, rest in enumerate(remaining)}
    )


def tipping_check(line: AnchorLine, alternative: Alternative, declared: float) -> Diagnostic:
    """Say how far all anchors would have to be off, together, to change the verdict."""
    z, share = line.z(0.0), max(line.error_share(0.0), 1e-3)
    above, below = Reference().critical(LEVEL, alternative)
    ends = {"two-sided": (below, above), "greater": (above,), "less": (below,)}
    nearest = min(ends[alternative], key=lambda end: abs(end - z))
    shift = (z - nearest) * line.standard_error(0.0) / share
    rejected = pvalue_of(z, alternative) < LEVEL
    outcome = "no longer reject uniform noise" if rejected else "reject uniform noise"
    moved = TOSS_UP + shift
    message = (
        f"If the true posterior at the toss-ups were {moved:.2f} on average instead of 0.50, the "
        f"test would {outcome} at 5%."
        if 0 < moved < 1
        else f"No error of the expert on the toss-ups would make the test {outcome} at 5%."
    )
    return Diagnostic(
        name="tipping point",
        statistic=shift,
        concern=rejected and abs(shift) < declared,
        message=message,
    )


def bandwidth_check(
    chosen: float,
    pvalue: float,
    others: dict[float, float | None],
) -> Diagnostic:
    """Say whether another bandwidth would change the verdict."""
    said = {width: p for width, p in others.items() if p is not None}
    differ = any((p < LEVEL) != (pvalue < LEVEL) for p in said.values())
    tried = " and ".join(f"{p:.2g} at {width:.2g}" for width, p in said.items())
    verdict = "the verdict depends on it" if differ else "the verdict is the same"
    message = f"The bandwidth is {chosen:.2g} spreads of the features"
    message += f"; the p-value is {tried}: {verdict}." if said else "; no other could be tried."
    return Diagnostic(name="bandwidth", message=message, concern=differ, statistic=chosen)


def nearby_check(found: LocalPosteriors, n_features: int) -> Diagnostic:
    """Say how many rows the posterior at each anchor rests on."""
    low, high = float(found.effective_rows.min()), float(found.effective_rows.max())
    fewest = float(found.distinct_rows.min())
    enough = FEW_ROWS_A_PARAMETER * (n_features + 1)
    span = f"{low:,.0f}" if round(low) == round(high) else f"{low:,.0f} to {high:,.0f}"
    if low < enough:
        anchor = int(np.argmin(found.effective_rows))
        verdict = (
            f": few (anchor {anchor} has the fewest; {rows_needed(n_features)} are the least)."
        )
    elif fewest < enough:
        anchor = int(np.argmin(found.distinct_rows))
        verdict = (
            f", but anchor {anchor} on {fewest:,.0f} distinct ones: the rest is weight, and "
            "single rows of large weight decide."
        )
    else:
        verdict = "."
    return Diagnostic(
        name="rows per parameter",
        message=f"Each anchor rests on {span} effective rows around it{verdict}",
        concern=min(low, fewest) < enough,
        statistic=min(low, fewest),
    )


def rates_check(rates: tuple[FlipRate, ...], line: AnchorLine) -> Diagnostic | None:
    """Say what the anchors away from 1/2 tell of each rate; None without any."""
    if not rates:
        return None
    parts = [
        f"{rate.name} = {rate.estimate:.3f} ({rate.level:.0%} interval {rate.low:.3f} to "
        f"{rate.high:.3f})"
        for rate in rates
    ]
    slope = line.slope or 0.0
    backwards = slope <= 0
    message = f"By the line through the anchors, {' and '.join(parts)}."
    if backwards:
        message += " The line falls: the stated posteriors, or the labels, are the wrong way round."
    return Diagnostic(name="flip rates", message=message, concern=backwards, statistic=slope)
