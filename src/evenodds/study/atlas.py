"""Level and power of every method over many worlds, as tables, heat maps and verdicts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from evenodds.inference.asymmetry import CURVE_METHODS
from evenodds.inference.wilson import wilson_interval
from evenodds.report.style import save_figure
from evenodds.simulation.parallel import Progress, carry_out
from evenodds.simulation.setting import Setting
from evenodds.study.atlas_cells import (
    BASELINES,
    NOTICED,
    UNEQUAL,
    AtlasTask,
    Extent,
    Outcomes,
    atlas_settings,
    run_task,
)
from evenodds.study.columns import in_order, kept
from evenodds.study.heatmap_cells import HELD, levels_not_held, under_uniform_noise
from evenodds.study.heatmap_figure import level_figure, power_heatmap_figure
from evenodds.study.tables import make_folder, write_csv, write_parquet
from evenodds.validation import check_choice, join_quoted

RUNS_A_TASK = 10
SIGNIFICANCE = 0.05
# Numbers are rounded in the CSV, which is what people read.
CSV_DIGITS = 4


def run_atlas_study(
    out: Path,
    *,
    extent: Extent = "small",
    worlds: Sequence[str] | None = None,
    runs: int = 200,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[list[Path], list[str], bool]:
    """Measure the atlas and write it into a folder.

    Returns the files written, a verdict for each method, and whether an interrupt cut it short;
    then settings that were not reached are left out and others have fewer runs.
    """
    check_choice(extent, "extent", get_args(Extent))
    make_folder(out)
    atlas, interrupted = measure_atlas(
        list(atlas_settings(extent, worlds, seed)), runs, workers=workers, progress=progress
    )
    rounded = {
        name: np.round(column, CSV_DIGITS) if column.dtype.kind == "f" else column
        for name, column in atlas.items()
    }
    written = [write_parquet(out / "atlas.parquet", atlas), write_csv(out / "atlas.csv", rounded)]
    for tolerance in in_order(atlas["tolerance"]):
        name = f"tolerance_{tolerance:.2f}"
        figure = level_figure(atlas, tolerance=tolerance)
        written += save_figure(figure, out / f"level_{name}")
        for noise in UNEQUAL:
            there = (atlas["alpha"] == noise.alpha) & (atlas["beta"] == noise.beta)
            if not (there & (atlas["tolerance"] == tolerance)).any():
                continue  # an interrupt came before
            figure = power_heatmap_figure(
                atlas, alpha=noise.alpha, beta=noise.beta, tolerance=tolerance
            )
            path = out / f"power_{noise.alpha:.2f}_{noise.beta:.2f}_{name}"
            written += save_figure(figure, path)
    return written, atlas_verdicts(atlas), interrupted


def measure_atlas(
    settings: Sequence[Setting],
    runs: int,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[dict[str, Any], bool]:
    """Return the atlas as columns, a row for every setting and method."""
    tasks = [
        AtlasTask(setting, range(first, min(first + RUNS_A_TASK, runs)))
        for setting in settings
        for first in range(0, runs, RUNS_A_TASK)
    ]
    done = carry_out(
        run_task, tasks, workers=workers, progress=progress, size=lambda task: len(task.runs)
    )
    parts: dict[int, list[Outcomes]] = {}
    tasks_a_setting = -(-runs // RUNS_A_TASK)
    for number, outcomes in enumerate(done.results):
        if outcomes is not None:
            parts.setdefault(number // tasks_a_setting, []).append(outcomes)
    rows = [row for place, found in parts.items() for row in _rows(settings[place], found)]
    names = list(rows[0])
    return {name: np.array([row[name] for row in rows]) for name in names}, done.interrupted


def _rows(setting: Setting, parts: Sequence[Outcomes]) -> list[dict[str, Any]]:
    """Return a row for each method in one setting."""
    pvalues = np.concatenate([part.pvalues for part in parts], axis=1)
    statistics = np.concatenate([part.statistics for part in parts], axis=1)
    estimates = np.concatenate([part.estimates for part in parts], axis=1)
    common = {
        "world": setting.world.name,
        "n_rows": setting.n_rows,
        "n_anchors": setting.n_anchors,
        "tolerance": setting.tolerance,
        "alpha": setting.noise.alpha,
        "beta": setting.noise.beta,
        "n_features": len(setting.draw(0).features[0]),
    }
    rows = []
    for method, values, z in zip(CURVE_METHODS, pvalues, statistics, strict=True):
        row = _row(method, common, values < SIGNIFICANCE, np.isnan(values))
        row["wrong_way"] = _wrong_way(values < SIGNIFICANCE, z, setting)
        rows.append(row)
    for method, values in zip(BASELINES, estimates, strict=True):
        row = _row(method, common, np.abs(values) > NOTICED, np.isnan(values))
        row["wrong_way"] = _wrong_way(np.abs(values) > NOTICED, values, setting)
        there = values[~np.isnan(values)]
        row["mean_estimate"] = float(there.mean()) if len(there) else np.nan
        row["sd_estimate"] = float(there.std()) if len(there) else np.nan
        rows.append(row)
    return rows


def _row(method: str, common: dict[str, Any], rejected: Any, failed: Any) -> dict[str, Any]:
    """Return a row; what could not be done is neither a rejection nor a run."""
    rejections, failures = int(rejected.sum()), int(failed.sum())
    runs = len(rejected) - failures
    low, high = wilson_interval(rejections, runs) if runs else (np.nan, np.nan)
    return {
        "method": method,
        **common,
        "runs": runs,
        "rejections": rejections,
        "failures": failures,
        "wrong_way": 0,
        "rate": rejections / runs if runs else np.nan,
        "low": low,
        "high": high,
        "mean_estimate": np.nan,
        "sd_estimate": np.nan,
    }


def _wrong_way(rejected: Any, lean: Any, setting: Setting) -> int:
    """Return how many rejections name the class that is flipped less; none where neither is."""
    return int((rejected & (lean * setting.noise.asymmetry < 0)).sum())


def atlas_verdicts(atlas: dict[str, Any]) -> list[str]:
    """Return, for each method, where it must not be used."""
    uniform = under_uniform_noise(atlas)
    broken = levels_not_held(uniform)
    verdicts = []
    for method in in_order(uniform["method"]):
        own = kept(uniform, (uniform["method"] == method) & (uniform["runs"] > 0))
        impossible = int(((uniform["method"] == method) & (uniform["runs"] == 0)).sum())
        also = f" In {impossible} settings it could not be done at all." if impossible else ""
        settings = f"{len(own['world'])} settings under uniform noise"
        worlds = [w for w in in_order(own["world"]) if any(k[:2] == (method, w) for k in broken)]
        called = "rejects" if method in CURVE_METHODS else f"is off by more than {NOTICED:g}"
        if not worlds:
            verdicts.append(
                f"{method}: surely above {HELD:.0%} in none of {settings} ({called} in at most "
                f"{own['rate'].max():.0%} of runs).{also}"
            )
            continue
        there = kept(own, np.isin(own["world"], worlds))
        verdicts.append(
            f"{method}: do not use it on data like {join_quoted(worlds)} ({called} in up to "
            f"{there['rate'].max():.0%} of runs where both classes are flipped alike; surely above "
            f"{HELD:.0%} there).{also}"
        )
    return verdicts
