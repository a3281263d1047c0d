"""Does the curve fit? Observed and fitted shares of positive labels, and the plateaus."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import expit, logit

from evenodds.inference.results import AsymmetryTestResult
from evenodds.report.style import (
    BLACK,
    BLUE,
    GREY,
    NARROW_WIDTH,
    as_written,
    in_house_style,
    legend_below,
    new_figure,
)
from evenodds.report.view import View

# Chances shown on the axis, which is even in log-odds.
TICKS = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
LEAST_REACH = 2.5
POINTS = 200


@in_house_style
def fit_figure(result: AsymmetryTestResult, view: View) -> Figure:
    """Draw the share of positive labels in bins, the fitted curve, and what it levels off to."""
    figure, axes = new_figure(width=NARROW_WIDTH, height=3.3)
    panel = axes[0, 0]
    bins = result.sketch.bins
    places = [seen.log_odds for seen in bins]
    low, high = min(*places, -LEAST_REACH) - 0.3, max(*places, LEAST_REACH) + 0.3
    across = np.linspace(low, high, POINTS)
    beta, alpha = result.beta or 0.0, result.alpha or 0.0
    fitted = beta + (1 - alpha - beta) * expit(across)
    if result.beta is None:
        panel.plot(across, fitted, color=BLUE, label="plain logistic curve")
    else:
        panel.plot(across, fitted, color=BLUE, label="fitted curve")
        panel.plot(
            across,
            expit(across),
            color=GREY,
            linewidth=0.9,
            linestyle="-.",
            label="without any flips",
        )
        _draw_plateaus(panel, alpha, beta, (low, high))
    observed = np.array([seen.observed for seen in bins])
    errors = [observed - [b.low for b in bins], [b.high for b in bins] - observed]
    panel.errorbar(
        places,
        observed,
        yerr=np.maximum(errors, 0),
        fmt="o",
        color=BLACK,
        markersize=3.8,
        linewidth=0.9,
        label="labels seen, 95% interval",
        zorder=3,
    )
    panel.axvline(0, color=GREY, linewidth=0.6, linestyle=":")
    panel.axhline(0.5, color=GREY, linewidth=0.6, linestyle=":")
    panel.set_xlim(low, high)
    panel.set_ylim(-0.02, 1.02)
    ticks = [tick for tick in TICKS if low <= logit(tick) <= high]
    panel.set_xticks([float(logit(tick)) for tick in ticks], [f"{tick:.3g}" for tick in ticks])
    positive = as_written(repr(result.positive), 20)
    panel.set_xlabel(f"Chance of being truly {positive}, by the fitted curve")
    panel.set_ylabel(f"Share labelled {positive}")
    legend_below(figure, panel)
    return figure


def _draw_plateaus(panel: Axes, alpha: float, beta: float, ends: tuple[float, float]) -> None:
    """Draw where the curve levels off, and name the flip rates that do it."""
    for height, name, place, side in (
        (beta, f"beta = {beta:.3f}", ends[1], "right"),
        (1 - alpha, f"1 − alpha = {1 - alpha:.3f}", ends[0], "left"),
    ):
        panel.axhline(height, color=BLUE, linewidth=0.8, linestyle="--")
        above = height < 0.5
        panel.annotate(
            name,
            (place, height),
            xytext=(3 if side == "left" else -3, 2 if above else -2),
            textcoords="offset points",
            ha=side,
            va="bottom" if above else "top",
            color=BLUE,
            fontsize=7.5,
        )
