"""The worlds by name, and what each is there for."""

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from evenodds.simulation.worlds import WORLDS, find_world, many_features, two_bells

N = 20_000


def features(name, seed, n=N):
    return WORLDS[name].draw_features(n, np.random.default_rng(seed))


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_knows_its_name(name):
    assert find_world(name).name == name


def test_a_world_is_found_as_itself():
    world = two_bells(0.3)
    assert find_world(world) is world


@pytest.mark.parametrize("unknown", ["papper", 3, None])
def test_unknown_worlds_are_refused_and_the_known_ones_named(refused, unknown):
    with refused(
        f"world is {unknown!r} but must be one of 'paper', 'rare', 'skewed', 'many features', "
        "'heavy tails', 'correlated' or 7 more, or a World: data_world(X, y) makes one of your "
        "own data."
    ):
        find_world(unknown)


@pytest.mark.parametrize(("name", "share"), [("paper", 0.5), ("rare", 0.15)])
def test_two_bells_have_their_share_of_positives(name, share):
    _, y = WORLDS[name].draw_rows(N, np.random.default_rng(2))
    low, high = stats.binom.ppf([1e-4, 1 - 1e-4], N, share)
    assert low <= y.sum() <= high


def test_the_papers_anchors_lie_on_the_diagonal():
    points = two_bells().draw_anchors(50, np.random.default_rng(7)).points
    assert points[:, 0] == pytest.approx(-points[:, 1], abs=1e-12)


def test_slopes_of_many_features_have_a_fixed_length():
    assert np.linalg.norm(many_features(30).index.coefficients[1:]) == pytest.approx(2.5, rel=1e-12)


def test_heavy_tails_follow_a_t_distribution():
    found = stats.kstest(features("heavy tails", 8)[:, 0], stats.t(3).cdf)
    assert found.pvalue > 1e-4


def test_correlated_features_are_correlated():
    found = np.corrcoef(features("correlated", 9), rowvar=False)
    assert found[np.triu_indices(4, 1)] == pytest.approx(np.full(6, 0.8), abs=0.02)


def test_the_plateau_is_never_surely_positive():
    surest = WORLDS["plateau"].posterior(features("plateau", 10)).max()
    assert 0.84 < surest < 0.85


def test_the_probit_world_is_no_logistic_one():
    X = features("probit", 11)
    assert np.abs(WORLDS["probit"].posterior(X) - WORLDS["skewed"].posterior(X)).max() > 0.1


def test_the_quadratic_boundary_is_a_parabola():
    points = WORLDS["quadratic"].draw_anchors(50, np.random.default_rng(12)).points
    expected = (1 - points[:, 1] - 0.75 * points[:, 1] ** 2) / 2
    assert points[:, 0] == pytest.approx(expected, abs=1e-12)


def test_the_expert_leans_to_positives():
    points = WORLDS["leaning expert"].draw_anchors(5, np.random.default_rng(13)).points
    assert WORLDS["rare"].posterior(points) == pytest.approx(np.full(5, 0.55), abs=1e-12)


def test_hard_cases_are_flipped_as_often_as_others_are_on_a_case_of_average_difficulty():
    posterior = np.array([0.5, (1 + np.sqrt(0.5)) / 2, 1.0])
    assert WORLDS["hard cases"].flip_weight(posterior) == pytest.approx([2, 1, 0], abs=1e-12)


def test_noise_on_hard_cases_is_still_uniform_between_the_classes():
    X = features("hard cases", 14, n=50)
    flipped = WORLDS["hard cases"].noisy_posterior(X, eo.UniformNoise(0.2))
    toss_ups = WORLDS["hard cases"].draw_anchors(5, np.random.default_rng(15)).points
    at_toss_ups = WORLDS["hard cases"].noisy_posterior(toss_ups, eo.UniformNoise(0.2))
    assert ((flipped > 0.5) == (WORLDS["hard cases"].posterior(X) > 0.5)).all()
    assert at_toss_ups == pytest.approx(np.full(5, 0.5), abs=1e-12)
