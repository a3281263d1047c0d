"""Figures: anchors, curve, evidence, rates and power of a test; classes, annotators and plans."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, TwoSlopeNorm
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator
from scipy.special import expit, logit, ndtri

from evenodds.errors import InputError
from evenodds.inference.audit.annotators import AnnotatorAuditResult
from evenodds.inference.audit.result import AuditTestResult
from evenodds.inference.audit.share import CorrectedShareResult, GroupSharesResult
from evenodds.inference.contour.result import ContourTestResult
from evenodds.inference.line.class_line import ClassLineResult
from evenodds.inference.line.result import LineTestResult
from evenodds.inference.multiclass.confusion import ConfusionTestResult
from evenodds.inference.multiclass.confusion_strata import StratifiedConfusionResult
from evenodds.inference.multiclass.result import MulticlassTestResult
from evenodds.inference.profile import ConfidenceInterval
from evenodds.inference.results import AsymmetryTestResult, Plane, Profiled
from evenodds.planning.achieved_power import could_have_found, power_curve
from evenodds.planning.plan import Plan
from evenodds.report.share import shown_shares
from evenodds.report.sheet import View
from evenodds.report.style import (
    BAND,
    BLACK,
    BLUE,
    COLUMN_WIDTH,
    DOTTED,
    GREY,
    NARROW_WIDTH,
    ORANGE,
    PALE,
    RED,
    as_written,
    error_bars,
    interval_row,
    name_axes,
    name_rows,
    one_panel,
    shade_margin,
)
from evenodds.report.wording import MOST_SHOWN, show_pvalue
from evenodds.validation import counted, signed, with_minus

POINTS = 200
# A z of this size speaks as clearly as any larger one.
LARGE = 5.5
# Chances shown on the axis, which is even in log-odds.
TICKS = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
LEAST_REACH = 2.5
# Area of the mark of the fullest cell, in square points.
FULLEST = 60.0
MARKED = 0.8
# Asymmetries smaller than this all look pale, so that noise does not look like a finding.
LEAST_SHADE = 0.1
# With more classes the numbers in the cells are too small to read.
MOST_NUMBERED = 12
STYLES = ("-", "--", "-.", ":")

Box = tuple[tuple[float, float], tuple[float, float]]


@one_panel()
def anchors_figure(panel: Axes, result: AsymmetryTestResult, view: View) -> None:
    """Draw a row an anchor, and one for all: what retains uniform noise, and what is seen."""
    pooled = result.retention_region(view.significance)
    rows: list[Any] = [
        (f"anchor {a.number}", a.stated, a.posterior, result.anchor_region(a, view.significance))
        for a in result.sketch.anchors
    ]
    if pooled is not None:
        rows.append(("all together", result.stated_posterior, result.mean_posterior, pooled))
        panel.axhline(len(rows) - 1.5, color=GREY, linewidth=0.6)
    ends = [0.5]
    for place, (_, stated, posterior, region) in enumerate(rows):
        low, high = region.low, region.high
        panel.barh(place, high - low, 0.62, left=low, color=BAND, zorder=1)
        panel.plot([stated], [place], "|", color=GREY, markersize=8, zorder=2)
        marker, color = ("o", BLUE) if low <= posterior <= high else ("s", RED)
        panel.plot([posterior], [place], marker, color=color, markersize=4.6, zorder=3)
        ends += [stated, posterior, low, high]
    panel.axvline(0.5, **DOTTED)
    name_rows(panel, [row[0] for row in rows])
    low, high = _with_room(ends, 0.06)
    panel.set_xlim(max(low, -0.01), min(high, 1.01))
    name_axes(
        panel,
        f"Chance of being truly {as_written(repr(result.positive), 20)}, by these labels",
        "Toss-up cases" if result.sketch.only_toss_ups else "Cases stated",
    )
    # One empty mark of each kind, for the legend.
    retained = f"retained at {view.percent}"
    panel.plot([], [], color=BAND, linewidth=7, solid_capstyle="butt", label=retained)
    panel.plot([], [], "|", color=GREY, markersize=8, label="as the expert stated")
    panel.plot([], [], "o", color=BLUE, markersize=4.6, label="as the labels say: inside")
    panel.plot([], [], "s", color=RED, markersize=4.6, label="as the labels say: outside")


def _with_room(ends: list[float], share: float) -> tuple[float, float]:
    """Return an axis that holds all of these, with some room."""
    room = share * (max(ends) - min(ends))
    return min(ends) - room, max(ends) + room


@one_panel(height=3.5)
def evidence_figure(panel: Axes, result: Profiled, view: View) -> None:
    """Draw z, where it is not rejected, the estimate with its interval, and the margin."""
    interval, profile = result.confidence_interval(view.level), result.profile
    low, high = _asymmetry_limits(result, interval, view.margin)
    across = np.linspace(low, high, POINTS)
    known = across[(across >= profile.asymmetries[0]) & (across <= profile.asymmetries[-1])]
    heights = [profile(float(asymmetry)) for asymmetry in known]
    above, below = result.reference.critical(view.significance, result.alternative)
    finite = [critical for critical in (above, below) if np.isfinite(critical)]
    bottom, top = _with_room([*heights, result.statistic, *finite], 0.08)
    # The values of z that do not reject, by the test as it was asked.
    panel.axhspan(
        bottom if result.alternative == "greater" else max(below, bottom),
        top if result.alternative == "less" else min(above, top),
        color=BAND,
        alpha=0.7,
        linewidth=0,
        zorder=0,
        label=f"not rejected at {view.percent}",
    )
    shade_margin(panel, view.margin)
    panel.plot(known, heights, color=BLUE, label="z, by asymmetry")
    panel.plot([interval.low, interval.high], [0, 0], color=BLACK, linewidth=3.2, alpha=0.55)
    found = f"estimate, {interval.level:.0%} interval"
    panel.plot([profile.estimate], [0], "D", color=BLACK, markersize=5, label=found)
    z = with_minus(f"{result.statistic:.2f}")
    tested = f"at 0, the test: z = {z}, {show_pvalue(result.pvalue)}"
    panel.plot([0], [result.statistic], "s", color=RED, markersize=5.5, label=tested)
    panel.axvline(0, **DOTTED)
    panel.axhline(0, color=GREY, linewidth=0.6)
    panel.set_xlim(low, high)
    panel.set_ylim(bottom, top)
    name_axes(
        panel,
        "Asymmetry supposed: flip rates beta − alpha",
        "z: how far the labels\nspeak against it",
    )


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
    low, high = _with_room([low, high, result.profile.estimate, -margin, margin], 0.12)
    return max(low, -1.0), min(high, 1.0)


@one_panel(height=3.3)
def fit_figure(panel: Axes, result: AsymmetryTestResult, view: View) -> None:
    """Draw the share of positive labels in bins, the fitted curve, and what it levels off to."""
    bins = result.sketch.bins
    places = [seen.log_odds for seen in bins]
    low, high = min(*places, -LEAST_REACH) - 0.3, max(*places, LEAST_REACH) + 0.3
    across = np.linspace(low, high, POINTS)
    beta, alpha = result.beta or 0.0, result.alpha or 0.0
    plain = result.beta is None
    fitted = beta + (1 - alpha - beta) * expit(across)
    panel.plot(
        across, fitted, color=BLUE, label="plain logistic curve" if plain else "fitted curve"
    )
    if not plain:
        clean: Any = {"color": GREY, "linewidth": 0.9, "linestyle": "-."}
        panel.plot(across, expit(across), label="without any flips", **clean)
        _draw_plateau(panel, beta, f"beta = {beta:.1%}", high, "right")
        _draw_plateau(panel, 1 - alpha, f"1 − alpha = {1 - alpha:.1%}", low, "left")
    observed = np.array([seen.observed for seen in bins])
    errors = [observed - [b.low for b in bins], [b.high for b in bins] - observed]
    seen_as = "labels seen, 95% interval"
    error_bars(panel, places, observed, ("o", BLACK), yerr=np.maximum(errors, 0), label=seen_as)
    panel.axvline(0, **DOTTED)
    panel.axhline(0.5, **DOTTED)
    panel.set_xlim(low, high)
    panel.set_ylim(-0.02, 1.02)
    ticks = [tick for tick in TICKS if low <= logit(tick) <= high]
    positive = as_written(repr(result.positive), 20)
    across_name = f"Chance of being truly {positive}, by the fitted curve"
    name_axes(panel, across_name, f"Share labelled {positive}")
    panel.set_xticks([float(logit(tick)) for tick in ticks], [f"{tick:.3g}" for tick in ticks])


def _draw_plateau(panel: Axes, height: float, name: str, place: float, side: str) -> None:
    """Draw where the curve levels off, and name the flip rate that does it."""
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


@one_panel(height=4.1)
def boundary_figure(panel: Axes, result: AsymmetryTestResult, view: View) -> None:
    """Draw the rows by their labels, the anchors, and both boundaries."""
    plane = result.sketch.plane
    if plane is None:
        raise ValueError("a result without a plane has no such figure")
    _draw_cells(panel, plane, result)
    box = _box(plane)
    _draw_boundaries(panel, plane, result.sketch.noisy_boundary, np.array(box[0]))
    if plane.anchors:
        points: Any = {"color": BLACK, "markeredgecolor": "white", "markersize": 5, "zorder": 4}
        panel.plot(*zip(*plane.anchors, strict=True), "D", label="toss-up cases", **points)
    panel.set_xlim(box[0])
    panel.set_ylim(box[1])
    second = as_written(plane.second)
    if plane.n_others:
        others = counted(plane.n_others, "other feature")
        second = f"{second},\nwith {others} counted in its units"
    name_axes(panel, as_written(plane.first), second)


def _draw_cells(panel: Axes, plane: Plane, result: AsymmetryTestResult) -> None:
    """Draw a mark a cell: as large as it has rows, as strong as its labels agree."""
    counts, positives = np.array(plane.counts), np.array(plane.positives)
    middles = (np.arange(len(counts)) + 0.5) / len(counts)
    across, up = (
        low + middles * (high - low) for low, high in (plane.first_range, plane.second_range)
    )
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


def _draw_boundaries(panel: Axes, plane: Plane, noisy: float | None, across: np.ndarray) -> None:
    """Draw where the clean curve is 1/2, where labels are, and the strip between."""
    clean = (-plane.intercept - plane.slopes[0] * across) / plane.slopes[1]
    panel.plot(across, clean, color=BLACK, label="clean boundary")
    if noisy is not None:
        moved = clean + noisy / plane.slopes[1]
        panel.plot(across, moved, color=RED, linestyle="--", label="boundary of labels")
        panel.fill_between(across, clean, moved, color=RED, alpha=0.13, linewidth=0, zorder=0)


def _box(plane: Plane) -> Box:
    """Return axes that hold the cells with rows, and the anchors."""
    occupied = np.array(plane.counts) > 0
    sides = []
    for axis, limits in enumerate((plane.first_range, plane.second_range)):
        filled = np.flatnonzero(occupied.any(axis=1 - axis))
        edges = np.linspace(*limits, len(occupied) + 1)
        placed = [anchor[axis] for anchor in plane.anchors]
        ends = [float(edges[filled[0]]), float(edges[filled[-1] + 1])]
        sides.append(_with_room([*ends, *placed], 0.03))
    return sides[0], sides[1]


@one_panel(height=2.9)
def power_figure(panel: Axes, result: Profiled, view: View) -> None:
    """Draw the power of a test like this one, and what it finds four times out of five."""
    curve = power_curve(result, significance=view.significance)
    panel.plot(curve.asymmetries, curve.powers, color=BLUE, label="chance of finding it")
    reach = could_have_found(result, power=MARKED, significance=view.significance)
    if reach is not None:
        panel.plot([0, reach, reach], [MARKED, MARKED, 0], color=RED, linewidth=0.9, linestyle="--")
        label = f"{reach:.3f}: found four times out of five"
        panel.plot([reach], [MARKED], "s", color=RED, markersize=5.5, label=label)
    panel.axhline(view.significance, label=f"false alarms ({view.percent})", **DOTTED)
    panel.set_xlim(0, min(1.02 * max(curve.asymmetries[-1], 0.02), 1.0))
    panel.set_ylim(0, 1.02)
    name_axes(
        panel,
        "Size of a true asymmetry, |beta − alpha|",
        "Chance that this test\nrejects uniform noise",
    )


@one_panel()
def rates_figure(panel: Axes, result: AuditTestResult, view: View) -> None:
    """Draw the flip rates of both classes, with the counts behind them."""
    counts = result.counts
    alpha, beta = result.alpha_interval(view.level), result.beta_interval(view.level)
    interval_row(panel, 0, alpha, result.alpha, ("o", BLUE))
    interval_row(panel, 1, beta, result.beta, ("s", ORANGE))
    for place, (rate, flipped, n) in enumerate(
        (
            (result.alpha, counts.flipped_positive, counts.n_positive),
            (result.beta, counts.flipped_negative, counts.n_negative),
        )
    ):
        where: Any = {"textcoords": "offset points", "ha": "center", "color": GREY}
        panel.annotate(f"{flipped:,} of {n:,}", (rate, place), (0, 8), **where)
    names = [f"true {as_written(repr(one), 18)}" for one in (result.positive, result.negative)]
    name_rows(panel, names)
    panel.set_ylim(1.5, -0.7)
    panel.set_xlim(0, min(1.1 * max(alpha.high, beta.high) + 0.01, 1.0))
    name_axes(panel, f"Share flipped, with its {view.level:.0%} interval")


@one_panel(height=NARROW_WIDTH * 0.92)
def pairs_figure(panel: Axes, result: MulticlassTestResult, view: View) -> None:
    """Draw a cell a pair: orange where the row's class gains, purple where it loses."""
    matrix = result.asymmetry_matrix()
    _square(panel, result.classes, "… from this class", "this class gains …")
    known = [abs(entry) for row in matrix for entry in row if entry is not None]
    # Further than the largest, so that the darkest cells still show their frame.
    reach = 1.3 * max([LEAST_SHADE, *known])
    shades, norm = colormaps["PuOr_r"], TwoSlopeNorm(0.0, -reach, reach)
    found = {
        frozenset((record.positive[0], record.negative[0]))
        for record in result.tested
        if record.rejected(view.significance)
    }
    for i, down in enumerate(result.classes):
        for j, across in enumerate(result.classes):
            entry = matrix[i][j]
            if i == j:
                _cell(panel, i, j, "", facecolor=PALE, linewidth=0)
            elif entry is None:
                hatched: Any = {"facecolor": "white", "edgecolor": GREY, "linewidth": 0.3}
                _cell(panel, i, j, "", hatch="////", **hatched)
            else:
                leans = frozenset((down, across)) in found
                _cell(panel, i, j, signed(entry, 2), bold=leans, facecolor=shades(norm(entry)))
                if leans:
                    frame: Any = {"edgecolor": BLACK, "linewidth": 1.8, "zorder": 2}
                    corner = (j - 0.46, i - 0.46)
                    panel.add_patch(Rectangle(corner, 0.92, 0.92, fill=False, **frame))


