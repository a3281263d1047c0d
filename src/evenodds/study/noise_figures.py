"""What label noise does to the densities of the classes, and to a fitted boundary.

In the paper's world, two normal clouds at (1, 1) and (-1, -1), everything happens across the
boundary: along ``t = (x1 + x2) / sqrt(2)`` the classes are normal with means ``+-sqrt(2)`` and
variance 1.
"""

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
    GREY,
    ORANGE,
    PALE,
    RED,
    SKY,
    in_house_style,
    letter_panels,
    new_figure,
)
from evenodds.simulation.worlds import two_bells
from evenodds.validation import FloatArray, check_between, check_whole

CLEAN: Final = UniformNoise(0)
# The same share of labels is flipped by either where the classes are equally common.
UNIFORM: Final = UniformNoise(0.25)
CLASS_CONDITIONAL: Final = ClassConditionalNoise(0.4, 0.1)
HALF_DISTANCE: Final = float(np.sqrt(2))
DENSITY_REACH: Final = 4.2


def labelled_densities(
    t: FloatArray, noise: ClassConditionalNoise, positive_share: float = 0.5
) -> tuple[FloatArray, FloatArray]:
    """Return the densities of rows labelled positive and negative, times their shares.

    Each is a mixture of both classes. They cross where the noisy posterior is 1/2, and add up
    to the density of all rows whatever the noise.
    """
    pi = check_between(positive_share, "positive_share", 0, 1, closed="neither")
    positives = pi * _normal(t - HALF_DISTANCE)
    negatives = (1 - pi) * _normal(t + HALF_DISTANCE)
    return (
        (1 - noise.alpha) * positives + noise.beta * negatives,
        noise.alpha * positives + (1 - noise.beta) * negatives,
    )


def noisy_boundary(noise: ClassConditionalNoise, positive_share: float = 0.5) -> float | None:
    """Return the t at which the noisy posterior is 1/2, or None where it never is."""
    pi = check_between(positive_share, "positive_share", 0, 1, closed="neither")
    clean = (0.5 - noise.beta) / (1 - noise.alpha - noise.beta)
    if not 0 < clean < 1:
        return None
    log_odds = np.log(clean / (1 - clean)) - np.log(pi / (1 - pi))
    return float(log_odds / (2 * HALF_DISTANCE))


def in_words(noise: ClassConditionalNoise) -> str:
    """Name the two flip rates, as in "40 % of +, 10 % of −"."""
    return f"{100 * noise.alpha:g} % of +, {100 * noise.beta:g} % of −"


@in_house_style
def densities_figure(
    *,
    uniform: UniformNoise = UNIFORM,
    class_conditional: ClassConditionalNoise = CLASS_CONDITIONAL,
    positive_share: float = 0.5,
) -> Figure:
    """Draw densities and posteriors across the boundary: clean, uniform, class-conditional.

    Exact curves, not simulated ones. The densities of rows labelled positive and negative are
    drawn over those of the true classes (shaded). An upright line marks where a label is as
    likely positive as negative: uniform noise leaves it at the clean boundary,
    class-conditional noise moves it.
    """
    titles = [
        "Clean labels",
        f"{100 * uniform.rate:g} % of both flipped",
        f"{in_words(class_conditional)} flipped",
    ]
    figure, axes = new_figure(2, 3, height=4.2, share_x=True, share_y="row")
    for (above, below), noise in zip(axes.T, (CLEAN, uniform, class_conditional), strict=True):
        _draw_densities(above, noise, positive_share)
        _draw_posteriors(below, noise, positive_share)
        _mark_boundaries(above, noise, positive_share)
        _mark_boundaries(below, noise, positive_share, "labels equally likely")
    letter_panels(axes[0], titles)
    axes[0, 0].set(ylabel="Density × share of rows", ylim=(0, None))
    axes[1, 0].set(ylabel="Probability", ylim=(0, 1), xlim=(-DENSITY_REACH, DENSITY_REACH))
    axes[1, 1].set_xlabel("Position across the boundary, t")
    found = [panel.get_legend_handles_labels() for panel in axes[:, 2]]
    handles, labels = ([*one, *other] for one, other in zip(*found, strict=True))
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _draw_densities(panel: Axes, noise: ClassConditionalNoise, positive_share: float) -> None:
    """Draw the densities by label over those by true class."""
    t = _positions()
    true_classes = np.maximum(*labelled_densities(t, CLEAN, positive_share))
    panel.fill_between(t, true_classes, color=PALE, linewidth=0, label="true classes")
    positives, negatives = labelled_densities(t, noise, positive_share)
    panel.plot(t, positives, color=ORANGE, label="labelled positive")
    panel.plot(t, negatives, color=BLUE, linestyle="--", label="labelled negative")


def _draw_posteriors(panel: Axes, noise: ClassConditionalNoise, positive_share: float) -> None:
    """Draw the probability of a positive label beside that of a positive."""
    t = _positions()
    positives, negatives = labelled_densities(t, CLEAN, positive_share)
    posterior = positives / (positives + negatives)
    panel.axhline(0.5, color=GREY, linewidth=0.6, linestyle=":")
    panel.plot(t, posterior, color=GREY, linewidth=1, linestyle="-.", label="P(positive | t)")
    noisy = noise.noisy_posterior(posterior)
    panel.plot(t, noisy, color=BLACK, label="P(labelled positive | t)")


def _mark_boundaries(
    panel: Axes, noise: ClassConditionalNoise, positive_share: float, label: str | None = None
) -> None:
    """Mark where the classes, and where the labels, are equally likely."""
    clean, noisy = noisy_boundary(CLEAN, positive_share), noisy_boundary(noise, positive_share)
    if noisy is not None:
        panel.axvline(noisy, color=RED, linewidth=1, label=label)
    if clean is not None and clean != noisy:
        panel.axvline(clean, color=GREY, linewidth=0.8, linestyle=":")


def _positions() -> FloatArray:
    return np.linspace(-DENSITY_REACH, DENSITY_REACH, 401)


def _normal(t: FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)
    return density


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
