"""A few runs of `stated_classes.py`."""

import numpy as np
import pytest
from scipy import stats

from tests.calibration.stated_classes import CRITICAL, DESIGNS

RUNS = 25
NAMED = {design.name: design for design in DESIGNS}


@pytest.mark.parametrize(
    "name", ["three, even", "three, of unequal size, a poor score", "five, a vague expert"]
)
def test_the_truth_is_rarely_rejected(name):
    told = [NAMED[name].judge(62, run) for run in range(RUNS)]
    z = np.array([found["pairs"] for found in told])
    most = stats.binom.ppf(1 - 1e-4 / z.shape[1], RUNS, 0.05)
    assert (np.abs(z) > CRITICAL).sum(axis=0).max() <= most


@pytest.mark.parametrize("name", ["three, one pair leans", "five, one pair leans"])
def test_a_leaning_pair_is_named_and_no_other(name):
    told = [NAMED[name].judge(63, run) for run in range(RUNS)]
    named = np.array([found["adjusted"] for found in told]) < 0.05
    assert named[:, 0].mean() > 0.9
    assert named[:, 1:].any(axis=1).sum() <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)


def test_a_score_that_knows_nothing_cannot_tell():
    told = [NAMED["three, a score that knows nothing"].judge(64, run) for run in range(RUNS)]
    found = [one for one in told if one is not None]
    assert len(found) <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)
