"""One fit for each hypothesised asymmetry, each started from its neighbours."""

import numpy as np

from evenodds.model.evidence import Evidence
from evenodds.model.noisy import (
    NoisyFit,
    along_the_tangent,
    climb_noisy,
    fit_noisy,
    plain_starts,
)
from evenodds.model.noisy_chord import finish_noisy
from evenodds.model.noisy_problem import NoisyProblem
from evenodds.model.noisy_sums import NoisyPoint
from evenodds.validation import FloatArray


class NullFits:
    """Null fits for one set of evidence, each started from its neighbours.

    The first fit starts from the plain curve at several noise rates; with many rows it is
    found on a sample and carried over. Later ones start from the nearest fits so far.
    """

    def __init__(
        self,
        problem: NoisyProblem,
        evidence: Evidence,
        plain_coefficients: FloatArray,
        near: NoisyFit | None = None,
    ) -> None:
        self.problem = problem
        self.evidence = evidence
        self._plain = plain_coefficients
        self._near = near  # a fit with other evidence, to start from where rows are many
        self._fits: dict[float, NoisyFit] = {}

    def at(self, asymmetry: float) -> NoisyFit:
        """Return the null fit for a hypothesised asymmetry."""
        if asymmetry not in self._fits:
            fit = self._nearby(asymmetry) if self._fits else self._first(asymmetry)
            self._fits[asymmetry] = fit
        return self._fits[asymmetry]

    def _first(self, asymmetry: float) -> NoisyFit:
        if self._near is not None and self.problem.samples:
            return finish_noisy(self.problem, self.evidence, self._near, 1.0)
        starts = plain_starts(self._plain, asymmetry, self.problem.rows.n_rows)
        pilot_problem, share = self.problem, 1.0
        for sample in self.problem.samples:  # the smallest first
            share = sample.rows.total_weight / self.problem.rows.total_weight
            found = fit_noisy(
                sample, self.evidence.scaled(share), asymmetry, starts, self.problem.last_gain
            )
            starts, pilot_problem = [found.point], sample
        if pilot_problem is self.problem:
            return fit_noisy(self.problem, self.evidence, asymmetry, starts)
        return finish_noisy(self.problem, self.evidence, found, share)

    def _nearby(self, asymmetry: float) -> NoisyFit:
        """Fit from where the nearest fits lead."""
        known = sorted(self._fits, key=lambda other: abs(other - asymmetry))[:3]
        nearest = self._fits[known[0]]
        if len(known) < 3 or abs(asymmetry - known[0]) > 2 * (max(known) - min(known)):
            start = along_the_tangent(nearest, self.evidence, asymmetry)
        else:
            start = _between([self._fits[other].point for other in known], asymmetry)
        fit = climb_noisy(self.problem, self.evidence, asymmetry, start, self.problem.last_gain)
        if not fit.is_step:
            return fit
        again = fit_noisy(
            self.problem,
            self.evidence,
            asymmetry,
            plain_starts(self._plain, asymmetry, self.problem.rows.n_rows),
        )
        return max(fit, again, key=lambda end: end.objective)


def _between(points: list[NoisyPoint], asymmetry: float) -> NoisyPoint:
    """Return the polynomial through several fits, at another asymmetry."""
    knots = [point.asymmetry for point in points]
    shares = [
        float(np.prod([(asymmetry - other) / (knot - other) for other in knots if other != knot]))
        for knot in knots
    ]
    coefficients = np.array(shares) @ np.array([point.coefficients for point in points])
    rate = sum(share * point.rate for share, point in zip(shares, points, strict=True))
    return NoisyPoint(coefficients, float(rate), asymmetry)
