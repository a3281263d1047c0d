"""The range of rows that a pilot leaves open, and pilots that are refused."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.planning.plan import rows_range
from evenodds.planning.question import Point, read_question

NOISE = eo.ClassConditionalNoise(0.05, 0.15)
CURVE = [-1.5, 2.0, 1.0]


def drawn(n, rng):
    X = rng.normal(size=(n, 2))
    clean = rng.random(n) < 1 / (1 + np.exp(-(CURVE[0] + X @ CURVE[1:])))
    return X, eo.UniformNoise(0.05).flip(clean.astype(int), rng)


def range_of(n, pilots=8, level=0.9):
    pilot = eo.data_world(*drawn(n, np.random.default_rng(3)), alpha=0.05, beta=0.05)
    asked = read_question(
        pilot, method=None, alternative="two-sided", tolerance=0.05, shared_tolerance=0.0,
        significance=0.05, seed=0,
    )  # fmt: skip
    return rows_range(asked, Point(NOISE, 1500, 6), 0.8, level, pilots)


@pytest.fixture(scope="module")
def small():
    return range_of(200)


def test_the_range_lies_about_the_plan(small):
    assert small.low < small.n_rows == 1500 < small.high
    assert (small.level, small.pilots) == (0.9, 8)


def test_a_larger_pilot_leaves_less_open(small):
    large = range_of(3000)
    assert large.high / large.low < small.high / small.low


def test_the_same_seed_gives_the_same_range(small):
    assert range_of(200) == small


def test_another_pilot_is_drawn_and_fitted_as_the_first_was():
    pilot = eo.data_world(*drawn(20_000, np.random.default_rng(3)), alpha=0.05, beta=0.05)
    again = pilot.pilot_again(np.random.default_rng(4))
    assert again.known == (0.05, 0.05)
    assert sum(count for _, count in again.label_counts) == 20_000
    assert again.index.coefficients == pytest.approx(pilot.index.coefficients, abs=0.2)


def test_a_world_without_a_pilot_leaves_no_range(refused):
    with refused("a range of rows comes from the error of a labelled pilot: give data_world(X, y)"):
        eo.sample_size_range("rare", NOISE, n_anchors=6)


@pytest.mark.parametrize("solve", [eo.sample_size, eo.sample_size_range])
def test_a_pilot_with_hardly_a_positive_is_refused(refused, solve):
    X = np.random.default_rng(0).normal(size=(500, 2))
    y = np.where(np.arange(500) < 29, "ill", "well")
    pilot = eo.data_world(X, y, positive="ill", alpha=0.0, beta=0.0)
    with refused(
        "the pilot has 29 rows labelled 'ill' but a plan needs at least 30 of each label: collect "
        "more of them, or plan from a named world."
    ):
        solve(pilot, NOISE, n_anchors=6)
