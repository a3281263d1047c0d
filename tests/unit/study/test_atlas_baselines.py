import numpy as np
import pytest

from evenodds.errors import SeparationError
from evenodds.model.logistic import fit_logistic
from evenodds.noise import UniformNoise
from evenodds.simulation.worlds import find_world, two_bells
from evenodds.study.atlas import (
    NoiseRates,
    confident_joint,
    confident_joint_rates,
    cross_fitted_posterior,
    extreme_posterior_rates,
    rates_at_extremes,
    rates_of_joint,
)

# Four rows labelled positive, then four labelled negative. Mean self-confidence: 0.575 and 0.675.
POSTERIOR = np.array([0.9, 0.8, 0.4, 0.2, 0.1, 0.2, 0.3, 0.7])
GIVEN = np.array([True] * 4 + [False] * 4)


def both_estimates(X, y, seed=0):
    return {
        "extremes": extreme_posterior_rates(X, y == 1),
        "confident joint": confident_joint_rates(X, y == 1, np.random.default_rng(seed)),
    }


@pytest.fixture(scope="module")
def two_places():
    """All positives at 1, all negatives at -1; 250 and 100 of 1000 flipped."""
    X = np.repeat([[1.0], [-1.0]], 1000, axis=0)
    y = np.repeat([0, 1, 1, 0], [250, 750, 100, 900])
    return X, y


def test_asymmetry_is_the_difference_of_the_rates():
    assert NoiseRates(alpha=0.25, beta=0.125).asymmetry == -0.125


def test_extremes_worked_by_hand():
    posterior = np.linspace(0.2, 0.7, 101)  # the row at 97% is the 98th
    assert rates_at_extremes(posterior, 97) == NoiseRates(
        alpha=pytest.approx(1 - 0.685), beta=pytest.approx(0.215)
    )


def test_the_hundredth_percentile_is_the_most_extreme_row():
    rates = rates_at_extremes(POSTERIOR, 100)
    assert (rates.alpha, rates.beta) == pytest.approx((0.1, 0.1), abs=1e-15)


def test_the_confident_joint_worked_by_hand():
    """0.4 reaches neither threshold; 0.2 is a confident negative, 0.7 a confident positive."""
    assert confident_joint(POSTERIOR, GIVEN).tolist() == [[3, 1], [1, 2]]


def test_rates_of_the_confident_joint_worked_by_hand():
    """Scaled to 4 rows a label: [[3, 1], [4/3, 8/3]]."""
    rates = rates_of_joint(confident_joint(POSTERIOR, GIVEN), GIVEN)
    assert (rates.alpha, rates.beta) == pytest.approx((3 / 11, 4 / 13), rel=1e-12)


def test_a_row_that_reaches_both_thresholds_counts_as_the_more_likely():
    """Thresholds 0.4 and 0.5: the third row reaches both and is more likely negative."""
    counts = confident_joint(np.array([0.6, 0.2, 0.45, 0.55]), np.array([True, True, False, False]))
    assert counts.tolist() == [[1, 1], [1, 1]]


def test_a_toss_up_that_reaches_both_thresholds_keeps_its_label():
    """Thresholds 0.375 and 0.4375: both rows at 0.5 reach both."""
    counts = confident_joint(
        np.array([0.5, 0.25, 0.5, 0.625]), np.array([True, True, False, False])
    )
    assert counts.tolist() == [[1, 1], [1, 1]]


def test_swapping_the_classes_turns_the_confident_joint_around():
    rng = np.random.default_rng(4)
    posterior, given = rng.integers(0, 9, 200) / 8, rng.random(200) < 0.4
    swapped = confident_joint(1 - posterior, ~given)
    assert swapped.tolist() == confident_joint(posterior, given)[::-1, ::-1].tolist()


def test_a_label_without_confident_rows_is_taken_to_be_right():
    """Thresholds 0.25 and 0.5: both rows labelled positive are more likely negative."""
    given = np.array([True, True, False, False])
    counts = confident_joint(np.array([0.25, 0.25, 0.25, 0.75]), given)
    assert counts.tolist() == [[1, 1], [2, 1]]


def test_rates_exist_when_no_row_is_confident():
    """Three times 0.1 have a mean above 0.1, in floating point."""
    posterior, given = np.full(6, 0.1), np.array([True, True, True, False, False, False])
    assert rates_of_joint(confident_joint(posterior, given), given).alpha < 1


@pytest.mark.parametrize("name", ["extremes", "confident joint"])
def test_rates_are_exact_where_classes_do_not_overlap(two_places, name):
    rates = both_estimates(*two_places)[name]
    assert (rates.alpha, rates.beta) == pytest.approx((0.25, 0.1), abs=1e-9)


@pytest.mark.parametrize("name", ["extremes", "confident joint"])
def test_swapping_the_labels_swaps_the_rates(two_places, name):
    X, y = two_places
    rates = both_estimates(X, 1 - y)[name]
    assert (rates.alpha, rates.beta) == pytest.approx((0.1, 0.25), abs=1e-9)


@pytest.mark.parametrize("name", ["extremes", "confident joint"])
def test_overlap_is_taken_for_asymmetry(name):
    """Clean labels, 20,000 rows: the truth is 0 (measured 0.063 and 0.063)."""
    X, y = find_world("skewed").draw_rows(20_000, np.random.default_rng(1))
    assert both_estimates(X, y)[name].asymmetry > 0.04


@pytest.mark.parametrize("name", ["extremes", "confident joint"])
def test_uniform_noise_on_a_rare_class_is_taken_for_asymmetry(name):
    """A fifth of either class flipped: the truth is 0 (measured -0.21 and -0.26)."""
    rng = np.random.default_rng(1)
    X, y = two_bells(0.15).draw_rows(20_000, rng)
    assert both_estimates(X, UniformNoise(0.2).flip(y, rng))[name].asymmetry < -0.15


def test_cross_fitted_posteriors_do_not_know_the_labels_they_predict():
    """Labels are coins: a fit to its own rows looks sure of them, one to the others does not."""
    rng = np.random.default_rng(5)
    X, given = rng.normal(size=(300, 40)), rng.random(300) < 0.5
    fit = fit_logistic(X, given)
    own = np.mean((fit.log_odds(X) > 0) == given)
    crossed = np.mean((cross_fitted_posterior(X, given, rng) > 0.5) == given)
    assert own > 0.6 > crossed


def test_the_same_seed_gives_the_same_rates(labelled):
    once, again = (
        confident_joint_rates(labelled.X, labelled.y == 1, np.random.default_rng(7))
        for _ in range(2)
    )
    assert once == again


def test_fewer_rows_than_folds_are_refused(refused, labelled):
    y = np.zeros(300)
    y[:3] = 1
    with refused(
        "one label has 3 rows but there are 5 folds: every fold needs rows of both labels"
    ):
        confident_joint_rates(labelled.X, y == 1, np.random.default_rng(0))


def test_separated_labels_have_no_fit_and_no_rates(refused):
    X = np.linspace(-1, 1, 40)[:, None]
    with refused("separate", SeparationError):
        confident_joint_rates(X, X[:, 0] > 0, np.random.default_rng(0))
