"""A statistic for every split: each alone, or pairs one after another.

Flips between one pair of classes also bend the curve at the toss-ups of other pairs. So pairs
are taken strongest first, and each later one is tested with the asymmetries of those before it
free. Splits of all classes overlap anyway; each is tested alone, against uniform noise.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from evenodds.inference.multiclass.crossing import Gaps, Problem, freed_fit, gaps_at
from evenodds.inference.multiplicity import holm
from evenodds.model.softmax.climb import ClassFit

# A pair whose adjusted p-value is below this moves the curve before the next is tested; the
# others move it too little to be worth a fit.
WORTH_A_FIT = 0.2


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found for one split."""

    statistic: float
    pvalue: float
    adjusted: float
    asymmetry: float
    standard_error: float
    rate: float  # of a flip from one class to another, both ways alike


def each_alone(problem: Problem, null: ClassFit) -> tuple[list[Finding], ClassFit]:
    """Test each split against uniform noise, adjusted by Holm's method.

    Return the findings, and the fit that the curve is checked at.
    """
    gaps = gaps_at(problem, null)
    found = [_read(gaps, [number], null) for number in range(len(problem.anchors))]
    adjusted = holm([one.pvalue for one in found]).tolist()
    findings = []
    for number, (one, level) in enumerate(zip(found, adjusted, strict=True)):
        sized = one
        if level < WORTH_A_FIT:
            sized = _sized(one, *freed_fit(problem, null, [number]), [number])
        findings.append(replace(sized, adjusted=level))
    return findings, null


def strongest_first(problem: Problem, null: ClassFit) -> tuple[list[Finding], ClassFit]:
    """Test pairs one after another, the strongest first, freeing each for those that follow.

    With m pairs the first counts m-fold, the next (m - 1)-fold, as in Holm's method.
    Return the findings, and the fit in which all that may lean are free.
    """
    n_pairs = len(problem.anchors)
    fit, gaps = null, gaps_at(problem, null)
    found: dict[int, Finding] = {}
    fitted: list[int] = []
    highest = 0.0
    while len(found) < n_pairs:
        rest = [pair for pair in range(n_pairs) if pair not in found]
        tested = {pair: _read(gaps, [*found, pair], fit) for pair in rest}
        strongest = max(rest, key=lambda pair: abs(tested[pair].statistic))
        one = tested[strongest]
        highest = max(highest, min(len(rest) * one.pvalue, 1.0))
        found[strongest] = replace(one, adjusted=highest)
        if highest < WORTH_A_FIT:
            fitted.append(strongest)
            fit, gaps = freed_fit(problem, fit, fitted)
    for place, pair in enumerate(fitted):
        order = [*fitted[:place], *fitted[place + 1 :], pair]
        # A neighbour that entered before the culprit is cleared once the culprit is free.
        back = min(len(fitted) * _read(gaps, order, fit).pvalue, 1.0)
        sized = _sized(found[pair], fit, gaps, order)
        cleared = len(fitted) > 1 and back > sized.adjusted
        found[pair] = replace(sized, adjusted=back) if cleared else sized
    return [found[pair] for pair in range(n_pairs)], fit


def _read(gaps: Gaps, freed: list[int], fit: ClassFit) -> Finding:
    """Test the last of some splits with all of them free, by one step from a fit."""
    asymmetries, covariance = gaps.solved(freed)
    estimate, error = float(asymmetries[-1]), float(np.sqrt(max(covariance[-1, -1], 0.0)))
    if error == 0:
        # No asymmetry moves the curve at these anchors: any would do.
        return Finding(0.0, 1.0, 1.0, 0.0, 1.0, _rate(fit, freed[-1]))
    z = estimate / error
    pvalue = float(2 * ndtr(-abs(z)))
    return Finding(z, pvalue, pvalue, estimate, error, _rate(fit, freed[-1]))


def _sized(one: Finding, fit: ClassFit, gaps: Gaps, freed: list[int]) -> Finding:
    """Return a finding with the size read where the curve runs through the anchors.

    A step from the null tells whether a split leans; a large lean is further than one step.
    """
    there = _read(gaps, freed, fit)
    return replace(
        one, asymmetry=there.asymmetry, standard_error=there.standard_error, rate=there.rate
    )


def _rate(fit: ClassFit, split: int) -> float:
    """Return the rate of flips of a split, its own or the one all share."""
    rates = fit.point.rates
    return float(rates[0] if len(rates) == 1 else rates[split])