@one_panel(height=NARROW_WIDTH * 0.92)
def confusion_figure(
    panel: Axes,
    result: ConfusionTestResult | StratifiedConfusionResult | ClassLineResult,
    view: View,
) -> None:
    """Draw a cell for each true class and given label: the share that got it."""
    rates = result.flip_rates()
    _square(panel, result.classes, "given label", "true class")
    off = rates[~np.eye(len(rates), dtype=bool)]
    shades, norm = colormaps["Oranges"], Normalize(0.0, max(LEAST_SHADE, float(off.max())))
    for (i, j), rate in np.ndenumerate(rates):
        shade = PALE if i == j else shades(norm(rate))
        _cell(panel, i, j, f"{rate:.2f}", facecolor=shade)


def _square(panel: Axes, classes: Sequence[Any], across: str, up: str) -> None:
    """Set up a matrix of classes."""
    names = [as_written(name, 20) for name in classes]
    panel.set_xlim(-0.5, len(names) - 0.5)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.set_aspect("equal")
    rotation = 45 if max(map(len, names)) > 6 or len(names) > 6 else 0
    aside = "right" if rotation else "center"
    panel.set_xticks(range(len(names)), names, rotation=rotation, ha=aside)
    panel.set_yticks(range(len(names)), names)
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    panel.set_xlabel(across)
    panel.set_ylabel(up)


