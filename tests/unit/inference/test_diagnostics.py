"""Each diagnostic speaks up when it should, and only then."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.simulation.worlds import two_bells


def _named(result, name):
    return next(check for check in result.diagnostics if check.name == name)


@pytest.fixture(scope="module")
def world():
    return two_bells()


@pytest.fixture(scope="module")
def sound(world):
    rng = np.random.default_rng(4)
    X, y = world.draw_rows(3000, rng)
    labels = eo.UniformNoise(0.1).flip(y, rng)
    anchors = eo.Anchors([[0.5, -0.5], [-1.0, 1.0], [0.0, 0.0], [1.5, -1.5]], tolerance=0.05)
    return X, labels, anchors


def test_sound_data_raise_no_doubt(sound):
    result = eo.asymmetry_test(*sound)
    assert [check.name for check in result.diagnostics if check.concern] == []


def test_a_misplaced_anchor_is_named(sound):
    X, labels, anchors = sound
    points = anchors.points.copy()
    points[2] = [1.2, 1.2]  # clearly positive, not a toss-up
    check = _named(
        eo.asymmetry_test(X, labels, eo.Anchors(points, tolerance=0.05)), "anchors and curve"
    )
    assert check.concern
    assert "anchor 3 is furthest" in check.message


def test_an_anchor_outside_the_data_is_named(sound):
    X, labels, anchors = sound
    points = np.vstack([anchors.points, [40.0, -40.0]])
    check = _named(
        eo.asymmetry_test(X, labels, eo.Anchors(points, tolerance=0.05)), "range of the data"
    )
    assert check.concern
    assert "anchor 5 in column 0" in check.message


def test_a_bent_curve_fails_the_link_test(world):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(6000, 2))
    log_odds = 2 * X[:, 0] + 1.2 * X[:, 0] ** 2 + X[:, 1] - 1
    labels = (rng.random(6000) < 1 / (1 + np.exp(-log_odds))).astype(int)
    check = _named(eo.asymmetry_test(X, labels, eo.Anchors([[0.2, 0.2]])), "link")
    assert check.concern


def test_a_logistic_curve_passes_the_link_test_at_its_level(world):
    rng = np.random.default_rng(7)
    flagged = 0
    for _ in range(25):
        X, y = world.draw_rows(1500, rng)
        labels = eo.UniformNoise(0.15).flip(y, rng)
        result = eo.asymmetry_test(X, labels, eo.Anchors([[0.0, 0.0]]))
        flagged += _named(result, "link").pvalue < 0.05
    assert flagged <= 6  # the 1e-4 point of a binomial with chance 0.05 in 25


def test_the_tipping_point_overturns_the_verdict(world):
    rng = np.random.default_rng(8)
    X, y = world.draw_rows(2000, rng)
    labels = eo.ClassConditionalNoise(0.25, 0.05).flip(y, rng)
    points = np.array([[0.5, -0.5], [-1.0, 1.0]])
    shift = _named(eo.asymmetry_test(X, labels, eo.Anchors(points, tolerance=0)), "tipping point")
    for share, rejected in ((0.9, True), (1.1, False)):
        stated = 0.5 + share * shift.statistic
        anchors = eo.Anchors(points, posterior=stated, tolerance=0)
        assert (eo.asymmetry_test(X, labels, anchors).pvalue < 0.05) == rejected


def test_a_plateau_sets_boundary_and_joint_apart(world):
    """A posterior that levels off at 0.95 looks like flipped positives to the joint test."""
    rng = np.random.default_rng(0)
    X, _ = world.draw_rows(4000, rng)
    posterior = 0.95 / (1 + np.exp(-2 * X.sum(axis=1)))
    labels = (rng.random(4000) < posterior).astype(int)
    # The true posterior is 1/2 where the logistic part is 0.5 / 0.95.
    where = np.log(0.5 / 0.45) / 4
    anchors = eo.Anchors([[where, where], [where + 1, where - 1]], tolerance=0.1)
    result = eo.asymmetry_test(X, labels, anchors)
    assert "the shape, not the anchors" in _named(result, "boundary and joint").message


def test_contradictory_strict_anchors_leave_joint_unavailable(sound):
    X, labels, _ = sound
    points = [[0.5, -0.5], [-1.0, 1.1], [0.1, 0.0], [1.5, -1.4]]
    check = _named(
        eo.asymmetry_test(X, labels, eo.Anchors(points, tolerance=0)), "boundary and joint"
    )
    assert "The joint test is not available: no straight boundary" in check.message


def test_joint_refuses_contradictory_strict_anchors(sound):
    X, labels, _ = sound
    points = [[0.5, -0.5], [-1.0, 1.1], [0.1, 0.0], [1.5, -1.4]]
    with pytest.raises(eo.AnchorError, match="passes through all 4 strict anchors"):
        eo.asymmetry_test(X, labels, eo.Anchors(points, tolerance=0), method="joint")


def test_joint_without_anchors_says_what_it_rests_on(sound):
    X, labels, _ = sound
    check = _named(eo.asymmetry_test(X, labels, method="joint"), "no anchors")
    assert check.concern


def test_few_rows_are_named(world):
    rng = np.random.default_rng(10)
    X, y = world.draw_rows(60, rng)
    labels = eo.UniformNoise(0.2).flip(y, rng)
    check = _named(eo.asymmetry_test(X, labels, eo.Anchors([[0.0, 0.0]])), "rows per parameter")
    assert check.concern == (min(labels.sum(), 60 - labels.sum()) / 3 < 10)


def test_one_anchor_that_decides_is_named(world):
    rng = np.random.default_rng(11)
    X, y = world.draw_rows(4000, rng)
    y = eo.UniformNoise(0.15).flip(y, rng)
    points = [[0.0, 0.0], [1.0, -1.0], [0.35, 0.35]]
    result = eo.asymmetry_test(X, y, eo.Anchors(points, tolerance=0.02, shared_tolerance=0))
    assert "anchor 3" in _named(result, "leave one out").message


def test_an_anchor_is_outside_only_if_all_rows_say_so():
    """Of many rows a sample is looked at first, which may miss the furthest."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(300_000, 1))
    labels = (rng.random(len(X)) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    inside, outside = 0.99 * X.min(), 1.01 * X.min()
    for place, concern in ((inside, False), (outside, True)):
        anchors = eo.Anchors([[0.0], [place]], tolerance=0.45)
        check = _named(eo.asymmetry_test(X, labels, anchors), "range of the data")
        assert check.concern == concern
