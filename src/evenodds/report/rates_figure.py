"""How often is either class flipped? Two rates with their intervals, on one scale."""

from matplotlib.figure import Figure

from evenodds.inference.audit.result import AuditTestResult
from evenodds.report.sheet import Caption
from evenodds.report.style import (
    BLUE,
    GREY,
    NARROW_WIDTH,
    ORANGE,
    as_written,
    in_house_style,
    new_figure,
)
from evenodds.report.view import View


@in_house_style
def rates_figure(result: AuditTestResult, view: View) -> Figure:
    """Draw the flip rates of both classes, with the counts behind them."""
    figure, axes = new_figure(width=NARROW_WIDTH, height=1.9)
    panel = axes[0, 0]
    counts, level = result.counts, 1 - view.significance
    rows = (
        (result.positive, result.alpha, result.alpha_interval(level), "o", BLUE),
        (result.negative, result.beta, result.beta_interval(level), "s", ORANGE),
    )
    numbers = (
        f"{counts.flipped_positive:,} of {counts.n_positive:,}",
        f"{counts.flipped_negative:,} of {counts.n_negative:,}",
    )
    right = max(interval.high for _, _, interval, _, _ in rows)
    for place, ((_, rate, interval, marker, color), count) in enumerate(
        zip(rows, numbers, strict=True)
    ):
        panel.plot([interval.low, interval.high], [place, place], color=color, linewidth=3)
        panel.plot([rate], [place], marker, color=color, markersize=6, markeredgecolor="white")
        panel.annotate(
            count, (rate, place), (0, 8), textcoords="offset points", ha="center", color=GREY
        )
    names = [f"true {as_written(repr(label), 18)}" for label, *_ in rows]
    panel.set_yticks(range(2), names)
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(1.5, -0.7)
    panel.set_xlim(0, min(1.1 * right + 0.01, 1.0))
    panel.locator_params(axis="x", nbins=6)
    panel.set_xlabel(f"Share flipped, with its {level:.0%} interval")
    return figure


def rates_caption(result: AuditTestResult, view: View) -> Caption:
    """Return how the figure is read, and what it says."""
    scaled = (
        " By given label the audited rows are weighted to the whole data, so a rate is not the "
        "share of these counts."
        if result.given_counts is not None
        else ""
    )
    reading = (
        "A mark is the share of a true class that carries the wrong label, the bar its "
        f"{1 - view.significance:.0%} interval, and the counts are those of the audit.{scaled} "
        "Bars that overlap may still differ: the test looks at their difference."
    )
    finding = (
        f"Of the true {result.positive!r} {100 * result.alpha:.1f} % are flipped, of the true "
        f"{result.negative!r} {100 * result.beta:.1f} %."
    )
    return Caption(reading, finding)
