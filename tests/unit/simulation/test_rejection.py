"""How often a test rejects, measured."""

import functools

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import evenodds as eo
from evenodds.simulation.parallel import carry_out
from evenodds.simulation.rejection import PValues, Setting, wilson_interval
from evenodds.simulation.worlds import find_world

NOISE = eo.ClassConditionalNoise(0.05, 0.25)
SMALL = {"n_rows": 300, "n_anchors": 2}


def rate(world="skewed", noise=NOISE, **settings):
    return eo.rejection_rate(world, noise, **({"runs": 20} | SMALL | settings))


@functools.cache
def pvalues(method, runs, batch_size=1, workers=1):
    """Return what `rejection_rate` counts, before it counts."""
    known = {"tolerance": 0.05, "shared_tolerance": 0.05}  # the defaults of `rejection_rate`
    setting = Setting(world=find_world("skewed"), noise=NOISE, **SMALL, **known, seed=3)
    tasks = [range(start, min(start + batch_size, runs)) for start in range(0, runs, batch_size)]
    return np.concatenate(carry_out(PValues(setting, method), tasks, workers=workers).results)


def uniform_pvalue(trial):
    """Return a test whose p-values are uniform: the level is known."""
    return float(stats.norm.cdf(trial.features[0, 0] - trial.features[1, 0], scale=np.sqrt(2)))


def stop_after(most):
    def progress(done, total):
        if done >= most:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize(("method", "runs"), [(eo.Wald(), 100), (eo.Boundary(), 20)], ids=str)
@pytest.mark.parametrize(("batch_size", "workers"), [(7, 1), (100, 1), (1, 2), (7, 2), (100, 2)])
def test_p_values_are_exactly_the_same_whatever_the_batches_and_workers(
    method, runs, batch_size, workers
):
    assert np.array_equal(pvalues(method, runs, batch_size, workers), pvalues(method, runs))


@pytest.mark.parametrize("batch_size", [1, 7, 100])
def test_a_rate_is_the_same_whatever_its_batches(batch_size):
    assert rate(batch_size=batch_size) == rate()


def test_another_seed_gives_another_rate():
    rates = {rate(seed=seed, method="wald", runs=200).rejections for seed in range(5)}
    assert len(rates) > 1


def test_a_rate_counts_the_p_values_below_the_significance():
    found = rate(method=eo.Wald(), runs=100, seed=3, significance=0.2)
    assert found.rejections == (pvalues(eo.Wald(), 100) < 0.2).sum()
    assert found.rate == found.rejections / 100


def test_the_rate_of_a_test_of_known_level_is_its_level():
    found = rate("paper", method=uniform_pvalue, n_rows=100, runs=2000, significance=0.1, seed=1)
    # Features of two rows differ by a normal variable where both come from the same cloud only.
    expected = 0.5 * 0.1 + 0.25 * sum(
        stats.norm.cdf(stats.norm.ppf(0.1) + shift) for shift in (np.sqrt(2), -np.sqrt(2))
    )
    low, high = stats.binom.ppf([1e-4, 1 - 1e-4], 2000, expected)
    assert low <= found.rejections <= high


def test_noise_is_found_more_often_than_none():
    found, level = rate(n_rows=1000, runs=40), rate(noise=None, n_rows=1000, runs=40)
    assert found.rate > level.rate + 0.3


def test_no_noise_is_uniform_noise_of_rate_zero():
    assert rate(noise=None) == rate(noise=eo.UniformNoise(0))


def test_a_one_sided_test_finds_what_it_looks_for():
    found = {
        side: rate(alternative=side, n_rows=1000, runs=40).rate for side in ("greater", "less")
    }
    assert found["greater"] > 0.3 + found["less"]


