"""One fit for each hypothesised asymmetry, each started from its neighbours."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenodds.model.evidence import Evidence
from evenodds.model.noisy import (
    NoisyFit,
    along_the_tangent,
    climb_noisy,
    contending,
    find_tops,
    rate_bounds,
)
from evenodds.model.noisy_chord import finish_noisy
from evenodds.model.noisy_problem import NoisyProblem
from evenodds.model.noisy_sums import NoisyPoint
from evenodds.validation import FloatArray

# A fit on a sample may stop this far short, in squared standard errors of the sample.
LAST_GAIN_ON_SAMPLE = 1e-4
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
        self.sampled = SampledFits(problem, evidence) if problem.samples else None

    def at(self, asymmetry: float) -> NoisyFit:
        """Return the null fit for a hypothesised asymmetry."""
        if asymmetry not in self._tops:
            tops = self._nearby(asymmetry) if self._tops else self._first(asymmetry)
            self._tops[asymmetry] = tops
        return self._tops[asymmetry][0]

    def refitted(self, evidence: Evidence, asymmetry: float) -> NoisyFit:
        """Return the fit with other evidence, from where these fits are."""
        self.at(asymmetry)
        problem = self.problem
        ends = [
            climb_noisy(problem, evidence, asymmetry, top.point, problem.last_gain)
            for top in self._tops[asymmetry]
        ]
        return contending(ends)[0]

    def _first(self, asymmetry: float) -> list[NoisyFit]:
        problem, evidence = self.problem, self.evidence
        if not problem.samples:
            known = [] if self._near is None else [self._near.point]
            return self._search(
                asymmetry, [climb_noisy(problem, evidence, asymmetry, point) for point in known]
            )
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

    def _search(self, asymmetry: float, known: Sequence[NoisyFit] = ()) -> list[NoisyFit]:
        """Look for all tops, besides those that are known."""
        self._searched.append(asymmetry)
        return find_tops(self.problem, self.evidence, asymmetry, self._plain, known=known)

    def _nearby(self, asymmetry: float) -> list[NoisyFit]:
        """Fit from where the nearest fits lead."""
        known = sorted(self._tops, key=lambda other: abs(other - asymmetry))[:3]
        nearest = self._tops[known[0]]
        if self.sampled is not None:
            problem, share = self.problem, self.sampled.share
            pilot = self.sampled.carried(nearest[0].point, asymmetry)
            fit = finish_noisy(problem, self.evidence, pilot, share, problem.last_gain)
            return self._search(asymmetry, [fit]) if fit.is_step else [fit]
        starts = [along_the_tangent(top, self.evidence, asymmetry) for top in nearest]
        if len(known) == 3 and abs(asymmetry - known[0]) <= 2 * (max(known) - min(known)):
            starts[0] = _between([self._tops[other][0].point for other in known], asymmetry)
        gain = self.problem.last_gain
        ends = [
            climb_noisy(self.problem, self.evidence, asymmetry, start, gain) for start in starts
        ]
        tops = contending(ends)
        far = all(abs(asymmetry - searched) > SEARCH_EVERY for searched in self._searched)
        if far or tops[0].is_step:
            tops = self._search(asymmetry, tops)
        return tops


class SampledFits:
    """Null fits on a sample of the rows: they cost little and move as those of all rows do."""

    def __init__(self, problem: NoisyProblem, evidence: Evidence) -> None:
        self.problem = problem.samples[-1]
        self.share = self.problem.rows.total_weight / problem.rows.total_weight
        self.evidence = evidence.scaled(self.share)
        self._known: dict[float, NoisyFit] = {}

    def at(self, asymmetry: float, start: NoisyPoint) -> NoisyFit:
        """Return the fit of the sample, from where a fit of all rows is."""
        if asymmetry not in self._known:
            self._known[asymmetry] = self.refitted(self.evidence, start)
        return self._known[asymmetry]

    def refitted(self, evidence: Evidence, start: NoisyPoint) -> NoisyFit:
        """Return the fit of the sample with evidence of its own."""
        return climb_noisy(self.problem, evidence, start.asymmetry, start, LAST_GAIN_ON_SAMPLE)

    def carried(self, point: NoisyPoint, asymmetry: float) -> NoisyFit:
        """Return where a fit of all rows moves with the asymmetry, as the sample shows it."""
        here = self.at(point.asymmetry, point)
        there = self.at(asymmetry, along_the_tangent(here, self.evidence, asymmetry))
        low, high = rate_bounds(asymmetry)
        moved = NoisyPoint(
            point.coefficients + there.point.coefficients - here.point.coefficients,
            min(max(point.rate + there.point.rate - here.point.rate, low), high),
            asymmetry,
        )
        return replace(there, here=replace(there.here, point=moved))


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
