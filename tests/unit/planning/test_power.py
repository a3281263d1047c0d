"""How likely a test is to find what is there."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.planning.expected_data import wald_centre
from evenodds.simulation.worlds import find_world

NOISE = eo.ClassConditionalNoise(0.05, 0.15)
SUMMARY = eo.AnchorVariance(single=0.01, floor=0.002, n_rows=1000)
METHODS = ["wald", "boundary", "joint"]
every_method = pytest.mark.parametrize("method", METHODS)


def power(design="skewed", noise=NOISE, **changes):
    """Return the power by the formula alone."""
    return eo.power(design, noise, **({"n_rows": 1000, "n_anchors": 4, "runs": 0} | changes))


@every_method
def test_more_rows_raise_the_power(method):
    powers = [power(method=method, n_rows=n) for n in (250, 1000, 4000, 16000)]
    assert (np.diff(powers) > 0).all()


@every_method
def test_more_anchors_raise_the_power(method):
    powers = [power(method=method, n_anchors=k) for k in (1, 2, 4, 8, 16, 64)]
    assert (np.diff(powers) > 0).all()


@every_method
@pytest.mark.parametrize("lesser", [0.0, 0.1])
def test_a_larger_asymmetry_raises_the_power(method, lesser):
    noises = [eo.ClassConditionalNoise(lesser, lesser + size) for size in (0.05, 0.1, 0.2)]
    powers = [power(noise=noise, method=method) for noise in noises]
    assert (np.diff(powers) > 0).all()


@every_method
def test_a_larger_tolerance_lowers_the_power(method):
    powers = [power(method=method, tolerance=width) for width in (0.0, 0.05, 0.1, 0.2)]
    assert (np.diff(powers) < 0).all()


def test_a_shared_tolerance_costs_more_than_one_of_each_anchor():
    own = power(tolerance=0.1, shared_tolerance=0)
    assert power(tolerance=0.0, shared_tolerance=0.1) < own


def test_a_plan_lets_experts_lean_by_their_tolerance():
    assert power(tolerance=0.1) == power(tolerance=0.1, shared_tolerance=0.1)


@pytest.mark.parametrize("method", ["boundary", "joint"])
@pytest.mark.parametrize("significance", [0.01, 0.05])
def test_under_uniform_noise_the_power_is_the_significance(method, significance):
    found = power("rare", eo.UniformNoise(0.2), method=method, significance=significance)
    assert found == pytest.approx(significance, rel=1e-4)


def test_the_papers_test_rejects_uniform_noise_of_lopsided_data():
    found = power("rare", eo.UniformNoise(0.2), method="wald", n_rows=5000, tolerance=0)
    assert found > 0.4


def test_a_one_sided_test_finds_more_on_its_side():
    assert power(alternative="greater") > power() > 0.05


def test_a_one_sided_test_that_looks_away_is_refused(refused):
    with refused(
        "alternative is 'less' but beta − alpha is +0.10: a one-sided test looks the other way."
    ):
        power(alternative="less")


def test_copies_of_rows_are_no_news():
    assert power("clustered", n_rows=4000) == pytest.approx(power("rare", n_rows=1000), rel=1e-6)


def test_an_expert_who_leans_makes_even_noise_look_uneven():
    assert power("leaning expert", eo.UniformNoise(0.1), n_rows=5000) > 0.1


def test_joint_needs_no_anchors():
    none = power(method="joint", n_anchors=0)
    assert 0.05 < none < power(method="joint", n_anchors=8)


def test_the_same_seed_gives_the_same_power():
    assert power(seed=3) == power(seed=3)


@pytest.mark.parametrize("n_rows", [None, 1000])
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_summary_numbers_give_the_papers_formula(n_rows, alternative):
    found = power(
        SUMMARY, n_rows=n_rows, tolerance=0.1, shared_tolerance=0.02, alternative=alternative
    )
    centre = wald_centre(NOISE, 0.002 + 0.008 / 4, 0.1**2 / 12 + 0.02**2 / 3)
    expected = centre.power(0.05, alternative)
    assert found == pytest.approx(expected, rel=1e-12)


def test_summary_numbers_shrink_with_more_rows():
    found = power(SUMMARY, n_rows=8000, tolerance=0)
    assert found == pytest.approx(wald_centre(NOISE, 0.004 / 8).power(0.05, "two-sided"), rel=1e-12)


def test_a_world_of_data_is_a_design():
    """The curve of the skewed world on rows drawn from it: nearly the same power."""
    X = find_world("skewed").draw_features(4000, np.random.default_rng(1))
    world = eo.data_world(X, coefficients=[-1.5, 2, 1])
    near = {"draw_anchor_seeds": world.draw_anchor_seeds}
    assert 0 < power(world) < 1
    same_anchors = _with(find_world("skewed"), near, world.index)
    assert power(world) == pytest.approx(power(same_anchors), abs=0.03)


def _with(world, changes, index):
    """Return a world with anchors drawn elsewhere and moved another way."""
    fields = {name: getattr(world, name) for name in world.__slots__}
    return eo.World(**(fields | changes | {"index": index}))


def test_what_is_no_noise_is_refused(refused):
    with refused("noise is 0.2: give ClassConditionalNoise(alpha, beta), the two flip rates, or"):
        power(noise=0.2)


def test_rows_are_needed_with_a_world(refused):
    with refused("n_rows is needed: a world does not say how much data you will have."):
        power(n_rows=None)
