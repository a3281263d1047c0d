"""A few runs of `assisted_audit.py`."""

import numpy as np
import pytest
from scipy import stats

from tests.calibration.assisted_audit import (
    CRITICAL,
    DRAWN,
    GROUPS,
    LOOKED,
    RATERS,
    SHARES,
    drawn_judged,
    shares_judged,
)

RUNS = 60


@pytest.mark.parametrize("design", SHARES, ids=lambda one: one.name)
def test_intervals_rarely_miss_the_share(design):
    z = shares_judged(design, RUNS)[:, 0]
    assert (np.abs(z) > CRITICAL).sum() <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)


@pytest.mark.parametrize("place", [1, 4, 7])
def test_equal_rates_are_rarely_rejected(place):
    rejected = sum(GROUPS[place].pvalue(43, run) < 0.05 for run in range(RUNS))
    assert rejected <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)


def test_unequal_rates_are_found():
    assert sum(GROUPS[8].pvalue(43, run) < 0.05 for run in range(RUNS)) > RUNS / 3


@pytest.mark.parametrize("place", [4, 6, 8, 12])
def test_rows_drawn_with_chances_rarely_reject_the_truth(place):
    z, _, _, doubted = drawn_judged(DRAWN[place], RUNS).T
    assert (np.abs(z) > CRITICAL).sum() <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)
    assert not doubted.any()


@pytest.mark.parametrize("place", [0, 5])
def test_all_looks_together_rarely_reject_equal_rates(place):
    rejected = sum(LOOKED[place].stops(47, run)[1] for run in range(RUNS))
    assert rejected <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)


def test_looks_stop_early_where_rates_differ():
    rows, rejected, _ = np.array([LOOKED[6].stops(47, run) for run in range(RUNS)]).T
    assert rejected.mean() > 0.8
    assert rows.mean() < 170


@pytest.mark.parametrize("place", [1, 2])
def test_the_majority_of_raters_rarely_rejects_the_truth(place):
    z = np.abs([RATERS[place].judge(49, run) for run in range(RUNS)]) > CRITICAL
    most = stats.binom.ppf(1 - 1e-4, RUNS, 0.05)
    assert z[:, 2].sum() <= most
    assert (place == 2) == (z[:, 0].sum() > most)  # of rare positives one rater is no truth
