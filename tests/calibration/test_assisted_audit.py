"""A few runs of `assisted_audit.py`."""

import numpy as np
import pytest
from scipy import stats

from tests.calibration.assisted_audit import CRITICAL, GROUPS, SHARES, shares_judged

RUNS = 60


@pytest.mark.parametrize("design", SHARES, ids=lambda one: one.name)
def test_intervals_rarely_miss_the_share(design):
    z = shares_judged(design, RUNS)[:, 0]
    assert (np.abs(z) > CRITICAL).sum() <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)


@pytest.mark.parametrize("place", [1, 4])
def test_equal_rates_are_rarely_rejected(place):
    rejected = sum(GROUPS[place].pvalue(43, run) < 0.05 for run in range(RUNS))
    assert rejected <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)


def test_unequal_rates_are_found():
    assert sum(GROUPS[6].pvalue(43, run) < 0.05 for run in range(RUNS)) > RUNS / 3
