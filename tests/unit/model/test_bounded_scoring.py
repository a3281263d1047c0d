"""Scoring within bounds, on a hill whose top is known."""

import numpy as np
import pytest

from evenodds.model.bounded_scoring import Place, climb_bounded

CURVATURE = np.array([[2.0, 0.5, 0.3], [0.5, 1.5, -0.4], [0.3, -0.4, 1.0]])
TOP = np.array([1.0, -2.0, 2.0])


def look(point):
    """See a quadratic hill, the last parameter bounded; information is off by a factor."""
    off = point - TOP
    return Place(point, -off @ CURVATURE @ off / 2, -CURVATURE @ off, 1.3 * CURVATURE, point[-1:])


def climbed(low, high, begin=(0.0, 0.0, 0.5), last_gain=1e-16, **settings):
    """Climb with the last parameter between two bounds."""
    bounds = np.array([low]), np.array([high])

    def move(place, step):
        ahead = place.here + step
        ahead[-1:] = np.clip(ahead[-1:], *bounds)
        return look(ahead)

    start = look(np.array([*begin[:2], np.clip(begin[2], low, high)]))
    return climb_bounded(start, move, bounds, last_gain, **settings)


def test_the_top_is_reached_where_no_bound_is_in_the_way():
    end = climbed(-5.0, 5.0)
    assert end.converged
    assert end.free.all()
    assert end.place.here == pytest.approx(TOP, abs=1e-7)


@pytest.mark.parametrize(
    ("low", "high", "last"), [(0.0, 1.0, 1.0), (2.5, 4.0, 2.5), (0.3, 0.3, 0.3)]
)
def test_the_others_make_the_best_of_a_parameter_on_its_bound(low, high, last):
    end = climbed(low, high)
    inner = np.linalg.solve(CURVATURE[:2, :2], CURVATURE[:2, 2] * (last - TOP[2]))
    assert end.converged
    assert not end.free.any()
    assert end.place.here == pytest.approx(np.append(TOP[:2] - inner, last), abs=1e-7)


@pytest.mark.parametrize("short", [0.0, 1e-12, 1e-10, 1e-9])
def test_what_is_next_to_its_bound_is_on_it(short):
    """Whether a parameter counts as free must not hang on the rounding of where a climb began."""
    inner = np.linalg.solve(CURVATURE[:2, :2], CURVATURE[:2, 2] * (1 - TOP[2]))
    end = climbed(0.0, 1.0, begin=(*(TOP[:2] - inner), 1 - short), last_gain=1e-8)
    assert end.converged
    assert not end.free.any()
    assert end.place.here[-1] == 1


def test_a_climb_ends_before_a_step_that_arrives_somewhere_known():
    whole = climbed(-5.0, 5.0)
    near = 0.1 * np.abs(TOP).max()
    end = climbed(
        -5.0, 5.0, arriving=lambda place, step: np.abs(place.here + step - TOP).max() < near
    )
    assert not end.converged
    assert end.n_steps < whole.n_steps
    assert np.abs(end.place.here - TOP).max() >= near


def test_a_climb_that_may_go_nowhere_is_given_up_where_it_is():
    place = look(np.zeros(3))
    end = climb_bounded(place, lambda place, step: None, (np.zeros(1), np.ones(1)), 1e-16)
    assert not end.converged
    assert end.place is place
