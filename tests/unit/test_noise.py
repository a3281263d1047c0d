import dataclasses
import pickle

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from evenodds import ClassConditionalNoise, UniformNoise
from evenodds.noise import check_noise

N_FLIPS = 20_000


def band(rate):
    """Return the ends of counts out of N_FLIPS that a right rate leaves once in 5000."""
    return stats.binom.ppf([1e-4, 1 - 1e-4], N_FLIPS, rate)


@pytest.mark.parametrize(
    ("alpha", "beta", "message"),
    [
        (-0.1, 0.2, "alpha is -0.1 but must be at least 0 and below 1."),
        (1, 0, "alpha is 1 but must be at least 0 and below 1."),
        (0.2, -0.1, "beta is -0.1 but must be at least 0 and below 1."),
        (0, 1, "beta is 1 but must be at least 0 and below 1."),
        (0.6, 0.5, "alpha + beta is 1.1 but must be below 1: at 1 labels say nothing"),
        (0.5, 0.5, "alpha + beta is 1 but must be below 1"),
        ("0.2", 0.1, "alpha is '0.2' but must be a number."),
        (0.1, float("nan"), "beta is nan but must be finite."),
    ],
)
def test_impossible_rates_are_refused(refused, alpha, beta, message):
    with refused(message):
        ClassConditionalNoise(alpha, beta)


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (0.5, "rate is 0.5 but must be at least 0 and below 0.5: at 1/2 labels are coins."),
        (-0.01, "rate is -0.01 but must be at least 0"),
        (True, "rate is True but must be a number."),
        (float("inf"), "rate is inf but must be finite."),
    ],
)
def test_impossible_uniform_rates_are_refused(refused, rate, message):
    with refused(message):
        UniformNoise(rate)


@pytest.mark.parametrize(("alpha", "beta"), [(0, 0), (0.99, 0), (0, 0.99), (0.4, 0.59)])
def test_every_rate_that_leaves_information_is_taken(alpha, beta):
    noise = ClassConditionalNoise(alpha, beta)
    assert (noise.alpha, noise.beta) == (alpha, beta)


def test_asymmetry_is_beta_minus_alpha():
    assert ClassConditionalNoise(alpha=0.125, beta=0.5).asymmetry == 0.375


def test_noisy_posterior_is_a_line_from_beta_to_one_minus_alpha():
    noisy = ClassConditionalNoise(alpha=0.25, beta=0.125).noisy_posterior([0, 0.5, 1])
    assert noisy.tolist() == [0.125, 0.4375, 0.75]


def test_noisy_posterior_keeps_the_shape():
    assert UniformNoise(0.1).noisy_posterior(np.full((2, 3), 0.4)).shape == (2, 3)


@pytest.mark.parametrize("posterior", [-0.1, 1.1, [0.5, float("nan")]])
def test_a_posterior_that_is_no_probability_is_refused(refused, posterior):
    with refused("posterior must lie between 0 and 1: it is a probability."):
        UniformNoise(0.1).noisy_posterior(posterior)


def test_noisy_prior_follows_the_same_line():
    assert ClassConditionalNoise(alpha=0.25, beta=0.125).noisy_prior(0.2) == 0.125 + 0.625 * 0.2


def test_a_prior_that_is_no_share_is_refused(refused):
    with refused("prior is 1.2 but must be at least 0 and at most 1."):
        UniformNoise(0.1).noisy_prior(1.2)


def test_positives_are_flipped_at_rate_alpha():
    low, high = band(0.3)
    noisy = ClassConditionalNoise(0.3, 0.1).flip(np.ones(N_FLIPS), np.random.default_rng(1))
    assert low <= N_FLIPS - noisy.sum() <= high


def test_negatives_are_flipped_at_rate_beta():
    low, high = band(0.1)
    noisy = ClassConditionalNoise(0.3, 0.1).flip(np.zeros(N_FLIPS), np.random.default_rng(2))
    assert low <= noisy.sum() <= high


def test_no_noise_flips_nothing():
    labels = np.tile([0, 1], 500)
    assert (UniformNoise(0).flip(labels, np.random.default_rng(3)) == labels).all()


def test_the_same_seed_flips_the_same_labels():
    labels = np.tile([0, 1], 500)
    first, second = (UniformNoise(0.4).flip(labels, np.random.default_rng(4)) for _ in range(2))
    assert (first == second).all()


def test_a_seed_flips_like_its_generator():
    labels = np.tile([0, 1], 500)
    noise = UniformNoise(0.4)
    assert (noise.flip(labels, 3) == noise.flip(labels, np.random.default_rng(3))).all()


@pytest.mark.parametrize("rng", ["3", -1, 0.5])
def test_what_is_no_seed_is_refused(refused, rng):
    with refused(f"rng is {rng!r}: give a seed, or numpy.random.default_rng(seed)."):
        UniformNoise(0.4).flip([0, 1], rng)


def test_flipping_leaves_the_labels_it_was_given():
    labels = np.ones(1000)
    ClassConditionalNoise(0.9, 0).flip(labels, np.random.default_rng(5))
    assert labels.all()


def test_flipped_labels_are_small_integers():
    assert UniformNoise(0.2).flip([True, False], np.random.default_rng(6)).dtype == np.int8


@pytest.mark.parametrize("labels", [[-1, 1], [0, 1, 2], [0, float("nan")]])
def test_other_labels_than_zero_and_one_are_refused(refused, labels):
    with refused("labels must be 0 or 1 here: encode your two classes first."):
        UniformNoise(0.2).flip(labels, np.random.default_rng(7))


def test_uniform_noise_is_class_conditional_noise():
    assert isinstance(UniformNoise(0.2), ClassConditionalNoise)


def test_uniform_noise_has_no_asymmetry():
    assert UniformNoise(0.2).asymmetry == 0


def test_uniform_noise_shows_its_rate():
    assert repr(UniformNoise(0.2)) == "UniformNoise(rate=0.2)"


def test_uniform_noise_keeps_its_rate():
    assert UniformNoise(0.2).rate == 0.2


def test_uniform_noise_survives_pickling():
    assert pickle.loads(pickle.dumps(UniformNoise(0.2))) == UniformNoise(0.2)


def test_noise_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        eo.UniformNoise(0.2).alpha = 0.3


def test_noise_is_returned_as_it_is():
    noise = UniformNoise(0.1)
    assert check_noise(noise) is noise


@pytest.mark.parametrize("value", [None, 0.1, (0.1, 0.2)])
def test_what_is_no_noise_is_refused(refused, value):
    with refused(
        f"noise is {value!r}: give ClassConditionalNoise(alpha, beta), the two flip rates, or "
        "UniformNoise(rate)."
    ):
        check_noise(value)
