"""Figures of several contours, classes, annotators or plans."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator
from scipy.special import ndtri

from evenodds.errors import InputError
from evenodds.inference.audit.annotators import AnnotatorAuditResult
from evenodds.inference.contour.result import ContourTestResult
from evenodds.inference.multiclass.confusion import ConfusionTestResult
from evenodds.inference.multiclass.result import MulticlassTestResult, SplitRecord
from evenodds.planning.plan import Plan
from evenodds.report.sheet import View
from evenodds.report.style import (
    BAND,
    BLACK,
    BLUE,
    GREY,
    NARROW_WIDTH,
    ORANGE,
    PALE,
    RED,
    as_written,
    in_house_style,
    legend_below,
    new_figure,
)
from evenodds.report.wording import with_minus

# Asymmetries smaller than this all look pale, so that noise does not look like a finding.
LEAST_REACH = 0.1
# With more classes the numbers in the cells are too small to read.
MOST_NUMBERED = 12
SPLIT_HEIGHT = 0.24  # inches


@in_house_style
def pairs_figure(result: MulticlassTestResult, view: View) -> Figure:
    """Draw a cell a pair: orange where the row's class gains, purple where it loses."""
    matrix = result.asymmetry_matrix()
    n_classes = len(result.classes)
    figure, panel = _square(n_classes)
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
                panel.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=PALE, linewidth=0))
            elif entry is None:
                _hatched(panel, i, j)
            else:
                marked = frozenset((down, across)) in found
                _cell(panel, (i, j), entry, shades, norm, text=f"{entry:+.2f}", bold=marked)
    for down, across in found_places(result, found):
        panel.add_patch(
            Rectangle(
                (across - 0.46, down - 0.46), 0.92, 0.92, fill=False, edgecolor=BLACK, linewidth=1.8
            )
        )
    _name_axes(panel, result.classes)
    panel.set_xlabel("… from this class")
    panel.set_ylabel("this class gains …")
    return figure


def found_places(result: MulticlassTestResult, found: set[frozenset[Any]]) -> list[tuple[int, int]]:
    """Return the cells of pairs that lean, both of each."""
    place = {name: number for number, name in enumerate(result.classes)}
    pairs = [tuple(place[name] for name in pair) for pair in found]
    return [*((a, b) for a, b in pairs), *((b, a) for a, b in pairs)]


@in_house_style
def splits_figure(result: MulticlassTestResult, view: View) -> Figure:
    """Draw a line a split: its asymmetry with an interval, filled where it leans."""
    records = [record for record in result.splits if not record.untested]
    figure, axes = new_figure(width=NARROW_WIDTH, height=0.9 + SPLIT_HEIGHT * len(records))
    panel = axes[0, 0]
    for place, record in enumerate(records):
        if record.tested:
            _line(panel, place, record, view)
        else:
            panel.text(0.0, place, "withheld", ha="center", va="center", color=GREY)
    if not result.tested:
        panel.set_xlim(-1, 1)
    panel.axvline(0.0, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    panel.set_yticks(range(len(records)), [record.name for record in records])
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(records) - 0.4, -0.6)
    panel.set_xlabel("asymmetry: flips into the first side beyond those of even noise")
    return figure


@in_house_style
def confusion_figure(result: ConfusionTestResult, view: View) -> Figure:
    """Draw a cell for each true class and given label: the share that got it."""
    rates = result.flip_rates()
    figure, panel = _square(len(result.classes))
    off = rates[~np.eye(len(rates), dtype=bool)]
    shades, norm = colormaps["Oranges"], Normalize(0.0, max(LEAST_REACH, float(off.max())))
    for i in range(len(rates)):
        for j in range(len(rates)):
            text = f"{rates[i, j]:.2f}"
            if i == j:
                panel.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=PALE, linewidth=0))
                panel.text(j, i, text, ha="center", va="center", color=GREY)
            else:
                _cell(panel, (i, j), float(rates[i, j]), shades, norm, text=text)
    _name_axes(panel, result.classes)
    panel.set_xlabel("given label")
    panel.set_ylabel("true class")
    return figure


def _square(n_classes: int) -> tuple[Figure, Axes]:
    """Return a square panel for a matrix of classes."""
    figure, axes = new_figure(width=NARROW_WIDTH, height=NARROW_WIDTH * 0.92)
    panel = axes[0, 0]
    panel.set_xlim(-0.5, n_classes - 0.5)
    panel.set_ylim(n_classes - 0.5, -0.5)
    panel.set_aspect("equal")
    return figure, panel


