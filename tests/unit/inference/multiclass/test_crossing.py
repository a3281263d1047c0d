"""Gaps at the toss-ups, and whom they are blamed on."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtr
from tests.class_worlds import four_bells, relabel, uniform_flips

from evenodds.inference.multiclass.crossing import (
    Finding,
    Gaps,
    Problem,
    SplitAnchors,
    _weaker,
    each_alone,
    freed_fit,
    gaps_at,
    split_log_odds,
    strongest_first,
)
from evenodds.model.softmax import (
    ClassData,
    ClassPoint,
    climb,
    fit_classes,
    pairs_family,
)

PAIRS = list(combinations(range(4), 2))
WORLD = four_bells()


def with_one(points):
    return np.column_stack([np.ones(len(points)), points])


def drawn(lost):
    """Return many rows of which a share of class 0 goes to class 1, beyond uniform noise."""
    rng = np.random.default_rng(7)
    X, y = WORLD.draw_rows(20_000, rng)
    flips = uniform_flips(4, 0.15)
    flips[0, 1] += lost
    flips[0, 0] -= lost
    anchors = [
        SplitAnchors((i,), (j,), with_one(WORLD.draw_anchors((i,), (j,), 4, rng).points), 0.0, 0.0)
        for i, j in PAIRS
    ]
    data = ClassData(with_one(X), relabel(y, flips, rng), None, 4)
    return Problem(data, pairs_family(4, PAIRS), anchors)


@pytest.fixture(scope="module")
def problem():
    return drawn(lost=0.15)


@pytest.fixture(scope="module")
def null(problem):
    return fit_classes(problem.data, problem.family)


def _alone(problem, null):
    """Return z of each pair where no other leans."""
    gaps = gaps_at(problem, null)
    solved = [gaps.solved([pair]) for pair in range(6)]
    return [float(found[0] / np.sqrt(covariance[0, 0])) for found, covariance in solved]


@pytest.mark.parametrize("sides", [((0,), (1,)), ((3,), (0, 1)), ((0, 3), (1, 2))])
def test_the_gradient_of_a_split_is_its_slope(sides):
    rng = np.random.default_rng(0)
    group = SplitAnchors(*sides, rng.normal(size=(3, 3)), 0.0, 0.0)
    theta, h = rng.normal(size=9), 1e-6
    _, gradient = split_log_odds(group, theta.reshape(3, 3))
    slopes = [
        (
            split_log_odds(group, (theta + h * axis).reshape(3, 3))[0]
            - split_log_odds(group, (theta - h * axis).reshape(3, 3))[0]
        )
        / (2 * h)
        for axis in np.eye(9)
    ]
    assert gradient == pytest.approx(slopes, abs=1e-7)


def test_pulls_tell_how_gaps_move_with_an_asymmetry():
    even = drawn(lost=0.0)
    fit = fit_classes(even.data, even.family)
    gaps = gaps_at(even, fit)
    h = 0.002
    asymmetries = np.zeros(6)
    asymmetries[0] = h
    point = ClassPoint(fit.point.coefficients, fit.point.rates, asymmetries)
    moved = gaps_at(even, climb(even.data, even.family, point, last_gain=1e-12))
    # The pulls take the expected information for the observed one.
    slopes = (moved.distances - gaps.distances) / h
    assert slopes == pytest.approx(gaps.pulls[:, 0], abs=0.1 * np.abs(gaps.pulls).max())


def test_freed_pairs_run_through_their_toss_ups(problem, null):
    fit, gaps = freed_fit(problem, null, [0])
    assert abs(gaps.distances[0]) < 0.05 * np.sqrt(gaps.covariance[0, 0])
    assert fit.point.asymmetries[0] == pytest.approx(-0.15, abs=0.04)
    assert (fit.point.asymmetries[1:] == 0).all()


def test_neighbours_look_guilty_alone_but_not_with_the_culprit_free(problem, null):
    alone, _ = each_alone(problem, null, [*range(6)])
    apart, _ = strongest_first(problem, null, [*range(6)])
    neighbours = [pair for pair, sides in enumerate(PAIRS) if len({0, 1} & {*sides}) == 1]
    assert max(abs(alone[pair].statistic) for pair in neighbours) > 4
    assert max(abs(apart[pair].statistic) for pair in neighbours) < 3
    assert apart[0].adjusted < 0.01
    assert apart[0].overall < 1e-20
    assert apart[0].asymmetry == pytest.approx(-0.15, abs=0.04)


def test_adjusted_pvalues_count_the_pairs_still_in_question(problem, null):
    found, _ = strongest_first(problem, null, [*range(6)])
    least = min(2 * ndtr(-abs(gap)) for gap in _alone(problem, null))
    assert min(one.overall for one in found.values()) == pytest.approx(6 * least, rel=1e-9)
    assert all(one.adjusted >= one.pvalue for one in found.values())


def test_a_pair_left_out_is_neither_tested_nor_counted(problem, null):
    found, _ = strongest_first(problem, null, [0, 5])
    assert sorted(found) == [0, 5]
    assert found[0].overall == pytest.approx(2 * 2 * ndtr(-abs(_alone(problem, null)[0])), rel=1e-9)


def test_the_weaker_of_two_readings_counts_and_none_where_they_point_apart():
    even = Finding(-3.5, 0.0005, -0.3, 0.08, 0.1)
    there = Finding(-1.2, 0.23, -0.2, 0.17, 0.1)
    both = _weaker(even, there)
    assert (both.statistic, both.asymmetry) == (-1.2, -0.2)
    assert both.pvalue == pytest.approx(0.23, abs=0.001)
    apart = _weaker(even, replace(there, statistic=4.0, asymmetry=0.7))
    assert (apart.statistic, apart.pvalue) == (0.0, 1.0)


def test_a_pair_is_read_with_all_others_free(problem, null):
    """Also where the others were not found to lean."""
    found, _ = strongest_first(problem, null, [*range(6)])
    _, gaps = freed_fit(problem, null, [*range(6)])
    estimates, covariance = gaps.solved([*range(6)])
    assert [found[pair].asymmetry for pair in range(6)] == pytest.approx(estimates, abs=1e-9)
    errors = [found[pair].standard_error for pair in range(6)]
    assert errors == pytest.approx(np.sqrt(covariance.diagonal()), rel=1e-9)
    even, at_even = freed_fit(problem, null, [1, 2, 3, 4, 5])
    assert even.point.asymmetries[0] == 0
    beside, spread = at_even.solved([1, 2, 3, 4, 5, 0])
    assert abs(found[0].statistic) <= abs(beside[-1]) / np.sqrt(spread[-1, -1]) * (1 + 1e-9)
    assert found[0].adjusted >= found[0].pvalue > found[0].overall


def test_anchors_that_no_asymmetry_moves_say_nothing(problem, null, monkeypatch):
    blind = replace(gaps_at(problem, null), pulls=np.zeros((6, 6)))
    monkeypatch.setattr(
        "evenodds.inference.multiclass.crossing.gaps_at", lambda problem, fit: blind
    )
    found, _ = each_alone(problem, null, [*range(6)])
    assert {(one.statistic, one.pvalue, one.standard_error) for one in found.values()} == {
        (0.0, 1.0, 1.0)
    }


def test_an_asymmetry_that_moves_nothing_has_no_size():
    gaps = Gaps(np.zeros(2), np.array([1.0, 2.0]), np.eye(2), np.diag([-1e-200, -0.5]))
    found, covariance = gaps.solved([0])
    assert (found, covariance) == (0, 0)
    found, _ = gaps.solved([0, 1])
    assert np.allclose(found, [0, 4])
