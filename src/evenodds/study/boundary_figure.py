"""What label noise does to a fitted boundary: plain logistic regression on simulated rows."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from evenodds.model.logistic import fit_logistic
from evenodds.noise import ClassConditionalNoise, UniformNoise
from evenodds.report.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    RED,
    SKY,
    in_house_style,
    letter_panels,
    new_figure,
)
from evenodds.simulation.worlds import two_bells
from evenodds.study.densities_figure import CLASS_CONDITIONAL, CLEAN, UNIFORM, in_words
from evenodds.validation import FloatArray, check_whole

RARE_SHARE: Final = 0.15
REACH: Final = 3.6
# More would hide the lines.
POINTS_SHOWN: Final = 500


class Line(NamedTuple):
    """How a boundary is drawn."""

    label: str
    color: str
    style: Any  # a name, or matplotlib's lengths of dashes


# Marker, colour and name of true positives and negatives.
MARKS: Final = (("+", ORANGE, "true positives"), ("o", SKY, "true negatives"))
TRUE_LINE: Final = Line("true boundary", BLACK, "-")
CLEAN_LINE: Final = Line("fitted to clean labels", GREEN, (0, (1, 1)))


@in_house_style
def boundary_figure(
    *,
    seed: int = 0,
    n_rows: int = 50_000,
    uniform: UniformNoise = UNIFORM,
    class_conditional: ClassConditionalNoise = CLASS_CONDITIONAL,
) -> Figure:
    """Draw the boundaries fitted to clean and to noisy labels, in two worlds.

    With equally common classes the features lie evenly about the boundary, so uniform noise
    leaves a fitted boundary in place and class-conditional noise moves it. With 15 % positives
    uniform noise moves it too: plain logistic regression cannot follow a posterior that levels
    off inside 0 and 1, and the paper's test takes that for class-conditional noise.

    Parameters
    ----------
    seed : int, default 0
        Of the rows and of the labels flipped.
    n_rows : int, default 50000
        Rows fitted; the first few hundred are shown.
    uniform, class_conditional
        The two noises.
    """
    n_rows = check_whole(n_rows, "n_rows", at_least=POINTS_SHOWN)
    fitted = [
        (CLEAN, CLEAN_LINE),
        (uniform, Line(f"fitted, {100 * uniform.rate:g} % of labels flipped", BLUE, "--")),
        (class_conditional, Line(f"fitted, {in_words(class_conditional)} flipped", RED, "-.")),
    ]
    figure, axes = new_figure(1, 2, height=4.1, share_x=True, share_y=True)
    streams = np.random.default_rng(seed).spawn(2)
    for panel, share, rng in zip(axes.flat, (0.5, RARE_SHARE), streams, strict=True):
        world = two_bells(share)
        features, labels = world.draw_rows(n_rows, rng)
        draw_points(panel, features[:POINTS_SHOWN], labels[:POINTS_SHOWN] == 1)
        draw_boundary(panel, world.log_odds, TRUE_LINE)
        for noise, line in fitted:
            fit = fit_logistic(features, noise.flip(labels, rng))
            draw_boundary(panel, fit.log_odds, line)
        panel.set(xlabel="First feature", aspect="equal")
    axes[0, 0].set(ylabel="Second feature", xlim=(-REACH, REACH), ylim=(-REACH, REACH))
    letter_panels(axes, ["Equally common classes", f"{100 * RARE_SHARE:g} % positives"])
    add_legend(figure, [TRUE_LINE, *(line for _, line in fitted)])
    return figure


def draw_points(panel: Axes, features: FloatArray, positive: NDArray[np.bool_]) -> None:
    """Draw rows by their true class, faintly."""
    for rows, (marker, color, _) in zip((positive, ~positive), MARKS, strict=True):
        panel.scatter(
            features[rows, 0],
            features[rows, 1],
            s=9,
            marker=marker,
            color=color,
            alpha=0.45,
            linewidth=0.6,
        )


def draw_boundary(
    panel: Axes,
    log_odds: Callable[[FloatArray], FloatArray],
    line: Line,
    *,
    width: float = 1.6,
    opacity: float = 1.0,
) -> None:
    """Draw where the log-odds are 0."""
    ticks = np.linspace(-REACH, REACH, 41)
    across, up = np.meshgrid(ticks, ticks)
    heights = log_odds(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
    panel.contour(
        across,
        up,
        heights,
        levels=[0],
        colors=line.color,
        linestyles=[line.style],
        linewidths=width,
        alpha=opacity,
    )


def add_legend(figure: Figure, lines: list[Line]) -> None:
    """Name the lines and the points below the panels."""
    handles = [
        Line2D([], [], color=line.color, linestyle=line.style, label=line.label) for line in lines
    ]
    handles += [
        Line2D([], [], color=color, marker=marker, linestyle="", markersize=3.5, label=label)
        for marker, color, label in MARKS
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
