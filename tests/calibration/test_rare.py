"""A small part of the level with few positives and much noise; the rest is `rare`."""

import numpy as np
import pytest

from tests.calibration.rare import CELLS, CRITICAL, most_rejections

RUNS = 60


def test_level_holds_with_few_positives_and_much_noise():
    """A fit that stopped at a wrong top rejected a third of these."""
    z = np.array([CELLS[0].statistics(5, run) for run in range(RUNS)])
    rejections = (np.abs(z) > CRITICAL).sum(axis=0)
    assert rejections.max() <= most_rejections(RUNS, 2)


@pytest.mark.parametrize(
    "cell", [cell for cell in CELLS if cell.k == 60 and cell.tolerance == 0.02]
)
def test_level_holds_with_many_toss_ups_off_in_their_place(cell):
    """Read as exact places, they flattened the curve: joint rejected a fifth to a half of these."""
    z = np.array([cell.statistics(5, run) for run in range(RUNS)])
    rejections = (np.abs(z) > CRITICAL).sum(axis=0)
    assert rejections.max() <= most_rejections(RUNS, 2)
