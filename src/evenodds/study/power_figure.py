"""The paper's power figure: how often its test finds an asymmetry, by number of anchors."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenodds.noise import ClassConditionalNoise
from evenodds.planning.summary import AnchorVariance, wald_power
from evenodds.report.style import BLACK, in_house_style, letter_panels, new_figure
from evenodds.validation import FloatArray

PAPER_VARIANCE: Final = 0.1
PAPER_ANCHORS: Final = (1, 2, 4, 8, 16, 32)
# In the paper's world an anchor (u, -u) with u uniform on [-4, 4] has the variance of the
# centre times 1 + 2 E u^2 = 35/3: the direction (1, -1) is independent of the posterior.
PAPER_WORLD_FLOOR_SHARE: Final = 3 / 35
# Near 1 one class is flipped almost always: no normal approximation describes that.
LARGEST_DIFFERENCE: Final = 0.8


def power_curve(differences: FloatArray, variance: float, significance: float) -> FloatArray:
    """Return the power of the paper's test at each difference of the flip rates.

    Where anchors are exact toss-ups the rates enter through their difference alone, so the
    smaller one is taken as 0.
    """
    rates = np.maximum(differences, 0), np.maximum(-differences, 0)
    return np.array(
        [
            wald_power(ClassConditionalNoise(alpha, beta), variance, significance=significance)
            for beta, alpha in zip(*rates, strict=True)
        ]
    )


@in_house_style
def power_figure(
    *,
    single: float = PAPER_VARIANCE,
    floor: float = 0.0,
    n_anchors: Sequence[int] = PAPER_ANCHORS,
    significance: float = 0.05,
) -> Figure:
    """Draw power against the difference of the flip rates, one curve a number of anchors.

    Parameters
    ----------
    single : float, default 0.1
        Variance of the fitted posterior at one random anchor.
    floor : float, default 0
        Variance that averaging anchors cannot remove. Above 0 a second panel shows its effect
        beside the paper's figure, which has none; `PAPER_WORLD_FLOOR_SHARE` times `single` is
        that of the paper's own world.
    n_anchors : sequence of int
        One curve each.
    significance : float, default 0.05
        Level of the test, drawn as a line.
    """
    variances = [AnchorVariance(single=single)]
    titles = [f"As printed: variance {single:g}/k"]
    if floor > 0:
        variances.append(AnchorVariance(single=single, floor=floor))
        titles.append(f"With its floor of {floor:.2g}")
    figure, axes = new_figure(1, len(variances), height=3.1, share_y=True)
    for panel, variance in zip(axes.flat, variances, strict=True):
        _draw_curves(panel, variance, n_anchors, significance)
    axes[0, 0].set_ylabel("Probability of rejecting uniform noise (power)")
    figure.supxlabel(
        "Difference of the two flip rates, |β − α| (all that matters at exact toss-ups)",
        fontsize="medium",
    )
    letter_panels(axes, titles)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside right center", title="Toss-ups, k", alignment="left"
    )
    return figure


def _draw_curves(
    panel: Axes, variance: AnchorVariance, n_anchors: Sequence[int], significance: float
) -> None:
    """Draw the curves of one panel, the most anchors first so that the legend is in their order."""
    differences = np.linspace(0, LARGEST_DIFFERENCE, 161)
    shades = colormaps["viridis"](np.linspace(0.82, 0.0, len(n_anchors)))
    styles = ["-", "--", "-.", (0, (4, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (6, 2))]
    for place, (k, shade) in reversed(list(enumerate(zip(n_anchors, shades, strict=True)))):
        power = power_curve(differences, variance.of(k), significance)
        style = styles[(len(n_anchors) - 1 - place) % len(styles)]
        panel.plot(differences, power, color=shade, linestyle=style, label=str(k))
    panel.axhline(
        significance, color=BLACK, linewidth=0.7, linestyle=":", label=f"level {significance:g}"
    )
    panel.set(xlim=(0, LARGEST_DIFFERENCE), ylim=(0, 1.01))
