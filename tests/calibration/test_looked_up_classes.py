"""A few runs of `looked_up_classes.py`."""

import numpy as np
import pytest
from scipy import stats

from tests.calibration.looked_up_classes import CRITICAL, DESIGNS

RUNS = 25
NAMED = {design.name: design for design in DESIGNS}


@pytest.mark.parametrize("name", ["three, a poor score", "three, hard rows flipped"])
def test_the_truth_is_rarely_rejected(name):
    told = [NAMED[name].judge(52, run) for run in range(RUNS)]
    z = np.array([np.append(found["pairs"], found["rates"]) for found in told])
    most = stats.binom.ppf(1 - 1e-4 / z.shape[1], RUNS, 0.05)
    assert (np.abs(z) > CRITICAL).sum(axis=0).max() <= most


def test_a_leaning_pair_is_named_and_no_other():
    told = [NAMED["three, one pair leans"].judge(53, run)["adjusted"] for run in range(RUNS)]
    named = np.array(told) < 0.05
    assert named[:, 0].mean() > 0.6
    assert named[:, 1:].any(axis=1).sum() <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)
