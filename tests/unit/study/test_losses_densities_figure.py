import numpy as np
import pytest
from scipy import stats

from evenodds.noise import ClassConditionalNoise, UniformNoise
from evenodds.simulation.worlds import two_bells
from evenodds.study.losses import (
    CLASS_CONDITIONAL,
    densities_figure,
    labelled_densities,
    noisy_boundary,
)

T = np.linspace(-12, 12, 4801)
NOISES = [UniformNoise(0), UniformNoise(0.25), ClassConditionalNoise(0.4, 0.1)]


def area(density):
    return np.trapezoid(density, T)


@pytest.mark.parametrize("share", [0.5, 0.15])
@pytest.mark.parametrize("noise", NOISES)
def test_areas_are_the_shares_of_the_labels(noise, share):
    positives, negatives = labelled_densities(T, noise, share)
    expected = noise.noisy_prior(share)
    assert (area(positives), area(negatives)) == pytest.approx((expected, 1 - expected), abs=1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_noise_moves_no_rows(noise):
    clean = np.add(*labelled_densities(T, UniformNoise(0), 0.3))
    assert np.add(*labelled_densities(T, noise, 0.3)) == pytest.approx(clean, rel=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.15])
def test_densities_are_those_of_simulated_rows(share):
    """Share of rows labelled positive with t below 0.3, against the area there."""
    rng = np.random.default_rng(3)
    X, y = two_bells(share).draw_rows(50_000, rng)
    labelled = CLASS_CONDITIONAL.flip(y, rng) == 1
    found = int((labelled & (X.sum(axis=1) / np.sqrt(2) < 0.3)).sum())
    positives, _ = labelled_densities(T, CLASS_CONDITIONAL, share)
    expected = np.trapezoid(np.where(T < 0.3, positives, 0), T)
    low, high = stats.binom.ppf([1e-4, 1 - 1e-4], 50_000, expected)
    assert low <= found <= high


@pytest.mark.parametrize("share", [0.5, 0.15])
@pytest.mark.parametrize("noise", NOISES)
def test_labels_are_equally_likely_at_the_noisy_boundary(noise, share):
    positives, negatives = labelled_densities(
        np.array([noisy_boundary(noise, share)]), noise, share
    )
    assert positives == pytest.approx(negatives, rel=1e-9)


@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_uniform_noise_leaves_the_boundary(rate):
    moved = noisy_boundary(UniformNoise(rate), 0.15)
    assert moved == pytest.approx(noisy_boundary(UniformNoise(0), 0.15), abs=1e-12)


def test_flipped_positives_move_the_boundary_to_their_side():
    assert noisy_boundary(ClassConditionalNoise(0.3, 0.1)) > 0.2


def test_a_boundary_may_vanish():
    assert noisy_boundary(ClassConditionalNoise(0.6, 0.1)) is None


def test_the_figure_marks_the_boundary_of_the_labels():
    figure = densities_figure()
    marks = [
        line.get_xdata()[0]
        for line in figure.axes[5].lines
        if line.get_label().startswith("labels")
    ]
    assert marks == [noisy_boundary(CLASS_CONDITIONAL)]


def test_the_figure_is_drawn_where_no_boundary_is_left():
    figure = densities_figure(class_conditional=ClassConditionalNoise(0.6, 0.1))
    assert not [line for line in figure.axes[5].lines if line.get_label().startswith("labels")]
