"""What a test would see on average."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import evenodds as eo
from evenodds.inference.asymmetry import null_statistic
from evenodds.planning.expected_data import (
    FINE,
    AnchorPlan,
    Examples,
    centres,
)
from evenodds.rows.memory import read_rows
from evenodds.simulation.worlds import find_world

NOISE = eo.ClassConditionalNoise(0.05, 0.15)
STRICT = AnchorPlan(n_anchors=4)
RELAXED = AnchorPlan(n_anchors=4, tolerance=0.1)
METHODS = {"wald": eo.Wald(), "boundary": eo.Boundary(), "joint": eo.Joint()}
every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def of_rare():
    """Centres in the rare world, for every method."""
    return {name: centres(find_world("rare"), NOISE, m, 0) for name, m in METHODS.items()}


def means(found):
    return np.array([centre.mean for centre in found])


@every_method
def test_twice_the_rows_multiply_strict_centres_by_the_root_of_two(of_rare, method):
    once, twice = (means(of_rare[method].at(n, STRICT)) for n in (3000, 6000))
    assert twice == pytest.approx(np.sqrt(2) * once, rel=1e-5)


@pytest.mark.parametrize("method", ["wald", "boundary"])
def test_with_a_tolerance_rows_move_centres_less_and_in_the_end_not_at_all(of_rare, method):
    spread = [np.abs(means(of_rare[method].at(n, RELAXED))).mean() for n in (3000, 6000, 1e9, 1e12)]
    assert spread[1] < np.sqrt(2) * spread[0]
    assert spread[3] == pytest.approx(spread[2], rel=1e-3)


def test_the_boundary_ceiling_is_the_shift_over_the_anchors_own_error():
    """With endless rows z is the shift of the uniform-noise curve over sqrt(V)."""
    found = centres(find_world("rare"), NOISE, eo.Boundary(), 0)
    wide, narrow = (
        means(found.at(1e12, AnchorPlan(n_anchors=1, tolerance=width))) for width in (0.2, 0.1)
    )
    # Nearly: the anchors also pull at the curve, the more the surer they are.
    assert narrow / wide == pytest.approx(np.full(FINE.picked, 2), rel=0.05)


def counted(examples, times):
    """Return rows with both labels that count as so many."""
    chances = find_world("skewed").noisy_posterior(examples.features, NOISE)
    return read_rows(
        np.concatenate([examples.features, examples.features]),
        np.repeat([1, 0], len(examples.features)),
        sample_weight=times * np.concatenate([chances, 1 - chances]),
    )


@pytest.mark.parametrize("times", [1, 5])
@pytest.mark.parametrize("method", ["boundary", "joint"])
def test_a_centre_is_the_statistic_of_rows_with_both_labels_counted_up(method, times):
    """With more anchors than coefficients, where they lie off counts too, which is expected."""
    found = centres(find_world("skewed"), NOISE, METHODS[method], 0)
    plan = replace(RELAXED, n_anchors=3)
    anchors = found.examples.typical_sets(plan)[0]
    z, _ = null_statistic(counted(found.examples, times), anchors, METHODS[method])
    here = found.at(times * len(found.examples.features), plan)[0]
    assert here.mean == pytest.approx(z, abs=1e-5)


def test_a_joint_centre_without_anchors_is_the_statistic_of_rows_with_both_labels():
    world = find_world("skewed")
    found = centres(world, NOISE, eo.Joint(), 0)
    z, _ = null_statistic(found.examples.rows(NOISE), None, eo.Joint())
    at = found.at(len(found.examples.features), AnchorPlan(n_anchors=0))
    assert [centre.mean for centre in at] == pytest.approx([z], abs=1e-6)


@pytest.mark.parametrize("covariance", ["information", "sandwich"])
def test_a_wald_centre_is_the_statistic_of_rows_with_both_labels(covariance):
    world, method = find_world("skewed"), eo.Wald(covariance=covariance)
    found = centres(world, NOISE, method, 0)
    points = found.examples.anchor_points(RELAXED, erring=True)[0]
    anchors = eo.Anchors(points, tolerance=RELAXED.tolerance, shared_tolerance=0)
    z, _ = null_statistic(found.examples.rows(NOISE), anchors, method)
    at = found.at(len(found.examples.features), RELAXED)
    assert at[0].mean == pytest.approx(z, abs=1e-9)


def test_the_papers_test_scatters_as_it_expects_where_its_curve_is_right():
    found = centres(find_world("skewed"), eo.UniformNoise(0), eo.Wald(), 0)
    spreads = [centre.spread for centre in found.at(2000, STRICT)]
    assert spreads == pytest.approx(np.ones(len(spreads)), abs=0.05)


@pytest.mark.parametrize("method", ["boundary", "joint"])
def test_under_uniform_noise_the_noise_aware_tests_are_centred_at_zero(method):
    found = centres(find_world("rare"), eo.UniformNoise(0.2), METHODS[method], 0)
    assert np.abs(means(found.at(5000, RELAXED))).max() < 1e-4


def test_under_uniform_noise_the_papers_test_is_not():
    found = centres(find_world("rare"), eo.UniformNoise(0.2), eo.Wald(), 0)
    assert np.abs(means(found.at(5000, STRICT))).mean() > 1


def test_noise_aware_statistics_scatter_by_one(of_rare):
    assert {centre.spread for centre in of_rare["boundary"].at(2000, STRICT)} == {1.0}


def test_examples_carry_both_labels_with_their_chances():
    examples = Examples(find_world("skewed"), 50, seed=1)
    rows = examples.rows(NOISE)
    chances = NOISE.noisy_posterior(expit(find_world("skewed").log_odds(examples.features)))
    assert rows.total_weight == pytest.approx(50, rel=1e-12)
    assert rows.positive_weight() == pytest.approx(chances.sum(), rel=1e-12)


def test_copies_of_a_case_stand_for_no_rows_of_their_own():
    once, copied = (Examples(find_world(name), 50, seed=1) for name in ("rare", "clustered"))
    assert copied.share(1000) == 4 * once.share(1000)


def test_anchors_of_a_smaller_plan_are_among_those_of_a_larger_one():
    examples = Examples(find_world("skewed"), 50, seed=1)
    few, many = (
        examples.anchor_points(AnchorPlan(n_anchors=k, tolerance=0.1), erring=True)[0]
        for k in (3, 8)
    )
    assert np.array_equal(few, many[:3])


@pytest.mark.parametrize("erring", [True, False])
def test_anchors_lie_off_the_boundary_only_where_the_expert_errs(erring):
    world = find_world("skewed")
    sets = Examples(world, 50, seed=1).anchor_points(RELAXED, erring=erring)
    off = np.abs(world.posterior(sets[0]) - 0.5).max()
    assert (1e-3 < off <= 0.1) if erring else off < 1e-12


@pytest.mark.parametrize(("k", "n_sets"), [(1, FINE.single_sets), (1000, FINE.fewest_sets)])
def test_single_cases_are_tried_more_often(k, n_sets):
    sets = Examples(find_world("paper"), 50, seed=1).anchor_points(
        AnchorPlan(n_anchors=k), erring=False
    )
    assert len(sets) == n_sets


@pytest.mark.parametrize("k", [1, 4])
def test_the_sets_picked_stand_for_all_sets(k):
    """In the paper's world sets differ most: power over 32 is that over half of all, to 0.01."""
    plan = AnchorPlan(n_anchors=k)
    found = centres(find_world("paper"), NOISE, eo.Boundary(), 0)
    share = found.examples.share(2000)
    every = found.examples.anchor_points(plan, erring=False)[::2]
    sets = (eo.Anchors(points, tolerance=0) for points in every)
    fitted = (found._centre(anchors, share, found.start)[0] for anchors in sets)
    powers = [centre.power(0.05, "two-sided") for centre in fitted]
    picked = [centre.power(0.05, "two-sided") for centre in found.at(2000, plan)]
    assert len(picked) == FINE.picked
    assert np.mean(picked) == pytest.approx(np.mean(powers), abs=0.01)


@pytest.mark.parametrize("method", ["boundary", "joint"])
def test_centres_do_not_depend_on_what_was_asked_before(method):
    world = find_world("rare")
    fresh = centres(world, NOISE, METHODS[method], 0)
    asked = centres(world, NOISE, METHODS[method], 0)
    for n_rows in (1e12, 20):
        asked.at(n_rows, RELAXED)
    assert means(asked.at(1000, RELAXED)) == pytest.approx(means(fresh.at(1000, RELAXED)), abs=1e-5)


def test_another_seed_draws_other_examples():
    one, other = (Examples(find_world("rare"), 50, seed=seed) for seed in (0, 1))
    assert not np.array_equal(one.features, other.features)
