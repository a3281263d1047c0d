"""What could this data have found? Power against the size of a true asymmetry."""

from matplotlib.figure import Figure

from evenodds.inference.profiled import Profiled
from evenodds.planning.hindsight import could_have_found, power_curve
from evenodds.report.style import (
    BLUE,
    GREY,
    NARROW_WIDTH,
    RED,
    in_house_style,
    legend_below,
    new_figure,
)
from evenodds.report.view import View

MARKED = 0.8


@in_house_style
def power_curve_figure(result: Profiled, view: View) -> Figure:
    """Draw the power of a test like this one, and what it finds four times out of five."""
    figure, axes = new_figure(width=NARROW_WIDTH, height=2.9)
    panel = axes[0, 0]
    curve = power_curve(result, significance=view.significance)
    panel.plot(curve.asymmetries, curve.powers, color=BLUE, label="chance of finding it")
    reach = could_have_found(result, power=MARKED, significance=view.significance)
    if reach is not None:
        panel.plot([0, reach, reach], [MARKED, MARKED, 0], color=RED, linewidth=0.9, linestyle="--")
        label = f"{reach:.3f}: found four times out of five"
        panel.plot([reach], [MARKED], "s", color=RED, markersize=5.5, label=label)
    panel.axhline(
        view.significance,
        color=GREY,
        linewidth=0.8,
        linestyle=":",
        label=f"false alarms ({view.percent})",
    )
    panel.set_xlim(0, min(1.02 * max(curve.asymmetries[-1], 0.02), 1.0))
    panel.set_ylim(0, 1.02)
    panel.locator_params(axis="x", nbins=6)
    panel.set_xlabel("Size of a true asymmetry, |beta − alpha|")
    panel.set_ylabel("Chance that this test\nrejects uniform noise")
    legend_below(figure, panel)
    return figure
