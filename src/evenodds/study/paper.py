"""The paper's study: p-values over rows, anchors, tolerance and noise, as tables and figures.

Every run draws rows, flips labels, and fits the clean and the corrupted labels once; its 32
toss-ups are used for every number of anchors (the first 1, 2, 4, ...) and every tolerance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError, EvenoddsError, InputError
from evenodds.files import make_folder, write_columns
from evenodds.inference.asymmetry import null_statistic
from evenodds.inference.method import Method
from evenodds.inference.noise_aware import FittedRows
from evenodds.model.many_fits import fit_stack, samples_in_a_stack
from evenodds.noise import ClassConditionalNoise
from evenodds.planning.expected_data import AnchorVariance, wald_centre
from evenodds.report.style import (
    BLACK,
    BLUE,
    GREY,
    RED,
    in_house_style,
    letter_panels,
    new_figure,
    save_figure,
)
from evenodds.rows.memory import read_rows
from evenodds.simulation.parallel import Progress, carry_out, in_tasks
from evenodds.simulation.world import World
from evenodds.simulation.worlds import two_bells
from evenodds.study.losses import boundary_figure, densities_figure
from evenodds.validation import FloatArray

Columns = dict[str, NDArray[Any]]


def kept(columns: Columns, mask: NDArray[np.bool_]) -> Columns:
    """Return the rows where `mask` is true."""
    return {name: column[mask] for name, column in columns.items()}


def in_order(column: NDArray[Any]) -> list[Any]:
    """Return the distinct values: numbers sorted, words as they first appear."""
    values, first = np.unique(column, return_index=True)
    ordered = values if column.dtype.kind in "iufb" else values[np.argsort(first)]
    return list(ordered.tolist())


# Whisker, box edge, median, box edge, whisker, and what matplotlib calls them.
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
BOX: Final = ("whislo", "q1", "med", "q3", "whishi")
FILLS: Final = {"clean": "white", "corrupted": "#A9A9A9"}
# Boxes of one number of anchors stand side by side, this far from its tick.
APART: Final = 0.2
WIDTH: Final = 0.32


@in_house_style
def grid_figure(columns: Columns, *, test: str = "wald") -> Figure:
    """Draw p-values of clean and corrupted labels: rows N, columns tolerance, x axis anchors.

    Parameters
    ----------
    columns : dict of arrays
        As `paper_pvalues` returns them, of one noise.
    test : str, default "wald"
        Name of the test, for the title.

    Notes
    -----
    Boxes span the middle half of the p-values, whiskers run from the 5% to the 95% quantile,
    so whatever lies outside is a tenth of the runs. Under uniform noise p-values are uniform:
    the box should span 1/4 to 3/4.
    """
    sizes, tolerances = in_order(columns["n_rows"]), in_order(columns["tolerance"])
    n_anchors = in_order(columns["n_anchors"])
    figure, axes = new_figure(
        len(sizes),
        len(tolerances),
        height=1.0 + 1.6 * len(sizes),
        share_x=True,
        share_y=True,
    )
    for (row, column), panel in np.ndenumerate(axes):
        here = (columns["n_rows"] == sizes[row]) & (columns["tolerance"] == tolerances[column])
        _draw_panel(panel, kept(columns, here), n_anchors)
    _name_panels(axes, sizes, tolerances)
    _name_figure(figure, columns["alpha"][0], columns["beta"][0], test)
    return figure


def _draw_panel(panel: Axes, columns: Columns, n_anchors: Sequence[int]) -> None:
    """Draw the boxes of one panel under the two lines of the paper."""
    for labels, side in (("clean", -APART), ("corrupted", APART)):
        boxes = {}
        for place, k in enumerate(n_anchors):
            cell = (columns["n_anchors"] == k) & (columns["labels"] == labels)
            if cell.any():
                values = np.quantile(columns["pvalue"][cell].astype(np.float64), QUANTILES)
                boxes[place + side] = dict(zip(BOX, values, strict=True))
        if not boxes:
            continue
        panel.bxp(
            [*boxes.values()],
            positions=[*boxes],
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
        f"Test {test!r}: {100 * alpha:g}% of positives and {100 * beta:g}% of negatives "
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
    whiskers = Line2D([], [], color=GREY, linewidth=0.7, label="5% to 95% of runs")
    figure.legend(
        handles=[*boxes, whiskers, *lines], loc="outside lower center", ncols=5, handlelength=1.6
    )


NOISES = (
    ClassConditionalNoise(0.05, 0.10),
    ClassConditionalNoise(0.20, 0.10),
    ClassConditionalNoise(0.30, 0.10),
)
FOURTH_NOISE = ClassConditionalNoise(0.40, 0.10)
SIZES = (500, 1000, 2000, 5000)
TOLERANCES = (0.0, 0.05, 0.10)
ANCHOR_NUMBERS = (1, 2, 4, 8, 16, 32)
LABELS = tuple(FILLS)
RUNS = 500
# Runs of one task of the noise-aware tests, each of which takes seconds.
NOISE_AWARE_RUNS = 5


@dataclass(frozen=True, slots=True)
class Draw:
    """One run: rows, both kinds of labels, and toss-ups for every tolerance."""

    features: FloatArray
    labels: tuple[Any, Any]
    anchor_points: FloatArray  # (tolerances, most anchors, features)


@dataclass(frozen=True, slots=True)
class Task:
    """Some runs of one part of the grid."""

    noise: ClassConditionalNoise
    n_rows: int
    runs: range


@dataclass(frozen=True, slots=True)
class PaperGrid:
    """The p-values of a task, as an array (runs, labels, tolerances, anchors, versions).

    The paper's own test has two versions: the paper's, which leaves the anchors' error out,
    and the one that keeps it. The noise-aware tests are always told the tolerance.
    """

    world: World
    method: Method | None  # None is the paper's own test
    seed: int

    def __call__(self, task: Task) -> FloatArray:
        draws = self.draws(task)
        if self.method is None:
            return _wald_pvalues(draws)
        return np.array([_noise_aware_pvalues(draw, self.method) for draw in draws])[..., None]

    def draw(self, task: Task, run: int) -> Draw:
        """Return the data of one run, whatever other runs there are."""
        return self.draws(replace(task, runs=range(run, run + 1)))[0]

    def draws(self, task: Task) -> list[Draw]:
        """Return the data of all runs of a task."""
        drawn = [self._numbers(task, run) for run in task.runs]
        # The anchors of all runs at once: with 32 each, starting an operation costs the most.
        seeds, errors = (np.stack([numbers[part] for numbers in drawn]) for part in (2, 3))
        wanted = self.world.link.index_at(0.5 + errors[:, None] * np.array(TOLERANCES)[:, None])
        tiled = np.repeat(seeds[:, None], len(TOLERANCES), axis=1)
        moved = self.world.index.move_to(tiled.reshape(-1, tiled.shape[-1]), wanted.ravel())
        points = moved.reshape(tiled.shape)
        return [
            Draw(features, labels, own)
            for (features, labels, _, _), own in zip(drawn, points, strict=True)
        ]

    def _numbers(
        self, task: Task, run: int
    ) -> tuple[FloatArray, tuple[Any, Any], FloatArray, FloatArray]:
        """Return features, both kinds of labels, seeds of anchors and their errors."""
        rates = [round(1e6 * task.noise.alpha), round(1e6 * task.noise.beta)]
        rng = np.random.default_rng([self.seed, task.n_rows, *rates, run])
        features, true_labels = self.world.draw_rows(task.n_rows, rng)
        labels = self.world.flip(features, true_labels, task.noise, rng)
        most = max(ANCHOR_NUMBERS)
        seeds = self.world.draw_anchor_seeds(most, rng)
        return features, (true_labels, labels), seeds, rng.uniform(-1, 1, most)


def paper_pvalues(
    noises: Sequence[ClassConditionalNoise] = NOISES,
    *,
    sizes: Sequence[int] = SIZES,
    world: World | None = None,
    method: Method | None = None,
    runs: int = RUNS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[dict[str, Any], bool]:
    """Return all p-values as columns, and whether an interrupt left some out.

    Columns: alpha, beta, n_rows, labels, tolerance, n_anchors, run, pvalue; for the paper's own
    test also pvalue_kept, with the anchors' error in the variance.
    """
    chosen = two_bells() if world is None else world
    if chosen.row_copies > 1 or chosen.anchor_copies > 1 or chosen.anchor_bias:
        raise InputError(
            f"world {chosen.name!r} repeats rows or misplaces anchors, which this grid does not: "
            "see the atlas for it."
        )
    tasks = []
    for noise in noises:
        for n in sizes:
            step = samples_in_a_stack(n) if method is None else NOISE_AWARE_RUNS
            tasks += [Task(noise, n, some) for some in in_tasks(runs, step)]
    grid = PaperGrid(chosen, method, seed)
    done = carry_out(
        grid, tasks, workers=workers, progress=progress, size=lambda task: len(task.runs)
    )
    parts = [
        _columns(task, pvalues)
        for task, pvalues in zip(tasks, done.results, strict=True)
        if pvalues is not None
    ]
    table = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return table, done.interrupted


def _wald_pvalues(draws: Sequence[Draw]) -> FloatArray:
    """Return p-values of the paper's test, all fits and anchors at once."""
    fits = fit_stack(
        np.stack([draw.features for draw in draws]), np.stack([draw.labels for draw in draws])
    )
    points = np.stack([draw.anchor_points for draw in draws])
    design = np.concatenate([np.ones((*points.shape[:-1], 1)), points], axis=-1)
    # Axes: run, labels, tolerance, anchor; then the means over the first anchors.
    log_odds = np.einsum("rtad,rld->rlta", design, fits.coefficients)
    means = _first_means(expit(log_odds), axis=3)
    mean_anchors = _first_means(design, axis=2)
    curve = np.einsum("rtkd,rlde,rtke->rltk", mean_anchors, fits.covariance, mean_anchors)
    own = np.array(TOLERANCES)[:, None] ** 2 / 3
    slope = 0.25 - own
    variances = curve / 16, slope**2 * curve + own / np.array(ANCHOR_NUMBERS)
    z = [(means - 0.5) / np.sqrt(variance) for variance in variances]
    pvalues: FloatArray = 2 * ndtr(-np.abs(np.stack(z, axis=-1)))
    pvalues[~fits.converged] = np.nan
    return pvalues


