"""Figures of several contours, classes, annotators or plans."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, TwoSlopeNorm
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator
from scipy.special import ndtri

from evenodds.errors import InputError
from evenodds.inference.audit.annotators import AnnotatorAuditResult
from evenodds.inference.audit.share import CorrectedShareResult, GroupSharesResult
from evenodds.inference.contour.result import ContourTestResult
from evenodds.inference.line.class_line import ClassLineResult
from evenodds.inference.line.result import LineTestResult
from evenodds.inference.multiclass.confusion import ConfusionTestResult
from evenodds.inference.multiclass.confusion_strata import StratifiedConfusionResult
from evenodds.inference.multiclass.result import MulticlassTestResult
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
from evenodds.report.wording import MOST_SHOWN
from evenodds.validation import counted, signed, with_minus

# Asymmetries smaller than this all look pale, so that noise does not look like a finding.
LEAST_REACH = 0.1
# With more classes the numbers in the cells are too small to read.
MOST_NUMBERED = 12
POINTS = 101
STYLES = ("-", "--", "-.", ":")


@one_panel(height=NARROW_WIDTH * 0.92)
def pairs_figure(panel: Axes, result: MulticlassTestResult, view: View) -> None:
    """Draw a cell a pair: orange where the row's class gains, purple where it loses."""
    matrix = result.asymmetry_matrix()
    _square(panel, result.classes, "… from this class", "this class gains …")
    known = [abs(entry) for row in matrix for entry in row if entry is not None]
    # Further than the largest, so that the darkest cells still show their frame.
    reach = 1.3 * max([LEAST_REACH, *known])
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
    shades, norm = colormaps["Oranges"], Normalize(0.0, max(LEAST_REACH, float(off.max())))
    for (i, j), rate in np.ndenumerate(rates):
        shade = PALE if i == j else shades(norm(rate))
        _cell(panel, i, j, f"{rate:.2f}", facecolor=shade)


def _square(panel: Axes, classes: Sequence[Any], across: str, up: str) -> None:
    """Set up a matrix of classes."""
    names = [str(name) for name in classes]
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


@one_panel(height=4.5)
def contours_figure(panel: Axes, result: ContourTestResult, view: View) -> None:
    """Draw the contours with their intervals, the fitted line with its band, and the diagonal."""
    reach = float(ndtri(1 - view.significance / 2))
    across = np.linspace(0, 1, POINTS)
    heights, spreads = np.array([result.line(float(place)) for place in across]).T
    low, high = heights - reach * spreads, heights + reach * spreads
    band = f"its {view.level:.0%} band"
    panel.fill_between(across, low, high, color=BAND, alpha=0.7, linewidth=0, label=band)
    panel.plot(across, heights, color=BLUE, label="fitted line: two flip rates")
    panel.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="no flips at all")
    panel.plot([0.5], [0.5], "+", color=GREY, markersize=9)
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
    panel.fill_between([0, 1], low, high, color=BAND, alpha=0.7, linewidth=0, label=band)
    panel.plot([0, 1], ends, color=BLUE, label="fitted line: two flip rates")
    panel.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="no flips at all")
    panel.plot([0.5], [0.5], "+", color=GREY, markersize=9)
    arrow: Any = {"arrowstyle": "<->", "color": RED, "linewidth": 1, "shrinkA": 0, "shrinkB": 0}
    centre = (0.5, 0.5 + asymmetry / 2)
    panel.annotate("", centre, (0.5, 0.5), arrowprops=arrow)
    panel.annotate(
        f"half of {signed(asymmetry, 2)}", (0.52, 0.5 + asymmetry / 4), color=RED, va="center"
    )
    panel.annotate(f"beta {beta:.2f}", (0.0, beta), (4, -9), textcoords="offset points")
    panel.annotate(
        f"1 − alpha {1 - alpha:.2f}",
        (1.0, 1 - alpha),
        (-4, 5),
        textcoords="offset points",
        ha="right",
    )
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
