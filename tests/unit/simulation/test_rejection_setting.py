"""One setting to simulate, and the p-values of its runs."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.simulation.rejection import PValues, Setting
from evenodds.simulation.worlds import find_world

RUNS = range(5)


def setting(world="skewed", **changes):
    sizes = {"n_rows": 400, "n_anchors": 3, "tolerance": 0.05, "shared_tolerance": 0.02, "seed": 5}
    return Setting(
        world=find_world(world), noise=eo.ClassConditionalNoise(0.05, 0.2), **(sizes | changes)
    )


def one_by_one(where, method, alternative="two-sided", runs=RUNS):
    """Return p-values of the front door, one data set after another."""
    pvalues = []
    for run in runs:
        trial = where.draw(run)
        result = eo.asymmetry_test(
            trial.features,
            trial.labels,
            trial.anchors,
            method=method,
            alternative=alternative,
            groups=trial.groups,
        )
        pvalues.append(result.pvalue)
    return np.array(pvalues)


def own_test(trial):
    return float(trial.features[0, 0] > 0)


def test_a_run_is_the_same_whoever_asks():
    one, other = setting().draw(7), setting().draw(7)
    assert np.array_equal(one.features, other.features)
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.anchors.points, other.anchors.points)


@pytest.mark.parametrize(("seed", "run"), [(5, 8), (6, 7)])
def test_other_runs_and_other_seeds_draw_other_data(seed, run):
    assert not np.array_equal(setting(seed=seed).draw(run).features, setting().draw(7).features)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("world", ["skewed", "many features", "leaning expert"])
def test_stacked_wald_p_values_are_those_of_the_front_door(world, alternative):
    """To 1e-5 of each: the stack's curvature is that before a last step of at most 1e-6."""
    where = setting(world)
    found = PValues(where, eo.Wald(), alternative)(RUNS)
    assert found == pytest.approx(one_by_one(where, "wald", alternative), rel=1e-5)


@pytest.mark.parametrize(
    "method", [eo.Boundary(), eo.Joint(), eo.Wald(covariance="sandwich")], ids=lambda m: repr(m)[:9]
)
def test_other_p_values_are_those_of_the_front_door(method):
    found = PValues(setting(), method, "greater")(RUNS)
    assert found == pytest.approx(one_by_one(setting(), method, "greater"), rel=1e-9)


@pytest.mark.parametrize("method", [eo.Boundary(), eo.Wald()], ids=["boundary", "wald"])
def test_copies_are_tested_by_groups(method):
    where = setting("clustered")
    found, expected = PValues(where, method)(RUNS), np.array(one_by_one(where, method))
    told = ~np.isnan(expected)
    assert found[told] == pytest.approx(expected[told], rel=1e-9)
    assert not (found[~told] < 0.05).any()  # what a result withholds is never a rejection


def test_joint_p_values_need_no_anchors():
    where = setting(n_anchors=0)
    found = PValues(where, eo.Joint())(RUNS)
    assert found == pytest.approx(one_by_one(where, "joint"), rel=1e-9)


@pytest.mark.parametrize("method", [eo.Wald(), eo.Boundary(), eo.Joint()], ids=["w", "b", "j"])
@pytest.mark.parametrize("n_rows", [3, 1])
def test_runs_that_cannot_be_tested_have_no_p_value(method, n_rows):
    found = PValues(setting("paper", n_rows=n_rows), method)(range(5))
    assert np.isnan(found).all()


def test_separated_runs_have_no_p_value_and_spoil_no_other():
    """With 12 rows of the paper's world some runs are separated and some are not."""
    where = setting("paper", n_rows=12)
    found = PValues(where, eo.Wald())(range(60))
    assert 0 < np.isnan(found).sum() < 60
    alone = np.concatenate([PValues(where, eo.Wald())(range(i, i + 1)) for i in range(60)])
    assert np.array_equal(found, alone, equal_nan=True)


def test_an_own_test_is_asked_for_every_run():
    expected = [own_test(setting().draw(run)) for run in RUNS]
    assert PValues(setting(), own_test)(RUNS).tolist() == expected


def test_an_own_test_that_cannot_be_done_has_no_p_value():
    def refuse(trial):
        raise eo.InputError("no")

    assert np.isnan(PValues(setting(), refuse)(range(3))).all()


def test_a_bug_in_an_own_test_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        PValues(setting(), lambda trial: 1 / 0)(range(3))
