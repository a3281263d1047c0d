"""A small part of ``python -m tests.calibration.local``: level and power of the local test."""

import pytest
from scipy import stats

from tests.calibration.local import LEVEL_CELLS, POWER_CELLS, measure

RUNS = 40
CHOSEN = [c for c in LEVEL_CELLS if c.n == 2000 and c.world in {"rare", "plateau", "quadratic"}]


@pytest.mark.parametrize("cell", CHOSEN, ids=lambda cell: cell.name)
def test_level_under_uniform_noise(cell):
    found = measure(cell, RUNS, boundary=False, seed=21)
    assert found.local <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05) / RUNS


def test_power_against_class_conditional_noise():
    cell = next(cell for cell in POWER_CELLS if cell.world == "skewed")
    found = measure(cell, RUNS, boundary=False, seed=22)
    assert found.local > 0.3
