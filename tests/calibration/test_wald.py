"""Level and power of the paper's test in worlds with a known answer."""

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from evenodds.inference.wald import Wald, anchored_curve
from evenodds.model.logistic import fit_rows
from evenodds.rows.memory import read_rows
from evenodds.simulation.worlds import find_world, two_bells
from tests.calibration.cells import null_pvalue

SETTINGS = Wald()
ANCHOR_COUNTS = (1, 2, 4, 8, 16, 32)
RUNS = 1000
CRITICAL = stats.norm.isf(0.025)


def count_rejections(world, noise, *, n, runs, seed, tolerance=0.0, stated=None, counts=(1,)):
    """Count rejections at 5% for each number of anchors; fresh anchors in every run.

    `stated` is the tolerance the test is told, by default the one the anchors have.
    """
    rng = np.random.default_rng(seed)
    rejections = dict.fromkeys(counts, 0)
    for _ in range(runs):
        X, y = world.draw_rows(n, rng)
        fit = fit_rows(read_rows(X, noise.flip(y, rng)))
        for k in counts:
            points = world.draw_anchors(k, rng, tolerance=tolerance).points
            told = tolerance if stated is None else stated
            anchors = eo.Anchors(points, tolerance=told, shared_tolerance=0)
            z = anchored_curve(fit, anchors, anchors.points, SETTINGS).z(0.0)
            rejections[k] += abs(z) > CRITICAL
    return rejections


def inside_band(count, runs, rate, tail=1e-4):
    low, high = stats.binom.ppf([tail, 1 - tail], runs, rate)
    return low <= count <= high


def test_power_in_the_papers_world():
    """Rates of a separate simulation of 2,000 runs, so the band allows for its error too."""
    noise = eo.ClassConditionalNoise(0.3, 0.1)
    counts = count_rejections(two_bells(), noise, n=1000, runs=RUNS, seed=1, counts=ANCHOR_COUNTS)
    expected = dict(zip(ANCHOR_COUNTS, (0.65, 0.84, 0.92, 0.98, 0.99, 1.0), strict=True))
    gaps = {
        k: abs(counts[k] / RUNS - rate)
        / np.sqrt(max(rate * (1 - rate), 0.005) * (1 / RUNS + 1 / 2000))
        for k, rate in expected.items()
    }
    assert max(gaps.values()) < 4


def test_level_on_clean_labels_in_the_papers_world():
    counts = count_rejections(
        two_bells(), eo.UniformNoise(0), n=5000, runs=RUNS, seed=2, counts=ANCHOR_COUNTS
    )
    assert all(inside_band(count, RUNS, 0.045) for count in counts.values())


def test_level_under_uniform_noise_in_the_papers_world():
    counts = count_rejections(
        two_bells(), eo.UniformNoise(0.2), n=2000, runs=RUNS, seed=3, counts=(1, 8)
    )
    assert all(inside_band(count, RUNS, 0.05) for count in counts.values())


@pytest.mark.parametrize("tolerance", [0.05, 0.1])
def test_level_holds_when_the_tolerance_is_counted(tolerance):
    counts = count_rejections(
        two_bells(),
        eo.UniformNoise(0),
        n=5000,
        runs=1000,
        seed=4,
        tolerance=tolerance,
        counts=(1, 8),
    )
    upper = stats.binom.ppf(1 - 1e-4, 1000, 0.05)
    assert max(counts.values()) <= upper


@pytest.mark.parametrize(("tolerance", "rate"), [(0.05, 0.14), (0.1, 0.34)])
def test_dropping_the_tolerance_from_the_variance_breaks_the_level(tolerance, rate):
    counts = count_rejections(
        two_bells(), eo.UniformNoise(0), n=5000, runs=1000, seed=5, tolerance=tolerance, stated=0.0
    )
    assert abs(counts[1] / 1000 - rate) < 4 * np.sqrt(2 * rate * (1 - rate) / 1000)


def test_rare_positives_break_the_level_under_uniform_noise():
    """The reason why this test is not to be trusted on lopsided data."""
    counts = count_rejections(
        two_bells(0.15), eo.UniformNoise(0.1), n=5000, runs=500, seed=6, counts=(1, 4)
    )
    assert counts[1] > 0.45 * 500
    assert counts[4] > 0.6 * 500


def test_sandwich_does_not_repair_the_level_on_rare_positives():
    rng = np.random.default_rng(7)
    world, noise, rejections = two_bells(0.15), eo.UniformNoise(0.1), 0
    for _ in range(200):
        X, y = world.draw_rows(5000, rng)
        anchors = world.draw_anchors(4, rng)
        method = Wald(covariance="sandwich")
        rejections += null_pvalue(X, noise.flip(y, rng), anchors, method) < 0.05
    assert rejections > 0.6 * 200


def test_repeated_rows_break_the_level_and_groups_restore_it():
    rng = np.random.default_rng(8)
    world, noise, runs, copies = two_bells(), eo.UniformNoise(0.2), 600, 4
    alone = grouped = 0
    for _ in range(runs):
        X, y = world.draw_rows(800, rng)
        X, y = np.repeat(X, copies, axis=0), np.repeat(noise.flip(y, rng), copies)
        groups = np.repeat(np.arange(800), copies)
        anchors = world.draw_anchors(4, rng)
        alone += null_pvalue(X, y, anchors, SETTINGS) < 0.05
        grouped += null_pvalue(X, y, anchors, SETTINGS, groups) < 0.05
    assert alone > 0.2 * runs
    assert inside_band(grouped, runs, 0.05)


@pytest.mark.parametrize(
    "world", [two_bells(), two_bells(0.15), find_world("skewed")], ids=lambda w: w.name
)
def test_the_curve_check_sees_noise_and_only_noise(world):
    rng = np.random.default_rng(9)
    flagged = {0.0: 0, 0.1: 0}
    for rate in flagged:
        for _ in range(200):
            X, y = world.draw_rows(2000, rng)
            labels = eo.UniformNoise(rate).flip(y, rng)
            result = eo.asymmetry_test(X, labels, world.draw_anchors(1, rng), method="wald")
            flagged[rate] += result.diagnostics[0].concern
    assert flagged[0.0] <= stats.binom.ppf(1 - 1e-4, 200, 0.01)
    assert flagged[0.1] >= 0.95 * 200
