"""Corrected losses restore the boundary, in samples: small, seeded, quick."""

import functools

import numpy as np
import pytest

from evenodds.study.losses import CLASS_CONDITIONAL, UNIFORM
from tests.calibration.losses import Restoring

RUNS = 30
MOVED = Restoring("rare", CLASS_CONDITIONAL, 4000)
EVENLY = Restoring("rare", UNIFORM, 4000)


@functools.cache
def shifts(setting, method):
    """Return distances from the true boundary over the runs; nan where there is no minimum."""
    return setting.over_runs(method, RUNS)[0]


def root_mean_square(values):
    return np.sqrt(np.mean(values**2))


@pytest.mark.parametrize(
    ("setting", "expected"), [(MOVED, 1.370), (EVENLY, 0.279)], ids=["moved", "evenly"]
)
def test_the_plain_loss_errs_as_far_as_the_population_says(setting, expected):
    found = shifts(setting, "logistic")
    # Four standard errors, and a bias that falls with the rows.
    band = 4 * found.std() / np.sqrt(RUNS) + 0.03
    assert found.mean() == pytest.approx(expected, abs=band)


@pytest.mark.parametrize("setting", [MOVED, EVENLY], ids=["moved", "evenly"])
def test_forward_correction_restores_the_boundary(setting):
    found = shifts(setting, "forward")
    assert abs(found.mean()) < 4 * found.std() / np.sqrt(RUNS) + 0.03
    assert root_mean_square(found) < root_mean_square(shifts(setting, "logistic")) / 3


def test_costs_restore_the_boundary_of_a_symmetric_loss():
    found = root_mean_square(shifts(MOVED, "sigmoid, costs"))
    assert found < root_mean_square(shifts(MOVED, "sigmoid")) / 5


def test_backward_correction_restores_it_where_it_has_a_minimum():
    found = shifts(MOVED, "backward")
    there = found[~np.isnan(found)]
    assert len(there) >= 0.7 * RUNS
    assert root_mean_square(there) < root_mean_square(shifts(MOVED, "logistic")) / 5


def test_forward_correction_is_more_precise_than_backward():
    backward, forward = shifts(MOVED, "backward"), shifts(MOVED, "forward")
    there = ~np.isnan(backward)
    assert root_mean_square(forward[there]) < root_mean_square(backward[there])
