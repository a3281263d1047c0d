"""The atlas: every method on the same data, and verdicts that follow from the counts."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import evenodds as eo
from evenodds.simulation.rejection import rejection_rate
from evenodds.simulation.worlds import WORLDS
from evenodds.study.atlas import (
    BASELINES,
    GRIDS,
    UNEQUAL,
    atlas_settings,
    atlas_verdicts,
    measure_atlas,
    run_atlas_study,
)

DOCS = Path(__file__).parents[3] / "docs"
METHODS = ("boundary", "joint", "wald")


def rows_of(atlas, **wanted):
    mask = np.all([atlas[name] == value for name, value in wanted.items()], axis=0)
    return {name: column[mask] for name, column in atlas.items()}


@pytest.fixture(scope="module")
def rare():
    settings = [
        setting
        for setting in atlas_settings("small", ["rare"], seed=3)
        if (setting.n_rows, setting.n_anchors, setting.tolerance) == (500, 8, 0.05)
    ]
    return measure_atlas(settings, 10)[0]


def test_the_small_atlas_has_every_world_and_noise():
    settings = list(atlas_settings("small", None, seed=0))
    rows, anchors, tolerances, rates = GRIDS["small"]
    noises = len(rates) + len(UNEQUAL)
    assert len(settings) == len(WORLDS) * len(rows) * len(anchors) * len(tolerances) * noises


@pytest.mark.parametrize("method", METHODS)
def test_an_atlas_counts_what_rejection_rate_counts(rare, method):
    row = rows_of(rare, method=method, alpha=0.05)
    size = {"n_rows": 500, "n_anchors": 8, "shared_tolerance": 0, "runs": 10, "seed": 3}
    expected = rejection_rate("rare", UNEQUAL[0], method=method, **size)
    assert row["rejections"].tolist() == [expected.rejections]


def test_baselines_come_with_their_estimates(rare):
    rows = rows_of(rare, alpha=0.3, beta=0.3)
    named = dict(zip(rows["method"].tolist(), rows["mean_estimate"].tolist(), strict=True))
    assert all(np.isfinite(named[name]) for name in BASELINES)
    assert all(np.isnan(named[name]) for name in METHODS)


def test_a_rejection_that_names_the_wrong_class_is_counted(rare):
    rows = rows_of(rare, alpha=0.05, beta=0.15)
    wrong = dict(zip(rows["method"].tolist(), rows["wrong_way"].tolist(), strict=True))
    # With rare positives these estimates nearly always say that positives are flipped more.
    assert min(wrong["extreme posteriors"], wrong["confident joint"]) >= 9
    assert wrong["boundary"] == wrong["joint"] == 0


def test_under_uniform_noise_there_is_no_wrong_way(rare):
    assert rows_of(rare, alpha=0.3, beta=0.3)["wrong_way"].tolist() == [0] * 5


def test_two_processes_measure_the_same_atlas():
    settings = list(atlas_settings("small", ["paper"], seed=0))[:2]
    one, two = (measure_atlas(settings, 6, workers=workers)[0] for workers in (1, 2))
    assert all(
        np.array_equal(one[name], two[name], equal_nan=one[name].dtype.kind == "f") for name in one
    )


def test_an_interrupt_leaves_finished_runs():
    def stop(done, total):
        if done >= 20:
            raise KeyboardInterrupt

    settings = list(atlas_settings("small", ["paper"], seed=0))[:3]
    atlas, interrupted = measure_atlas(settings, 15, progress=stop)
    assert interrupted
    assert sorted(set(atlas["runs"].tolist())) == [10, 15]


def verdict_table(rejections, runs=200):
    worlds = ["paper", "rare"]
    return {
        "method": np.array(["wald", "wald"]),
        "world": np.array(worlds),
        "n_rows": np.array([500, 500]),
        "n_anchors": np.array([1, 1]),
        "alpha": np.array([0.1, 0.1]),
        "beta": np.array([0.1, 0.1]),
        "runs": np.array([runs, runs]),
        "rejections": np.array(rejections),
        "rate": np.array(rejections) / runs,
    }


def test_a_broken_level_is_named():
    assert atlas_verdicts(verdict_table([10, 60])) == [
        "wald: do not use it on data like 'rare' (rejects in up to 30% of runs where both classes "
        "are flipped alike; surely above 8% there)."
    ]


def test_a_level_that_holds_is_said_to_hold():
    assert atlas_verdicts(verdict_table([10, 14])) == [
        "wald: surely above 8% in none of 2 settings under uniform noise (rejects in at most 7% of "
        "runs)."
    ]


def test_the_study_writes_tables_and_heat_maps(tmp_path):
    written, verdicts, interrupted = run_atlas_study(tmp_path, worlds=["paper"], runs=1)
    names = {path.name for path in written}
    assert {"atlas.parquet", "atlas.csv", "level_tolerance_0.05.png"} <= names
    assert "power_0.20_0.10_tolerance_0.00.svg" in names
    assert len(verdicts) == len(METHODS) + len(BASELINES)
    assert not interrupted


def test_an_unknown_extent_is_refused(tmp_path):
    with pytest.raises(
        eo.InputError, match=r"extent is 'huge' but must be one of 'small' or 'full'"
    ):
        run_atlas_study(tmp_path, extent="huge")


def test_the_page_shows_the_worst_levels_of_its_table():
    with (DOCS / "atlas.csv").open(encoding="utf-8", newline="") as file:
        uniform = [row for row in csv.DictReader(file) if row["alpha"] == row["beta"]]
    worst = defaultdict(float)
    for row in uniform:
        cell = (row["world"], row["method"])
        worst[cell] = max(worst[cell], float(row["rate"]))
    page = (DOCS / "study.md").read_text(encoding="utf-8").split("## The atlas")[1]
    table = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| ")]
    shown = {
        (row[0].split("(")[0].strip(), method): float(rate.strip(" *"))
        for row in table[1:]
        for method, rate in zip(METHODS, row[1:], strict=True)
    }
    assert {world for world, _ in shown} == set(WORLDS)
    assert shown == pytest.approx({cell: worst[cell] for cell in shown}, abs=0.0051)
