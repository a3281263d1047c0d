"""Do the contours lie on a line? Stated posteriors against what the labels say."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import ndtri

from evenodds.inference.contour.results import ContourTestResult
from evenodds.report.contour_words import why_untested
from evenodds.report.sheet import Caption
from evenodds.report.style import (
    BAND,
    BLACK,
    BLUE,
    GREY,
    NARROW_WIDTH,
    ORANGE,
    as_written,
    in_house_style,
    legend_below,
    new_figure,
)
from evenodds.report.verdict import show_pvalue
from evenodds.report.view import View

POINTS = 101


@in_house_style
def contour_figure(result: ContourTestResult, view: View) -> Figure:
    """Draw the contours with their intervals, the fitted line with its band, and the diagonal."""
    figure, axes = new_figure(width=NARROW_WIDTH, height=4.5)
    panel = axes[0, 0]
    reach = float(ndtri(1 - view.significance / 2))
    across = np.linspace(0, 1, POINTS)
    heights, spreads = np.array([result.line(float(place)) for place in across]).T
    panel.fill_between(
        across,
        heights - reach * spreads,
        heights + reach * spreads,
        color=BAND,
        alpha=0.7,
        linewidth=0,
        label=f"its {1 - view.significance:.0%} band",
    )
    panel.plot(across, heights, color=BLUE, label="fitted line: two flip rates")
    panel.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="no flips at all")
    panel.plot([0.5], [0.5], "+", color=GREY, markersize=9)
    if len(result.cases) > len(result.contours):
        stated, shares = zip(*result.cases, strict=True)
        panel.plot(
            stated,
            shares,
            "o",
            color=ORANGE,
            markersize=3,
            alpha=0.7,
            label="single cases",
            zorder=2,
        )
    _draw_contours(panel, result, reach, view)
    panel.set_xlim(-0.03, 1.03)
    panel.set_ylim(*_limits(result, reach))
    panel.set_xlabel("Chance of being positive, as stated")
    panel.set_ylabel(f"Share labelled {as_written(repr(result.positive), 20)}, by the fit")
    legend_below(figure, panel)
    return figure


def _draw_contours(panel: Axes, result: ContourTestResult, reach: float, view: View) -> None:
    contours = result.contours
    panel.errorbar(
        [contour.stated for contour in contours],
        [contour.estimate for contour in contours],
        xerr=[reach * contour.stated_error for contour in contours],
        yerr=[reach * contour.standard_error for contour in contours],
        fmt="o",
        color=BLACK,
        markersize=4.6,
        elinewidth=1,
        capsize=2,
        label=f"contours, {1 - view.significance:.0%} intervals",
        zorder=3,
    )


def _limits(result: ContourTestResult, reach: float) -> tuple[float, float]:
    """Return an axis that holds every interval, and 0 to 1."""
    ends = [
        contour.estimate + side * reach * contour.standard_error
        for contour in result.contours
        for side in (-1, 1)
    ]
    ends += [share for _, share in result.cases]
    return min(-0.03, min(ends) - 0.02), max(1.03, max(ends) + 0.02)


def contour_caption(result: ContourTestResult, view: View) -> Caption:
    """Say how the figure is read, and what it shows."""
    line = result.rung("class-conditional")
    if line.contour_pvalue is None:
        finding = f"{why_untested(result).capitalize()}."
    else:
        bent = line.contour_pvalue < view.significance
        what = "The contours leave the line" if bent else "No bend of the line is shown"
        finding = f"{what} ({show_pvalue(line.contour_pvalue)})."
    apart = result.agreement
    if apart is not None and apart.pvalue < view.significance:
        finding += f" Cases of one contour are labelled apart ({show_pvalue(apart.pvalue)})."
    return Caption(
        reading=(
            "Each black dot is a contour: anchors of one stated posterior. Without flips dots lie "
            "on the dashed diagonal; equal flips turn it about the cross at 1/2; unequal flips "
            "make it any flatter line. Dots that lie on no line, or single cases of one contour "
            "far apart, speak of noise that depends on the features."
        ),
        finding=finding,
    )
