"""Where rows are few, a plan is corrected by what simulated data sets show."""

from dataclasses import replace

import numpy as np
import pytest

import evenodds as eo
from evenodds.planning.expected_data import Centre
from evenodds.planning.question import EXACT, Point, Shortfall, has_few_rows, read_question, settled
from evenodds.simulation.worlds import many_features

NOISE = eo.ClassConditionalNoise(0.05, 0.25)


def question(design, method="joint"):
    return read_question(
        design, method=method, alternative="two-sided", tolerance=0.05, shared_tolerance=0.0,
        significance=0.05, seed=0,
    )  # fmt: skip


def test_a_shortfall_vanishes_as_rows_grow():
    short = Shortfall(at=300, factor=0.6)
    found = [short.of(Centre(3.0), n) for n in (100, 300, 1200, 3e12)]
    assert [centre.mean for centre in found] == pytest.approx([1.8, 1.8, 2.4, 3.0], abs=1e-4)


def test_twenty_columns_on_few_rows_reach_less_than_the_formula_says():
    """Of 60 runs 1 is rejected and 58 are withheld, where the formula says 0.80."""
    given = {"n_rows": 332, "n_anchors": 6, "method": "joint", "shared_tolerance": 0.0}
    world = many_features(20)
    formula = eo.power(world, NOISE, runs=0, **given)
    assert formula == pytest.approx(0.8, abs=0.01)
    assert eo.power(world, NOISE, runs=25, **given) < formula - 0.2


@pytest.mark.parametrize(
    ("n_features", "n_rows", "noise", "few"),
    [
        (2, 400, NOISE, True),
        (2, 2000, NOISE, False),
        (20, 2000, NOISE, True),
        (20, 9000, NOISE, False),
        (2, 400, eo.UniformNoise(0.1), False),
    ],
)
def test_rows_are_few_beside_columns_and_noise(n_features, n_rows, noise, few):
    asked = question(many_features(n_features))
    assert has_few_rows(asked, Point(noise, n_rows, 6)) is few


def test_rare_labels_make_rows_few():
    X = np.random.default_rng(0).normal(size=(4000, 3))
    plan = Point(NOISE, 2000, 6)
    common, rare = (
        question(eo.data_world(X, coefficients=[level, 1.5, -1, 0.5])) for level in (0, -4)
    )
    assert [has_few_rows(asked, plan) for asked in (common, rare)] == [False, True]


@pytest.mark.parametrize("method", ["wald", "boundary"])
def test_with_many_rows_or_the_papers_test_nothing_is_simulated(method):
    asked = question("paper", method)
    plan = Point(NOISE, 20_000 if method == "boundary" else 100, 6)
    assert settled(asked, lambda _: plan, runs=10**6) == (plan, asked)


def test_a_plan_that_keeps_moving_is_warned_of():
    sizes = iter((50, 100, 50, 100, 50, 100))
    asked = question("paper")
    with pytest.warns(eo.ImprecisionWarning, match="still moved after 5 corrections"):
        settled(asked, lambda _: Point(NOISE, next(sizes), 0), runs=2)


def test_uniform_noise_is_not_corrected():
    asked = question("skewed")
    short = replace(asked, shortfall=Shortfall(at=2000, factor=0.5))
    assert short.power(eo.UniformNoise(0.1), 2000, 4) == asked.power(eo.UniformNoise(0.1), 2000, 4)
    assert asked.shortfall is EXACT
