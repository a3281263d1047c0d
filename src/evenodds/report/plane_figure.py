"""What would the noise do? The clean and the noisy boundary on the two strongest features."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenodds.inference.results import AsymmetryTestResult
from evenodds.inference.sketch import Plane
from evenodds.report.style import (
    BLACK,
    BLUE,
    NARROW_WIDTH,
    ORANGE,
    RED,
    as_written,
    in_house_style,
    legend_below,
    new_figure,
)
from evenodds.report.view import View

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
