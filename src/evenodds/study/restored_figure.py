"""Boundaries moved by noise and put back by a corrected loss, over repeated samples."""

from typing import Final

import numpy as np
from matplotlib.figure import Figure

from evenodds.model.logistic import fit_logistic
from evenodds.model.losses.corrected import corrected_loss
from evenodds.model.losses.risk import minimise_risk
from evenodds.noise import ClassConditionalNoise, UniformNoise
from evenodds.report.style import BLUE, RED, in_house_style, letter_panels, new_figure
from evenodds.simulation.worlds import two_bells
from evenodds.study.boundary_figure import (
    POINTS_SHOWN,
    RARE_SHARE,
    REACH,
    TRUE_LINE,
    Line,
    add_legend,
    draw_boundary,
    draw_points,
)
from evenodds.study.densities_figure import CLASS_CONDITIONAL, UNIFORM, in_words
from evenodds.validation import MOST_RUNS, check_whole

PLAIN_LINE: Final = Line("least logistic loss, as it is", RED, "--")
CORRECTED_LINE: Final = Line("least logistic loss, corrected", BLUE, "-")


@in_house_style
def restored_figure(
    *,
    seed: int = 0,
    n_rows: int = 5000,
    runs: int = 12,
    uniform: UniformNoise = UNIFORM,
    class_conditional: ClassConditionalNoise = CLASS_CONDITIONAL,
) -> Figure:
    """Draw boundaries of least logistic loss, as it is and corrected, for repeated samples.

    Uniform noise above, class-conditional noise below; equally common classes on the left,
    15 % positives on the right. Every sample gives a line of either kind.

    Parameters
    ----------
    seed : int, default 0
        Of the rows and of the labels flipped.
    n_rows : int, default 5000
        Rows in every sample.
    runs : int, default 12
        Samples drawn in each panel.
    uniform, class_conditional
        The two noises.
    """
    n_rows = check_whole(n_rows, "n_rows", at_least=POINTS_SHOWN)
    runs = check_whole(runs, "runs", at_least=1, at_most=MOST_RUNS)
    figure, axes = new_figure(2, 2, height=7.2, share_x=True, share_y=True)
    streams = iter(np.random.default_rng(seed).spawn(4))
    for above, noise in zip(axes, (uniform, class_conditional), strict=True):
        loss = corrected_loss("logistic", noise, correction="forward")
        for panel, share in zip(above, (0.5, RARE_SHARE), strict=True):
            world, rng = two_bells(share), next(streams)
            for run in range(runs):
                features, true = world.draw_rows(n_rows, rng)
                if run == 0:
                    draw_points(panel, features[:POINTS_SHOWN], true[:POINTS_SHOWN] == 1)
                given = noise.flip(true, rng)
                plain = fit_logistic(features, given).log_odds
                corrected = minimise_risk(features, given, loss).scores
                draw_boundary(panel, plain, PLAIN_LINE, width=0.8, opacity=0.6)
                draw_boundary(panel, corrected, CORRECTED_LINE, width=0.8, opacity=0.6)
            draw_boundary(panel, world.log_odds, TRUE_LINE)
            panel.set(aspect="equal", xlim=(-REACH, REACH), ylim=(-REACH, REACH))
    for panel in axes[:, 0]:
        panel.set_ylabel("Second feature")
    for panel in axes[1]:
        panel.set_xlabel("First feature")
    worlds = ("Even classes", f"{100 * RARE_SHARE:g} % positives")
    noises = (f"{100 * uniform.rate:g} % of both", in_words(class_conditional))
    letter_panels(axes, [f"{world}, {noise} flipped" for noise in noises for world in worlds])
    add_legend(figure, [TRUE_LINE, PLAIN_LINE, CORRECTED_LINE])
    return figure
