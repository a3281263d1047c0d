"""Your own data as a world."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenodds as eo
from evenodds.simulation.worlds import find_world

CURVE = np.array([-1.5, 2.0, 1.0])


@pytest.fixture(scope="module")
def pilot():
    """20,000 rows of the skewed world, whose curve is known, and their true labels."""
    X, y = find_world("skewed").draw_rows(20_000, np.random.default_rng(1))
    X.flags.writeable = y.flags.writeable = False
    return X, y


def curve_of(world):
    return world.index.coefficients


def errors_of(X, y):
    return eo.fit_logistic(X, y).standard_errors


def test_rows_are_drawn_from_those_given(pilot):
    X = pilot[0][:50]
    drawn = eo.data_world(X, coefficients=CURVE).draw_features(500, np.random.default_rng(2))
    assert {tuple(row) for row in drawn} == {tuple(row) for row in X}


def test_rows_are_drawn_with_replacement(pilot):
    X = pilot[0][:50]
    drawn = eo.data_world(X, coefficients=CURVE).draw_features(50, np.random.default_rng(3))
    assert len({tuple(row) for row in drawn}) < 50


def test_a_given_curve_is_kept(pilot):
    assert (curve_of(eo.data_world(pilot[0], coefficients=CURVE)) == CURVE).all()


def test_the_curve_is_recovered_from_clean_labels(pilot):
    X, y = pilot
    gaps = curve_of(eo.data_world(X, y, alpha=0, beta=0)) - CURVE
    assert (np.abs(gaps) < 4 * errors_of(X, y)).all()


@pytest.mark.parametrize("known", [True, False])
def test_the_curve_is_recovered_from_noisy_labels(pilot, known):
    """Noise costs precision, flips that are not known cost more: hence 5% of each slope too."""
    X, y = pilot
    given = eo.ClassConditionalNoise(0.2, 0.1).flip(y, np.random.default_rng(4))
    rates = {"alpha": 0.2, "beta": 0.1} if known else {}
    gaps = curve_of(eo.data_world(X, given, **rates)) - CURVE
    assert (np.abs(gaps) < 4 * errors_of(X, given) + 0.05 * np.abs(CURVE)).all()


def test_labels_that_ignore_their_flips_would_not_give_the_curve(pilot):
    X, y = pilot
    given = eo.ClassConditionalNoise(0.2, 0.1).flip(y, np.random.default_rng(4))
    gaps = curve_of(eo.data_world(X, given, alpha=0, beta=0)) - CURVE
    assert np.abs(gaps).max() > 0.5


def test_anchors_lie_on_the_boundary(pilot):
    world = eo.data_world(*pilot)
    anchors = world.draw_anchors(30, np.random.default_rng(5))
    assert world.posterior(anchors.points) == pytest.approx(np.full(30, 0.5), abs=1e-12)


def test_anchors_lie_near_rows_of_the_data(pilot):
    """A row among the tenth nearest the boundary need not be moved far."""
    X = pilot[0]
    world = eo.data_world(X, coefficients=CURVE)
    rng = np.random.default_rng(6)
    seeds = world.draw_anchor_seeds(200, rng)
    moved = world.index.move_to(seeds, np.zeros(200))
    assert (np.abs(moved - seeds) / X.std(axis=0)).max() < 0.2


def test_few_rows_are_all_near_the_boundary(pilot):
    X = pilot[0][:20]
    seeds = eo.data_world(X, coefficients=CURVE).draw_anchor_seeds(500, np.random.default_rng(7))
    assert {tuple(row) for row in seeds} == {tuple(row) for row in X}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_data_frame_gives_the_same_world_as_its_values(pilot, frame):
    X, y = pilot[0][:2000], pilot[1][:2000]
    table = frame({"age": X[:, 0], "dose": X[:, 1]})
    one, other = eo.data_world(table, y), eo.data_world(X, y)
    assert curve_of(one) == pytest.approx(curve_of(other), rel=1e-12)
    drawn = [w.draw_features(30, np.random.default_rng(8)) for w in (one, other)]
    assert np.array_equal(*drawn)


def test_the_positive_label_can_be_named(pilot):
    X, y = pilot[0][:2000], pilot[1][:2000]
    words = np.where(y == 1, "bad", "good")
    named = curve_of(eo.data_world(X, words, positive="bad", alpha=0, beta=0))
    assert named == pytest.approx(curve_of(eo.data_world(X, y, alpha=0, beta=0)), rel=1e-9)


def test_one_column_is_enough():
    world = eo.data_world(np.random.default_rng(9).normal(size=(40, 1)), coefficients=[0.5, 1])
    anchors = world.draw_anchors(4, np.random.default_rng(10))
    assert anchors.points == pytest.approx(np.full((4, 1), -0.5), abs=1e-12)


def test_a_world_of_data_survives_the_trip_to_another_process(pilot):
    world = eo.data_world(pilot[0][:100], coefficients=CURVE, name="mine")
    sent = pickle.loads(pickle.dumps(world))
    drawn = [w.draw(50, 2, eo.UniformNoise(0.1), np.random.default_rng(11)) for w in (world, sent)]
    assert sent.name == "mine"
    assert np.array_equal(drawn[0].features, drawn[1].features)
    assert np.array_equal(drawn[0].labels, drawn[1].labels)


X3 = [[0.0, 1.0], [1.0, 3.0], [2.0, -1.0]]


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        (X3, {}, "give y or coefficients, one of the two: the curve comes from either."),
        (
            X3,
            {"y": [0, 1, 1], "coefficients": [0, 1, 1]},
            "give y or coefficients, one of the two: the curve comes from either.",
        ),
        (
            X3,
            {"coefficients": [0, 1, 1], "alpha": 0.1},
            "alpha, beta and positive describe the labels in y but coefficients are given instead: "
            "leave them out.",
        ),
        (
            X3,
            {"coefficients": [1, 2]},
            "coefficients has 2 values but X has 2 columns: give the intercept first and a slope "
            "for each column, 3 in all.",
        ),
        (
            X3,
            {"coefficients": ["a", "b", "c"]},
            "coefficients must hold numbers: give one value for each parameter.",
        ),
        (
            X3,
            {"coefficients": [0, np.nan, 1]},
            "coefficients is nan at parameter 2 of 3: give finite numbers.",
        ),
        (
            X3,
            {"coefficients": [1, 0, 0]},
            "coefficients has no slope but 0: no case is nearer the boundary.",
        ),
        (
            X3[:1],
            {"coefficients": [1, 0, 0]},
            "X has 1 row and 2 columns: a world needs more.",
        ),
        (
            np.empty((5, 0)),
            {"coefficients": [1]},
            "X has 5 rows and 0 columns: a world needs more.",
        ),
        (
            [[0.0, np.nan], *X3],
            {"coefficients": [0, 1, 1]},
            "X has 1 missing value, the first in row 0, column 1: drop or fill it",
        ),
        (X3, {"y": [1, 1, 1]}, "y has one label only (1)"),
    ],
)
def test_data_that_make_no_world_are_refused(refused, X, settings, message):
    with refused(message):
        eo.data_world(X, **settings)
