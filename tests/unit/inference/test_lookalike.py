"""The nearest row of the atlas: what is looked up, and what is said of it."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.inference import lookalike
from evenodds.inference.lookalike import AtlasRow, DataShape, lookalike_check, read_atlas
from evenodds.inference.noise_aware import FittedRows
from evenodds.rows.source import read_rows
from evenodds.simulation.setting import Setting
from evenodds.simulation.worlds import WORLDS


def row(**changes):
    settings = {
        "method": "wald",
        "world": "rare",
        "n_rows": 2000,
        "n_anchors": 8,
        "tolerance": 0.05,
        "alpha": 0.1,
        "beta": 0.1,
        "n_features": 2,
        "positive_share": 0.22,
        "index_skewness": 0.8,
        "runs": 200,
        "rate": 0.06,
        "low": 0.03,
    }
    return AtlasRow(**{**settings, **changes})


SHAPE = DataShape(2100, 2, 0.21, 0.8, grouped=False)


@pytest.fixture
def atlas(monkeypatch):
    """Return a function that puts other rows in place of the atlas."""

    def use(*rows):
        monkeypatch.setattr(lookalike, "read_atlas", lambda: rows)

    return use


def test_the_nearest_setting_is_told(atlas):
    atlas(row(), row(world="paper", positive_share=0.5, index_skewness=0.0, rate=0.9, low=0.85))
    check = lookalike_check("wald", SHAPE, 8, 0.05, None)
    assert check.message == (
        "In the simulated data most like these ('rare': 2,000 rows, 8 anchors, 10% of both classes "
        "flipped) this test, two-sided, rejected in 6% of 200 runs at 5%."
    )


def test_a_level_that_does_not_hold_is_a_concern(atlas):
    atlas(row(rate=0.4, low=0.34))
    check = lookalike_check("wald", SHAPE, 8, 0.05, None)
    assert check.concern
    assert check.message.endswith("in 40% of 200 runs at 5%: do not use it on data like these.")


def test_power_of_the_same_setting_is_told_too(atlas):
    atlas(row(), row(alpha=0.05, beta=0.15, rate=0.54), row(alpha=0.2, beta=0.1, rate=0.5))
    check = lookalike_check("wald", SHAPE, 8, 0.05, None)
    assert check.message.endswith(
        "; it found flips of 5% of positives and 15% of negatives in 54% and flips of 20% of "
        "positives and 10% of negatives in 50%."
    )


def test_nothing_is_said_where_nothing_is_alike(atlas):
    atlas(row(n_rows=500))
    vast = DataShape(5_000_000, 60, 0.01, 0.8, grouped=False)
    assert lookalike_check("wald", vast, 500, 0.2, None) is None


def test_settings_that_could_not_be_run_are_not_looked_up(atlas):
    atlas(row(runs=0, rate=float("nan"), low=float("nan")))
    assert lookalike_check("wald", SHAPE, 8, 0.05, None) is None


def test_the_estimated_noise_rate_chooses_the_level(atlas):
    atlas(row(rate=0.01), row(alpha=0.3, beta=0.3, rate=0.07))
    assert lookalike_check("wald", SHAPE, 8, 0.05, 0.28).statistic == 0.07


def test_without_a_noise_rate_the_worst_level_counts(atlas):
    atlas(row(rate=0.01), row(alpha=0.3, beta=0.3, rate=0.07))
    assert lookalike_check("wald", SHAPE, 8, 0.05, None).statistic == 0.07


def test_grouped_rows_are_compared_with_grouped_rows(atlas):
    atlas(row(), row(world="clustered", rate=0.055))
    grouped = DataShape(2100, 2, 0.21, 0.8, grouped=True)
    assert "'clustered'" in lookalike_check("wald", grouped, 8, 0.05, None).message


def test_worlds_that_data_cannot_tell_are_not_looked_up(atlas):
    atlas(row(world="leaning expert"), row(world="quadratic"), row(world="hard cases"))
    assert lookalike_check("wald", SHAPE, 8, 0.05, None) is None


def test_other_methods_are_not_looked_up(atlas):
    atlas(row(method="joint"))
    assert lookalike_check("wald", SHAPE, 8, 0.05, None) is None


def test_the_atlas_that_ships_has_every_method_in_every_lookalike():
    known = {(r.method, r.world) for r in read_atlas()}
    worlds = (*lookalike.UNGROUPED, *lookalike.GROUPED)
    assert known >= {
        (method, world) for method in ("boundary", "joint", "wald") for world in worlds
    }


@pytest.mark.parametrize("name", ["rare", "skewed", "many features"])
def test_data_of_a_world_look_most_like_that_world(name):
    setting = Setting(
        world=WORLDS[name],
        noise=eo.UniformNoise(0.1),
        n_rows=2000,
        n_anchors=8,
        tolerance=0.05,
        seed=99,
    )
    trial = setting.draw(0)
    result = eo.asymmetry_test(trial.features, trial.labels, trial.anchors)
    (check,) = (check for check in result.diagnostics if check.name == "lookalike")
    assert f"('{name}': 2,000 rows, 8 anchors, 10% of both" in check.message


def test_wald_on_rare_positives_is_warned_of():
    setting = Setting(
        world=WORLDS["rare"], noise=eo.UniformNoise(0.1), n_rows=2000, n_anchors=8, seed=4
    )
    trial = setting.draw(0)
    result = eo.asymmetry_test(trial.features, trial.labels, trial.anchors, method="wald")
    (check,) = (check for check in result.diagnostics if check.name == "lookalike")
    assert check.concern


def test_columns_far_from_zero_look_like_the_same_columns_near_it():
    rng = np.random.default_rng(5)
    X = rng.exponential(size=(3000, 2))
    y = rng.random(3000) < 1 / (1 + np.exp(2 - X @ [2.0, 1.0]))
    near, far = (FittedRows.of(read_rows(X + shift, y)).shape() for shift in (0.0, 1e6))
    assert far.index_skewness == pytest.approx(near.index_skewness, rel=1e-6)


def test_the_skewness_is_that_of_the_fitted_index():
    from scipy import stats  # noqa: PLC0415

    rng = np.random.default_rng(6)
    X = rng.exponential(size=(500, 2))
    y = rng.random(500) < 1 / (1 + np.exp(2 - X @ [2.0, 1.0]))
    shape = FittedRows.of(read_rows(X, y)).shape()
    expected = stats.skew(X @ eo.fit_logistic(X, y).coefficients[1:])
    assert shape.index_skewness == pytest.approx(expected, rel=1e-9)
    assert shape.positive_share == pytest.approx(y.mean(), rel=1e-12)
