"""Carrying a noisy-logistic fit from a sample to all rows, by passes that need only the score."""

from dataclasses import replace

import numpy as np

from evenodds.model.evidence import Evidence
from evenodds.model.inverses import symmetric_inverse
from evenodds.model.noisy import (
    NoisyFit,
    climb_noisy,
    moved_point,
    rate_bounds,
    reduced,
    reduced_score,
)
from evenodds.model.noisy_problem import NoisyProblem
from evenodds.model.noisy_sums import NoisyPoint
from evenodds.model.solver import with_secant

# Cheap passes stop when the next step promises less than this: a few hundredths of a standard
# error, which the exact step that follows removes.
LAST_CHORD_GAIN = 1e-3
MAX_CHORD_PASSES = 8


def finish_noisy(
    problem: NoisyProblem,
    evidence: Evidence,
    pilot: NoisyFit,
    share: float,
    last_gain: float = LAST_CHORD_GAIN,
) -> NoisyFit:
    """Carry a fit on a share of the rows to all of them, mostly by cheap passes.

    The pilot lends its curvature, scaled up; secants correct it. Every pass but the last
    needs the score only. Where the noise rate is on its bound, or the passes do not settle,
    the ordinary climb takes over.
    """
    start = pilot.point
    if pilot.rate_is_free and not pilot.is_step:
        start = _chord(problem, evidence, pilot, share, last_gain)
    return climb_noisy(problem, evidence, start.asymmetry, start, problem.last_gain)


def _chord(
    problem: NoisyProblem, evidence: Evidence, pilot: NoisyFit, share: float, last_gain: float
) -> NoisyPoint:
    """Return a point close to the optimum on all rows, or the best seen if passes diverge."""
    bounds = rate_bounds(pilot.point.asymmetry)
    scaled = replace(pilot.here, information=pilot.here.information / share)
    _, information = reduced(scaled, evidence)
    inverse = symmetric_inverse(information)
    point, size = pilot.point, np.inf
    score = reduced_score(problem.score(point), point, evidence)
    for _ in range(MAX_CHORD_PASSES):
        step = inverse @ score
        gain = float(score @ step)
        if not 0 <= gain < size:
            return point
        following = moved_point(point, evidence, step, bounds)
        if gain <= last_gain or not bounds[0] < following.rate < bounds[1]:
            return following
        next_score = reduced_score(problem.score(following), following, evidence)
        inverse = with_secant(inverse, step, score - next_score)
        point, score, size = following, next_score, gain
    return point