def _first_means(values: FloatArray, axis: int) -> FloatArray:
    """Return the means of the first 1, 2, 4, ... values along an axis."""
    places = np.array(ANCHOR_NUMBERS) - 1
    sums = np.take(np.cumsum(values, axis=axis), places, axis=axis)
    shape = [1] * values.ndim
    shape[axis] = len(places)
    means: FloatArray = sums / (places + 1).reshape(shape)
    return means


def _noise_aware_pvalues(draw: Draw, method: Method) -> FloatArray:
    """Return p-values of a noise-aware test, (labels, tolerances, anchors)."""
    pvalues = np.full((len(LABELS), len(TOLERANCES), len(ANCHOR_NUMBERS)), np.nan)
    for kind, labels in enumerate(draw.labels):
        rows = read_rows(draw.features, labels)
        try:
            fitted = FittedRows.of(rows)
        except EvenoddsError:
            continue
        for place, tolerance in enumerate(TOLERANCES):
            for number, k in enumerate(ANCHOR_NUMBERS):
                # The paper's experts err case by case alone.
                anchors = Anchors(
                    draw.anchor_points[place, :k], tolerance=tolerance, shared_tolerance=0.0
                )
                try:
                    z, reference = null_statistic(rows, anchors, method, fitted)
                except AnchorError:
                    continue  # exact toss-ups that no straight boundary passes through
                pvalues[kind, place, number] = reference.pvalue(z, "two-sided")
    return pvalues


