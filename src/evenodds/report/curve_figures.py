"""Figures of one test: anchors, curve, evidence, rates, power, the plane of the features."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import expit, logit

from evenodds.inference.audit.result import AuditTestResult
from evenodds.inference.profile import ConfidenceInterval
from evenodds.inference.results import AsymmetryTestResult, Plane, Profiled, RetentionRegion
from evenodds.planning.achieved_power import could_have_found, power_curve
from evenodds.report.sheet import View
from evenodds.report.style import (
    BAND,
    BLACK,
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
from evenodds.report.wording import show_pvalue, with_minus

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
    panel.set_xlim(*_posterior_limits(rows))
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


def _posterior_limits(rows: list[Row]) -> tuple[float, float]:
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


POINTS = 200
# A z of this size speaks as clearly as any larger one.
LARGE = 5.5


@in_house_style
def evidence_figure(result: Profiled, view: View) -> Figure:
    """Draw z, where it is not rejected, the estimate with its interval, and the margin."""
    figure, axes = new_figure(width=NARROW_WIDTH, height=3.5)
    panel = axes[0, 0]
    interval = result.confidence_interval(1 - view.significance)
    low, high = _asymmetry_limits(result, interval, view.margin)
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


def _asymmetry_limits(
    result: Profiled, interval: ConfidenceInterval, margin: float
) -> tuple[float, float]:
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


# Chances shown on the axis, which is even in log-odds.
TICKS = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
LEAST_REACH = 2.5


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


# Area of the mark of the fullest cell, in square points.
FULLEST = 60.0


@in_house_style
def plane_figure(result: AsymmetryTestResult, view: View) -> Figure:
    """Draw the rows by their labels, the anchors, and both boundaries."""
    figure, axes = new_figure(width=NARROW_WIDTH, height=4.1)
    panel, plane = axes[0, 0], result.sketch.plane
    if plane is None:
        raise ValueError("a result without a plane has no such figure")
    _draw_cells(panel, plane, result)
    box = _box(plane)
    _draw_boundaries(panel, plane, result.sketch.noisy_boundary, box)
    if plane.anchors:
        across, up = zip(*plane.anchors, strict=True)
        panel.plot(
            across,
            up,
            "D",
            color=BLACK,
            markeredgecolor="white",
            markersize=5,
            label="toss-up cases",
            linestyle="",
            zorder=4,
        )
    panel.set_xlim(box[0])
    panel.locator_params(axis="x", nbins=6)
    panel.set_ylim(box[1])
    panel.set_xlabel(as_written(plane.first))
    panel.set_ylabel(_second_name(plane))
    legend_below(figure, panel)
    return figure


def _draw_cells(panel: Axes, plane: Plane, result: AsymmetryTestResult) -> None:
    """Draw a mark a cell: as large as it has rows, as strong as its labels agree."""
    counts, positives = np.array(plane.counts), np.array(plane.positives)
    n_cells = len(counts)
    middles = (np.arange(n_cells) + 0.5) / n_cells
    across = plane.first_range[0] + middles * (plane.first_range[1] - plane.first_range[0])
    up = plane.second_range[0] + middles * (plane.second_range[1] - plane.second_range[0])
    shares = positives / np.maximum(counts, 1)
    for mostly, marker, color, label in (
        (shares < 0.5, "o", BLUE, result.negative),
        (shares >= 0.5, "s", ORANGE, result.positive),
    ):
        first, second = np.nonzero(mostly & (counts > 0))
        panel.scatter(
            across[first],
            up[second],
            s=FULLEST * counts[first, second] / counts.max(),
            marker=marker,
            color=color,
            alpha=0.25 + 1.2 * np.abs(shares[first, second] - 0.5),
            linewidth=0,
        )
        named = f"rows mostly {as_written(repr(label), 16)}"
        panel.plot([], [], marker, color=color, markersize=5, label=named)


def _draw_boundaries(
    panel: Axes,
    plane: Plane,
    noisy_boundary: float | None,
    box: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    """Draw where the clean curve is 1/2, where labels are, and the strip between."""
    across = np.array(box[0])
    lines = {name: _line(plane, height, across) for name, height in _levels(noisy_boundary)}
    panel.plot(across, lines["clean"], color=BLACK, label="clean boundary")
    if "noisy" in lines:
        panel.plot(across, lines["noisy"], color=RED, linestyle="--", label="boundary of labels")
        panel.fill_between(
            across, lines["clean"], lines["noisy"], color=RED, alpha=0.13, linewidth=0, zorder=0
        )


def _levels(noisy_boundary: float | None) -> Iterator[tuple[str, float]]:
    """Yield the log-odds of the boundaries there are."""
    yield "clean", 0.0
    if noisy_boundary is not None:
        yield "noisy", noisy_boundary


def _line(plane: Plane, log_odds: float, across: np.ndarray) -> np.ndarray:
    """Return the second feature where the log-odds are so, for values of the first."""
    heights: np.ndarray = (log_odds - plane.intercept - plane.slopes[0] * across) / plane.slopes[1]
    return heights


def _box(plane: Plane) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return axes that hold the cells with rows, and the anchors."""
    occupied = np.array(plane.counts) > 0
    sides = []
    for axis, limits in enumerate((plane.first_range, plane.second_range)):
        filled = np.flatnonzero(occupied.any(axis=1 - axis))
        width = (limits[1] - limits[0]) / len(occupied)
        low = limits[0] + width * float(filled[0])
        high = limits[0] + width * float(filled[-1] + 1)
        placed = [anchor[axis] for anchor in plane.anchors]
        low, high = min([low, *placed]), max([high, *placed])
        room = 0.03 * (high - low)
        sides.append((low - room, high + room))
    return sides[0], sides[1]


def _second_name(plane: Plane) -> str:
    """Name the second axis, and say what was counted into it."""
    name = as_written(plane.second)
    if plane.n_others == 0:
        return name
    others = "1 other feature" if plane.n_others == 1 else f"{plane.n_others} other features"
    return f"{name},\nwith {others} counted in its units"


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
