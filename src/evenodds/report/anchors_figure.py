"""Where do the anchors fall, against where uniform noise would leave them?"""

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenodds.inference.results import AsymmetryTestResult, RetentionRegion
from evenodds.report.style import (
    BAND,
    BLUE,
    GREY,
    NARROW_WIDTH,
    RED,
    as_written,
    in_house_style,
    legend_below,
    new_figure,
)
from evenodds.report.view import View

ROW_HEIGHT = 0.21  # inches
REST_HEIGHT = 1.25
POOLED = "all together"


class Row(NamedTuple):
    """One line of the figure."""

    name: str
    stated: float
    posterior: float
    region: RetentionRegion


@in_house_style
def anchors_figure(result: AsymmetryTestResult, view: View) -> Figure:
    """Draw a row an anchor, and one for all: what retains uniform noise, and what is seen."""
    anchors, pooled = result.sketch.anchors, result.retention_region(view.significance)
    rows = [
        Row(f"anchor {a.number}", a.stated, a.posterior, result.anchor_region(a, view.significance))
        for a in anchors
    ]
    stated, posterior = result.stated_posterior, result.mean_posterior
    if pooled is not None and stated is not None and posterior is not None:
        rows.append(Row(POOLED, stated, posterior, pooled))
    height = REST_HEIGHT + ROW_HEIGHT * len(rows)
    figure, axes = new_figure(width=NARROW_WIDTH, height=height)
    panel = axes[0, 0]
    for place, row in enumerate(rows):
        _draw_row(panel, place, row)
    if pooled is not None:
        panel.axhline(len(rows) - 1.5, color=GREY, linewidth=0.6)
    panel.axvline(0.5, color=GREY, linewidth=0.6, linestyle=":", zorder=0)
    panel.set_yticks(range(len(rows)), [row.name for row in rows])
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(rows) - 0.4, -0.6)
    panel.set_xlim(*_limits(rows))
    panel.locator_params(axis="x", nbins=6)
    panel.set_xlabel(
        f"Chance of being truly {as_written(repr(result.positive), 20)}, by these labels"
    )
    panel.set_ylabel("Toss-up cases" if result.sketch.only_toss_ups else "Cases stated")
    _name_marks(panel, view)
    legend_below(figure, panel)
    return figure


def _draw_row(panel: Axes, place: int, row: Row) -> None:
    """Draw one region, what the expert stated, and what the labels say."""
    low, high = row.region.low, row.region.high
    panel.barh(place, high - low, 0.62, left=low, color=BAND, zorder=1)
    panel.plot([row.stated], [place], "|", color=GREY, markersize=8, zorder=2)
    marker, color = ("o", BLUE) if low <= row.posterior <= high else ("s", RED)
    panel.plot([row.posterior], [place], marker, color=color, markersize=4.6, zorder=3)


def _limits(rows: list[Row]) -> tuple[float, float]:
    """Return an axis that holds every mark, and 1/2."""
    seen = [0.5]
    for row in rows:
        seen += [row.stated, row.posterior, row.region.low, row.region.high]
    room = 0.06 * (max(seen) - min(seen))
    return max(min(seen) - room, -0.01), min(max(seen) + room, 1.01)


def _name_marks(panel: Axes, view: View) -> None:
    """Add one empty mark of each kind, for the legend."""
    retained = f"retained at {view.percent}"
    panel.plot([], [], color=BAND, linewidth=7, solid_capstyle="butt", label=retained)
    panel.plot([], [], "|", color=GREY, markersize=8, label="as the expert stated")
    panel.plot([], [], "o", color=BLUE, markersize=4.6, label="as the labels say: inside")
    panel.plot([], [], "s", color=RED, markersize=4.6, label="as the labels say: outside")