def _columns(task: Task, pvalues: FloatArray) -> dict[str, Any]:
    """Return the p-values of a task as columns of equal length."""
    runs, kinds, tolerances, anchors = np.meshgrid(
        np.arange(task.runs.start, task.runs.stop), LABELS, TOLERANCES, ANCHOR_NUMBERS,
        indexing="ij",
    )  # fmt: skip
    size = runs.size
    columns = {
        "alpha": np.full(size, task.noise.alpha),
        "beta": np.full(size, task.noise.beta),
        "n_rows": np.full(size, task.n_rows),
        "labels": kinds.ravel(),
        "tolerance": tolerances.ravel(),
        "n_anchors": anchors.ravel(),
        "run": runs.ravel(),
        "pvalue": pvalues[..., 0].ravel(),
    }
    if pvalues.shape[-1] > 1:
        columns["pvalue_kept"] = pvalues[..., 1].ravel()
    return columns


PAPER_VARIANCE: Final = 0.1
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
    centres = [
        wald_centre(ClassConditionalNoise(alpha, beta), variance)
        for beta, alpha in zip(*rates, strict=True)
    ]
    return np.array([centre.power(significance, "two-sided") for centre in centres])


@in_house_style
def power_figure(*, floor: float = 0.0) -> Figure:
    """Draw power against the difference of the flip rates, one curve a number of anchors.

    Parameters
    ----------
    floor : float, default 0
        Variance that averaging anchors cannot remove. Above 0 a second panel shows its effect
        beside the paper's figure, which has none; `PAPER_WORLD_FLOOR_SHARE` times
        `PAPER_VARIANCE` is that of the paper's own world.
    """
    variances = [AnchorVariance(single=PAPER_VARIANCE)]
    titles = [f"As printed: variance {PAPER_VARIANCE:g}/k"]
    if floor > 0:
        variances.append(AnchorVariance(single=PAPER_VARIANCE, floor=floor))
        titles.append(f"With its floor of {floor:.2g}")
    figure, axes = new_figure(1, len(variances), height=3.1, share_y=True)
    for panel, variance in zip(axes.flat, variances, strict=True):
        _draw_curves(panel, variance)
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


