"""The settings of an atlas, and what every method does in one of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from evenodds.errors import EvenoddsError
from evenodds.inference.asymmetry import CURVE_METHODS
from evenodds.inference.noise_aware import FittedRows
from evenodds.inference.null_test import null_statistic
from evenodds.noise import ClassConditionalNoise, UniformNoise
from evenodds.rows.source import read_rows
from evenodds.simulation.setting import Setting
from evenodds.simulation.world import Trial
from evenodds.simulation.worlds import WORLDS, find_world
from evenodds.study.baselines import NoiseRates, confident_joint_rates, extreme_posterior_rates
from evenodds.validation import FloatArray

Extent = Literal["small", "full"]

# What is varied: numbers of rows, of anchors, tolerances, uniform rates, unequal rates.
GRIDS: dict[Extent, tuple[Sequence[int], Sequence[int], Sequence[float], Sequence[float]]] = {
    "small": ((500, 2000), (1, 8), (0.0, 0.05), (0.0, 0.1, 0.3)),
    "full": ((500, 1000, 2000, 5000), (1, 4, 8, 32), (0.0, 0.05, 0.1), (0.0, 0.1, 0.2, 0.3)),
}
UNEQUAL = (ClassConditionalNoise(0.05, 0.15), ClassConditionalNoise(0.2, 0.1))
BASELINES: dict[str, Callable[[Trial, np.random.Generator], NoiseRates]] = {
    "extreme posteriors": lambda trial, _: extreme_posterior_rates(trial.features, trial.labels),
    "confident joint": lambda trial, rng: confident_joint_rates(trial.features, trial.labels, rng),
}
# A practitioner with estimates alone is taken to call labels lopsided beyond this.
NOTICED = 0.05


@dataclass(frozen=True, slots=True)
class AtlasTask:
    """Some runs of one setting."""

    setting: Setting
    runs: range


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What every method did in some runs: p-values, statistics and estimates."""

    pvalues: FloatArray  # (methods, runs); nan where a test could not be done
    statistics: FloatArray  # the same; below 0 says that positives are flipped more
    estimates: FloatArray  # (baselines, runs)


def atlas_settings(extent: Extent, worlds: Sequence[str] | None, seed: int) -> Iterator[Setting]:
    """Return every setting of an atlas."""
    sizes, anchor_numbers, tolerances, rates = GRIDS[extent]
    noises = [*(UniformNoise(rate) for rate in rates), *UNEQUAL]
    chosen = [find_world(name) for name in (worlds or WORLDS)]
    for world, n, k, tolerance, noise in product(chosen, sizes, anchor_numbers, tolerances, noises):
        yield Setting(
            world=world,
            noise=noise,
            n_rows=n,
            n_anchors=k,
            tolerance=tolerance,
            shared_tolerance=0.0,
            seed=seed,
        )


def run_task(task: AtlasTask) -> Outcomes:
    """Run every method on the same data sets."""
    statistics = np.full((len(CURVE_METHODS), len(task.runs)), np.nan)
    pvalues = statistics.copy()
    estimates = np.full((len(BASELINES), len(task.runs)), np.nan)
    for place, run in enumerate(task.runs):
        trial = task.setting.draw(run)
        try:
            rows = read_rows(trial.features, trial.labels, groups=trial.groups)
            fitted = FittedRows.of(rows)
        except EvenoddsError:
            continue
        for number, method in enumerate(CURVE_METHODS.values()):
            try:
                z, reference = null_statistic(rows, trial.anchors, method(), fitted)
            except EvenoddsError:
                continue
            statistics[number, place] = z
            pvalues[number, place] = reference.pvalue(z, "two-sided")
        for number, estimate in enumerate(BASELINES.values()):
            rng = np.random.default_rng([task.setting.seed, run, number])
            try:
                estimates[number, place] = estimate(trial, rng).asymmetry
            except EvenoddsError:
                continue
    return Outcomes(pvalues, statistics, estimates)
