"""The null fit against brute force: many random starts on many random problems."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

import evenodds as eo
from evenodds.inference.null_fits import AnchorEquations, NullFits, equal_weights
from evenodds.model.logistic import climb
from evenodds.model.noisy_fit import climb_noisy
from evenodds.model.noisy_likelihood import NoisyPoint, NoisyProblem
from evenodds.rows.memory import read_rows

# Of problems beyond the first 200, one whose best curve is steep, with much noise, and lies beside
# a shallow one.
PROBLEMS = (*range(200), 572)
STARTS = 12
FEATURES = (
    lambda rng, size: rng.normal(size=size),
    lambda rng, size: rng.exponential(size=size),
    lambda rng, size: rng.standard_t(4, size=size),
    lambda rng, size: np.column_stack(
        [rng.integers(0, 2, size[0]), rng.normal(size=(size[0], size[1] - 1))]
    ),
)


def _problem(number):
    """Return a problem: positives 3 to 50%, noise 0 to 0.4, tolerances 0 to 0.1, 500+ rows."""
    rng = np.random.default_rng([77, number])
    n, p = int(rng.integers(500, 6001)), int(rng.integers(1, 7))
    X = FEATURES[number % len(FEATURES)](rng, (n, p))
    slopes = rng.normal(size=p)
    slopes *= rng.uniform(0.8, 4) / np.linalg.norm(slopes)
    share = rng.uniform(0.03, 0.5)
    intercept = brentq(lambda shift: expit(shift + X @ slopes).mean() - share, -60, 60)
    true = (rng.random(n) < expit(intercept + X @ slopes)).astype(int)
    labels = eo.UniformNoise(rng.uniform(0, 0.4)).flip(true, rng)
    k = int(rng.choice((1, 4, 6, 12)))
    tolerance, shared = (float(rng.choice((0.0, rng.uniform(0, 0.1)))) for _ in range(2))
    stated = 0.5 + rng.uniform(-tolerance, tolerance, k) + rng.uniform(-shared, shared)
    points = X[rng.integers(0, n, k)]
    off = (logit(stated) - intercept - points @ slopes) / (slopes @ slopes)
    anchors = eo.Anchors(
        points + off[:, None] * slopes, tolerance=tolerance, shared_tolerance=shared
    )
    rows = read_rows(X, labels)
    plain, optimum = climb(rows)
    problem = NoisyProblem.of(rows, plain.scaling)
    equations = AnchorEquations.of(anchors, anchors.points, problem)
    if tolerance == 0 or rng.integers(0, 2):  # as boundary sees them; else as joint does
        equations = equations.averaged(equal_weights(k))
    asymmetry = float(rng.choice((0, 0, 0.1, -0.1)))
    return rng, problem, equations.evidence(), optimum.coefficients, asymmetry


def _brute_force(rng, problem, evidence, plain, asymmetry):
    """Return the best smooth curve from random directions, steepnesses and noise rates.

    Steps are left out, and climbs that never settle on the way to one: a curve without a
    slope is the limit of ever steeper ones, and no search finds the best of its many local
    optima.
    """
    best = -np.inf
    for _ in range(STARTS):
        size = np.abs(plain).mean() * rng.choice((0.1, 0.5, 1.0))
        direction = (plain + size * rng.normal(size=len(plain))) * np.exp(rng.uniform(-1, 3.5))
        start = NoisyPoint(direction, max(rng.uniform(0, 0.45), abs(asymmetry) / 2), asymmetry)
        end = climb_noisy(problem, evidence, asymmetry, start, 1e-10)
        if end.converged and not end.is_step:
            best = max(best, end.objective)
    return best


def test_no_start_leads_higher():
    shortfalls = []
    for number in PROBLEMS:
        rng, problem, evidence, plain, asymmetry = _problem(number)
        ours = NullFits(problem, evidence, plain).at(asymmetry).objective
        shortfalls.append(_brute_force(rng, problem, evidence, plain, asymmetry) - ours)
    assert max(shortfalls) < 1e-6
