"""A small part of the level with few positives and much noise; the rest is `rare`."""

import numpy as np

from tests.calibration.rare import CELLS, CRITICAL, most_rejections

RUNS = 60


def test_level_holds_with_few_positives_and_much_noise():
    """A fit that stopped at a wrong top rejected a third of these."""
    z = np.array([CELLS[0].statistics(5, run) for run in range(RUNS)])
    rejections = (np.abs(z) > CRITICAL).sum(axis=0)
    assert rejections.max() <= most_rejections(RUNS, 2)
