"""A small part of ``python -m tests.calibration.elicited``: whole sessions, simulated."""

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from tests.calibration.elicited import Elicited, Panel, rejections
from tests.calibration.experts import own_toss_ups
from tests.calibration.other_columns import CRITICAL, OtherColumns

RUNS = 30


@pytest.mark.parametrize(
    ("world", "panel"),
    [("paper", Panel()), ("rare", Panel(n_experts=2, slider=True))],
    ids=str,
)
def test_level_with_elicited_anchors(world, panel):
    count = rejections(Elicited(world, eo.UniformNoise(0.1), panel, seed=21), RUNS)
    assert count <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)


@pytest.mark.parametrize(("world", "least"), [("paper", 0.6)])
def test_cases_from_a_band_show_what_the_curves_own_toss_ups_hide(world, least):
    """Power as measured at length, less four standard errors; the other way is silent."""
    noise = eo.ClassConditionalNoise(0.05, 0.15)
    band, own = (
        rejections(Elicited(world, noise, choose=choose, seed=22), RUNS)
        for choose in (None, own_toss_ups)
    )
    assert band >= least * RUNS
    assert own <= stats.binom.ppf(1 - 1e-4, RUNS, 0.15)


@pytest.mark.parametrize("world", ["rare"])
def test_the_tipping_point_tells_of_a_biased_expert(world):
    """A bias that makes a test reject is one that its tipping point says would do so."""
    bias, runs = 0.1, 20
    setting = Elicited(world, eo.UniformNoise(0.1), Panel(bias=bias), n_rows=5000, seed=23)
    found = np.array([setting.estimate(run) for run in range(runs)])
    rejected = found[:, 0] < 0.05
    assert rejected.mean() > 0.3
    assert np.mean(np.abs(found[rejected, 2]) <= bias) > 0.9


@pytest.mark.parametrize("seen_by", ["expert", "test"])
def test_a_column_that_says_nothing_may_be_seen_by_either(seen_by):
    rejected = sum(abs(OtherColumns(0, seen_by, seed=24).z(run)) > CRITICAL for run in range(RUNS))
    assert rejected <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)


def test_a_telling_column_that_experts_alone_see_breaks_the_level_as_they_are_told():
    """The warning at the start says 23%; at 5% there would be no need of it."""
    rejected = sum(abs(OtherColumns(1, "expert", seed=25).z(run)) > CRITICAL for run in range(RUNS))
    assert rejected > stats.binom.ppf(0.99, RUNS, 0.05)
