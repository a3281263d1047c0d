import numpy as np
import pytest
from scipy import stats

from evenodds.noise import ClassConditionalNoise, UniformNoise
from evenodds.planning.expected_data import AnchorVariance, Centre, wald_centre

NOISE = ClassConditionalNoise(0.3, 0.1)
N_DRAWS = 200_000


def wald_power(noise, variance, *, significance=0.05, anchor_variance=0.0, alternative="two-sided"):
    return wald_centre(noise, variance, anchor_variance).power(significance, alternative)


def simulated_rejections(noise, variance, anchor_variance, significance):
    """Draw mean posteriors under the noise and count those outside the retention region."""
    draws = np.random.default_rng(1).normal(size=N_DRAWS)
    slope = (1 - noise.alpha + noise.beta) * (1 + noise.alpha - noise.beta)
    spread = np.sqrt(slope**2 * variance + (1 - noise.alpha - noise.beta) ** 2 * anchor_variance)
    means = (1 - noise.alpha + noise.beta) / 2 + spread * draws
    reach = stats.norm.ppf(1 - significance / 2) * np.sqrt(variance + anchor_variance)
    return int((np.abs(means - 0.5) > reach).sum())


@pytest.mark.parametrize("significance", [0.001, 0.05, 0.3])
def test_without_noise_the_power_is_the_significance(significance):
    power = wald_power(UniformNoise(0), 0.01, significance=significance, anchor_variance=0.002)
    assert power == pytest.approx(significance, rel=1e-12)


@pytest.mark.parametrize("rate", [0, 0.1, 0.4])
def test_under_uniform_noise_the_power_is_the_significance(rate):
    assert wald_power(UniformNoise(rate), 0.01) == pytest.approx(0.05, rel=1e-12)


@pytest.mark.parametrize("anchor_variance", [0, 0.001])
@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 0.1), (0.05, 0.1), (0.0, 0.6)])
def test_swapping_the_rates_keeps_the_power(alpha, beta, anchor_variance):
    one = wald_power(ClassConditionalNoise(alpha, beta), 0.004, anchor_variance=anchor_variance)
    other = wald_power(ClassConditionalNoise(beta, alpha), 0.004, anchor_variance=anchor_variance)
    assert one == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize("anchor_variance", [0, 0.002])
@pytest.mark.parametrize("variance", [0.001, 0.01])
@pytest.mark.parametrize("noise", [NOISE, ClassConditionalNoise(0.05, 0.1)])
def test_the_power_is_that_of_simulated_tests(noise, variance, anchor_variance):
    power = wald_power(noise, variance, significance=0.1, anchor_variance=anchor_variance)
    low, high = stats.binom.ppf([1e-4, 1 - 1e-4], N_DRAWS, power)
    assert low <= simulated_rejections(noise, variance, anchor_variance, 0.1) <= high


def test_a_larger_variance_lowers_the_power():
    powers = [wald_power(NOISE, variance) for variance in (0.001, 0.003, 0.01, 0.03)]
    assert (np.diff(powers) < 0).all()


def test_a_larger_asymmetry_raises_the_power():
    powers = [wald_power(ClassConditionalNoise(a, 0.1), 0.005) for a in (0.1, 0.2, 0.3, 0.4)]
    assert (np.diff(powers) > 0).all()


@pytest.mark.parametrize("k", [1, 2, 8, 1000])
def test_averaging_anchors_stops_at_the_floor(k):
    expected = 0.02 + 0.08 / k
    assert AnchorVariance(single=0.1, floor=0.02).of(k) == pytest.approx(expected, rel=1e-14)


def test_without_a_floor_the_variance_falls_with_the_number_of_anchors():
    assert AnchorVariance(single=0.1).of(4) == 0.025


@pytest.mark.parametrize("floor", [0, 0.01, 0.1])
@pytest.mark.parametrize("k", [1, 2, 4, 32])
def test_more_anchors_never_lower_the_power(k, floor):
    variance = AnchorVariance(single=0.1, floor=floor)
    assert wald_power(NOISE, variance.of(k)) >= wald_power(NOISE, variance.of(1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"single": 0}, "single is 0 but must be above 0"),
        ({"single": -1}, "single is -1 but must be above 0"),
        ({"single": float("inf")}, "single is inf but must be finite."),
        ({"single": 0.1, "floor": 0.2}, "floor is 0.2 but must be at least 0 and at most 0.1."),
        ({"single": 0.1, "floor": -0.2}, "floor is -0.2 but must be at least 0 and at most 0.1."),
    ],
)
def test_impossible_anchor_variances_are_refused(refused, settings, message):
    with refused(message):
        AnchorVariance(**settings)


@pytest.mark.parametrize("k", [0, 1.5, -2])
def test_impossible_numbers_of_anchors_are_refused(refused, k):
    with refused(f"n_anchors is {k} but must be a whole number of at least 1."):
        AnchorVariance(single=0.1).of(k)


def test_a_statistic_rejects_as_often_as_its_normal_law_says():
    """By hand: P(|N(2, 0.8^2)| > 1.959964) = 1 - Phi(-0.050) + Phi(-4.950)."""
    above = stats.norm.sf((stats.norm.isf(0.025) - 2) / 0.8)
    below = stats.norm.cdf((-stats.norm.isf(0.025) - 2) / 0.8)
    assert Centre(2.0, 0.8).power(0.05, "two-sided") == pytest.approx(above + below, rel=1e-12)


@pytest.mark.parametrize(
    ("alternative", "expected"),
    [("greater", stats.norm.sf(stats.norm.isf(0.1) - 1.5)), ("less", stats.norm.cdf(-2.7815516))],
)
def test_a_one_sided_statistic_rejects_on_its_side_alone(alternative, expected):
    assert Centre(1.5).power(0.1, alternative) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_statistic_centred_at_zero_rejects_at_its_level(alternative):
    assert Centre(0.0).power(0.03, alternative) == pytest.approx(0.03, rel=1e-12)


def test_the_power_of_one_sided_tests_is_that_of_their_sides():
    greater = wald_power(NOISE, 0.004, alternative="greater")
    less = wald_power(NOISE, 0.004, alternative="less")
    both = wald_power(NOISE, 0.004, significance=0.1)
    assert less > 100 * greater  # positives are flipped more often here
    assert less + greater == pytest.approx(both, rel=1e-12)


def test_more_rows_shrink_the_variance_in_proportion():
    variance = AnchorVariance(single=0.1, floor=0.02, n_rows=500)
    assert variance.of(4, 2000) == pytest.approx((0.02 + 0.08 / 4) / 4, rel=1e-14)


def test_the_rows_it_is_for_leave_the_variance_as_it_is():
    variance = AnchorVariance(single=0.1, floor=0.02, n_rows=500)
    assert variance.of(4, 500) == variance.of(4)


def test_a_variance_for_unknown_rows_does_not_say_what_more_rows_bring(refused):
    with refused(
        "AnchorVariance has no n_rows, so how its variance shrinks with more rows is unknown: say "
        "how many rows it is for."
    ):
        AnchorVariance(single=0.1).of(4, 500)


def test_a_variance_is_for_whole_rows(refused):
    with refused("n_rows is 0 but must be a whole number of at least 1."):
        AnchorVariance(single=0.1, n_rows=0)
