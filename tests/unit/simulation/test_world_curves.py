"""Indices and curves: what a posterior is made of."""

import numpy as np
import pytest
from scipy import stats

from evenodds.simulation.world import LOGISTIC, LinearIndex, PlateauLink, ProbitLink

POINTS = np.random.default_rng(1).normal(size=(40, 2))
WANTED = np.linspace(-3, 3, 40)
INDICES = {
    "linear": LinearIndex(np.array([-1.0, 2.0, 0.5])),
    "linear, along a direction": LinearIndex(np.array([-1.0, 2.0, 0.5]), np.array([1.0, -1.0])),
    "bent": LinearIndex(np.array([-1.0, 2.0, 0.5]), np.array([1.0, 0.0]), bend=0.75),
}
LINKS = {"logistic": LOGISTIC, "plateau": PlateauLink(0.05, 0.85), "probit": ProbitLink()}


@pytest.mark.parametrize("name", INDICES)
def test_points_are_moved_to_exactly_the_index_wanted(name):
    index = INDICES[name]
    assert index.of(index.move_to(POINTS, WANTED)) == pytest.approx(WANTED, abs=1e-12)


@pytest.mark.parametrize("name", INDICES)
def test_moving_leaves_the_points_it_was_given(name):
    before = POINTS.copy()
    INDICES[name].move_to(POINTS, WANTED)
    assert (before == POINTS).all()


def test_a_linear_index_moves_points_along_its_slopes():
    moves = INDICES["linear"].move_to(POINTS, WANTED) - POINTS
    assert moves[:, 1] == pytest.approx(moves[:, 0] / 4, abs=1e-12)


def test_a_linear_index_moves_points_along_the_direction_it_is_given():
    moves = INDICES["linear, along a direction"].move_to(POINTS, WANTED) - POINTS
    assert moves[:, 1] == pytest.approx(-moves[:, 0], abs=1e-12)


def test_a_bent_index_moves_points_along_the_first_feature():
    moved = INDICES["bent"].move_to(POINTS, WANTED)
    assert (moved[:, 1] == POINTS[:, 1]).all()


def test_a_bent_index_is_linear_but_for_a_square():
    expected = -1 + POINTS @ [2.0, 0.5] + 0.75 * POINTS[:, 1] ** 2
    assert INDICES["bent"].of(POINTS) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("name", LINKS)
def test_a_curve_and_its_inverse_undo_each_other(name):
    link = LINKS[name]
    assert link.index_at(link.probability(WANTED)) == pytest.approx(WANTED, abs=1e-9)


@pytest.mark.parametrize("name", LINKS)
def test_a_curve_rises(name):
    assert (np.diff(LINKS[name].probability(WANTED)) > 0).all()


def test_the_logistic_curve_is_the_logistic_distribution_function():
    assert LOGISTIC.probability(WANTED) == pytest.approx(stats.logistic.cdf(WANTED), rel=1e-14)


def test_the_probit_curve_is_the_normal_distribution_function():
    assert ProbitLink().probability(WANTED) == pytest.approx(stats.norm.cdf(WANTED), rel=1e-12)


def test_a_plateau_levels_off_at_both_ends():
    ends = LINKS["plateau"].probability(np.array([-1e4, 1e4]))
    assert ends == pytest.approx([0.05, 0.85], abs=1e-15)
