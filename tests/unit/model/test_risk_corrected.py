import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenodds as eo

NAMES = list(eo.margin_losses)
PROPER = [name for name, loss in eo.margin_losses.items() if loss.link is not None]
SYMMETRIC = [name for name, loss in eo.margin_losses.items() if loss.symmetry_constant is not None]
NOISE = eo.ClassConditionalNoise(0.3, 0.1)
scores = st.floats(-6, 6)
posteriors = st.floats(0.02, 0.98)


@st.composite
def noises(draw):
    alpha = draw(st.floats(0, 0.9))
    return eo.ClassConditionalNoise(alpha, draw(st.floats(0, 0.95 - alpha)))


@pytest.mark.parametrize("name", NAMES)
@given(noise=noises(), score=scores)
def test_backward_is_the_clean_loss_on_average(name, noise, score):
    loss, clean = eo.corrected_loss(name, noise), eo.margin_losses[name]
    given_one, given_zero = loss.values([score, score], [1, 0])
    of_positive = (1 - noise.alpha) * given_one + noise.alpha * given_zero
    of_negative = noise.beta * given_one + (1 - noise.beta) * given_zero
    expected = clean.values([score, score], [1, 0])
    scale = np.abs(expected).max() / (1 - noise.alpha - noise.beta)
    assert [of_positive, of_negative] == pytest.approx(expected, rel=1e-9, abs=1e-13 * scale)


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(
    ("name", "correction"),
    [(name, "backward") for name in NAMES]
    + [(name, "forward") for name in PROPER]
    + [(name, "costs") for name in SYMMETRIC],
)
def test_slopes_are_derivatives(name, correction, label, numeric_slope, away_from_kinks):
    loss = eo.corrected_loss(name, NOISE, correction=correction)
    places = away_from_kinks
    labels = np.full(len(places), label)
    measured = numeric_slope(lambda scores: loss.values(scores, labels), places)
    assert loss.slopes(places, labels) == pytest.approx(measured, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_backward_only_stretches_a_symmetric_loss_under_uniform_noise(name):
    """(psi - tau K) / (1 - 2 tau): least where psi is."""
    loss, places, labels = eo.margin_losses[name], np.linspace(-3, 3, 61), np.arange(61) % 2
    corrected = eo.corrected_loss(name, eo.UniformNoise(0.2)).values(places, labels)
    expected = (loss.values(places, labels) - 0.2 * loss.symmetry_constant) / 0.6
    assert corrected == pytest.approx(expected)


def test_backward_logistic_is_logistic_with_unbiased_labels():
    """log(1 + e^f) - t f with t = (label - beta) / (1 - alpha - beta), whose mean is the truth."""
    places, labels = np.linspace(-5, 5, 41), np.arange(41) % 2
    unbiased = (labels - NOISE.beta) / (1 - NOISE.alpha - NOISE.beta)
    expected = np.log(1 + np.exp(places)) - unbiased * places
    assert eo.corrected_loss("logistic", NOISE).values(places, labels) == pytest.approx(expected)


def test_forward_logistic_is_the_likelihood_of_noisy_labels():
    places, labels = np.linspace(-9, 9, 61), np.arange(61) % 2
    noisy = NOISE.noisy_posterior(1 / (1 + np.exp(-places)))
    expected = -np.log(np.where(labels == 1, noisy, 1 - noisy))
    found = eo.corrected_loss("logistic", NOISE, correction="forward").values(places, labels)
    assert found == pytest.approx(expected, rel=1e-12)


def test_forward_logistic_stays_finite_far_out():
    loss = eo.corrected_loss("logistic", NOISE, correction="forward")
    assert loss.values([900.0, -900.0], [0, 1]) == pytest.approx(-np.log([0.3, 0.1]))


def test_forward_squared_is_least_squares_on_shrunken_scores():
    places, labels = np.linspace(-2, 2, 41), np.arange(41) % 2
    expected = (2 * labels - 1 - (-0.2 + 0.6 * places)) ** 2
    found = eo.corrected_loss("squared", NOISE, correction="forward").values(places, labels)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("name", PROPER)
@given(noise=noises(), posterior=posteriors, other=scores)
def test_forward_is_least_at_the_clean_posterior(name, noise, posterior, other):
    loss = eo.corrected_loss(name, noise, correction="forward")
    best = eo.margin_losses[name].link.score(np.array(posterior))
    noisy = noise.noisy_posterior(posterior)

    def risk(score):
        return noisy * loss.values(score, 1) + (1 - noisy) * loss.values(score, 0)

    assert risk(best) <= risk(other) + 1e-9


@pytest.mark.parametrize("name", SYMMETRIC)
@given(noise=noises(), posterior=posteriors, one=scores, other=scores)
def test_costs_make_noisy_risks_differ_as_clean_ones_do(name, noise, posterior, one, other):
    loss, clean = eo.corrected_loss(name, noise, correction="costs"), eo.margin_losses[name]

    def difference(of, share):
        at_one, at_other = (
            share * of.values(score, 1) + (1 - share) * of.values(score, 0)
            for score in (one, other)
        )
        return at_one - at_other

    expected = (1 - noise.alpha - noise.beta) * difference(clean, posterior)
    found = difference(loss, noise.noisy_posterior(posterior))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_costs_use_the_asymmetry_alone():
    places, labels = np.linspace(-3, 3, 13), np.arange(13) % 2
    both, difference = (
        eo.corrected_loss("ramp", noise, correction="costs").values(places, labels)
        for noise in (NOISE, eo.ClassConditionalNoise(0.2, 0.0))
    )
    assert both == pytest.approx(difference)


@pytest.mark.parametrize("correction", ["backward", "forward"])
@pytest.mark.parametrize("name", PROPER)
def test_no_noise_corrects_nothing(name, correction):
    places, labels = np.linspace(-4, 4, 41), np.arange(41) % 2
    loss = eo.corrected_loss(name, eo.UniformNoise(0), correction=correction)
    assert loss.values(places, labels) == pytest.approx(
        eo.margin_losses[name].values(places, labels), rel=1e-12, abs=1e-15
    )
    assert loss.convex == eo.margin_losses[name].convex


@pytest.mark.parametrize(
    ("name", "correction"),
    [(name, "backward") for name in NAMES] + [(name, "forward") for name in PROPER],
)
def test_a_corrected_loss_is_convex_where_it_says_so(name, correction):
    loss = eo.corrected_loss(name, NOISE, correction=correction)
    places = np.linspace(-6, 6, 241)
    bends = [np.diff(loss.values(places, np.full(241, label)), 2).min() for label in (0, 1)]
    assert (min(bends) > -1e-9) == loss.convex


def test_labels_are_zero_and_one(refused):
    with refused("labels must be 0 or 1 here"):
        eo.corrected_loss("sigmoid", NOISE, correction="costs").values([0.5], [-1])


def test_rates_that_leave_nothing_are_refused(refused):
    with refused("alpha + beta is 1 but must be below 1"):
        eo.corrected_loss("logistic", eo.ClassConditionalNoise(0.6, 0.4))


def test_noise_is_a_noise(refused):
    with refused("noise is (0.3, 0.1): give ClassConditionalNoise(alpha, beta)"):
        eo.corrected_loss("logistic", (0.3, 0.1))


def test_a_loss_without_a_posterior_has_no_forward_correction(refused):
    with refused(
        "the score of loss 'hinge' states no posterior that noise could be put through: use "
        "correction='backward', or one of 'logistic', 'exponential', 'squared', 'squared hinge'"
    ):
        eo.corrected_loss("hinge", NOISE, correction="forward")


def test_costs_are_for_symmetric_losses(refused):
    with refused(
        "costs correct a symmetric loss only, and for 'hinge' psi(m) + psi(-m) is not constant: 2 "
        "at margin 0, off by 9 at margin 10. Use correction='backward', which corrects any loss."
    ):
        eo.corrected_loss("hinge", NOISE, correction="costs")


def test_an_unknown_correction_is_refused(refused):
    with refused("correction is 'both' but must be one of 'backward', 'forward' or 'costs'."):
        eo.corrected_loss("logistic", NOISE, correction="both")


def test_a_corrected_loss_is_not_corrected_again(refused):
    with refused("loss is 'hinge, corrected backward', which is corrected already"):
        eo.corrected_loss(eo.corrected_loss("hinge", NOISE), NOISE)
