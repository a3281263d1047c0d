"""Where losses put a boundary, with and without noise, as tables and a picture.

In the worlds of two normal clouds everything happens across the boundary, along one position
``t``. Rows on a fine grid of positions, each with both labels and weighted by how common they
are, stand for endlessly many rows; the boundary of least risk on them is that of the population.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from matplotlib.figure import Figure

from evenodds.model.logistic import fit_logistic
from evenodds.model.losses import Loss, margin_losses
from evenodds.model.risk import CostLoss, corrected_loss, minimise_risk
from evenodds.noise import ClassConditionalNoise, UniformNoise
from evenodds.report.style import BLUE, RED, in_house_style, letter_panels, new_figure, save_figure
from evenodds.simulation.worlds import two_bells
from evenodds.study.noise_figures import (
    CLASS_CONDITIONAL,
    CLEAN,
    POINTS_SHOWN,
    RARE_SHARE,
    REACH,
    TRUE_LINE,
    UNIFORM,
    Line,
    add_legend,
    draw_boundary,
    draw_points,
    in_words,
    labelled_densities,
    noisy_boundary,
)
from evenodds.study.tables import make_folder, write_csv
from evenodds.validation import MOST_RUNS, FloatArray, check_whole

Remedying = Literal["none", "backward", "forward", "costs", "balanced"]

SHARES: Final = {"paper": 0.5, "rare": 0.15}
NOISES: Final = {"clean": CLEAN, "uniform": UNIFORM, "class-conditional": CLASS_CONDITIONAL}
# Positions looked at; beyond them there are no rows to speak of.
FARTHEST: Final = 9.0
POSITIONS: Final = 3000
# Rows in all that the grid stands for: only ratios matter, but a weight is a number of rows.
ROWS: Final = 1e6


@dataclass(frozen=True, slots=True)
class Remedy:
    """A loss, what is done to it against the noise, and how large its scores may be."""

    loss: str
    remedy: Remedying = "none"
    radius: float | None = None

    def against(self, noise: ClassConditionalNoise, noisy_share: float) -> Loss:
        """Return the loss to minimise."""
        loss = margin_losses[self.loss]
        if self.remedy == "none":
            return loss
        if self.remedy == "balanced":
            return CostLoss(loss, 0.5 / noisy_share, 0.5 / (1 - noisy_share))
        return corrected_loss(loss, noise, correction=self.remedy)


REMEDIES: Final = (
    Remedy("logistic"),
    Remedy("hinge", radius=20),
    Remedy("squared"),
    Remedy("squared hinge"),
    Remedy("sigmoid", radius=5),
    Remedy("sigmoid", radius=20),
    Remedy("zero-one"),
    Remedy("logistic", "backward"),
    Remedy("hinge", "backward", radius=20),
    Remedy("squared", "backward"),
    Remedy("squared hinge", "backward"),
    Remedy("logistic", "forward"),
    Remedy("squared hinge", "forward"),
    Remedy("sigmoid", "costs", radius=20),
    Remedy("zero-one", "costs"),
    Remedy("zero-one", "balanced"),
)


def boundary_move(
    remedy: Remedy, noise: ClassConditionalNoise, positive_share: float = 0.5
) -> float:
    """Return how far the boundary of least risk lies from the true one.

    Positive where it lies among the positives; infinite where every case is called negative,
    minus infinite where every case is called positive.
    """
    t = np.linspace(-FARTHEST, FARTHEST, POSITIONS)
    densities = np.array(labelled_densities(t, noise, positive_share))
    weights = densities * ROWS / densities.sum()
    loss = remedy.against(noise, noise.noisy_prior(positive_share))
    if remedy.loss == "zero-one":
        found = _best_cut(t, weights, loss)
    else:
        found = _fitted_boundary(t, weights, loss, remedy.radius)
    true = noisy_boundary(CLEAN, positive_share)
    return found - (0.0 if true is None else true)


def remedies_table() -> dict[str, Any]:
    """Return every remedy's move in every world, as columns."""
    cells = [(remedy, world, name) for remedy in REMEDIES for world in SHARES for name in NOISES]
    return {
        "loss": np.array([remedy.loss for remedy, *_ in cells]),
        "remedy": np.array([remedy.remedy for remedy, *_ in cells]),
        "radius": np.array([remedy.radius or np.inf for remedy, *_ in cells]),
        "world": np.array([world for _, world, _ in cells]),
        "noise": np.array([name for *_, name in cells]),
        "move": np.array(
            [boundary_move(remedy, NOISES[name], SHARES[world]) for remedy, world, name in cells]
        ),
    }


def _fitted_boundary(t: FloatArray, weights: FloatArray, loss: Loss, radius: float | None) -> float:
    """Return where the linear score of least risk is 0."""
    labels = np.repeat([1, 0], len(t))
    fit = minimise_risk(
        np.tile(t, 2)[:, None], labels, loss, radius=radius, sample_weight=weights.ravel()
    )
    low, high = fit.scores(np.array([[-FARTHEST], [FARTHEST]]))
    if low * high > 0:  # one class for every case there is
        return float(-np.inf if high > 0 else np.inf)
    return float(-fit.coefficients[0] / fit.coefficients[1])


def _best_cut(t: FloatArray, weights: FloatArray, loss: Loss) -> float:
    """Return the best position to call cases positive from, by trying them all."""
    ones, zeros = np.ones(len(t)), np.zeros(len(t))
    called_negative = weights[0] * loss.values(-ones, ones) + weights[1] * loss.values(-ones, zeros)
    called_positive = weights[0] * loss.values(ones, ones) + weights[1] * loss.values(ones, zeros)
    gain = called_negative - called_positive
    # Cutting at t[i] calls the positions before it negative, the others positive.
    risks = np.concatenate([[0.0], np.cumsum(gain)])
    best = int(np.argmin(risks))
    if best in {0, len(t)}:
        return -np.inf if best == 0 else np.inf
    before, after = gain[best - 1], gain[best]
    return float(np.interp(0.0, [before, after], t[best - 1 : best + 1]))


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


def run_losses_study(out: Path, *, seed: int = 0) -> tuple[list[Path], dict[str, Any]]:
    """Measure what noise does to boundaries and what puts them back, and write it to a folder.

    Returns the files written, and the moves of the boundaries as columns.
    """
    make_folder(out)
    table = remedies_table()
    written = [write_csv(out / "boundary_moves.csv", table)]
    written += save_figure(restored_figure(seed=seed), out / "restored_boundaries")
    return written, table
