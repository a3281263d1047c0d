"""Which class gains from which? The asymmetry of every pair, and flip rates, as heat maps."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from evenodds.inference.multiclass.confusion_result import ConfusionTestResult
from evenodds.inference.multiclass.results import MulticlassTestResult, SplitRecord
from evenodds.report.style import (
    BLACK,
    BLUE,
    GREY,
    NARROW_WIDTH,
    PALE,
    RED,
    in_house_style,
    new_figure,
)
from evenodds.report.verdict import with_minus
from evenodds.report.view import View

# Asymmetries smaller than this all look pale, so that noise does not look like a finding.
LEAST_REACH = 0.1
# With more classes the numbers in the cells are too small to read.
MOST_NUMBERED = 12
ROW_HEIGHT = 0.24  # inches


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
    figure, axes = new_figure(width=NARROW_WIDTH, height=0.9 + ROW_HEIGHT * len(records))
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
def confusion_figure(result: ConfusionTestResult) -> Figure:
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
