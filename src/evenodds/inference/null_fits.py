"""One fit for each hypothesised asymmetry, each started from its neighbours."""

import numpy as np

from evenodds.model.evidence import Evidence
from evenodds.model.noisy import (
    NoisyFit,
    along_the_tangent,
    climb_noisy,
    contending,
    find_tops,
)
from evenodds.model.noisy_chord import finish_noisy
from evenodds.model.noisy_problem import NoisyProblem
from evenodds.model.noisy_sums import NoisyPoint
from evenodds.validation import FloatArray

# Asymmetries this far from where tops were last looked for are searched afresh.
SEARCH_EVERY = 0.1


class NullFits:
    """Null fits for one set of evidence, each started from its neighbours.

    The first fit is the best of all tops that a search finds; with many rows they are found
    on a sample and carried over. Later ones start from the nearest fits so far: all tops that
    contend are followed, since another may be the best elsewhere.
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
        self._tops: dict[float, list[NoisyFit]] = {}
        self._searched: list[float] = []

    def at(self, asymmetry: float) -> NoisyFit:
        """Return the null fit for a hypothesised asymmetry."""
        if asymmetry not in self._tops:
            tops = self._nearby(asymmetry) if self._tops else self._first(asymmetry)
            self._tops[asymmetry] = tops
        return self._tops[asymmetry][0]

    def refitted(self, problem: NoisyProblem, evidence: Evidence, asymmetry: float) -> NoisyFit:
        """Return the fit with other evidence, from where these fits are."""
        self.at(asymmetry)
        ends = [
            climb_noisy(problem, evidence, asymmetry, top.point, problem.last_gain)
            for top in self._tops[asymmetry]
        ]
        return contending(ends)[0]

    def _first(self, asymmetry: float) -> list[NoisyFit]:
        problem, evidence = self.problem, self.evidence
        if not problem.samples:
            return self._search(asymmetry)
        if self._near is not None:
            return [finish_noisy(problem, evidence, self._near, 1.0)]
        total, gain = problem.rows.total_weight, problem.last_gain
        smallest, *larger = problem.samples
        share = smallest.rows.total_weight / total
        tops = find_tops(smallest, evidence.scaled(share), asymmetry, self._plain, gain)
        for sample in larger:
            share = sample.rows.total_weight / total
            tops = contending(
                [
                    climb_noisy(sample, evidence.scaled(share), asymmetry, top.point, gain)
                    for top in tops
                ]
            )
        return [finish_noisy(problem, evidence, tops[0], share)]

    def _search(self, asymmetry: float) -> list[NoisyFit]:
        """Look for all tops, from scratch."""
        self._searched.append(asymmetry)
        return find_tops(self.problem, self.evidence, asymmetry, self._plain)

    def _nearby(self, asymmetry: float) -> list[NoisyFit]:
        """Fit from where the nearest fits lead."""
        known = sorted(self._tops, key=lambda other: abs(other - asymmetry))[:3]
        nearest = self._tops[known[0]]
        starts = [along_the_tangent(top, self.evidence, asymmetry) for top in nearest]
        if len(known) == 3 and abs(asymmetry - known[0]) <= 2 * (max(known) - min(known)):
            starts[0] = _between([self._tops[other][0].point for other in known], asymmetry)
        gain = self.problem.last_gain
        ends = [
            climb_noisy(self.problem, self.evidence, asymmetry, start, gain) for start in starts
        ]
        tops = contending(ends)
        far = all(abs(asymmetry - searched) > SEARCH_EVERY for searched in self._searched)
        if (far and not self.problem.samples) or tops[0].is_step:
            tops = contending([*tops, *self._search(asymmetry)])
        return tops


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
