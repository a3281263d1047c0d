"""Many small plain fits at once."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.model.many_fits import STACK_NUMBERS, fit_stack, samples_in_a_stack
from evenodds.simulation.worlds import find_world

WORLDS = ["paper", "rare", "skewed", "many features", "heavy tails", "correlated"]


def draw(world, n_samples, n_rows, seed, noise=(0.1, 0.1)):
    """Return features (samples, rows, columns), clean labels and flipped ones."""
    rng = np.random.default_rng(seed)
    here, flips = find_world(world), eo.ClassConditionalNoise(*noise)
    features, labels = [], []
    for _ in range(n_samples):
        X, y = here.draw_rows(n_rows, rng)
        features.append(X)
        labels.append([y, flips.flip(y, rng)])
    return np.array(features), np.array(labels)


def singly(features, labels, part):
    """Return a part of the single fits, for every label vector of every sample."""
    samples = zip(features, labels, strict=True)
    return np.array([[getattr(eo.fit_logistic(X, y), part) for y in ys] for X, ys in samples])


def separated(n_rows=60):
    """Return one sample whose first column separates the labels."""
    X = np.random.default_rng(8).normal(size=(1, n_rows, 2))
    return X, (X[:, None, :, 0] > 0).astype(np.int8)


@pytest.mark.parametrize("world", WORLDS)
def test_coefficients_are_those_of_single_fits(world):
    X, labels = draw(world, 5, 600, seed=1)
    singles = singly(X, labels, "coefficients")
    assert np.abs(fit_stack(X, labels).coefficients - singles).max() < 1e-9


@pytest.mark.parametrize("world", WORLDS)
def test_covariances_are_those_of_single_fits(world):
    """To 2e-6 of the variances: the curvature is that before a last step of at most 1e-6."""
    X, labels = draw(world, 5, 600, seed=2)
    singles = singly(X, labels, "covariance")
    errors = np.sqrt(np.diagonal(singles, axis1=2, axis2=3))
    gaps = np.abs(fit_stack(X, labels).covariance - singles)
    assert (gaps / (errors[..., None] * errors[..., None, :])).max() < 2e-6


@pytest.mark.parametrize("world", WORLDS)
def test_every_sample_with_overlap_converges(world):
    assert fit_stack(*draw(world, 5, 600, seed=3)).converged.all()


@pytest.mark.parametrize("n_samples", [2, 7, 40])
def test_a_fit_is_the_same_to_the_last_bit_whatever_else_is_in_the_stack(n_samples):
    X, labels = draw("rare", n_samples, 300, seed=4)
    together = fit_stack(X, labels)
    alone = [fit_stack(X[i : i + 1], labels[i : i + 1]) for i in range(n_samples)]
    assert np.array_equal(
        np.concatenate([fit.coefficients for fit in alone]), together.coefficients
    )
    assert np.array_equal(np.concatenate([fit.covariance for fit in alone]), together.covariance)


def test_separated_labels_are_marked_and_disturb_no_other_sample():
    X, labels = draw("paper", 3, 60, seed=5)
    bad_X, bad_y = separated()
    fits = fit_stack(np.concatenate([X, bad_X]), np.concatenate([labels[:, 1:], bad_y]))
    assert fits.converged[:, 0].tolist() == [True, True, True, False]
    assert (fits.coefficients[:3] == fit_stack(X, labels[:, 1:]).coefficients).all()


@pytest.mark.parametrize("label", [0, 1])
def test_labels_of_one_class_are_marked(label):
    X, _ = draw("paper", 2, 50, seed=6)
    labels = np.full((2, 1, 50), label, dtype=np.int8)
    labels[0, 0, ::2] = 1 - label
    assert fit_stack(X, labels).converged[:, 0].tolist() == [True, False]


def test_rows_too_few_for_their_columns_are_marked_and_disturb_no_other_sample():
    X, labels = draw("paper", 2, 40, seed=7)
    X[1] = 0  # forty times the same row: nothing to fit
    fits = fit_stack(X, labels[:, 1:])
    assert fits.converged[:, 0].tolist() == [True, False]


def test_a_stack_is_as_large_as_a_cores_cache_allows():
    assert samples_in_a_stack(1000) * 1000 <= STACK_NUMBERS < (samples_in_a_stack(1000) + 1) * 1000


def test_a_stack_holds_at_least_one_sample():
    assert samples_in_a_stack(10 * STACK_NUMBERS) == 1
