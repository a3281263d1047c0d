"""What label noise does to the densities of the classes, exactly.

In the paper's world, two normal clouds at (1, 1) and (-1, -1), everything happens across the
boundary: along ``t = (x1 + x2) / sqrt(2)`` the classes are normal with means ``+-sqrt(2)`` and
variance 1.
"""

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenodds.noise import ClassConditionalNoise, UniformNoise
from evenodds.report.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    PALE,
    RED,
    in_house_style,
    letter_panels,
    new_figure,
)
from evenodds.validation import FloatArray, check_between

CLEAN: Final = UniformNoise(0)
# The same share of labels is flipped by either where the classes are equally common.
UNIFORM: Final = UniformNoise(0.25)
CLASS_CONDITIONAL: Final = ClassConditionalNoise(0.4, 0.1)
HALF_DISTANCE: Final = float(np.sqrt(2))
REACH: Final = 4.2


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
    axes[1, 0].set(ylabel="Probability", ylim=(0, 1), xlim=(-REACH, REACH))
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
    return np.linspace(-REACH, REACH, 401)


def _normal(t: FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)
    return density