def _cell(
    panel: Axes, row: int, column: int, text: str, *, bold: bool = False, **look: Any
) -> None:
    """Draw one cell with its number, where numbers can be read."""
    look = {"edgecolor": "white", **look}
    patch = Rectangle((column - 0.5, row - 0.5), 1, 1, **look)
    panel.add_patch(patch)
    if text and panel.get_xlim()[1] < MOST_NUMBERED:
        dark = np.dot(patch.get_facecolor()[:3], (0.299, 0.587, 0.114)) < 0.5
        words: Any = {"color": "white" if dark else BLACK, "ha": "center", "va": "center"}
        weight = "bold" if bold else "normal"
        panel.text(column, row, with_minus(text), fontweight=weight, **words)


@one_panel()
def splits_figure(panel: Axes, result: MulticlassTestResult, view: View) -> None:
    """Draw a line a split: its asymmetry with an interval, a diamond where it leans."""
    records = [record for record in result.splits if not record.untested]
    for place, record in enumerate(records):
        if record.asymmetry is None:
            panel.text(0.0, place, "withheld", ha="center", va="center", color=GREY)
            continue
        interval = record.confidence_interval(view.level)
        look = ("D", RED) if record.rejected(view.significance) else ("o", BLUE)
        interval_row(panel, place, interval, record.asymmetry, look)
    if not result.tested:
        panel.set_xlim(-1, 1)
    panel.axvline(0, **DOTTED)
    name_rows(panel, [record.name for record in records])
    name_axes(panel, "Asymmetry: flips into the first side beyond those of even noise")


