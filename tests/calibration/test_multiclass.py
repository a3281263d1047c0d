"""A small part of ``python -m tests.calibration.multiclass``."""

import pytest
from scipy import stats

from tests.calibration.class_cells import LEVEL_CELLS, PAIR_CELLS, TWO_PAIRS, SeparatedCell
from tests.calibration.multiclass import found_in, told

RUNS = 20
MOST = stats.binom.ppf(1 - 1e-4, RUNS, 0.05)
FEW = 10


@pytest.mark.parametrize("cell", [LEVEL_CELLS[0], LEVEL_CELLS[2]], ids=lambda cell: cell.name)
def test_uniform_noise_is_not_flagged_beyond_the_band(cell):
    assert found_in(cell, RUNS, seed=31).named.any(axis=1).sum() <= MOST


def test_the_leaning_pair_is_found_and_others_are_not_flagged_beyond_the_band():
    found = found_in(PAIR_CELLS[0], RUNS, seed=32)
    assert found.named[:, 0].sum() >= 0.6 * RUNS
    assert found.named[:, 1:].any(axis=1).sum() <= MOST


def test_even_pairs_are_not_named_where_several_lean_and_intervals_hold():
    found = found_in(TWO_PAIRS, RUNS, seed=33)
    even = TWO_PAIRS.asymmetries() == 0
    assert found.named[:, even].any(axis=1).sum() <= MOST
    assert (found.told & ~found.covered).sum(axis=0).max() <= MOST


@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest"])
def test_classes_that_hardly_overlap_are_withheld_and_not_flagged_beyond_the_band(scheme):
    found = told(SeparatedCell("wine", scheme), FEW, seed=33)
    assert found.flagged <= stats.binom.ppf(1 - 1e-4, FEW, 0.05)
    assert found.unlike == 0
    assert found.withheld.any(axis=1).sum() >= 0.8 * FEW
    assert found.doubted >= found.withheld.any(axis=1).sum()
