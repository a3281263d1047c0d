import numpy as np
import pytest
from scipy import stats

from evenodds.simulation.worlds import many_features, skewed, two_bells

WORLDS = {
    "paper": two_bells(),
    "rare": two_bells(0.15),
    "skewed": skewed(),
    "many features": many_features(10),
}
every_world = pytest.mark.parametrize("name", WORLDS)


def posterior(world, points):
    return 1 / (1 + np.exp(-world.log_odds(points)))


@every_world
def test_a_world_knows_its_name(name):
    assert WORLDS[name].name == name


@every_world
def test_labels_follow_the_posterior(name):
    world = WORLDS[name]
    X, y = world.draw_rows(20_000, np.random.default_rng(1))
    expected = posterior(world, X)
    error = np.sqrt((expected * (1 - expected)).sum())
    assert abs(y.sum() - expected.sum()) < stats.norm.ppf(1 - 1e-4) * error


@pytest.mark.parametrize(("world", "share"), [("paper", 0.5), ("rare", 0.15)])
def test_two_bells_have_their_share_of_positives(world, share):
    _, y = WORLDS[world].draw_rows(20_000, np.random.default_rng(2))
    low, high = stats.binom.ppf([1e-4, 1 - 1e-4], 20_000, share)
    assert low <= y.sum() <= high


@every_world
def test_strict_anchors_are_toss_ups(name):
    world = WORLDS[name]
    anchors = world.draw_anchors(50, np.random.default_rng(3))
    assert posterior(world, anchors.points) == pytest.approx(np.full(50, 0.5), abs=1e-12)


@every_world
def test_relaxed_anchors_stay_within_their_tolerances(name):
    world = WORLDS[name]
    anchors = world.draw_anchors(
        500, np.random.default_rng(4), tolerance=0.1, shared_tolerance=0.05
    )
    assert np.abs(posterior(world, anchors.points) - 0.5).max() <= 0.15


def test_relaxed_anchors_fill_their_tolerance():
    anchors = two_bells().draw_anchors(500, np.random.default_rng(5), tolerance=0.1)
    errors = posterior(two_bells(), anchors.points) - 0.5
    assert stats.kstest(errors, stats.uniform(-0.1, 0.2).cdf).pvalue > 1e-4


def test_anchors_carry_the_tolerance_they_were_drawn_with():
    anchors = two_bells().draw_anchors(2, np.random.default_rng(6), tolerance=0.1)
    assert anchors.tolerance.tolist() == [0.1, 0.1]


def test_the_papers_anchors_lie_on_the_diagonal():
    points = two_bells().draw_anchors(50, np.random.default_rng(7)).points
    assert points[:, 0] == pytest.approx(-points[:, 1], abs=1e-12)


def test_slopes_of_many_features_have_a_fixed_length():
    assert np.linalg.norm(many_features(30).index.coefficients[1:]) == pytest.approx(2.5, rel=1e-12)