def _draw_line(
    panel: Axes,
    across: Any,
    heights: Any,
    around: tuple[Any, Any],
    *,
    band: str,
    line: str = "fitted line: two flip rates",
) -> None:
    """Draw the line of two flip rates with its band, that of none, and the centre."""
    panel.fill_between(across, *around, color=BAND, alpha=0.7, linewidth=0, label=band)
    panel.plot(across, heights, color=BLUE, label=line)
    panel.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="no flips at all")
    panel.plot([0.5], [0.5], "+", color=GREY, markersize=9)


@one_panel(height=4.5)
def contours_figure(panel: Axes, result: ContourTestResult, view: View) -> None:
    """Draw the contours with their intervals, the fitted line with its band, and the diagonal."""
    reach = float(ndtri(1 - view.significance / 2))
    across = np.linspace(0, 1, POINTS)
    heights, spreads = np.array([result.line(float(place)) for place in across]).T
    low, high = heights - reach * spreads, heights + reach * spreads
    _draw_line(panel, across, heights, (low, high), band=f"its {view.level:.0%} band")
    stated, shares = zip(*result.cases, strict=True)
    if len(result.cases) > len(result.contours):
        dots: Any = {"color": ORANGE, "markersize": 3, "alpha": 0.7, "zorder": 2}
        panel.plot(stated, shares, "o", label="single cases", **dots)
    estimates = np.array([contour.estimate for contour in result.contours])
    errors = reach * np.array([contour.standard_error for contour in result.contours])
    stated_at = [contour.stated for contour in result.contours]
    unsure = [reach * contour.stated_error for contour in result.contours]
    label = f"contours, {view.level:.0%} intervals"
    error_bars(panel, stated_at, estimates, ("o", BLACK), xerr=unsure, yerr=errors, label=label)
    panel.set_xlim(-0.03, 1.03)
    bottom, top = min(estimates - errors), max(estimates + errors)
    panel.set_ylim(min(-0.03, bottom - 0.02, *shares), max(1.03, top + 0.02, *shares))
    positive = as_written(repr(result.positive), 20)
    name_axes(
        panel, "Chance of being positive, as stated", f"Share labelled {positive}, by the fit"
    )


