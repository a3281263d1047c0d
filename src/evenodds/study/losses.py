"""What label noise does to class densities and fitted boundaries, and which losses undo it.

In the paper's world, two normal clouds at (1, 1) and (-1, -1), everything happens across the
boundary: along ``t = (x1 + x2) / sqrt(2)`` the classes are normal with means ``+-sqrt(2)`` and
variance 1. Rows on a fine grid of positions, each with both labels and weighted by how common they
are, stand for endlessly many rows; the boundary of least risk on them is that of the population.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from evenodds.files import make_folder, write_columns
from evenodds.model.logistic import fit_logistic
from evenodds.model.losses import Loss, margin_losses
from evenodds.model.risk import WeightedLoss, corrected_loss, minimise_risk
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
    save_figure,
)
from evenodds.simulation.worlds import two_bells
from evenodds.validation import FloatArray

CLEAN: Final = UniformNoise(0)
# The same share of labels is flipped by either where the classes are equally common.
UNIFORM: Final = UniformNoise(0.25)
CLASS_CONDITIONAL: Final = ClassConditionalNoise(0.4, 0.1)
HALF_DISTANCE: Final = float(np.sqrt(2))
DENSITY_REACH: Final = 4.2
ACROSS: Final = np.linspace(-DENSITY_REACH, DENSITY_REACH, 401)


def labelled_densities(
    t: FloatArray, noise: ClassConditionalNoise, positive_share: float = 0.5
) -> tuple[FloatArray, FloatArray]:
    """Return the densities of rows labelled positive and negative, times their shares.

    Each is a mixture of both classes. They cross where the noisy posterior is 1/2, and add up
    to the density of all rows whatever the noise.
    """
    positives, negatives = (
        share * (np.exp(-0.5 * (t - middle) ** 2) / np.sqrt(2 * np.pi))
        for share, middle in ((positive_share, HALF_DISTANCE), (1 - positive_share, -HALF_DISTANCE))
    )
    return (
        (1 - noise.alpha) * positives + noise.beta * negatives,
        noise.alpha * positives + (1 - noise.beta) * negatives,
    )


def noisy_boundary(noise: ClassConditionalNoise, positive_share: float = 0.5) -> float | None:
    """Return the t at which the noisy posterior is 1/2, or None where it never is."""
    clean = (0.5 - noise.beta) / (1 - noise.alpha - noise.beta)
    if not 0 < clean < 1:
        return None
    log_odds = np.log(clean / (1 - clean)) - np.log(positive_share / (1 - positive_share))
    return float(log_odds / (2 * HALF_DISTANCE))


def in_words(noise: ClassConditionalNoise) -> str:
    """Name the two flip rates, as in "40% of +, 10% of −"."""
    return f"{100 * noise.alpha:g}% of +, {100 * noise.beta:g}% of −"


@in_house_style
def densities_figure(*, class_conditional: ClassConditionalNoise = CLASS_CONDITIONAL) -> Figure:
    """Draw densities and posteriors across the boundary: clean, uniform, class-conditional.

    Exact curves, not simulated ones. The densities of rows labelled positive and negative are
    drawn over those of the true classes (shaded). An upright line marks where a label is as
    likely positive as negative: uniform noise leaves it at the clean boundary,
    class-conditional noise moves it.
    """
    titles = [
        "Clean labels",
        f"{100 * UNIFORM.rate:g}% of both flipped",
        f"{in_words(class_conditional)} flipped",
    ]
    figure, axes = new_figure(2, 3, height=4.2, share_x=True, share_y="row")
    for (above, below), noise in zip(axes.T, (CLEAN, UNIFORM, class_conditional), strict=True):
        _draw_densities(above, noise)
        _draw_posteriors(below, noise)
        _mark_boundaries(above, noise)
        _mark_boundaries(below, noise, "labels equally likely")
    letter_panels(axes[0], titles)
    axes[0, 0].set(ylabel="Density × share of rows", ylim=(0, None))
    axes[1, 0].set(ylabel="Probability", ylim=(0, 1), xlim=(-DENSITY_REACH, DENSITY_REACH))
    axes[1, 1].set_xlabel("Position across the boundary, t")
    found = [panel.get_legend_handles_labels() for panel in axes[:, 2]]
    handles, labels = ([*one, *other] for one, other in zip(*found, strict=True))
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _draw_densities(panel: Axes, noise: ClassConditionalNoise) -> None:
    """Draw the densities by label over those by true class."""
    true_classes = np.maximum(*labelled_densities(ACROSS, CLEAN))
    panel.fill_between(ACROSS, true_classes, color=PALE, linewidth=0, label="true classes")
    positives, negatives = labelled_densities(ACROSS, noise)
    panel.plot(ACROSS, positives, color=ORANGE, label="labelled positive")
    panel.plot(ACROSS, negatives, color=BLUE, linestyle="--", label="labelled negative")


def _draw_posteriors(panel: Axes, noise: ClassConditionalNoise) -> None:
    """Draw the probability of a positive label beside that of a positive."""
    positives, negatives = labelled_densities(ACROSS, CLEAN)
    posterior = positives / (positives + negatives)
    panel.axhline(0.5, color=GREY, linewidth=0.6, linestyle=":")
    panel.plot(ACROSS, posterior, color=GREY, linewidth=1, linestyle="-.", label="P(positive | t)")
    noisy = noise.noisy_posterior(posterior)
    panel.plot(ACROSS, noisy, color=BLACK, label="P(labelled positive | t)")


def _mark_boundaries(panel: Axes, noise: ClassConditionalNoise, label: str | None = None) -> None:
    """Mark where the classes, and where the labels, are equally likely."""
    clean, noisy = noisy_boundary(CLEAN), noisy_boundary(noise)
    if noisy is not None:
        panel.axvline(noisy, color=RED, linewidth=1, label=label)
    if clean is not None and clean != noisy:
        panel.axvline(clean, color=GREY, linewidth=0.8, linestyle=":")


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
def boundary_figure(*, seed: int = 0, n_rows: int = 50_000) -> Figure:
    """Draw the boundaries fitted to clean and to noisy labels, in two worlds.

    With equally common classes the features lie evenly about the boundary, so uniform noise
    leaves a fitted boundary in place and class-conditional noise moves it. With 15% positives
    uniform noise moves it too: plain logistic regression cannot follow a posterior that levels
    off inside 0 and 1, and the paper's test takes that for class-conditional noise.

    Parameters
    ----------
    seed : int, default 0
        Of the rows and of the labels flipped.
    n_rows : int, default 50000
        Rows fitted; the first few hundred are shown.
    """
    fitted = [
        (CLEAN, CLEAN_LINE),
        (UNIFORM, Line(f"fitted, {100 * UNIFORM.rate:g}% of labels flipped", BLUE, "--")),
        (CLASS_CONDITIONAL, Line(f"fitted, {in_words(CLASS_CONDITIONAL)} flipped", RED, "-.")),
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
    letter_panels(axes, ["Equally common classes", f"{100 * RARE_SHARE:g}% positives"])
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
            return WeightedLoss(loss, "balanced", (0.5 / noisy_share, 0.5 / (1 - noisy_share)))
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
    columns: dict[str, list[Any]] = {
        name: [] for name in ("loss", "remedy", "radius", "world", "noise", "move")
    }
    for remedy, (world, share), (name, noise) in product(REMEDIES, SHARES.items(), NOISES.items()):
        move = boundary_move(remedy, noise, share)
        row = (remedy.loss, remedy.remedy, remedy.radius or np.inf, world, name, move)
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    return {name: np.array(values) for name, values in columns.items()}


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
def restored_figure(*, seed: int = 0, n_rows: int = 5000, runs: int = 12) -> Figure:
    """Draw boundaries of least logistic loss, as it is and corrected, for repeated samples.

    Uniform noise above, class-conditional noise below; equally common classes on the left,
    15% positives on the right. Every sample gives a line of either kind.

    Parameters
    ----------
    seed : int, default 0
        Of the rows and of the labels flipped.
    n_rows : int, default 5000
        Rows in every sample.
    runs : int, default 12
        Samples drawn in each panel.
    """
    figure, axes = new_figure(2, 2, height=7.2, share_x=True, share_y=True)
    streams = iter(np.random.default_rng(seed).spawn(4))
    for above, noise in zip(axes, (UNIFORM, CLASS_CONDITIONAL), strict=True):
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
    worlds = ("Even classes", f"{100 * RARE_SHARE:g}% positives")
    noises = (f"{100 * UNIFORM.rate:g}% of both", in_words(CLASS_CONDITIONAL))
    letter_panels(axes, [f"{world}, {noise} flipped" for noise in noises for world in worlds])
    add_legend(figure, [TRUE_LINE, PLAIN_LINE, CORRECTED_LINE])
    return figure


def run_losses_study(out: Path, *, seed: int = 0) -> tuple[list[Path], dict[str, Any]]:
    """Measure what noise does to boundaries and what puts them back, and write it to a folder.

    Returns the files written, and the moves of the boundaries as columns.
    """
    make_folder(out)
    table = remedies_table()
    written = [write_columns(out / "boundary_moves.csv", table)]
    written += save_figure(restored_figure(seed=seed), out / "restored_boundaries")
    return written, table
