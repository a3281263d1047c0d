"""The robust curve is the best one: whatever the features look like, and in any units."""

import warnings

import numpy as np
import pytest

from evenodds.model import robust
from evenodds.model.noisy_fit import point_of
from evenodds.rows.memory import read_rows


def lognormal_data(seed):
    """Return rows most of which lie on the upper plateau, where the likelihood has many tops."""
    rng = np.random.default_rng(seed)
    features = rng.lognormal(size=(4000, 2))
    true = rng.random(4000) < 1 / (1 + np.exp(1.5 - 2 * features.sum(axis=1)))
    flipped = rng.random(4000) < np.where(true, 0.35, 0.05)
    return features, np.where(flipped, ~true, true).astype(int)


@pytest.mark.parametrize("seed", [113, 115])
def test_flip_rates_that_are_estimated_fit_as_well_as_the_true_ones(seed):
    features, labels = lognormal_data(seed)
    rows = read_rows(features, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # these rows are not too few
        found = robust.fit_robust(rows, ridge=1e-9)
    at_truth = robust.fit_robust(rows, alpha=0.35, beta=0.05, ridge=1e-9)
    assert found.log_likelihood >= at_truth.log_likelihood


@pytest.mark.parametrize("known", [{}, {"alpha": 0.3}, {"beta": 0.1}, {"alpha": 0.3, "beta": 0.1}])
@pytest.mark.parametrize("kind", ["normal", "lognormal", "rare"])
def test_no_climb_from_a_random_place_ends_higher(kind, known):
    rng = np.random.default_rng(23)
    for n_features in (1, 3):
        features = rng.normal(size=(1500, n_features))
        if kind == "lognormal":
            features = np.exp(features)
        intercept = {"normal": 0.0, "lognormal": -4.0, "rare": -3.5}[kind]
        posterior = 1 / (1 + np.exp(-intercept - 2 * features.sum(axis=1)))
        true = rng.random(1500) < posterior
        flipped = rng.random(1500) < np.where(true, 0.3, 0.1)
        rows = read_rows(features, np.where(flipped, ~true, true).astype(int))
        problem, evidence = robust.ridged_problem(rows, 1e-4)
        bounds = robust.rate_bounds(known.get("alpha"), known.get("beta"))
        found = robust.best_top(problem, evidence, bounds).objective
        for _ in range(10):
            slopes = rng.normal(size=n_features + 1) * rng.choice([0.3, 2.0, 8.0])
            start = point_of(slopes, rng.uniform(*np.minimum(bounds, 0.45)))
            end = robust.climb(problem, evidence, start, bounds, last_gain=1e-8)
            assert end.objective < found + 1e-4


@pytest.mark.parametrize("known", [{}, {"beta": 0.1}, {"alpha": 0.3, "beta": 0.1}], ids=str)
def test_units_do_not_matter(known):
    rng = np.random.default_rng(5)
    features = rng.lognormal(size=(3000, 3))
    true = rng.random(3000) < 1 / (1 + np.exp(4 - features.sum(axis=1)))
    flipped = rng.random(3000) < np.where(true, 0.3, 0.1)
    labels = np.where(flipped, ~true, true).astype(int)
    unit, zero = np.array([1e-9, 1.7, 1e9]), np.array([3e-9, -32.0, 0.0])
    one = robust.fit_robust(read_rows(features, labels), **known, ridge=0.01)
    other = robust.fit_robust(read_rows(features * unit + zero, labels), **known, ridge=0.01)
    assert other.coefficients[1:] * unit == pytest.approx(one.coefficients[1:], rel=1e-6)
    assert other.log_odds(zero) == pytest.approx(one.log_odds(np.zeros(3)), rel=1e-6)
    assert (other.alpha, other.beta) == pytest.approx((one.alpha, one.beta), abs=1e-6)


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_a_few_far_rows_do_not_flatten_the_curve(seed):
    rng = np.random.default_rng(seed)
    features = rng.standard_cauchy(size=(2000, 2))
    slopes = np.array([1.5, 1.5]) * 2**0.5
    true = rng.random(2000) < 1 / (1 + np.exp(np.clip(1 - features @ slopes, -99, 99)))
    flipped = rng.random(2000) < np.where(true, 0.2, 0.2)
    labels = np.where(flipped, ~true, true).astype(int)
    found = robust.fit_robust(read_rows(features, labels), alpha=0.2, beta=0.2)
    assert found.coefficients[1:] == pytest.approx(slopes, rel=0.35)