@one_panel(height=4.5)
def line_figure(panel: Axes, result: LineTestResult, view: View) -> None:
    """Draw the strata with their intervals, the fitted line, the diagonal and the centre."""
    reach = float(ndtri(1 - view.significance / 2))
    alpha, beta, asymmetry = result.alpha or 0.0, result.beta or 0.0, result.asymmetry or 0.0
    ends = np.array([beta, 1 - alpha])
    interval = result.confidence_interval(view.level)
    shifts = (np.array([interval.low, interval.high]) - asymmetry) / 2
    low, high = (np.clip(ends + shift, 0, 1) for shift in shifts)
    band = f"its height, {view.level:.0%} interval"
    # In the legend, for strata often lie at the ends of the line.
    line = f"line, from beta {beta:.2f}\nto 1 − alpha {1 - alpha:.2f}"
    _draw_line(panel, [0, 1], ends, (low, high), band=band, line=line)
    arrow: Any = {"arrowstyle": "<->", "color": RED, "linewidth": 1, "shrinkA": 0, "shrinkB": 0}
    centre = (0.5, 0.5 + asymmetry / 2)
    panel.annotate("", centre, (0.5, 0.5), arrowprops=arrow)
    # On the side of the diagonal where the line does not pass.
    beside: Any = {"ha": "right", "va": "bottom"} if asymmetry < 0 else {"ha": "left", "va": "top"}
    place = 0.5 + math.copysign(0.03, asymmetry)
    panel.annotate(f"half of {signed(asymmetry, 2)}", (place, 1 - place), color=RED, **beside)
    strata = result.strata
    label = f"strata, {view.level:.0%} intervals"
    error_bars(
        panel,
        [one.stated for one in strata],
        [one.given for one in strata],
        ("o", BLACK),
        xerr=[reach * one.stated_error for one in strata],
        yerr=[reach * one.given_error for one in strata],
        label=label,
    )
    panel.set_xlim(-0.03, 1.03)
    panel.set_ylim(-0.03, 1.03)
    positive = as_written(repr(result.positive), 20)
    name_axes(panel, f"Share truly {positive}, as judged", f"Share labelled {positive}")


