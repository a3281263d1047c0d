"""The null fit against brute force: many random starts on many random problems."""

import numpy as np

import evenodds as eo
from evenodds.inference.equations import AnchorEquations
from evenodds.inference.null_fits import NullFits
from evenodds.inference.weights import equal_weights
from evenodds.model.logistic import climb
from evenodds.model.noisy import climb_noisy
from evenodds.model.noisy_problem import NoisyProblem
from evenodds.model.noisy_sums import NoisyPoint
from evenodds.rows.source import read_rows
from evenodds.simulation.worlds import many_features, skewed, two_bells

WORLDS = (two_bells(), two_bells(0.15), skewed(), many_features(5))
PROBLEMS = 200
STARTS = 12


def _problem(number):
    rng = np.random.default_rng([77, number])
    world = WORLDS[number % len(WORLDS)]
    X, y = world.draw_rows(int(rng.choice((1000, 2000))), rng)
    labels = eo.UniformNoise(rng.uniform(0, 0.25)).flip(y, rng)
    k = int(rng.choice((1, 4)))
    anchors = world.draw_anchors(k, rng, tolerance=float(rng.choice((0.0, 0.1))))
    rows = read_rows(X, labels)
    plain, optimum = climb(rows)
    problem = NoisyProblem.of(rows, plain.scaling)
    one = AnchorEquations.of(anchors, anchors.points, problem).averaged(equal_weights(k))
    return rng, problem, one.evidence(), optimum.coefficients, float(rng.choice((0, 0, 0.1, -0.1)))


def _brute_force(rng, problem, evidence, plain, asymmetry):
    """Return the best smooth curve from random directions, steepnesses and noise rates.

    Steps are left out: a curve without a slope is the limit of ever steeper ones, and no
    search finds the best of its many local optima.
    """
    best = -np.inf
    for _ in range(STARTS):
        size = np.abs(plain).mean() * rng.choice((0.1, 0.5, 1.0))
        direction = (plain + size * rng.normal(size=len(plain))) * np.exp(rng.uniform(-1, 3.5))
        start = NoisyPoint(direction, max(rng.uniform(0, 0.4), abs(asymmetry) / 2), asymmetry)
        end = climb_noisy(problem, evidence, asymmetry, start, 1e-10)
        if not end.is_step:
            best = max(best, end.objective)
    return best


def test_no_start_leads_higher():
    shortfalls = []
    for number in range(PROBLEMS):
        rng, problem, evidence, plain, asymmetry = _problem(number)
        ours = NullFits(problem, evidence, plain).at(asymmetry).objective
        shortfalls.append(_brute_force(rng, problem, evidence, plain, asymmetry) - ours)
    assert max(shortfalls) < 1e-6
