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


def each_alone(
    problem: Problem, null: ClassFit, told: list[int]
) -> tuple[dict[int, Finding], ClassFit]:
    """Test each of some splits against uniform noise, adjusted by Holm's method.

    Return the findings, and the fit that the curve is checked at.
    """
    gaps = gaps_at(problem, null)
    found = {number: _read(gaps, [number], null) for number in told}
    adjusted = holm([one.pvalue for one in found.values()]).tolist() if found else []
    findings = {}
    for (number, one), level in zip(found.items(), adjusted, strict=True):
        findings[number] = replace(one, adjusted=level)
        if level < WORTH_A_FIT:
            fit, moved = freed_fit(problem, null, [number])
            findings[number] = _sized(findings[number], _read(moved, [number], fit), 1)
    return findings, null


def strongest_first(
    problem: Problem, null: ClassFit, told: list[int]
) -> tuple[dict[int, Finding], ClassFit]:
    """Test some pairs one after another, the strongest first, freeing each for those that follow.

    With m pairs the first counts m-fold, the next (m - 1)-fold, as in Holm's method.
    Return the findings, and the fit in which all that may lean are free.
    """
    fit, gaps = null, gaps_at(problem, null)
    found: dict[int, Finding] = {}
    counts: dict[int, int] = {}  # of the pairs that enter the fit
    highest = 0.0
    while len(found) < len(told):
        rest = [pair for pair in told if pair not in found]
        tested = {pair: _read(gaps, [*found, pair], fit) for pair in rest}
        strongest = max(rest, key=lambda pair: abs(tested[pair].statistic))
        one = tested[strongest]
        highest = max(highest, min(len(rest) * one.pvalue, 1.0))
        found[strongest] = replace(one, adjusted=highest)
        if highest < WORTH_A_FIT:
            counts[strongest] = len(rest)
            fit, gaps = freed_fit(problem, fit, [*counts])
    for pair, count in counts.items():
        # A neighbour that entered before the culprit is cleared once the culprit is free.
        order = [*(other for other in counts if other != pair), pair]
        found[pair] = _sized(found[pair], _read(gaps, order, fit), count)
    return found, fit


def _read(gaps: Gaps, freed: list[int], fit: ClassFit) -> Finding:
    """Test the last of some splits with all of them free, by one step from a fit."""
    asymmetries, covariance = gaps.solved(freed)
    estimate, error = float(asymmetries[-1]), float(np.sqrt(max(covariance[-1, -1], 0.0)))
    if not (np.isfinite(estimate) and 0 < error < np.inf):
        # No asymmetry moves the curve at these anchors: any would do.
        return Finding(0.0, 1.0, 1.0, 0.0, 1.0, _rate(fit, freed[-1]))
    z = estimate / error
    pvalue = float(2 * ndtr(-abs(z)))
    return Finding(z, pvalue, pvalue, estimate, error, _rate(fit, freed[-1]))


def _sized(one: Finding, there: Finding, count: int) -> Finding:
    """Return a finding with the size read where the curve runs through the anchors.

    A step from the null tells whether a split leans; a large lean is further than one step. The
    weaker of both tests counts, and none where they point opposite ways: what is rejected is
    outside the interval too.
    """
    agree = one.statistic * there.statistic > 0
    z = min(one.statistic, there.statistic, key=abs) if agree else 0.0
    pvalue = float(2 * ndtr(-abs(z)))
    return replace(
        there, statistic=z, pvalue=pvalue, adjusted=max(one.adjusted, min(count * pvalue, 1.0))
    )


def _rate(fit: ClassFit, split: int) -> float:
    """Return the rate of flips of a split, its own or the one all share."""
    rates = fit.point.rates
    return float(rates[0] if len(rates) == 1 else rates[split])