def _draw_curves(panel: Axes, variance: AnchorVariance) -> None:
    """Draw the curves of one panel, the most anchors first so that the legend is in their order."""
    differences = np.linspace(0, LARGEST_DIFFERENCE, 161)
    shades = colormaps["viridis"](np.linspace(0.0, 0.82, len(ANCHOR_NUMBERS)))
    styles = ["-", "--", "-.", (0, (4, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (6, 2))]
    for k, shade, style in zip(reversed(ANCHOR_NUMBERS), shades, styles, strict=True):
        power = power_curve(differences, variance.of(k), LEVELS[0])
        panel.plot(differences, power, color=shade, linestyle=style, label=str(k))
    panel.axhline(
        LEVELS[0], color=BLACK, linewidth=0.7, linestyle=":", label=f"level {LEVELS[0]:g}"
    )
    panel.set(xlim=(0, LARGEST_DIFFERENCE), ylim=(0, 1.01))


SETTINGS = ("alpha", "beta", "n_rows", "tolerance", "n_anchors", "labels")
LEVELS = (0.05, 0.10)


def run_paper_study(
    out: Path,
    noises: Sequence[ClassConditionalNoise] = NOISES,
    *,
    world: World | None = None,
    method: Method | None = None,
    runs: int = RUNS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[list[Path], dict[str, Any], bool]:
    """Repeat the paper's simulation and write what it shows into a folder.

    Returns the files written, the rejection rates as columns, and whether an interrupt cut it
    short; then the files hold what was finished.
    """
    make_folder(out)
    name = "wald" if method is None else method.name
    if world is not None and world.name != "paper":
        name = f"{world.name.replace(' ', '_')}_{name}"
    table, interrupted = paper_pvalues(
        noises,
        world=world,
        method=method,
        runs=runs,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    rates = rejection_rates(table)
    written = [
        write_columns(out / f"{name}_pvalues.parquet", table),
        write_columns(out / f"{name}_rejection_rates.csv", rates),
    ]
    for noise in noises:
        here = (table["alpha"] == noise.alpha) & (table["beta"] == noise.beta)
        if not here.any():
            continue  # an interrupt came before
        figure = grid_figure(kept(table, here), test=name.replace("_", " "))
        path = out / f"{name}_grid_{noise.alpha:.2f}_{noise.beta:.2f}"
        written += save_figure(figure, path)
    if method is None and (world is None or world.name == "paper"):
        written += save_figure(power_figure(), out / "power")
        floor = PAPER_VARIANCE * PAPER_WORLD_FLOOR_SHARE
        written += save_figure(power_figure(floor=floor), out / "power_with_floor")
        written += save_figure(densities_figure(), out / "noise_and_densities")
        written += save_figure(boundary_figure(), out / "noise_and_boundary")
    return written, rates, interrupted


def rejection_rates(table: dict[str, Any]) -> dict[str, Any]:
    """Return how often p-values fall below 5% and 10%, for every setting of a grid."""
    import pyarrow as pa

    below = {
        f"{column}_below_{level:.2f}": (table[column] < level).astype(np.float64)
        for column in ("pvalue", "pvalue_kept")
        if column in table
        for level in LEVELS
    }
    settings = {name: table[name] for name in SETTINGS}
    means = [(name, "mean") for name in below]
    grouped = pa.table({**settings, **below}).group_by(list(SETTINGS))
    found = grouped.aggregate([("alpha", "count"), *means])
    found = found.sort_by([(name, "ascending") for name in SETTINGS])
    names = {**{name: name for name in SETTINGS}, "runs": "alpha_count"}
    names |= {name: f"{name}_mean" for name in below}
    return {name: found[column].to_numpy() for name, column in names.items()}