def _cell(
    panel: Axes,
    where: tuple[int, int],
    value: float,
    shades: Colormap,
    norm: Normalize,
    *,
    text: str,
    bold: bool = False,
) -> None:
    """Draw one cell with its number, where numbers can be read."""
    row, column = where
    colour = shades(norm(value))
    panel.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor="white"))
    if panel.get_xlim()[1] < MOST_NUMBERED:
        red, green, blue, _ = colour
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        weight = "bold" if bold else "normal"
        panel.text(
            column,
            row,
            with_minus(text),
            ha="center",
            va="center",
            color="white" if dark else BLACK,
            fontweight=weight,
        )


def _hatched(panel: Axes, row: int, column: int) -> None:
    panel.add_patch(
        Rectangle(
            (column - 0.5, row - 0.5),
            1,
            1,
            facecolor="white",
            edgecolor=GREY,
            hatch="////",
            linewidth=0.3,
        )
    )


def _name_axes(panel: Axes, classes: Sequence[Any]) -> None:
    names = [str(name) for name in classes]
    rotation = 45 if max(map(len, names)) > 6 or len(names) > 6 else 0
    panel.set_xticks(
        range(len(names)), names, rotation=rotation, ha="right" if rotation else "center"
    )
    panel.set_yticks(range(len(names)), names)
    panel.tick_params(length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)


def _line(panel: Axes, place: int, record: SplitRecord, view: View) -> None:
    """Draw one split with its interval."""
    interval = record.confidence_interval(1 - view.significance)
    leans = record.rejected(view.significance)
    colour = RED if leans else BLUE
    panel.plot([interval.low, interval.high], [place, place], color=colour, linewidth=1.6)
    panel.plot(
        [(record.asymmetry or 0.0)],
        [place],
        marker="D" if leans else "o",
        color=colour,
        markerfacecolor=colour if leans else "white",
        markersize=5,
    )


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


ANNOTATOR_HEIGHT = 0.21  # inches
REST_HEIGHT = 1.3
MOST_SHOWN = 40


@in_house_style
def annotators_figure(result: AnnotatorAuditResult, view: View) -> Figure:
    """Draw a row an annotator, the strongest evidence on top."""
    shown = result.tests[:MOST_SHOWN]
    height = REST_HEIGHT + ANNOTATOR_HEIGHT * len(shown)
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


def _name_marks(panel: Axes, view: View, seen: set[bool]) -> None:
    """Add one empty mark of each kind that is seen, for the legend."""
    if True in seen:
        rejected = f"rejected (Holm, {view.percent})"
        panel.plot([], [], "s-", color=RED, markersize=4.6, label=rejected)
    if False in seen:
        panel.plot([], [], "o-", color=BLUE, markersize=4.6, label="not rejected")
    panel.plot([], [], color=ORANGE, alpha=0.3, linewidth=7, label=f"margin of ±{view.margin:g}")


STYLES = ("-", "--", "-.", ":")


@in_house_style
def plan_figure(plan: Plan, view: View | None = None) -> Figure:
    """Draw the power around a plan, the plan itself, and what was simulated.

    Raises
    ------
    InputError
        If the plan has no rows to draw against, as with summary numbers without any.
    """
    rows = [n for n in plan.row_numbers if n is not None]
    if plan.n_rows is None or not rows:
        raise InputError("this plan has no number of rows to draw against: give --rows.")
    figure, axes = new_figure(height=3.0)
    panel = axes[0, 0]
    shades = colormaps["viridis"]
    for place, k in enumerate(plan.anchor_numbers):
        shade = shades(0.8 * (1 - place / max(len(plan.anchor_numbers) - 1, 1)))
        panel.plot(
            rows,
            [powers[place] for powers in plan.powers],
            color=shade,
            linestyle=STYLES[place % len(STYLES)],
            label=f"{k} toss-up{'' if k == 1 else 's'}" if k else "no toss-ups",
        )
    panel.plot(
        [plan.n_rows], [plan.power], "o", color=BLACK, markersize=6, label="the plan", zorder=3
    )
    if plan.rows_range is not None and plan.rows_range.high is not None:
        panel.plot(
            [plan.rows_range.low, plan.rows_range.high],
            [plan.power, plan.power],
            color=BLACK,
            linewidth=1,
            marker="|",
            markersize=7,
            label=f"{plan.rows_range.level:.0%} interval from the pilot",
        )
    if plan.simulated is not None:
        seen = plan.simulated
        panel.errorbar(
            [plan.n_rows * 1.06],
            [seen.rate],
            yerr=[[seen.rate - seen.low], [seen.high - seen.rate]],
            fmt="s",
            color=RED,
            markersize=4,
            capsize=2.5,
            linewidth=1,
            label=f"simulated, {seen.runs} runs",
            zorder=3,
        )
    panel.axhline(
        plan.significance, color=GREY, linewidth=0.7, linestyle=":", label="level of the test"
    )
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
    return figure
