"""The look of every figure, and how figures become files.

Figures are drawn at the width they are printed at, so the sizes below are the sizes on paper.
Colours are those of Okabe and Ito, told apart by colour-blind readers; where colour carries
meaning, a line style, a label or a number carries it too.
"""

import io
import textwrap
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeVar

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from evenodds.files import whole_file

P = ParamSpec("P")
R = TypeVar("R")
# Axes that agree: none, all, or those of one row.
Share = bool | Literal["row"]

# Inches across: a page's text column.
COLUMN_WIDTH: Final = 6.5
# Inches across a figure that must stay readable on a phone.
NARROW_WIDTH: Final = 3.7

BLACK: Final = "#000000"
ORANGE: Final = "#E69F00"
SKY: Final = "#56B4E9"
GREEN: Final = "#009E73"
BLUE: Final = "#0072B2"
RED: Final = "#CC3311"  # a truer red than theirs, as safe beside the blue
PALE: Final = "#E6E6E6"
BAND: Final = "#CCCCCC"  # pale, yet seen as a shape of its own
GREY: Final = "#767676"

# What a page calls these colours.
PALETTE: Final = {
    "ink": BLACK,
    "grey": GREY,
    "pale": PALE,
    "band": BAND,
    "blue": BLUE,
    "sky": SKY,
    "green": GREEN,
    "orange": ORANGE,
    "red": RED,
    "paper": "#FFFFFF",
}
# A line that guides the eye.
DOTTED: Final[Any] = {"color": GREY, "linewidth": 0.7, "linestyle": ":", "zorder": 0}
# Letters in a line of an axis' name.
LETTERS_ACROSS: Final = 46
# Dots of a screen for an inch of a figure.
SCREEN_DPI: Final = 96
# Inches a row of names takes, and the axis and legend below all of them.
ROW_HEIGHT: Final = 0.21
REST_HEIGHT: Final = 1.25

# A browser has the letters that the font of the figures has not.
NO_GLYPH: Final = "Glyph .* missing from font"
# Backends write these into a file's header: none of them belongs to the picture.
_NO_METADATA: Final[dict[str, dict[str, None]]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}
_LOOK: Final[Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so text is the same everywhere
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "figure.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": GREY,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.3,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "figure.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "evenodds",  # names inside the file depend on the picture alone
}


def in_house_style(draw: Callable[P, R]) -> Callable[P, R]:
    """Draw with the house look alone, and leave the user's own settings as they were."""

    @wraps(draw)
    def drawing(*args: P.args, **kwargs: P.kwargs) -> R:
        with matplotlib.style.context(_LOOK, after_reset=True):
            return draw(*args, **kwargs)

    return drawing


class ShownFigure(Figure):
    """A figure that a notebook shows without any magic."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the picture, sharp on screens of twice the usual density, and its size."""
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi=2 * SCREEN_DPI, metadata=_NO_METADATA["png"])
        width, height = (round(SCREEN_DPI * size) for size in self.get_size_inches())
        return drawn.getvalue(), {"width": width, "height": height}


@in_house_style
def new_figure(
    rows: int = 1,
    columns: int = 1,
    *,
    width: float = COLUMN_WIDTH,
    height: float = 2.8,
    share_x: Share = False,
    share_y: Share = False,
) -> tuple[Figure, NDArray[Any]]:
    """Return a figure, of column width unless told, and its axes, (rows, columns).

    The figure is no part of pyplot: nothing has to be closed, and no window appears.
    """
    figure = ShownFigure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes: NDArray[Any] = figure.subplots(
        rows, columns, squeeze=False, sharex=share_x, sharey=share_y
    )
    return figure, axes


