"""Where the K-class curve crosses the anchors, and a statistic for every split.

For hypothesised asymmetries the curve and the noise rates are fitted to the labels alone. The
gap between the curve's log-odds at a split's anchors and the stated ones then tells how much
more the labels lean than was hypothesised (theory page, "More than two classes").

Flips between one pair of classes also bend the curve at the toss-ups of other pairs. So a pair is
tested with the asymmetries of all others free. Splits of all classes overlap anyway; each is tested
alone, against uniform noise.
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

    def solved(self, freed: list[int], even: Sequence[int] = ()) -> tuple[FloatArray, FloatArray]:
        """Return the asymmetries of some splits that close their gaps, and their covariance.

        Those of `even` splits go to 0 meanwhile, all others stay.
        """
        block = np.ix_(freed, freed)
        pulls = self.pulls[block]
        inverse = np.linalg.pinv(np.where(np.abs(pulls) < NO_PULL, 0.0, pulls))
        gone = self.pulls[np.ix_(freed, even)] @ self.asymmetries[[*even]] if even else 0.0
        found = self.asymmetries[freed] - inverse @ (self.distances[freed] - gone)
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


def freed_fit(
    problem: Problem, fit: ClassFit, freed: list[int], even: Sequence[int] = ()
) -> tuple[ClassFit, Gaps]:
    """Move the asymmetries of some splits until the curve runs through their anchors.

    Those of `even` splits go to 0 meanwhile.
    """
    gaps = gaps_at(problem, fit)
    for _ in range(MOST_STRIDES):
        found, covariance = gaps.solved(freed, even)
        stride = np.zeros_like(gaps.asymmetries)
        stride[freed] = found - gaps.asymmetries[freed]
        stride[[*even]] = -gaps.asymmetries[[*even]]
        near = np.abs(stride[freed]) <= SETTLED * np.sqrt(covariance.diagonal())
        if near.all() and not stride[[*even]].any():
            break
        share = min(1.0, LARGEST_STRIDE / float(np.abs(stride).max()))
        asymmetries = gaps.asymmetries + stride * share
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


# Where a p-value is below this another fit is worth its time; elsewhere it would change too little.
WORTH_A_FIT = 0.2


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found for one split."""

    statistic: float
    pvalue: float
    asymmetry: float
    standard_error: float
    rate: float  # of a flip from one class to another, both ways alike
    adjusted: float = 1.0  # p-value of this split, all counted
    overall: float = 1.0  # of the hypothesis that no split leans, by this one, all counted


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
        read = one
        if level < WORTH_A_FIT:
            fit, moved = freed_fit(problem, null, [number])
            read = _weaker(one, _read(moved, [number], fit))
        counted = max(level, read.pvalue)
        findings[number] = replace(read, adjusted=counted, overall=counted)
    return findings, null


def strongest_first(
    problem: Problem, null: ClassFit, told: list[int]
) -> tuple[dict[int, Finding], ClassFit]:
    """Test some pairs, each whatever the others do, and count them as they come by strength.

    The strongest is looked for where no other leans, the next where that one is free, and so on.
    With m pairs the first counts m-fold, the next (m - 1)-fold, as in Holm's method. Others that
    lean unseen can make a pair look strong; so its own p-value counts too, with all of them free.

    Return the findings, and the fit in which all that may lean are free.
    """
    fit, gaps = null, gaps_at(problem, null)
    overall: dict[int, float] = {}
    adjusted: dict[int, float] = {}
    freed: list[int] = []
    highest = 0.0
    while len(adjusted) < len(told):
        rest = [pair for pair in told if pair not in adjusted]
        tested = {pair: _read(gaps, [*adjusted, pair], fit) for pair in rest}
        overall = overall or {p: min(len(told) * one.pvalue, 1.0) for p, one in tested.items()}
        strongest = max(rest, key=lambda pair: abs(tested[pair].statistic))
        highest = max(highest, min(len(rest) * tested[strongest].pvalue, 1.0))
        adjusted[strongest] = highest
        if highest < WORTH_A_FIT:
            freed.append(strongest)
            fit, gaps = freed_fit(problem, fit, freed)
    return {
        pair: replace(one, adjusted=max(adjusted[pair], one.pvalue), overall=overall[pair])
        for pair, one in _whatever_others_do(problem, null, told).items()
    }, fit


def _whatever_others_do(problem: Problem, null: ClassFit, told: list[int]) -> dict[int, Finding]:
    """Test each of some pairs with all others free to lean."""
    fit, gaps = freed_fit(problem, null, told)
    found = {}
    for pair in told:
        others = [other for other in told if other != pair]
        found[pair] = _read(gaps, [*others, pair], fit)
        if found[pair].pvalue < WORTH_A_FIT:
            even, at_even = freed_fit(problem, fit, others, [pair])
            found[pair] = _weaker(_read(at_even, [*others, pair], even), found[pair])
    return found


def _read(gaps: Gaps, freed: list[int], fit: ClassFit) -> Finding:
    """Test the last of some splits with all of them free, by one step from a fit."""
    asymmetries, covariance = gaps.solved(freed)
    estimate, error = float(asymmetries[-1]), float(np.sqrt(max(covariance[-1, -1], 0.0)))
    if not (np.isfinite(estimate) and 0 < error < np.inf):
        # No asymmetry moves the curve at these anchors: any would do.
        return Finding(0.0, 1.0, 0.0, 1.0, _rate(fit, freed[-1]))
    z = estimate / error
    return Finding(z, float(2 * ndtr(-abs(z))), estimate, error, _rate(fit, freed[-1]))


def _weaker(one: Finding, there: Finding) -> Finding:
    """Return a finding where the split is even, sized where the curve runs through the anchors.

    A step from no asymmetry tells whether a split leans; a large lean is further than one step.
    The weaker of both tests counts, and none where they point opposite ways: what is rejected is
    outside the interval too.
    """
    agree = one.statistic * there.statistic > 0
    z = min(one.statistic, there.statistic, key=abs) if agree else 0.0
    return replace(there, statistic=z, pvalue=float(2 * ndtr(-abs(z))))


def _rate(fit: ClassFit, split: int) -> float:
    """Return the rate of flips of a split, its own or the one all share."""
    rates = fit.point.rates
    return float(rates[0] if len(rates) == 1 else rates[split])
