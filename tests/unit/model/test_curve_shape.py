import numpy as np
import pytest

import evenodds as eo
from evenodds.model.curve_shape import flattening_statistic
from evenodds.model.logistic import fit_rows
from evenodds.rows.memory import read_rows
from evenodds.simulation.worlds import two_bells


def statistic(X, y, **details):
    rows = read_rows(X, y, **details)
    return flattening_statistic(rows, fit_rows(rows))


def by_hand(X, y, weights):
    """Score test for one more column, 1 - 2 p, with all rows at once."""
    fit = eo.fit_logistic(X, y, sample_weight=weights)
    design = np.column_stack([np.ones(len(X)), X])
    fitted = 1 / (1 + np.exp(-design @ fit.coefficients))
    extra = 1 - 2 * fitted
    curvature = weights * fitted * (1 - fitted)
    shared = design.T @ (curvature * extra)
    variance = curvature @ extra**2 - shared @ fit.covariance @ shared
    return (weights * (y - fitted)) @ extra / np.sqrt(variance)


def test_the_statistic_is_a_score_test(labelled):
    weights = 1.0 + np.arange(300) % 3
    expected = by_hand(labelled.X, labelled.y, weights)
    assert statistic(labelled.X, labelled.y, sample_weight=weights) == pytest.approx(
        expected, rel=1e-9
    )


def test_a_column_far_from_zero_does_not_matter(labelled):
    near = statistic(labelled.X, labelled.y)
    assert statistic(labelled.X + 1e4, labelled.y) == pytest.approx(near, rel=1e-8)


def test_flipped_labels_make_it_negative():
    rng = np.random.default_rng(1)
    X, y = two_bells().draw_rows(4000, rng)
    assert statistic(X, eo.UniformNoise(0.2).flip(y, rng)) < -5


def test_a_column_of_two_values_has_nothing_to_flatten():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    assert statistic(X, np.arange(100) % 3 == 0) == 0.0
