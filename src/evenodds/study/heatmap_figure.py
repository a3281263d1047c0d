"""Heat maps of how often each method rejects: its level under uniform noise, and its power."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, Colormap, ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from evenodds.report.style import BLACK, in_house_style, new_figure
from evenodds.study.columns import Columns, in_order, kept, only_where, read_columns
from evenodds.study.heatmap_cells import (
    COLUMNS,
    HELD,
    Cells,
    arrange,
    levels_not_held,
    under_class_conditional_noise,
    under_uniform_noise,
)

# Steps of the level's colours, even around the nominal 0.05 and halfway between the numbers
# written, so that equal numbers have equal colours.
LEVEL_STEPS: Final = (0, 0.015, 0.025, 0.035, 0.065, 0.085, 0.125, 0.255, 0.505, 1)
LEVEL_NAMES: Final = (
    "≤ .01",
    ".02",
    ".03",
    ".04 to .06",
    ".07, .08",
    "to .12",
    "to .25",
    "to .50",
    "above",
)
# Where those colours are taken from a scale that runs from orange over white to purple.
LEVEL_SHADES: Final = (0.78, 0.68, 0.58, 0.5, 0.38, 0.3, 0.22, 0.14, 0.05)


@dataclass(frozen=True, slots=True)
class Shading:
    """Which colour a rate has."""

    colors: Colormap
    norm: Normalize

    def text_color(self, rate: float) -> str:
        """Return black or white, whichever is read more easily on the cell."""
        red, green, blue, _ = self.colors(self.norm(rate))
        return BLACK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


@in_house_style
def level_figure(
    table: Any, *, rate: float | None = None, tolerance: float | None = None
) -> Figure:
    """Draw how often each method rejects uniform noise, which it should in 5 % of the runs.

    Parameters
    ----------
    table : dict of arrays or pyarrow.Table
        One row a setting, with the columns ``method``, ``world``, ``n_rows``, ``n_anchors``,
        ``tolerance``, ``alpha``, ``beta``, ``runs`` and ``rejections``.
    rate : float, optional
        The flip rate to draw. Default the worst of those in the table, cell by cell.
    tolerance : float, optional
        Which tolerance to draw, if the table holds several.

    Notes
    -----
    Purple rejects too rarely, orange too often. A frame marks a cell whose 95 % Wilson interval
    lies above 0.08; a hatched cell was not run.
    """
    columns = only_where(under_uniform_noise(read_columns(table, COLUMNS)), tolerance=tolerance)
    if rate is not None:
        columns = only_where(columns, alpha=rate)
    shading = Shading(
        ListedColormap(colormaps["PuOr"](LEVEL_SHADES)),
        BoundaryNorm(LEVEL_STEPS, len(LEVEL_SHADES)),
    )
    drawn = [f"{100 * value:g}" for value in in_order(columns["alpha"])]
    rates = f"worst of {', '.join(drawn[:-1])} and {drawn[-1]}" if len(drawn) > 1 else drawn[0]
    cells = arrange(columns, levels_not_held(columns))
    figure = _draw(cells, shading)
    figure.suptitle(f"Level: {rates} % of both classes flipped, {_anchors_of(columns)}")
    _add_scale(
        figure,
        shading,
        "Share of runs that rejected; nominal 0.05. "
        f"Framed: surely above {HELD:g}. Hatched: not run.",
    )
    return figure


@in_house_style
def power_heatmap_figure(
    table: Any,
    *,
    alpha: float | None = None,
    beta: float | None = None,
    tolerance: float | None = None,
) -> Figure:
    """Draw how often each method rejects class-conditional noise, which it should always.

    Parameters
    ----------
    table : dict of arrays or pyarrow.Table
        As for `level_figure`, whose rows it may hold too.
    alpha, beta, tolerance : float, optional
        Which setting to draw, if the table holds several.

    Notes
    -----
    Rejections of a method that also rejects uniform noise are no power. Where the table shows
    that (a level whose 95 % Wilson interval lies above 0.08 at this tolerance) the cell is framed.
    """
    everything = only_where(read_columns(table, COLUMNS), tolerance=tolerance)
    columns = only_where(under_class_conditional_noise(everything), alpha=alpha, beta=beta)
    uniform = kept(everything, everything["alpha"] == everything["beta"])
    shading = Shading(colormaps["Blues"], Normalize(0, 1))
    figure = _draw(arrange(columns, levels_not_held(uniform)), shading)
    figure.suptitle(
        f"Power: {100 * columns['alpha'][0]:g} % of positives and "
        f"{100 * columns['beta'][0]:g} % of negatives flipped, {_anchors_of(columns)}"
    )
    _add_scale(
        figure,
        shading,
        "Share of runs that rejected. Framed: rejects uniform noise too. Hatched: not run.",
    )
    return figure


def _draw(cells: Cells, shading: Shading) -> Figure:
    """Draw one panel a method."""
    n_panels = len(cells.methods)
    figure, axes = new_figure(
        n_panels, height=1.1 + n_panels * (0.25 + 0.175 * len(cells.worlds)), share_x=True
    )
    for method, panel in enumerate(axes.flat):
        _draw_panel(panel, cells, method, shading)
    axes[-1, 0].set_xlabel("Number of toss-ups, k")
    return figure


def _draw_panel(panel: Axes, cells: Cells, method: int, shading: Shading) -> None:
    """Draw the cells of one method, with their numbers and frames."""
    rates = cells.rates[method]
    panel.patch.set(facecolor="white", edgecolor="#BBBBBB", hatch="//////")
    panel.pcolormesh(
        np.ma.masked_invalid(rates),
        cmap=shading.colors,
        norm=shading.norm,
        edgecolors="white",
        linewidth=0.8,
    )
    for (row, column), rate in np.ndenumerate(rates):
        if np.isfinite(rate):
            panel.text(
                column + 0.5,
                row + 0.5,
                _short(rate),
                color=shading.text_color(rate),
                fontsize=6.5,
                ha="center",
                va="center_baseline",
            )
        if cells.marked[method, row, column]:
            panel.add_patch(
                Rectangle(
                    (column + 0.05, row + 0.06), 0.9, 0.88, fill=False, linewidth=1.1, zorder=3
                )
            )
    panel.set_ylim(len(cells.worlds), 0)
    panel.set_yticks(np.arange(len(cells.worlds)) + 0.5, cells.worlds)
    panel.set_xticks(np.arange(len(cells.sizes)) + 0.5, [str(k) for _, k in cells.sizes])
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    panel.annotate(
        cells.methods[method],
        xy=(0, 1),
        xytext=(-4, 3),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        fontweight="bold",
    )
    _name_row_counts(panel, [n_rows for n_rows, _ in cells.sizes])


def _name_row_counts(panel: Axes, n_rows: Sequence[int]) -> None:
    """Write the number of rows above the columns that share it, and part them by a line."""
    groups = {n: [place for place, m in enumerate(n_rows) if m == n] for n in n_rows}
    above = panel.secondary_xaxis("top")
    above.set_xticks(
        [(places[0] + places[-1] + 1) / 2 for places in groups.values()],
        [f"{n:,} rows" for n in groups],
    )
    above.tick_params(length=0, pad=1)
    above.spines[:].set_visible(False)
    for places in list(groups.values())[1:]:
        panel.axvline(places[0], color="white", linewidth=3)


def _add_scale(figure: Figure, shading: Shading, words: str) -> None:
    """Add the colour scale under the panels, as high whatever their number."""
    height = figure.get_figheight()
    bar = figure.colorbar(
        ScalarMappable(shading.norm, shading.colors),
        ax=figure.axes,
        location="bottom",
        aspect=45,
        fraction=0.2 / height,
        pad=0.1 / height,
        label=words,
    )
    if isinstance(shading.norm, BoundaryNorm):
        middles = (np.array(LEVEL_STEPS[1:]) + LEVEL_STEPS[:-1]) / 2
        bar.set_ticks(middles.tolist(), labels=LEVEL_NAMES)
        bar.ax.tick_params(length=0)


def _short(rate: float) -> str:
    """Write a rate with two digits and no leading zero."""
    return f"{rate:.2f}".removeprefix("0")


def _anchors_of(columns: Columns) -> str:
    """Say how exact the anchors of these rows are."""
    tolerance = float(columns["tolerance"][0])
    return f"toss-ups within ±{tolerance:g} of ½" if tolerance else "exact toss-ups"
