"""The paper's simulation: p-values over rows, anchors, tolerance and noise, clean and corrupted.

Every run draws rows, flips labels, and fits the clean and the corrupted labels once; its 32
toss-ups are used for every number of anchors (the first 1, 2, 4, ...) and every tolerance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError, EvenoddsError, InputError
from evenodds.inference.boundary import Boundary
from evenodds.inference.joint import Joint
from evenodds.inference.noise_aware import FittedRows
from evenodds.inference.null_test import null_statistic
from evenodds.model.stack import fit_stack, samples_in_a_stack
from evenodds.noise import ClassConditionalNoise
from evenodds.rows.source import read_rows
from evenodds.simulation.parallel import Progress, carry_out
from evenodds.simulation.world import World
from evenodds.simulation.worlds import two_bells
from evenodds.validation import FloatArray

NOISES = (
    ClassConditionalNoise(0.05, 0.10),
    ClassConditionalNoise(0.20, 0.10),
    ClassConditionalNoise(0.30, 0.10),
)
FOURTH_NOISE = ClassConditionalNoise(0.40, 0.10)
SIZES = (500, 1000, 2000, 5000)
TOLERANCES = (0.0, 0.05, 0.10)
ANCHOR_NUMBERS = (1, 2, 4, 8, 16, 32)
LABELS = ("clean", "corrupted")
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
    method: Boundary | Joint | None  # None is the paper's own test
    seed: int

    def __call__(self, task: Task) -> FloatArray:
        draws = [self.draw(task, run) for run in task.runs]
        if self.method is None:
            return _wald_pvalues(draws)
        return np.array([_noise_aware_pvalues(draw, self.method) for draw in draws])[..., None]

    def draw(self, task: Task, run: int) -> Draw:
        """Return the data of one run, whatever other runs there are."""
        rates = [round(1e6 * task.noise.alpha), round(1e6 * task.noise.beta)]
        rng = np.random.default_rng([self.seed, task.n_rows, *rates, run])
        features, true_labels = self.world.draw_rows(task.n_rows, rng)
        labels = self.world.flip(features, true_labels, task.noise, rng)
        most = max(ANCHOR_NUMBERS)
        seeds, errors = self.world.draw_anchor_seeds(most, rng), rng.uniform(-1, 1, most)
        wanted = self.world.link.index_at(0.5 + np.multiply.outer(TOLERANCES, errors).ravel())
        points = self.world.index.move_to(np.tile(seeds, (len(TOLERANCES), 1)), wanted)
        shape = (len(TOLERANCES), most, seeds.shape[1])
        return Draw(features, (true_labels, labels), points.reshape(shape))


def paper_pvalues(
    noises: Sequence[ClassConditionalNoise] = NOISES,
    *,
    sizes: Sequence[int] = SIZES,
    world: World | None = None,
    method: Boundary | Joint | None = None,
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
            starts = range(0, runs, step)
            tasks += [Task(noise, n, range(first, min(first + step, runs))) for first in starts]
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


def _noise_aware_pvalues(draw: Draw, method: Boundary | Joint) -> FloatArray:
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
