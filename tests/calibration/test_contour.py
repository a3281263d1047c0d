"""A small part of ``python -m tests.calibration.contour``: level and power of the ladder."""

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from evenodds.inference.contour.contour_test import posteriors_at
from evenodds.rows.read import read_data
from tests.calibration.contour import (
    HARD_CELLS,
    LEVEL_CELLS,
    MODEL_CELLS,
    NAMED_CELLS,
    POWER_CELLS,
    answers,
    rejections,
    ten_features,
    too_simple,
    true_rungs,
)
from tests.calibration.few_values import flags

RUNS = 30
CHOSEN = [*LEVEL_CELLS[::5], MODEL_CELLS[5]]
UNEVEN = [cell for cell in POWER_CELLS if cell.truth == "class-conditional"]
BY_FEATURES = [cell for cell in POWER_CELLS if cell.truth == "instance-dependent" and cell.n < 9000]


FEW_RUNS = 20
AMPLE = [cell for cell in NAMED_CELLS if cell.n > 9000 and cell.tolerance == 0]


def _name(cell):
    tolerance = f" tolerance={cell.tolerance:g}" if cell.tolerance else ""
    return f"{cell.name} n={cell.n} flips={cell.alpha:g}/{cell.beta:g}{tolerance}"


@pytest.mark.parametrize("cell", CHOSEN, ids=_name)
def test_the_ladder_rarely_climbs_past_the_truth(cell):
    found = rejections(cell, RUNS, 31, "spline")
    upper = stats.binom.ppf(1 - 1e-4, RUNS, 0.05)
    assert found[:, : true_rungs(cell)[0] + 1].all(axis=1).sum() <= upper


@pytest.mark.parametrize("cell", UNEVEN, ids=_name)
def test_unequal_flips_are_found(cell):
    assert rejections(cell, RUNS, 32, "spline")[:, :2].all(axis=1).mean() > 0.5


@pytest.mark.parametrize("cell", BY_FEATURES[::2], ids=_name)
def test_noise_that_depends_on_the_features_is_found(cell):
    assert rejections(cell, RUNS, 33, "spline").all(axis=1).mean() > 0.6


@pytest.mark.parametrize("cell", [HARD_CELLS[1], HARD_CELLS[6]], ids=_name)
def test_hard_case_noise_is_rarely_called_less(cell):
    """The ladder stops at clean labels or uniform noise in most of these runs."""
    shares, _ = answers(cell, FEW_RUNS, 37)
    assert too_simple(cell, shares) * FEW_RUNS <= stats.binom.ppf(1 - 1e-4, FEW_RUNS, 0.05)


@pytest.mark.parametrize("cell", AMPLE, ids=_name)
def test_ample_data_name_the_noise(cell):
    assert cell.test(38, 0, "spline").reached() == cell.truth


@pytest.mark.parametrize("n_groups", [6])
def test_few_groups_do_not_climb_too_often(n_groups):
    past = 0
    for run in range(RUNS):
        X, labels, anchors, _ = LEVEL_CELLS[1].draw(34, run)
        groups = np.arange(len(labels)) % n_groups
        past += eo.contour_test(X, labels, anchors, groups=groups).pvalue < 0.05
    assert past <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)


def test_a_model_of_the_same_rows_errs_on_the_safe_side():
    """Its error goes along with that of the labels: variances subtract where we add them."""
    world, noise = ten_features(), eo.UniformNoise(0.1)
    seeds = np.random.default_rng(36).normal(scale=0.5, size=(3, 10))
    points = world.index.move_to(seeds, world.link.index_at(np.array([0.2, 0.5, 0.8])))
    gaps, of_labels, of_model = [], [], []
    for run in range(100):
        trial = world.draw(1500, 0, noise, np.random.default_rng([35, run]))
        found = posteriors_at(read_data(trial.features, trial.labels), points, "spline")
        model = eo.fit_logistic(trial.features, trial.true_labels)
        stated = 1 / (1 + np.exp(-model.log_odds(points)))
        slopes = stated * (1 - stated)
        gaps.append(found.posterior - 0.1 - 0.8 * stated)
        of_labels.append(found.covariance.diagonal())
        of_model.append(0.64 * slopes**2 * model.log_odds_covariance(points).diagonal())
    spread = np.std(gaps, axis=0)
    less, more = np.mean(of_labels, axis=0), np.mean(of_model, axis=0)
    # A standard deviation of 100 runs is known to 7%.
    assert spread == pytest.approx(np.sqrt(less - more), rel=0.25)
    assert (spread < 0.85 * np.sqrt(less + more)).all()


@pytest.mark.parametrize(("kind", "slope"), [("levels 6", 1.7), ("levels 8", 3.0)])
def test_with_few_values_of_the_index_uniform_noise_is_rarely_rejected(kind, slope):
    """With a knot for each fifth root of the rows it was in .13 and .25 of 120 to 150."""
    found = np.array([flags(kind, slope, 10_000, run) for run in range(60)])
    assert found[:, 0].sum() <= stats.binom.ppf(1 - 1e-4, 60, 0.05)


def test_with_four_values_of_the_index_every_answer_is_doubted():
    assert all(flags("levels 4", 1.7, 3000, run)[1] for run in range(20))
