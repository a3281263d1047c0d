"""Who flips one class more often? The asymmetry of each annotator with its interval."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenodds.inference.audit.annotators import AnnotatorAuditResult
from evenodds.report.sheet import Caption
from evenodds.report.style import (
    BLUE,
    GREY,
    NARROW_WIDTH,
    ORANGE,
    RED,
    as_written,
    in_house_style,
    legend_below,
    new_figure,
)
from evenodds.report.view import View

ROW_HEIGHT = 0.21  # inches
REST_HEIGHT = 1.3
MOST_SHOWN = 40


@in_house_style
def annotators_figure(result: AnnotatorAuditResult, view: View) -> Figure:
    """Draw a row an annotator, the strongest evidence on top."""
    shown = result.tests[:MOST_SHOWN]
    height = REST_HEIGHT + ROW_HEIGHT * len(shown)
    figure, axes = new_figure(width=NARROW_WIDTH, height=height)
    panel = axes[0, 0]
    for place, test in enumerate(shown):
        interval = test.result.confidence_interval(1 - view.significance)
        named = test.holm < view.significance
        marker, color = ("s", RED) if named else ("o", BLUE)
        panel.plot([interval.low, interval.high], [place, place], color=color, linewidth=1.6)
        panel.plot([test.result.asymmetry], [place], marker, color=color, markersize=4.6)
    panel.axvline(0, color=GREY, linewidth=0.6, linestyle=":", zorder=0)
    panel.axvspan(-view.margin, view.margin, color=ORANGE, alpha=0.3, linewidth=0, zorder=0)
    panel.set_yticks(range(len(shown)), [as_written(test.annotator, 20) for test in shown])
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(shown) - 0.4, -0.6)
    panel.set_xlabel(
        f"beta − alpha: right, true {as_written(repr(result.negative), 12)} flipped more; "
        f"left, true {as_written(repr(result.positive), 12)}"
    )
    first = f" (the first {len(shown)} of {len(result.tests)})"
    panel.set_ylabel(f"Annotators{first if len(shown) < len(result.tests) else ''}")
    _name_marks(panel, view, {test.holm < view.significance for test in shown})
    legend_below(figure, panel)
    return figure


def annotators_caption(result: AnnotatorAuditResult, view: View) -> Caption:
    """Return how the figure is read, and what it says."""
    named = sum(test.holm < view.significance for test in result.tests)
    cut = (
        f" (These are the first {MOST_SHOWN} of {len(result.tests)}.)"
        if len(result.tests) > MOST_SHOWN
        else ""
    )
    reading = (
        "Each row is an annotator: the mark is how many more of the negatives than of the "
        f"positives they flip, the bar its {1 - view.significance:.0%} interval, taken by itself. "
        "Squares stand out even though so many were tested; with many annotators a few bars miss "
        "0 by chance."
    )
    return Caption(reading, f"{named} of {len(result.tests)} stand out.{cut}")


def _name_marks(panel: Axes, view: View, seen: set[bool]) -> None:
    """Add one empty mark of each kind that is seen, for the legend."""
    if True in seen:
        rejected = f"rejected (Holm, {view.percent})"
        panel.plot([], [], "s-", color=RED, markersize=4.6, label=rejected)
    if False in seen:
        panel.plot([], [], "o-", color=BLUE, markersize=4.6, label="not rejected")
    panel.plot([], [], color=ORANGE, alpha=0.3, linewidth=7, label=f"margin of ±{view.margin:g}")
