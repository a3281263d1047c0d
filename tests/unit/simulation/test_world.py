"""What a world does, whatever its features and its curve."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from evenodds.simulation.world import MOST_FLIPPED
from evenodds.simulation.worlds import WORLDS

N = 20_000
NOISE = eo.ClassConditionalNoise(0.1, 0.25)
every_world = pytest.mark.parametrize("name", WORLDS)


def count_matches(count, chances, tail=1e-4):
    """Whether a count of independent events agrees with their chances."""
    error = np.sqrt((chances * (1 - chances)).sum())
    return abs(count - chances.sum()) < stats.norm.isf(tail) * error


def draw(world, seed, **settings):
    return world.draw(600, 8, NOISE, np.random.default_rng(seed), **settings)


@every_world
def test_labels_follow_the_posterior(name):
    X, y = WORLDS[name].draw_rows(N, np.random.default_rng(1))
    posterior = WORLDS[name].posterior(X)
    high = posterior > np.median(posterior)
    assert count_matches(y[high].sum(), posterior[high])
    assert count_matches(y[~high].sum(), posterior[~high])


@every_world
def test_given_labels_follow_the_noisy_posterior(name):
    world, rng = WORLDS[name], np.random.default_rng(2)
    X, y = world.draw_rows(N, rng)
    given, chances = world.flip(X, y, NOISE, rng), world.noisy_posterior(X, NOISE)
    high = chances > np.median(chances)
    assert count_matches(given[high].sum(), chances[high])
    assert count_matches(given[~high].sum(), chances[~high])


@every_world
def test_without_noise_the_noisy_posterior_is_the_posterior(name):
    X, _ = WORLDS[name].draw_rows(500, np.random.default_rng(3))
    noisy = WORLDS[name].noisy_posterior(X, eo.UniformNoise(0))
    assert noisy == pytest.approx(WORLDS[name].posterior(X), abs=1e-15)


def test_class_conditional_noise_moves_the_posterior_as_the_theory_says():
    X, _ = WORLDS["skewed"].draw_rows(500, np.random.default_rng(4))
    expected = NOISE.noisy_posterior(WORLDS["skewed"].posterior(X))
    assert WORLDS["skewed"].noisy_posterior(X, NOISE) == pytest.approx(expected, rel=1e-12)


@every_world
def test_log_odds_are_those_of_the_posterior(name):
    X, _ = WORLDS[name].draw_rows(200, np.random.default_rng(5))
    posterior = WORLDS[name].posterior(X)
    inside = (posterior > 1e-6) & (posterior < 1 - 1e-6)
    expected = np.log(posterior[inside] / (1 - posterior[inside]))
    assert WORLDS[name].log_odds(X[inside]) == pytest.approx(expected, abs=1e-6)


@every_world
def test_strict_anchors_are_toss_ups_but_for_the_experts_bias(name):
    anchors = WORLDS[name].draw_anchors(50, np.random.default_rng(6))
    expected = np.full(50, 0.5 + WORLDS[name].anchor_bias)
    assert WORLDS[name].posterior(anchors.points) == pytest.approx(expected, abs=1e-12)


@every_world
def test_relaxed_anchors_stay_within_their_tolerances(name):
    world = WORLDS[name]
    anchors = world.draw_anchors(
        500, np.random.default_rng(7), tolerance=0.1, shared_tolerance=0.05
    )
    errors = world.posterior(anchors.points) - 0.5 - world.anchor_bias
    assert np.abs(errors).max() <= 0.15


def test_relaxed_anchors_fill_their_tolerance():
    anchors = WORLDS["paper"].draw_anchors(500, np.random.default_rng(8), tolerance=0.1)
    errors = WORLDS["paper"].posterior(anchors.points) - 0.5
    assert stats.kstest(errors, stats.uniform(-0.1, 0.2).cdf).pvalue > 1e-4


def test_a_shared_error_is_the_same_for_all_anchors():
    anchors = WORLDS["rare"].draw_anchors(20, np.random.default_rng(9), shared_tolerance=0.1)
    errors = WORLDS["rare"].posterior(anchors.points) - 0.5
    assert errors == pytest.approx(np.full(20, errors[0]), abs=1e-12)
    assert abs(errors[0]) > 1e-3


def test_anchors_carry_the_tolerances_they_were_drawn_with():
    anchors = draw(WORLDS["rare"], 10, tolerance=0.1, shared_tolerance=0.02).anchors
    assert anchors.tolerance.tolist() == [0.1] * 8
    assert anchors.shared_tolerance == 0.02


@pytest.mark.parametrize(
    ("world", "tolerance", "message"),
    [
        ("plateau", 0.36, "toss-ups known to ±0.36 are too vague for world 'plateau', which has "),
        ("leaning expert", 0.46, "has no case of posterior 1.01: use a smaller tolerance."),
    ],
)
def test_tolerances_that_lead_beyond_all_cases_are_refused(refused, world, tolerance, message):
    with refused(message):
        WORLDS[world].draw_anchors(1, np.random.default_rng(11), tolerance=tolerance)


def test_every_case_is_entered_as_often_as_the_world_says():
    trial = draw(WORLDS["clustered"], 12)
    assert np.bincount(trial.groups).tolist() == [4] * 150
    assert (trial.features == trial.features[4 * trial.groups]).all()
    assert (trial.labels == trial.labels[4 * trial.groups]).all()


def test_copies_are_cut_to_the_number_of_rows_wanted():
    trial = WORLDS["clustered"].draw(10, 1, NOISE, np.random.default_rng(13))
    assert np.bincount(trial.groups).tolist() == [4, 4, 2]
    assert len(trial.features) == len(trial.labels) == len(trial.true_labels) == 10


def test_rows_without_copies_have_no_groups():
    assert draw(WORLDS["rare"], 14).groups is None


def test_toss_ups_are_named_as_often_as_the_world_says():
    points = WORLDS["repeated anchors"].draw_anchors(10, np.random.default_rng(15)).points
    _, counts = np.unique(points, axis=0, return_counts=True)
    assert sorted(counts.tolist()) == [2, 4, 4]


def test_a_trial_without_anchors_has_none():
    assert WORLDS["rare"].draw(50, 0, NOISE, np.random.default_rng(16)).anchors is None


@every_world
def test_a_trial_depends_on_its_generator_alone(name):
    one, other = draw(WORLDS[name], 17), draw(WORLDS[name], 17)
    assert (one.features == other.features).all()
    assert (one.labels == other.labels).all()
    assert (one.anchors.points == other.anchors.points).all()


@every_world
def test_a_world_survives_the_trip_to_another_process(name):
    sent = pickle.loads(pickle.dumps(WORLDS[name]))
    one, other = draw(WORLDS[name], 18), draw(sent, 18)
    assert (one.features == other.features).all()
    assert (one.labels == other.labels).all()
    assert (one.anchors.points == other.anchors.points).all()


def test_hard_cases_are_flipped_more_often():
    world, rng = WORLDS["hard cases"], np.random.default_rng(19)
    X, y = world.draw_rows(N, rng)
    flipped = world.flip(X, y, eo.UniformNoise(0.1), rng) != y
    posterior = world.posterior(X)
    assert count_matches(flipped.sum(), 0.1 * 8 * posterior * (1 - posterior))


def test_no_case_is_flipped_more_often_than_not():
    toss_ups = WORLDS["hard cases"].draw_anchors(5, np.random.default_rng(20)).points
    noise = eo.ClassConditionalNoise(0.3, 0.0)  # twice that for a toss-up
    expected = 0.5 * (1 - MOST_FLIPPED)
    assert WORLDS["hard cases"].noisy_posterior(toss_ups, noise) == pytest.approx(expected)


def test_noise_that_depends_on_the_case_is_cut_where_it_flips_too():
    world = replace(WORLDS["hard cases"], flip_weight=lambda posterior: 100 + 0 * posterior)
    rng = np.random.default_rng(21)
    X, y = world.draw_rows(N, rng)
    flipped = world.flip(X, y, eo.UniformNoise(0.1), rng) != y
    assert count_matches(flipped.sum(), np.full(N, MOST_FLIPPED))


@pytest.mark.parametrize(
    ("world", "tolerance", "shared"),
    [("paper", 0.05, 0.05), ("paper", 0, 0), ("paper", 0.3, 0.198), ("plateau", 0.3, 0.0495)],
)
def test_a_shared_tolerance_by_default_stays_among_the_cases_there_are(world, tolerance, shared):
    assert WORLDS[world].tolerances(tolerance) == (tolerance, pytest.approx(shared))


def test_a_stated_shared_tolerance_of_a_world_is_kept():
    assert WORLDS["plateau"].tolerances(0.3, 0.1) == (0.3, 0.1)