@one_panel()
def annotators_figure(panel: Axes, result: AnnotatorAuditResult, view: View) -> None:
    """Draw a row an annotator, the strongest evidence on top."""
    shown = result.tests[:MOST_SHOWN]
    named = [test.holm < view.significance for test in shown]
    for place, (test, rejected) in enumerate(zip(shown, named, strict=True)):
        interval = test.result.confidence_interval(view.level)
        look = ("s", RED) if rejected else ("o", BLUE)
        interval_row(panel, place, interval, test.result.asymmetry, look)
    panel.axvline(0, **DOTTED)
    name_rows(panel, [as_written(test.annotator, 20) for test in shown])
    first = f" (the first {len(shown)} of {len(result.tests)})"
    name_axes(
        panel,
        f"beta − alpha: right, true {as_written(repr(result.negative), 12)} flipped more; "
        f"left, true {as_written(repr(result.positive), 12)}",
        f"Annotators{first if len(shown) < len(result.tests) else ''}",
    )
    # One empty mark of each kind that is seen, for the legend.
    if any(named):
        label = f"rejected (Holm, {view.percent})"
        panel.plot([], [], "s-", color=RED, markersize=4.6, label=label)
    if not all(named):
        panel.plot([], [], "o-", color=BLUE, markersize=4.6, label="not rejected")
    shade_margin(panel, view.margin)


