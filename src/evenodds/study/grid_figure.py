"""The paper's grids of box plots: p-values by rows, tolerance and number of anchors."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from evenodds.report.style import BLACK, BLUE, GREY, RED, in_house_style, new_figure
from evenodds.study.columns import Columns, in_order, only_where, read_columns
from evenodds.validation import FloatArray

COLUMNS: Final = ("alpha", "beta", "n_rows", "tolerance", "n_anchors", "labels", "pvalue")
# Whisker, box edge, median, box edge, whisker.
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
FILLS: Final = {"clean": "white", "corrupted": "#A9A9A9"}
# Boxes of one number of anchors stand side by side, this far from its tick.
APART: Final = 0.2
WIDTH: Final = 0.32


@in_house_style
def grid_figure(
    table: Any,
    *,
    alpha: float | None = None,
    beta: float | None = None,
    test: str = "wald",
) -> Figure:
    """Draw p-values of clean and corrupted labels: rows N, columns tolerance, x axis anchors.

    Parameters
    ----------
    table : dict of arrays or pyarrow.Table
        One row a p-value, with the columns ``alpha``, ``beta``, ``n_rows``, ``tolerance``,
        ``n_anchors``, ``labels`` ("clean" or "corrupted") and ``pvalue``.
    alpha, beta : float, optional
        Which flip rates to draw, if the table holds several.
    test : str, default "wald"
        Name of the test, for the title.

    Raises
    ------
    InputError
        If a column is missing, or the flip rates asked for are not there or not asked for.

    Notes
    -----
    Boxes span the middle half of the p-values, whiskers run from the 5 % to the 95 % quantile,
    so whatever lies outside is a tenth of the runs. Under uniform noise p-values are uniform:
    the box should span 1/4 to 3/4.
    """
    columns = only_where(read_columns(table, COLUMNS), alpha=alpha, beta=beta)
    sizes, tolerances = in_order(columns["n_rows"]), in_order(columns["tolerance"])
    n_anchors = in_order(columns["n_anchors"])
    boxes = _boxes(columns)
    figure, axes = new_figure(
        len(sizes),
        len(tolerances),
        height=1.0 + 1.6 * len(sizes),
        share_x=True,
        share_y=True,
    )
    for (row, column), panel in np.ndenumerate(axes):
        here = {
            (k, labels): boxes.get((sizes[row], tolerances[column], k, labels))
            for k in n_anchors
            for labels in FILLS
        }
        _draw_panel(panel, here, n_anchors)
    _name_panels(axes, sizes, tolerances)
    _name_figure(figure, columns["alpha"][0], columns["beta"][0], test)
    return figure


def _boxes(columns: Columns) -> dict[tuple[int, float, int, str], FloatArray]:
    """Return the quantiles of every cell, by (rows, tolerance, anchors, labels)."""
    keys = [columns[name] for name in ("labels", "n_anchors", "tolerance", "n_rows")]
    order = np.lexsort(keys)
    pvalues = columns["pvalue"][order].astype(np.float64)
    sorted_keys = [key[order] for key in keys]
    changes = np.any([key[1:] != key[:-1] for key in sorted_keys], axis=0)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    return {
        (
            int(sorted_keys[3][start]),
            float(sorted_keys[2][start]),
            int(sorted_keys[1][start]),
            str(sorted_keys[0][start]),
        ): np.quantile(cell, QUANTILES)
        for start, cell in zip(starts, np.split(pvalues, starts[1:]), strict=True)
    }


def _draw_panel(
    panel: Axes,
    boxes: Mapping[tuple[int, str], FloatArray | None],
    n_anchors: Sequence[int],
) -> None:
    """Draw the boxes of one panel under the two lines of the paper."""
    for labels, side in (("clean", -APART), ("corrupted", APART)):
        there = [
            (place + side, box)
            for place, k in enumerate(n_anchors)
            if (box := boxes[k, labels]) is not None
        ]
        if not there:
            continue
        panel.bxp(
            [
                {"whislo": low, "q1": q1, "med": median, "q3": q3, "whishi": high}
                for _, (low, q1, median, q3, high) in there
            ],
            positions=[position for position, _ in there],
            widths=WIDTH,
            showfliers=False,
            showcaps=False,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": FILLS[labels], "edgecolor": BLACK, "linewidth": 0.6},
            medianprops={"color": BLACK, "linewidth": 1.4, "solid_capstyle": "butt"},
            whiskerprops={"color": GREY, "linewidth": 0.7},
        )
    panel.axhline(0.10, color=RED, linewidth=0.9, linestyle="--", zorder=3)
    panel.axhline(0.05, color=BLUE, linewidth=0.9, zorder=3)
    # A little room below 0, or boxes that lie on it would not be seen.
    panel.set_xticks(range(len(n_anchors)), [str(k) for k in n_anchors])
    panel.set(xlim=(-0.6, len(n_anchors) - 0.4), ylim=(-0.025, 1), yticks=(0, 0.25, 0.5, 0.75, 1))
    panel.set_yticklabels(["0", "", "0.5", "", "1"])


def _name_panels(axes: NDArray[Any], sizes: Sequence[int], tolerances: Sequence[float]) -> None:
    """Say above each column how exact the anchors are, beside each row how many rows."""
    for panel, tolerance in zip(axes[0], tolerances, strict=True):
        panel.set_title(
            f"Toss-ups within ±{tolerance:.2f} of ½" if tolerance else "Exact toss-ups, δ = 0"
        )
    for panel, size in zip(axes[:, 0], sizes, strict=True):
        panel.set_ylabel(f"{size:,} rows\np-value")
    for panel in axes[-1]:
        panel.set_xlabel("Number of toss-ups, k")


def _name_figure(figure: Figure, alpha: float, beta: float, test: str) -> None:
    """Write the title and the legend."""
    figure.suptitle(
        f"Test {test!r}: {100 * alpha:g} % of positives and {100 * beta:g} % of negatives "
        f"mislabelled (α = {alpha:.2f}, β = {beta:.2f})"
    )
    boxes = [
        Patch(facecolor=fill, edgecolor=BLACK, linewidth=0.6, label=f"{labels} labels")
        for labels, fill in FILLS.items()
    ]
    lines = [
        Line2D([], [], color=RED, linewidth=0.9, linestyle="--", label="p = 0.10"),
        Line2D([], [], color=BLUE, linewidth=0.9, label="p = 0.05"),
    ]
    whiskers = Line2D([], [], color=GREY, linewidth=0.7, label="5 % to 95 % of runs")
    figure.legend(
        handles=[*boxes, whiskers, *lines], loc="outside lower center", ncols=5, handlelength=1.6
    )
