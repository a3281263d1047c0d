"""The contour test against the same numbers by other means: SciPy, simulation, bootstrap."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit

import evenodds as eo
from evenodds.inference.contour.ladder import (
    DIFFERENCE,
    Estimates,
    fit_noise,
    gaps_by_difficulty,
    group_anchors,
    one_sided_clean,
    wider_noise,
)
from evenodds.inference.noise_aware import FittedRows
from evenodds.model.bent_curve import (
    LEAST_RATE,
    SURE_CASES,
    fit_bent,
    fit_free_rates,
    natural_spline,
)
from evenodds.rows.memory import read_rows
from evenodds.simulation.worlds import two_bells

STATED = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
SHARES = np.array([0.27, 0.36, 0.52, 0.55, 0.71])


def _covariance(size, seed=0):
    factor = np.random.default_rng(seed).normal(size=(len(STATED), 8))
    return size**2 * (factor @ factor.T / 8 + 0.2 * np.eye(len(STATED)))


@pytest.fixture(scope="module")
def problem():
    anchors = eo.Anchors(
        np.zeros((5, 1)),
        posterior=STATED,
        tolerance=0,
        source_covariance=_covariance(0.03, seed=1),
    )
    return group_anchors(anchors), Estimates(SHARES, _covariance(0.04))


def _distance(rates, contours, estimates, columns, covariance):
    gaps = estimates.posterior - contours.stated - columns @ rates
    return float(gaps @ np.linalg.solve(covariance, gaps))


def _by_hand(contours, estimates, columns, fall):
    """Minimise the distance for a covariance, and iterate until it is that of the minimum."""
    slope, heights = 1.0, contours.stated
    shares = estimates.posterior
    for _ in range(60):
        wider = np.sqrt(np.maximum(heights * (1 - heights) / (shares * (1 - shares)), 1))
        rows = wider[:, None] * estimates.covariance * wider
        covariance = rows + slope**2 * contours.covariance
        start = np.zeros(columns.shape[1])
        arguments = (contours, estimates, columns, covariance)
        found = optimize.minimize(_distance, start, arguments, tol=1e-14)
        slope, heights = 1 - fall * found.x.sum(), contours.stated + columns @ found.x
    return found.x, found.fun


def test_the_line_is_the_generalised_least_squares_one(problem):
    contours, estimates = problem
    line = fit_noise("class-conditional", contours, estimates)
    columns = np.column_stack([-STATED, 1 - STATED])
    rates, statistic = _by_hand(contours, estimates, columns, 1)
    assert line.rates == pytest.approx(rates, abs=1e-6)
    assert line.statistic == pytest.approx(statistic, rel=1e-8)


def test_the_line_has_two_degrees_of_freedom_less_than_contours(problem):
    assert fit_noise("class-conditional", *problem).df == 5 - 2


def test_uniform_noise_is_the_generalised_least_squares_one(problem):
    contours, estimates = problem
    uniform = fit_noise("uniform", contours, estimates)
    rates, statistic = _by_hand(contours, estimates, 1 - 2 * STATED[:, None], 2)
    assert uniform.rates == pytest.approx(rates, abs=1e-6)
    assert uniform.statistic == pytest.approx(statistic, rel=1e-8)
    assert uniform.df == 5 - 1


def test_a_singular_covariance_counts_its_rank_alone():
    anchors = eo.Anchors(np.zeros((5, 1)), posterior=STATED, tolerance=0)
    factor = np.random.default_rng(4).normal(size=(5, 4))
    estimates = Estimates(SHARES, 0.001 * factor @ factor.T)
    assert fit_noise("class-conditional", group_anchors(anchors), estimates).df == 4 - 2


def test_clean_has_the_level_it_says(problem):
    """Draws under clean labels: the one-sided p-value is uniform where it is not at its mass."""
    contours, _ = problem
    rng = np.random.default_rng(8)
    # Small errors, so that the widening near 0 and 1 has nothing to do.
    small = replace(contours, covariance=1e-6 * contours.covariance)
    rows = 1e-6 * _covariance(0.04)
    draws = rng.multivariate_normal(STATED, rows + small.covariance, size=3000)
    pvalues = [one_sided_clean(small, Estimates(draw, rows))[1] for draw in draws]
    for level in (0.01, 0.05, 0.2):
        low, high = stats.binom.ppf([1e-4, 1 - 1e-4], 3000, level)
        assert low <= (np.array(pvalues) < level).sum() <= high


def _beyond(wider, rung, noise):
    return next(each for each in wider if (each.rung, each.noise) == (rung, noise))


def _hard_cases(posterior):
    return 4 * posterior * (1 - posterior) * (1 - 2 * posterior)


@pytest.mark.parametrize(
    ("rung", "columns"),
    [
        ("clean", np.empty((5, 0))),
        ("uniform", 1 - 2 * STATED[:, None]),
        ("class-conditional", np.column_stack([-STATED, 1 - STATED])),
    ],
)
def test_wider_noise_is_a_coefficient_of_least_squares(rung, columns):
    """Exact posteriors, shares far from 0 and 1: weights that move with nothing."""
    anchors = eo.Anchors(np.zeros((5, 1)), posterior=STATED, tolerance=0)
    shares = 0.5 + 0.3 * (STATED - 0.5) + 0.004 * np.array([1, -2, 0, 3, -1])
    covariance = 1e-6 * (np.eye(5) + 0.3)
    contours, estimates = group_anchors(anchors), Estimates(shares, 1e3 * covariance)
    hard = DIFFERENCE * _hard_cases(STATED)
    weights = fit_noise(rung, contours, estimates, hard).whitener
    design = weights @ np.column_stack([columns, hard])
    coefficients = np.linalg.lstsq(design, weights @ (shares - STATED))[0]
    error = np.sqrt(np.linalg.inv(design.T @ design)[-1, -1])
    found = _beyond(wider_noise(contours, STATED, estimates), rung, "hard cases")
    assert found.pvalue == pytest.approx(stats.norm.cdf((coefficients[-1] - 1) / error), rel=1e-6)
    assert found.standard_error == pytest.approx(DIFFERENCE * error, rel=1e-9)


def test_errors_of_what_is_stated_are_counted_in_wider_noise():
    """The mean gap of hard cases by quadrature over the tolerance, per stated posterior."""
    anchors = eo.Anchors(np.zeros((5, 1)), posterior=STATED, tolerance=0.09, shared_tolerance=0)
    hard, sure = gaps_by_difficulty(group_anchors(anchors), STATED)
    errors = np.linspace(-0.09, 0.09, 2001)
    true = STATED[:, None] + errors
    assert hard == pytest.approx(np.trapezoid(_hard_cases(true), errors) / 0.18, abs=1e-6)
    assert sure == pytest.approx(np.trapezoid((1 - 2 * true) ** 3, errors) / 0.18, abs=1e-6)


@pytest.mark.parametrize(("side", "told"), [(0.5, False), (0.45, True)])
def test_three_even_contours_cannot_tell_hard_cases_from_uniform_noise(side, told):
    stated = np.array([0.2, side, 0.8])
    anchors = eo.Anchors(np.zeros((3, 1)), posterior=stated, tolerance=0)
    estimates = Estimates(0.1 + 0.8 * stated, 1e-4 * np.eye(3))
    found = wider_noise(group_anchors(anchors), stated, estimates)
    assert (_beyond(found, "uniform", "hard cases").pvalue is not None) == told
    assert _beyond(found, "clean", "hard cases").pvalue is not None


def test_labels_surer_than_stated_are_no_evidence_of_noise():
    anchors = eo.Anchors(np.zeros((5, 1)), posterior=STATED, tolerance=0)
    steeper = 0.5 + 1.3 * (STATED - 0.5)
    estimates = Estimates(np.clip(steeper, 0.01, 0.99), 1e-4 * np.eye(5))
    assert one_sided_clean(group_anchors(anchors), estimates)[1] > 0.5


@pytest.fixture(scope="module")
def noisy_rows():
    rng = np.random.default_rng(5)
    world = two_bells(0.15)
    X, true = world.draw_rows(3000, rng)
    return X, eo.ClassConditionalNoise(0.1, 0.2).flip(true, rng).astype(float)


def _curve(X, labels):
    fitted = FittedRows.of(read_rows(X, labels))
    return fit_bent(fitted.problem, fitted.plain_coefficients)


def test_the_curve_started_from_is_the_best_noisy_one(noisy_rows):
    X, labels = noisy_rows
    fitted = FittedRows.of(read_rows(X, labels))
    found = fit_free_rates(fitted.problem, fitted.plain_coefficients).point
    design = np.column_stack([np.ones(len(X)), X])

    def loss(parameters):
        alpha, beta = parameters[-2:]
        p = beta + (1 - alpha - beta) * expit(design @ parameters[:-2])
        likelihood = np.log(np.where(labels == 1, p, 1 - p)).sum()
        return -likelihood - SURE_CASES * np.log((1 - alpha) * (1 - beta))

    bounds = [(None, None)] * 3 + [(LEAST_RATE, 0.49)] * 2
    best = optimize.minimize(loss, [-1.7, 2, 2, 0.1, 0.2], bounds=bounds, tol=1e-12)
    rates = np.array([found.rate - found.asymmetry / 2, found.rate + found.asymmetry / 2])
    assert rates == pytest.approx(best.x[-2:], abs=2e-3)


def test_the_bent_curve_is_weighted_least_squares(noisy_rows):
    X, labels = noisy_rows
    curve = _curve(X, labels)
    point = curve.design.curve
    index = expit(point.coefficients[0] + X @ point.coefficients[1:])
    base = point.rate + point.asymmetry / 2 + (1 - 2 * point.rate) * index
    slope = index * (1 - index)
    columns = np.column_stack(
        [natural_spline(index, curve.design.knots), slope, X * slope[:, None]]
    )
    roots = 1 / np.sqrt(base * (1 - base))
    added = np.linalg.lstsq(columns * roots[:, None], (labels - base) * roots, rcond=1e-12)[0]
    assert curve.at(X)[0] == pytest.approx(base + columns @ added, abs=1e-6)


def test_a_natural_spline_is_straight_beyond_its_knots():
    knots = np.linspace(0.1, 0.9, 5)
    for ends in (np.linspace(-1, 0.1, 7), np.linspace(0.9, 2, 7)):
        bends = np.diff(natural_spline(ends, knots), n=2, axis=0)
        assert np.abs(bends).max() < 1e-12


def test_standard_errors_match_labels_drawn_again(noisy_rows):
    """Parametric bootstrap: the same rows, labels drawn again and again from the truth."""
    X, _ = noisy_rows
    world = two_bells(0.15)
    noise = eo.ClassConditionalNoise(0.1, 0.2)
    rng = np.random.default_rng(6)
    seeds = world.draw_anchor_seeds(5, rng)
    points = world.index.move_to(seeds, world.link.index_at(STATED))
    true = world.noisy_posterior(X, noise)
    drawn = [_curve(X, (rng.random(len(X)) < true).astype(float)).at(points) for _ in range(120)]
    spread = np.std([posterior for posterior, _ in drawn], axis=0)
    errors = np.median([np.sqrt(covariance.diagonal()) for _, covariance in drawn], axis=0)
    assert errors == pytest.approx(spread, rel=0.2)
    bias = np.mean([posterior for posterior, _ in drawn], axis=0) - noise.noisy_posterior(STATED)
    assert np.abs(bias / spread).max() < 0.35