@one_panel(height=2.2)
def shares_figure(
    panel: Axes, result: CorrectedShareResult | GroupSharesResult, view: View
) -> None:
    """Draw corrected shares with their intervals, and those of the labels beside them."""
    shown = shown_shares(result)[:MOST_SHOWN]
    for place, (_, one) in enumerate(shown):
        interval_row(panel, place, one.confidence_interval(view.level), one.share, ("o", BLUE))
        panel.plot([one.given_share], [place], "D", color=GREY, markersize=5)
    panel.plot([], [], "o-", color=BLUE, markersize=4.6, label="truly positive")
    panel.plot([], [], "D", color=GREY, markersize=4.6, label="labelled positive")
    name_rows(panel, [as_written(name, 20) for name, _ in shown])
    panel.set_ylim(len(shown) - 0.5, -0.5)
    name_axes(panel, f"Share {as_written(repr(result.positive), 18)}")


@one_panel(height=3.0, width=COLUMN_WIDTH)
def plan_figure(panel: Axes, plan: Plan, view: View | None = None) -> None:
    """Draw the power around a plan, the plan itself, and what was simulated.

    Raises
    ------
    InputError
        If the plan has no rows to draw against, as with summary numbers without any.
    """
    rows = [n for n in plan.row_numbers if n is not None]
    if plan.n_rows is None or not rows:
        raise InputError("this plan has no number of rows to draw against: give --rows.")
    for place, k in enumerate(plan.anchor_numbers):
        shade = colormaps["viridis"](0.8 * (1 - place / max(len(plan.anchor_numbers) - 1, 1)))
        label = counted(k, "toss-up") if k else "no toss-ups"
        powers = [some[place] for some in plan.powers]
        panel.plot(rows, powers, STYLES[place % len(STYLES)], color=shade, label=label)
    dot: Any = {"color": BLACK, "markersize": 6, "zorder": 3}
    panel.plot([plan.n_rows], [plan.power], "o", label="the plan", **dot)
    if plan.rows_range is not None and plan.rows_range.high is not None:
        ends = [plan.rows_range.low, plan.rows_range.high]
        label = f"{plan.rows_range.level:.0%} interval from the pilot"
        bar: Any = {"color": BLACK, "linewidth": 1, "markersize": 7}
        panel.plot(ends, [plan.power, plan.power], "-|", label=label, **bar)
    if plan.simulated is not None:
        seen = plan.simulated
        around = [[seen.rate - seen.low], [seen.high - seen.rate]]
        beside, label = [plan.n_rows * 1.06], f"simulated, {seen.runs} runs"
        error_bars(panel, beside, [seen.rate], ("s", RED), yerr=around, label=label)
    panel.axhline(plan.significance, label="level of the test", **DOTTED)
    panel.set_xscale("log")
    panel.set_xticks(rows)
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    panel.set_ylim(0, 1.02)
    panel.set_xlabel("Number of rows")
    panel.set_ylabel("Probability of rejecting\nuniform noise (power)")
    panel.set_title(
        f"Flips of {plan.noise.alpha:.1%} of positives and {plan.noise.beta:.1%} of negatives, "
        f"{plan.method} test, {plan.data}",
        loc="left",
    )
    panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
