"""A small part of ``python -m tests.calibration.local``: level and power of the local test."""

import pytest
from scipy import stats

from tests.calibration.local import (
    LEVEL_CELLS,
    POWER_CELLS,
    RATES,
    kink_coverage,
    measure,
    rate_coverage,
)

RUNS = 20
CHOSEN = [
    cell
    for cell in LEVEL_CELLS
    if cell.n == 2000
    and cell.tolerance == 0
    and (cell.world, cell.k) in {("rare", 8), ("plateau", 8), ("quadratic", 1)}
]


@pytest.mark.parametrize("cell", CHOSEN, ids=lambda cell: cell.name)
def test_level_under_uniform_noise(cell):
    found = measure(cell, RUNS, boundary=False, seed=21)
    assert found.local <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05) / RUNS


def test_intervals_of_flip_rates_cover_the_truth():
    assert rate_coverage(RATES[0], RUNS, seed=23).min() >= stats.binom.ppf(1e-4, RUNS, 0.95) / RUNS


def test_intervals_of_flip_rates_cover_the_truth_half_a_spread_past_a_kink():
    assert kink_coverage(0.5, 1500, RUNS).min() >= stats.binom.ppf(1e-4, RUNS, 0.95) / RUNS


def test_power_against_class_conditional_noise():
    cell = next(cell for cell in POWER_CELLS if cell.world == "skewed")
    found = measure(cell, RUNS, boundary=False, seed=22)
    assert found.local > 0.3
