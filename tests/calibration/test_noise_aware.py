"""A small part of ``make calibration``: level and power of the noise-aware tests."""

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from tests.calibration.cells import LEVEL_CELLS, POWER_CELLS, Cell, null_pvalue, null_statistics

RUNS = 60
CHOSEN = [cell for cell in LEVEL_CELLS if cell.n in (1000, 2000)][::3]


def _rejections(cell, seed, runs=RUNS):
    found = np.array([null_statistics(*cell.draw(seed, run)) for run in range(runs)])
    return (2 * stats.norm.sf(np.abs(found)) < 0.05).sum(axis=0)


@pytest.mark.parametrize("cell", CHOSEN, ids=lambda cell: cell.name)
def test_level_under_uniform_noise(cell):
    boundary, joint = _rejections(cell, seed=11)
    upper = stats.binom.ppf(1 - 1e-4, RUNS, 0.05)
    assert boundary <= upper
    assert joint <= upper or cell.tolerance > 0


# Rejection rates at 5% of a separate simulation of 150 to 600 runs.
EXPECTED_POWER = [(0.66, 1.0), (0.91, 1.0), (0.35, 0.96), (0.54, 0.98), (0.75, 0.89), (0.96, 1.0)]


@pytest.mark.parametrize(
    ("cell", "expected"),
    list(zip(POWER_CELLS, EXPECTED_POWER, strict=True))[1::2],
    ids=[cell.name for cell in POWER_CELLS[1::2]],
)
def test_power_against_class_conditional_noise(cell, expected):
    """No worse than measured elsewhere; either estimate has its own error."""
    for count, rate in zip(_rejections(cell, seed=12), expected, strict=True):
        error = np.sqrt(max(rate * (1 - rate), 0.01) * 2 / RUNS)
        assert count / RUNS > rate - 4 * error


def test_repeated_rows_break_the_level_and_groups_restore_it():
    cell = Cell("rare", 500, 4, 0.1, 0.1)
    runs, copies = 15, 4
    alone, grouped = np.zeros(2), np.zeros(2)
    for run in range(runs):
        X, y, anchors = cell.draw(13, run)
        X, y = np.repeat(X, copies, axis=0), np.repeat(y, copies)
        groups = np.repeat(np.arange(500), copies)
        for place, method in enumerate((eo.Boundary(), eo.Joint())):
            alone[place] += null_pvalue(X, y, anchors, method) < 0.05
            grouped[place] += null_pvalue(X, y, anchors, method, groups) < 0.05
    assert alone.min() > 0.18 * runs
    assert grouped.max() <= stats.binom.ppf(1 - 1e-4, runs, 0.07)


@pytest.mark.parametrize("method", ["boundary", "joint"])
def test_intervals_cover_the_truth(method):
    cell = Cell("paper, near", 1000, 4, 0.2, 0.1)
    runs = 40
    covered = 0
    for run in range(runs):
        interval = eo.asymmetry_test(*cell.draw(14, run), method=method).confidence_interval()
        covered += interval.low <= -0.1 <= interval.high
    assert covered >= stats.binom.ppf(1e-4, runs, 0.95)


def test_joint_interval_on_clean_labels_is_narrow():
    cell = Cell("paper", 1000, 4, 0.0, 0.0)
    for run in range(10):
        interval = eo.asymmetry_test(*cell.draw(15, run), method="joint").confidence_interval()
        assert interval.high - interval.low < 0.2


def test_bootstrap_holds_the_level_in_small_samples():
    cell = Cell("rare", 300, 2, 0.15, 0.15)
    runs, rejections = 15, 0
    for run in range(runs):
        method = eo.Boundary("equal", "bootstrap", eo.Bootstrap(draws=99, seed=run))
        rejections += null_pvalue(*cell.draw(16, run), method) < 0.05
    assert rejections <= stats.binom.ppf(1 - 1e-4, runs, 0.05)
