"""A small part of ``python -m tests.calibration.contour``: level and power of the ladder."""

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from tests.calibration.contour import LEVEL_CELLS, POWER_CELLS, rejections, true_rungs

RUNS = 50
CHOSEN = [LEVEL_CELLS[place] for place in (0, 2, 8, 10, 14, 16)]
UNEVEN = [cell for cell in POWER_CELLS if cell.truth == "class-conditional"]
BY_FEATURES = [cell for cell in POWER_CELLS if cell.truth == "instance-dependent" and cell.n < 9000]


def _name(cell):
    return f"{cell.name} n={cell.n} flips={cell.alpha:g}/{cell.beta:g}"


@pytest.mark.parametrize("cell", CHOSEN, ids=_name)
def test_the_ladder_rarely_climbs_past_the_truth(cell):
    found = rejections(cell, RUNS, 31, "spline")
    upper = stats.binom.ppf(1 - 1e-4, RUNS, 0.05)
    assert found[:, : true_rungs(cell)[0] + 1].all(axis=1).sum() <= upper


@pytest.mark.parametrize("cell", UNEVEN, ids=_name)
def test_unequal_flips_are_found(cell):
    assert rejections(cell, RUNS, 32, "spline")[:, :2].all(axis=1).mean() > 0.5


@pytest.mark.parametrize("cell", BY_FEATURES, ids=_name)
def test_noise_that_depends_on_the_features_is_found(cell):
    assert rejections(cell, RUNS, 33, "spline").all(axis=1).mean() > 0.6


@pytest.mark.parametrize("n_groups", [6, 12])
def test_few_groups_do_not_climb_too_often(n_groups):
    past = 0
    for run in range(RUNS):
        X, labels, anchors, _ = LEVEL_CELLS[1].draw(34, run)
        groups = np.arange(len(labels)) % n_groups
        past += eo.contour_test(X, labels, anchors, groups=groups).pvalue < 0.05
    assert past <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)