def test_a_larger_tolerance_finds_less():
    rates = [rate(tolerance=width, n_rows=2000, runs=40).rate for width in (0.0, 0.3)]
    assert rates[0] > rates[1] + 0.3


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (50, 1000)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_interval_is_wilsons(successes, trials, level):
    expected = proportion_confint(successes, trials, alpha=1 - level, method="wilson")
    assert wilson_interval(successes, trials, level) == pytest.approx(expected, abs=1e-12)


def test_a_rate_comes_with_its_wilson_interval():
    found = rate(method="wald", runs=100)
    expected = proportion_confint(found.rejections, 100, method="wilson")
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)


def test_runs_without_a_fit_are_counted_and_do_not_reject():
    found = rate("paper", n_rows=12, method="wald", runs=60, seed=5, significance=0.999)
    assert 0 < found.failures < 60
    assert found.rejections <= 60 - found.failures
    assert str(found).endswith(f"60 runs), {found.failures} of which had no fit")


def test_a_rate_says_its_interval_and_runs():
    found = rate(method=lambda trial: 0.01, runs=10)
    assert str(found) == "1.000 (95% interval 0.722 to 1.000, 10 runs)"


def test_progress_is_told_up_to_all_runs():
    told = []
    rate(method="wald", runs=50, batch_size=20, progress=lambda *so_far: told.append(so_far))
    assert told == [(20, 50), (40, 50), (50, 50)]


def test_an_interrupt_returns_the_rate_of_what_is_finished():
    whole = "interrupted after 14 of 100 runs: the rate is of these."
    with pytest.warns(eo.ImprecisionWarning, match=whole):
        found = rate(method="wald", runs=100, batch_size=7, progress=stop_after(14))
    assert found == rate(method="wald", runs=14)


def test_joint_runs_without_anchors():
    assert rate(method="joint", n_anchors=0, n_rows=1000, runs=10).failures == 0


def test_a_world_can_be_given_as_itself():
    assert rate(find_world("skewed"), runs=10) == rate("skewed", runs=10)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_anchors": 0}, "n_anchors is 0 but only method 'joint' runs without anchors."),
        ({"n_anchors": 1.5}, "n_anchors is 1.5 but must be a whole number of at least 0."),
        ({"n_rows": 0}, "n_rows is 0 but must be a whole number of at least 1."),
        ({"runs": 0}, "runs is 0 but must be a whole number of at least 1."),
        ({"batch_size": 0}, "batch_size is 0 but must be a whole number of at least 1."),
        ({"workers": 0}, "workers is 0 but must be a whole number of at least 1."),
        ({"seed": -1}, "seed is -1 but must be a whole number of at least 0."),
        ({"significance": 0}, "significance is 0 but must be above 0 and below 1."),
        ({"tolerance": 0.5}, "tolerance is 0.5 but must be at least 0 and below 0.5."),
        (
            {"tolerance": 0.3, "shared_tolerance": 0.2},
            "tolerance + shared_tolerance is 0.5 but must be below 0.5: it is a distance from 1/2.",
        ),
        ({"alternative": "more"}, "alternative is 'more' but must be one of"),
        (
            {"method": "wold"},
            "method is 'wold' but must be one of 'boundary', 'joint', 'local' or 'wald'",
        ),
        ({"method": eo.Wald}, "method is <class 'evenodds.inference.wald.Wald'> but must be one"),
        ({"world": "papper"}, "world is 'papper' but must be one of 'paper', 'rare'"),
        (
            {"noise": 0.2},
            "noise is 0.2: give ClassConditionalNoise(alpha, beta), the two flip rates, or "
            "UniformNoise(rate).",
        ),
        (
            {"method": lambda trial: 0.5, "workers": 2},
            "workers cannot be sent what they are to do (",
        ),
    ],
)
def test_settings_that_cannot_be_simulated_are_refused(refused, settings, message):
    with refused(message):
        rate(**settings)


def test_a_test_that_can_never_be_done_says_why():
    with pytest.raises(eo.AnchorError, match="optimal"):
        eo.rejection_rate("rare", n_rows=200, n_anchors=2, method=eo.Wald("optimal"), runs=3)
