"""How strong is the evidence against each asymmetry? z as a function of it."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenodds.inference.profile import ConfidenceInterval
from evenodds.inference.profiled import Profiled
from evenodds.report.style import (
    BAND,
    BLACK,
    BLUE,
    GREY,
    NARROW_WIDTH,
    ORANGE,
    RED,
    in_house_style,
    legend_below,
    new_figure,
)
from evenodds.report.verdict import show_pvalue, with_minus
from evenodds.report.view import View

POINTS = 200
# A z of this size speaks as clearly as any larger one.
LARGE = 5.5


@in_house_style
def evidence_figure(result: Profiled, view: View) -> Figure:
    """Draw z, where it is not rejected, the estimate with its interval, and the margin."""
    figure, axes = new_figure(width=NARROW_WIDTH, height=3.5)
    panel = axes[0, 0]
    interval = result.confidence_interval(1 - view.significance)
    low, high = _limits(result, interval, view.margin)
    across = np.linspace(low, high, POINTS)
    profile = result.profile
    known = across[(across >= profile.asymmetries[0]) & (across <= profile.asymmetries[-1])]
    heights = [profile(float(asymmetry)) for asymmetry in known]
    above, below = result.reference.critical(view.significance, result.alternative)
    bottom, top = _heights([*heights, result.statistic], above, below)
    _draw_band(panel, result, view, (bottom, top))
    panel.axvspan(
        -view.margin,
        view.margin,
        color=ORANGE,
        alpha=0.3,
        linewidth=0,
        zorder=0.5,
        label=f"margin of ±{view.margin:g}",
    )
    panel.plot(known, heights, color=BLUE, label="z, by asymmetry")
    panel.plot([interval.low, interval.high], [0, 0], color=BLACK, linewidth=3.2, alpha=0.55)
    panel.plot(
        [result.profile.estimate],
        [0],
        "D",
        color=BLACK,
        markersize=5,
        label=f"estimate, {interval.level:.0%} interval",
    )
    panel.plot(
        [0],
        [result.statistic],
        "s",
        color=RED,
        markersize=5.5,
        label=f"at 0, the test: z = {_minus(result.statistic)}, {show_pvalue(result.pvalue)}",
    )
    panel.axvline(0, color=GREY, linewidth=0.6, linestyle=":")
    panel.axhline(0, color=GREY, linewidth=0.6)
    panel.set_xlim(low, high)
    panel.locator_params(axis="x", nbins=6)
    panel.set_ylim(bottom, top)
    panel.set_xlabel("Asymmetry supposed: flip rates beta − alpha")
    panel.set_ylabel("z: how far the labels\nspeak against it")
    legend_below(figure, panel)
    return figure


def _draw_band(panel: Axes, result: Profiled, view: View, edges: tuple[float, float]) -> None:
    """Shade the values of z that do not reject, by the test as it was asked."""
    above, below = result.reference.critical(view.significance, result.alternative)
    bottom = edges[0] if result.alternative == "greater" else max(below, edges[0])
    top = edges[1] if result.alternative == "less" else min(above, edges[1])
    label = f"not rejected at {view.percent}"
    panel.axhspan(bottom, top, color=BAND, alpha=0.7, linewidth=0, zorder=0, label=label)


def _limits(result: Profiled, interval: ConfidenceInterval, margin: float) -> tuple[float, float]:
    """Return asymmetries that hold the interval, none at all, and the margin.

    A side without a bound is shown as far as z is known, or already large.
    """
    table = zip(result.profile.asymmetries, result.profile.z, strict=True)
    shown = [asymmetry for asymmetry, z in table if abs(z) <= LARGE] or [result.profile.estimate]
    low = max(interval.low, shown[0]) if interval.low_is_limit else interval.low
    high = min(interval.high, shown[-1]) if interval.high_is_limit else interval.high
    wanted = (low, high, result.profile.estimate, -margin, margin)
    room = 0.12 * (max(wanted) - min(wanted))
    return max(min(wanted) - room, -1.0), min(max(wanted) + room, 1.0)


def _heights(heights: list[float], above: float, below: float) -> tuple[float, float]:
    """Return an axis that holds the curve and the critical values."""
    finite = [critical for critical in (above, below) if np.isfinite(critical)]
    low, high = min([*heights, *finite]), max([*heights, *finite])
    room = 0.08 * (high - low)
    return low - room, high + room


def _minus(number: float) -> str:
    """Write a number with a minus sign, as the axes do."""
    return with_minus(f"{number:.2f}")
