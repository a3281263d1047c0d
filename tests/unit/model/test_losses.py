import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenodds as eo
from evenodds.model.losses import MarginLoss, find_loss

NAMES = list(eo.margin_losses)
CONVEX = [name for name, loss in eo.margin_losses.items() if loss.convex]
PROPER = [name for name, loss in eo.margin_losses.items() if loss.link is not None]
margins = st.floats(-8, 8)
posteriors = st.floats(0.01, 0.99)

# At margins -2, 0, 1/2 and 3, by hand.
BY_HAND = {
    "zero-one": [1, 0.5, 0, 0],
    "sigmoid": [1 / (1 + np.exp(-2)), 0.5, 1 / (1 + np.exp(0.5)), 1 / (1 + np.exp(3))],
    "ramp": [1, 0.5, 0.25, 0],
    "unhinged": [3, 1, 0.5, -2],
    "logistic": [np.log(1 + np.e**2), np.log(2), np.log(1 + np.e**-0.5), np.log(1 + np.e**-3)],
    "exponential": [np.e**2, 1, np.e**-0.5, np.e**-3],
    "squared": [9, 1, 0.25, 4],
    "hinge": [3, 1, 0.5, 0],
    "squared hinge": [9, 1, 0.25, 0],
    "modified Huber": [8, 1, 0.25, 0],
    "savage": [(1 + np.e**-4) ** -2, 0.25, (1 + np.e) ** -2, (1 + np.e**6) ** -2],
}


def test_every_loss_is_checked_by_hand():
    assert set(BY_HAND) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_values_by_hand(name):
    places = np.array([-2, 0, 0.5, 3])
    assert eo.margin_losses[name].values(places, np.ones(4)) == pytest.approx(BY_HAND[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_negative_label_mirrors_the_score(name):
    loss, scores = eo.margin_losses[name], np.linspace(-3, 3, 13)
    assert (loss.values(scores, np.zeros(13)) == loss.values(-scores, np.ones(13))).all()


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_derivatives(name, label, numeric_slope, away_from_kinks):
    loss, labels = eo.margin_losses[name], np.full(len(away_from_kinks), label)
    measured = numeric_slope(lambda scores: loss.values(scores, labels), away_from_kinks)
    assert loss.slopes(away_from_kinks, labels) == pytest.approx(measured, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", CONVEX)
@given(here=margins, there=margins)
def test_a_convex_loss_lies_above_its_slopes(name, here, there):
    loss = eo.margin_losses[name]
    line = loss.values(here, 1) + loss.slopes(here, 1) * (there - here)
    assert loss.values(there, 1) >= line - 1e-9 * (1 + abs(line))


@pytest.mark.parametrize("name", CONVEX)
def test_a_slope_at_a_kink_is_a_subgradient(name):
    loss, places = eo.margin_losses[name], np.linspace(-3, 3, 61)
    for kink in (-1.0, 1.0):
        line = loss.values(kink, 1) + loss.slopes(kink, 1) * (places - kink)
        assert (loss.values(places, np.ones(61)) >= line - 1e-12).all()


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(CONVEX)))
def test_the_others_are_not_convex(name):
    places = np.linspace(-6, 6, 121)
    values = eo.margin_losses[name].values(places, np.ones(121))
    assert np.diff(values, 2).min() < -1e-4


@pytest.mark.parametrize("name", NAMES)
def test_symmetry_is_as_stated(name):
    loss = eo.margin_losses[name]
    symmetry = loss.symmetry()
    assert symmetry.holds == (loss.symmetry_constant is not None)
    if symmetry.holds:
        assert symmetry.constant == loss.symmetry_constant


def test_the_largest_departure_is_found_with_its_place():
    symmetry = eo.margin_losses["squared"].symmetry(reach=3)  # (1 - m)^2 + (1 + m)^2 = 2 + 2 m^2
    assert (symmetry.constant, symmetry.departure, symmetry.margin) == (2, pytest.approx(18), 3)


def test_a_departure_near_zero_alone_is_found():
    """Ramp with a bump at margins around 1/4."""
    bump = MarginLoss(
        name="bumpy",
        psi=lambda m: np.clip((1 - m) / 2, 0, 1) + 0.01 * (np.abs(m - 0.25) < 0.01),
        psi_slope=np.zeros_like,
    )
    assert not bump.symmetry().holds


@pytest.mark.parametrize("name", NAMES)
def test_an_odd_part_is_a_line_where_stated(name):
    loss, places = eo.margin_losses[name], np.linspace(-4, 4, 81)
    odd = loss.psi(places) - loss.psi(-places)
    assert (np.abs(np.diff(odd, 2)).max() < 1e-9) == loss.linear_odd


@pytest.mark.parametrize("name", PROPER)
@given(posterior=posteriors, other=margins)
def test_the_score_that_states_the_posterior_costs_least(name, posterior, other):
    loss = eo.margin_losses[name]
    best = loss.link.score(np.array(posterior))

    def risk(score):
        return posterior * loss.values(score, 1) + (1 - posterior) * loss.values(score, 0)

    assert risk(best) <= risk(other) + 1e-12
    assert loss.link.posterior(best) == pytest.approx(posterior)


def test_labels_are_zero_and_one(refused):
    with refused("labels must be 0 or 1 here: encode your two classes first."):
        eo.margin_losses["hinge"].values([0.5, 0.5], [-1, 1])


def test_an_unknown_loss_is_refused_with_the_known_ones(refused):
    with refused("loss is 'log' but must be one of 'zero-one', 'sigmoid', 'ramp', 'unhinged'"):
        find_loss("log")


def test_what_is_no_loss_is_refused(refused):
    with refused("loss is 3: give the name of a margin loss, a MarginLoss of your own, or what"):
        find_loss(3)


def test_a_reach_must_be_a_distance(refused):
    with refused("reach is 0 but must be above 0 and below 500."):
        eo.margin_losses["hinge"].symmetry(reach=0)


@pytest.mark.parametrize("method", ["values", "slopes"])
@pytest.mark.parametrize(
    "loss",
    [
        eo.margin_losses["logistic"],
        eo.corrected_loss("logistic", eo.UniformNoise(0.1)),
        eo.corrected_loss("logistic", eo.UniformNoise(0.1), correction="forward"),
    ],
    ids=["plain", "backward", "forward"],
)
def test_scores_and_labels_go_in_pairs(refused, loss, method):
    with refused("there are 3 scores but 2 labels: give one label a score."):
        getattr(loss, method)([0.1, 0.2, 0.3], [0, 1])