@in_house_style
def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as PNG and SVG beside each other, each whole or not at all.

    Parameters
    ----------
    figure : Figure
        Any figure of this package.
    path : Path
        Where to, without a suffix; a dot in the name is part of the name.

    Returns
    -------
    list of Path
        The two files. The same figure gives the same bytes.

    Raises
    ------
    InputError
        If the folder is not there or cannot be written to.
    """
    written = []
    for kind, metadata in _NO_METADATA.items():
        target = path.with_name(f"{path.name}.{kind}")
        with whole_file(target) as file:
            figure.savefig(file.buffer, format=kind, metadata=metadata)
        written.append(target)
    return written


def letter_panels(axes: NDArray[Any], titles: Sequence[str]) -> None:
    """Give each panel its title, by rows; where there are several, a bold letter before it."""
    for number, (panel, title) in enumerate(zip(axes.flat, titles, strict=True)):
        letter = f"$\\bf{{{ascii_lowercase[number]}}}$  " if axes.size > 1 else ""
        panel.set_title(f"{letter}{title}", loc="left", pad=4)


def as_written(text: object, most: int = 32) -> str:
    """Return a user's own words for a figure: cut to fit, and never read as formulas."""
    words = "".join(letter for letter in " ".join(str(text).split()) if letter.isprintable())
    quote = words[-1:] if words[-1:] in ("'", '"') else ""
    short = words if len(words) <= most else f"{words[: most - 1 - len(quote)]}…{quote}"
    return short.replace("$", r"\$")


def legend_below(figure: Figure, panel: Any, columns: int = 2) -> None:
    """Name what is drawn below the panel, where it hides nothing."""
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=1.6)


def keep_inside(figure: Figure, name: Any) -> None:
    """End an axis' name or a title where its panel ends, if it would run out of the figure."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=NO_GLYPH)
        figure.draw_without_rendering()
    extent = name.get_window_extent()
    if extent.x0 < 0 or extent.x1 > figure.bbox.x1:
        name.set(x=1, ha="right")


def one_panel(
    *, height: float = 2.8, width: float = NARROW_WIDTH
) -> Callable[[Callable[Concatenate[Axes, P], None]], Callable[P, Figure]]:
    """Make a function that draws into a panel one that returns a figure.

    Whatever it gave a name is named below the panel, unless it has a legend of its own.
    """

    def decorated(draw: Callable[Concatenate[Axes, P], None]) -> Callable[P, Figure]:
        @in_house_style
        @wraps(draw)
        def drawing(*args: P.args, **kwargs: P.kwargs) -> Figure:
            figure, axes = new_figure(width=width, height=height)
            panel = axes[0, 0]
            draw(panel, *args, **kwargs)
            keep_inside(figure, panel.xaxis.label)
            if panel.get_legend() is None and panel.get_legend_handles_labels()[1]:
                legend_below(figure, panel)
            return figure

        return drawing

    return decorated


def name_axes(panel: Axes, across: str, up: str = "") -> None:
    """Name both axes, the first in lines that fit, and put few numbers on it."""
    panel.locator_params(axis="x", nbins=6)
    panel.set_xlabel(textwrap.fill(across, LETTERS_ACROSS))
    panel.set_ylabel(up)


def name_rows(panel: Axes, names: Sequence[str]) -> None:
    """Name the rows of a figure from the top down, and give it the height they need."""
    panel.set_yticks(range(len(names)), names)
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(names) - 0.4, -0.6)
    height = REST_HEIGHT + ROW_HEIGHT * len(names)
    panel.figure.set_size_inches(NARROW_WIDTH, height)  # type: ignore[union-attr]


def interval_row(
    panel: Axes, place: int, interval: Any, middle: float, look: tuple[str, str]
) -> None:
    """Draw an estimate with its interval in one row, by a marker and a colour."""
    marker, color = look
    panel.plot([interval.low, interval.high], [place, place], color=color, linewidth=1.6)
    panel.plot([middle], [place], marker, color=color, markersize=6, markeredgecolor="white")


def error_bars(panel: Axes, x: Any, y: Any, look: tuple[str, str], **more: Any) -> None:
    """Draw marks with intervals above all else, by a marker and a colour."""
    sizes: Any = {"markersize": 4.2, "linewidth": 1, "capsize": 2, "zorder": 3}
    panel.errorbar(x, y, fmt=look[0], color=look[1], **sizes, **more)


def shade_margin(panel: Axes, margin: float) -> None:
    """Shade the asymmetries that would be harmless."""
    look: Any = {"color": ORANGE, "alpha": 0.3, "linewidth": 0, "zorder": 0.5}
    panel.axvspan(-margin, margin, label=f"margin of ±{margin:g}", **look)
