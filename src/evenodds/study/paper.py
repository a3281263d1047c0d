"""The paper's study as files: its figures, every p-value, and a table of rejection rates."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenodds.inference.boundary import Boundary
from evenodds.inference.joint import Joint
from evenodds.noise import ClassConditionalNoise
from evenodds.report.style import save_figure
from evenodds.simulation.parallel import Progress
from evenodds.simulation.world import World
from evenodds.study.boundary_figure import boundary_figure
from evenodds.study.columns import in_order
from evenodds.study.densities_figure import densities_figure
from evenodds.study.grid_figure import grid_figure
from evenodds.study.paper_grid import NOISES, RUNS, paper_pvalues
from evenodds.study.power_figure import (
    PAPER_VARIANCE,
    PAPER_WORLD_FLOOR_SHARE,
    power_figure,
)
from evenodds.study.tables import make_folder, write_csv, write_parquet

SETTINGS = ("alpha", "beta", "n_rows", "tolerance", "n_anchors", "labels")
LEVELS = (0.05, 0.10)


def run_paper_study(
    out: Path,
    noises: Sequence[ClassConditionalNoise] = NOISES,
    *,
    world: World | None = None,
    method: Boundary | Joint | None = None,
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
    name = "wald" if method is None else type(method).__name__.lower()
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
        write_parquet(out / f"{name}_pvalues.parquet", table),
        write_csv(out / f"{name}_rejection_rates.csv", rates),
    ]
    for noise in noises:
        if not ((table["alpha"] == noise.alpha) & (table["beta"] == noise.beta)).any():
            continue  # an interrupt came before
        figure = grid_figure(table, alpha=noise.alpha, beta=noise.beta, test=name.replace("_", " "))
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
    """Return how often p-values fall below 5 % and 10 %, for every setting of a grid."""
    values = [in_order(table[name]) for name in SETTINGS]
    codes = [
        np.searchsorted(np.sort(known), table[name])
        for name, known in zip(SETTINGS, values, strict=True)
    ]
    shape = [len(known) for known in values]
    cell = np.ravel_multi_index(codes, shape)
    runs = np.bincount(cell, minlength=int(np.prod(shape)))
    there = np.flatnonzero(runs)
    places = np.unravel_index(there, shape)
    rates: dict[str, Any] = {
        name: np.sort(known)[place]
        for name, known, place in zip(SETTINGS, values, places, strict=True)
    }
    rates["runs"] = runs[there]
    for column in ("pvalue", "pvalue_kept"):
        if column not in table:
            continue
        for level in LEVELS:
            counts = np.bincount(cell, weights=table[column] < level, minlength=len(runs))
            rates[f"{column}_below_{level:.2f}"] = counts[there] / runs[there]
    return rates
