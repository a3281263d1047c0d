"""Where losses put a boundary, with and without noise: exact, without any sampling.

In the worlds of two normal clouds everything happens across the boundary, along one position
``t``. Rows on a fine grid of positions, each with both labels and weighted by how common they
are, stand for endlessly many rows; the boundary of least risk on them is that of the population.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from evenodds.model.losses.base import Loss
from evenodds.model.losses.catalogue import margin_losses
from evenodds.model.losses.corrected import CostLoss, corrected_loss
from evenodds.model.losses.risk import minimise_risk
from evenodds.noise import ClassConditionalNoise
from evenodds.study.densities_figure import (
    CLASS_CONDITIONAL,
    CLEAN,
    UNIFORM,
    labelled_densities,
    noisy_boundary,
)
from evenodds.validation import FloatArray

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
