"""A small part of ``python -m tests.calibration.multiclass``."""

import pytest
from scipy import stats

from tests.calibration.class_cells import LEVEL_CELLS, PAIR_CELLS, SeparatedCell
from tests.calibration.multiclass import rejections, told

RUNS = 20
MOST = stats.binom.ppf(1 - 1e-4, RUNS, 0.05)
FEW = 10


@pytest.mark.parametrize("cell", [LEVEL_CELLS[0], LEVEL_CELLS[2]], ids=lambda cell: cell.name)
def test_uniform_noise_is_not_flagged_beyond_the_band(cell):
    _, counted, _ = rejections(cell, RUNS, seed=31)
    assert counted.any(axis=1).sum() <= MOST


def test_the_leaning_pair_is_found_and_others_are_not_flagged_beyond_the_band():
    _, counted, _ = rejections(PAIR_CELLS[0], RUNS, seed=32)
    assert counted[:, 0].sum() >= 0.6 * RUNS
    assert counted[:, 1:].any(axis=1).sum() <= MOST


@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest"])
def test_classes_that_hardly_overlap_are_withheld_and_not_flagged_beyond_the_band(scheme):
    found = told(SeparatedCell("wine", scheme), FEW, seed=33)
    assert found.flagged <= stats.binom.ppf(1 - 1e-4, FEW, 0.05)
    assert found.unlike == 0
    assert found.withheld.any(axis=1).sum() >= 0.8 * FEW
    assert found.doubted >= found.withheld.any(axis=1).sum()
