"""Gaps at the toss-ups, and whom they are blamed on."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtr
from tests.class_worlds import four_bells, relabel, uniform_flips

from evenodds.inference.multiclass import crossing
from evenodds.inference.multiclass.crossing import (
    Finding,
    Gap,
    Problem,
    SplitAnchors,
    crossing_fit,
    each_alone,
    gap_at,
    pair_by_pair,
    split_log_odds,
    with_any_noise,
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


def drawn(lost, more=()):
    """Return many rows of which a share of class 0 goes to class 1, beyond uniform noise."""
    rng = np.random.default_rng(7)
    X, y = WORLD.draw_rows(20_000, rng)
    flips = uniform_flips(4, 0.15)
    for i, j, share in ((0, 1, lost), *more):
        flips[i, j] += share
        flips[i, i] -= share
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


def test_a_pull_tells_how_a_gap_moves_with_its_asymmetry():
    even = drawn(lost=0.0)
    fit = fit_classes(even.data, even.family)
    gap = gap_at(even, fit, 0)
    h = 0.002
    asymmetries = np.zeros(6)
    asymmetries[0] = h
    point = ClassPoint(fit.point.coefficients, fit.point.rates, asymmetries)
    moved = gap_at(even, climb(even.data, even.family, point, last_gain=1e-12), 0)
    # The pull takes the expected information for the observed one.
    assert (moved.distance - gap.distance) / h == pytest.approx(gap.pull, rel=0.1)


def test_a_freed_split_runs_through_its_toss_ups(problem, null):
    fit = crossing_fit(problem, null, 0)
    gap = gap_at(problem, fit, 0)
    assert abs(gap.distance) < 0.05 * np.sqrt(gap.variance)
    assert fit.point.asymmetries[0] == pytest.approx(-0.15, abs=0.04)
    assert (fit.point.asymmetries[1:] == 0).all()


def test_neighbours_look_guilty_alone_but_not_where_other_flips_are_free(problem, null):
    alone = each_alone(problem, null, [*range(6)])
    apart = pair_by_pair(*with_any_noise(problem, null), [*range(6)])
    neighbours = [pair for pair, sides in enumerate(PAIRS) if len({0, 1} & {*sides}) == 1]
    assert max(abs(alone[pair].statistic) for pair in neighbours) > 4
    assert max(abs(apart[pair].statistic) for pair in neighbours) < 3
    assert apart[0].pvalue < 1e-6
    assert apart[0].asymmetry == pytest.approx(-0.15, abs=0.04)


def test_a_pair_says_the_same_whatever_flips_elsewhere(problem, null):
    """Three in ten of class 2 and one in ten of class 1 are labelled 3; one pair has toss-ups."""
    changed = drawn(lost=0.15, more=((2, 3, 0.3), (1, 3, 0.1)))
    free = with_any_noise(changed, fit_classes(changed.data, changed.family))
    found = pair_by_pair(replace(free[0], anchors=changed.anchors[:1]), free[1], [0])[0]
    assert found.asymmetry == pytest.approx(-0.15, abs=3 * found.standard_error)
    before = pair_by_pair(*with_any_noise(problem, null), [0])[0]
    assert found.standard_error < 1.5 * before.standard_error


def test_any_noise_is_the_likeliest_and_near_the_truth(problem, null):
    free, fit = with_any_noise(problem, null)
    assert fit.here.log_likelihood > null.here.log_likelihood
    flips = free.family.matrix(fit.point.rates, fit.point.asymmetries)
    truth = uniform_flips(4, 0.15)
    truth[0, :2] += -0.15, 0.15
    assert np.abs(flips - truth).max() < 0.04


def test_a_pair_left_out_is_not_tested(problem, null):
    assert sorted(pair_by_pair(*with_any_noise(problem, null), [0, 5])) == [0, 5]


@pytest.mark.parametrize(
    ("there", "z", "size"),
    [((-1.2, -0.2), -1.2, -0.2), ((-5.0, -0.4), -3.5, -0.4), ((4.0, 0.7), 0.0, 0.7)],
)
def test_the_weaker_of_two_readings_counts_and_none_where_they_point_apart(
    problem, null, monkeypatch, there, z, size
):
    readings = iter(
        [
            Finding(-3.5, 0.0005, -0.3, 0.08, 0.1),
            Finding(there[0], 0.5, there[1], 0.17, 0.1),
        ]
    )
    monkeypatch.setattr(crossing, "_read", lambda *given: next(readings))
    monkeypatch.setattr(crossing, "crossing_fit", lambda *given: null)
    found = each_alone(problem, null, [0])[0]
    assert (found.statistic, found.asymmetry) == (z, size)
    assert found.pvalue == pytest.approx(2 * ndtr(-abs(z)))


def test_anchors_that_no_asymmetry_moves_say_nothing(problem, null, monkeypatch):
    blind = replace(gap_at(problem, null, 0), pull=-1e-200)
    assert blind.solved() == (0, 0)
    monkeypatch.setattr(crossing, "gap_at", lambda *given: blind)
    found = each_alone(problem, null, [*range(6)])
    assert {(one.statistic, one.pvalue, one.standard_error) for one in found.values()} == {
        (0.0, 1.0, 1.0)
    }


def test_a_gap_is_closed_along_its_pull():
    assert Gap(0.1, distance=2.0, variance=4.0, pull=-0.5).solved() == (4.1, 4.0)
