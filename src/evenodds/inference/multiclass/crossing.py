"""Where the K-class curve crosses the anchors, and a statistic for every split.

For hypothesised asymmetries the curve and the noise rates are fitted to the labels alone. The
gap between the curve's log-odds at a split's anchors and the stated ones then tells how much
more the labels lean than was hypothesised (theory page, "More than two classes").

Flips between one pair of classes also bend the curve at the toss-ups of other pairs. So pairs
are taken strongest first, and each later one is tested with the asymmetries of those before it
free. Splits of all classes overlap anyway; each is tested alone, against uniform noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from evenodds.inference.multiplicity import holm
from evenodds.model.softmax import ClassData, ClassFit, ClassPoint, FlipFamily, climb, influences
from evenodds.model.sums import symmetric_inverse
from evenodds.validation import FloatArray

LARGEST_STRIDE = 0.15
MOST_STRIDES = 6
# Asymmetries stop moving when a stride is below this share of a standard error.
SETTLED = 0.01
# Fits on the way are this close to their optimum, in squared standard errors.
NEAR_ENOUGH = 1e-4
# Log-odds that an asymmetry moves by less than this, a curve that is a step, it does not move.
NO_PULL = 1e-8


@dataclass(frozen=True, slots=True)
class SplitAnchors:
    """The anchors of one split on the log-odds scale."""

    positive: tuple[int, ...]
    negative: tuple[int, ...]
    design: FloatArray  # anchor points on the solver's scale, with a leading 1
    targets: FloatArray | float  # the stated log-odds
    covariance: FloatArray | float  # of their errors


@dataclass(frozen=True, slots=True)
class Problem:
    """Labels, the noise they may have, and the anchors of every split."""

    data: ClassData
    family: FlipFamily
    anchors: Sequence[SplitAnchors]


@dataclass(frozen=True, slots=True)
class Gaps:
    """How far a curve is from the anchors of each split, and what moves it."""

    asymmetries: FloatArray  # as hypothesised
    distances: FloatArray
    covariance: FloatArray
    pulls: FloatArray  # derivative of the distances in the asymmetries

    def solved(self, freed: list[int]) -> tuple[FloatArray, FloatArray]:
        """Return the asymmetries of some splits that close their gaps, and their covariance."""
        block = np.ix_(freed, freed)
        pulls = self.pulls[block]
        inverse = np.linalg.pinv(np.where(np.abs(pulls) < NO_PULL, 0.0, pulls))
        found = self.asymmetries[freed] - inverse @ self.distances[freed]
        return found, inverse @ self.covariance[block] @ inverse.T


def gaps_at(problem: Problem, fit: ClassFit) -> Gaps:
    """Return the curve's distances from the anchors with their covariance."""
    anchors, information = problem.anchors, fit.here.information
    contrasts = np.zeros((len(anchors), len(fit.here.score)))
    distances = np.empty(len(anchors))
    for number, group in enumerate(anchors):
        log_odds, gradient = split_log_odds(group, fit.point.coefficients)
        distances[number] = log_odds - np.mean(group.targets)
        contrasts[number, : gradient.size] = gradient
    kept = fit.nuisance
    levers = np.zeros_like(contrasts)
    inverse = symmetric_inverse(information[np.ix_(kept, kept)])
    levers[:, kept] = contrasts[:, kept] @ inverse
    if problem.data.groups is None:
        covariance = levers @ contrasts.T
    else:
        by_group = influences(problem.data, problem.family, fit.point, levers)
        covariance = by_group.T @ by_group
    return Gaps(
        asymmetries=fit.point.asymmetries,
        distances=distances,
        # The mean of a covariance matrix is the variance of the mean.
        covariance=covariance + np.diag([float(np.mean(group.covariance)) for group in anchors]),
        pulls=-levers @ (information @ _directions(fit, problem.family)),
    )


def freed_fit(problem: Problem, fit: ClassFit, freed: list[int]) -> tuple[ClassFit, Gaps]:
    """Move the asymmetries of some splits until the curve runs through their anchors."""
    gaps = gaps_at(problem, fit)
    for _ in range(MOST_STRIDES):
        found, covariance = gaps.solved(freed)
        stride = found - gaps.asymmetries[freed]
        if (np.abs(stride) <= SETTLED * np.sqrt(covariance.diagonal())).all():
            break
        asymmetries = gaps.asymmetries.copy()
        asymmetries[freed] += stride * min(1.0, LARGEST_STRIDE / float(np.abs(stride).max()))
        start = _along(fit, problem.family, asymmetries)
        low, _ = problem.family.lowest_rates(asymmetries)
        rates = np.clip(start.rates, low, np.maximum(low, problem.family.highest_rates))
        if not problem.family.keeps_classes(rates, asymmetries):
            break
        fit = climb(problem.data, problem.family, start, last_gain=NEAR_ENOUGH)
        gaps = gaps_at(problem, fit)
    return fit, gaps


def split_log_odds(group: SplitAnchors, coefficients: FloatArray) -> tuple[float, FloatArray]:
    """Return the mean clean log-odds of a split at its anchors, and its gradient."""
    log_odds, gradients = log_odds_of_each(group, coefficients)
    return float(log_odds.mean()), gradients.mean(axis=0)


def log_odds_of_each(
    group: SplitAnchors, coefficients: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the clean log-odds of a split at each of its anchors, and their gradients."""
    (first, gain), (second, loss) = sides_at(group, coefficients)
    gradients = (first - second)[:, :-1, None] * group.design[:, None, :]
    return gain - loss, gradients.reshape(len(gradients), -1)


def sides_at(group: SplitAnchors, coefficients: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """Return, anchor by anchor, the share of each class of a side, and the log of their sum."""
    linear = np.zeros((len(group.design), len(coefficients) + 1))
    linear[:, :-1] = group.design @ coefficients.T
    found = []
    for side in (list(group.positive), list(group.negative)):
        highest = linear[:, side].max(axis=1, keepdims=True)
        sizes = np.exp(linear[:, side] - highest)
        totals = sizes.sum(axis=1, keepdims=True)
        shares = np.zeros_like(linear)
        shares[:, side] = sizes / totals
        found.append((shares, (highest + np.log(totals))[:, 0]))
    return found


def _directions(fit: ClassFit, family: FlipFamily) -> FloatArray:
    """Return how all parameters move with each asymmetry: rates on their lower bound move too."""
    n_theta = fit.point.coefficients.size
    n_rates, n_asymmetries = len(fit.free), len(fit.point.asymmetries)
    low, slopes = family.lowest_rates(fit.point.asymmetries)
    directions = np.zeros((n_theta + n_rates + n_asymmetries, n_asymmetries))
    directions[n_theta + n_rates :] = np.eye(n_asymmetries)
    bound = ~fit.free & (fit.point.rates <= low)
    directions[n_theta : n_theta + n_rates][bound] = slopes[bound]
    return directions


def _along(fit: ClassFit, family: FlipFamily, asymmetries: FloatArray) -> ClassPoint:
    """Return where the fit moves, to first order, when the hypothesised asymmetries do."""
    change = asymmetries - fit.point.asymmetries
    kept = fit.nuisance
    moving = (fit.here.information @ _directions(fit, family) @ change)[kept]
    step = np.zeros(fit.point.coefficients.size + len(fit.free))
    step[kept] = -symmetric_inverse(fit.here.information[np.ix_(kept, kept)]) @ moving
    n_theta = fit.point.coefficients.size
    coefficients = fit.point.coefficients + step[:n_theta].reshape(fit.point.coefficients.shape)
    return ClassPoint(coefficients, fit.point.rates + step[n_theta:], asymmetries)


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
