"""Fitting the K-class curve."""

import numpy as np
import pytest
from statsmodels.discrete.discrete_model import MNLogit
from tests.class_worlds import four_bells, relabel, uniform_flips

from evenodds.model.softmax import (
    ClassData,
    ClassPoint,
    climb,
    evaluate,
    fit_classes,
    pairs_family,
    uniform_family,
)

UNIFORM = uniform_family(4, np.zeros((0, 4, 4)))


def drawn(n, flips, seed=0):
    rng = np.random.default_rng(seed)
    X, y = four_bells(lopsided=True).draw_rows(n, rng)
    return ClassData(np.column_stack([np.ones(n), X]), relabel(y, flips, rng), None, 4)


def test_without_noise_it_is_the_multinomial_logit_of_statsmodels():
    data = drawn(800, np.eye(4))
    start = ClassPoint(np.zeros((3, 3)), np.zeros(1), np.zeros(0))
    fit = climb(data, UNIFORM, start, held=True, last_gain=1e-16)
    reference = MNLogit(3 - data.labels, data.design).fit(disp=0, tol=1e-12)
    # statsmodels takes the first class as reference, here the last of ours.
    assert fit.point.coefficients == pytest.approx(reference.params.T[::-1], abs=1e-6)


def test_rate_and_curve_come_back_from_many_rows():
    data = drawn(40_000, uniform_flips(4, 0.24))
    fit = fit_classes(data, UNIFORM)
    assert fit.converged
    assert not fit.is_step
    assert fit.point.rates[0] == pytest.approx(0.08, abs=0.004)
    world = four_bells(lopsided=True)
    slopes = world.centres[:3] - world.centres[3]
    assert fit.point.coefficients[:, 1:] == pytest.approx(slopes, abs=0.25)


def test_no_start_nearby_is_better():
    data = drawn(1500, uniform_flips(4, 0.15), seed=4)
    family = pairs_family(4, [(0, 1), (0, 2), (1, 3)])
    fit = fit_classes(data, family)
    score = fit.here.score[fit.nuisance]
    information = fit.here.information[np.ix_(fit.nuisance, fit.nuisance)]
    assert score @ np.linalg.solve(information, score) < 1e-6
    rng = np.random.default_rng(0)
    for _ in range(20):
        near = ClassPoint(
            fit.point.coefficients + 0.05 * rng.normal(size=(3, 3)),
            np.maximum(fit.point.rates + 0.01 * rng.normal(size=4), 0),
            fit.point.asymmetries,
        )
        assert evaluate(data, family, near).log_likelihood < fit.here.log_likelihood


def test_a_rate_stays_on_its_bound_when_labels_are_clean():
    fit = fit_classes(drawn(3000, np.eye(4)), UNIFORM)
    assert 0 <= fit.point.rates[0] < 0.01


def test_classes_far_apart_are_a_step():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    X = 30 * four_bells().centres[y] + rng.normal(size=(400, 2))
    data = ClassData(np.column_stack([np.ones(400), X / 30]), y, None, 4)
    assert fit_classes(data, UNIFORM).is_step


def test_a_narrow_hill_that_is_higher_is_found():
    """Strong noise on steep curves; the wide hill of milder ones is 1.1 lower."""
    rng = np.random.default_rng([99, 14])
    n, columns = int(rng.choice([500, 1000, 2000])), int(rng.choice([2, 3]))
    centres = rng.normal(size=(3, columns)) * rng.uniform(0.7, 2.5)
    true = rng.choice(3, size=n, p=rng.dirichlet(np.full(3, 2.0)) * 0.9 + 0.1 / 3)
    X = centres[true] + rng.normal(size=(n, columns))
    flips = uniform_flips(3, rng.uniform(0, 0.4))
    data = ClassData(np.column_stack([np.ones(n), X]), relabel(true, flips, rng), None, 3)
    family = uniform_family(3, np.zeros((0, 3, 3)))
    fit = fit_classes(data, family)
    for by in (0.5, 1.5, 3.0, 8.0):
        for rate in (0.01, 0.05, 0.1, 0.15, 0.2):
            start = ClassPoint(by * fit.point.coefficients, np.array([rate]), np.zeros(0))
            end = climb(data, family, start)
            assert end.here.log_likelihood < fit.here.log_likelihood + 1e-3
