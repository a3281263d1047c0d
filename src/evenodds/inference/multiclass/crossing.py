"""Where the K-class curve crosses the anchors, and a statistic for every split.

For a hypothesised asymmetry the curve and the noise rates are fitted to the labels alone. The
gap between the curve's log-odds at a split's anchors and the stated ones then tells how much
more the labels lean than was hypothesised (theory page, "More than two classes").

Flips between one pair of classes also bend the curve at the toss-ups of other pairs. So a pair is
tested with every other flip a rate of its own, fitted to the labels. Splits of all classes overlap
anyway; each is tested alone, against uniform noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from evenodds.model.softmax import (
    ClassData,
    ClassFit,
    ClassPoint,
    FlipFamily,
    any_family,
    climb,
    fit_from,
    influences,
)
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
class Gap:
    """How far a curve is from the anchors of a split, and what moves it."""

    asymmetry: float  # as hypothesised
    distance: float
    variance: float
    pull: float  # derivative of the distance in the asymmetry

    def solved(self) -> tuple[float, float]:
        """Return the asymmetry that closes the gap, and its standard error."""
        if abs(self.pull) < NO_PULL:
            return self.asymmetry, 0.0
        error = max(self.variance, 0.0) ** 0.5 / abs(self.pull)
        return self.asymmetry - self.distance / self.pull, error


def gap_at(problem: Problem, fit: ClassFit, split: int) -> Gap:
    """Return the curve's distance from the anchors of a split, with its variance."""
    group, information = problem.anchors[split], fit.here.information
    log_odds, gradient = split_log_odds(group, fit.point.coefficients)
    contrast = np.zeros(len(fit.here.score))
    contrast[: gradient.size] = gradient
    kept = fit.nuisance
    lever = np.zeros_like(contrast)
    lever[kept] = symmetric_inverse(information[np.ix_(kept, kept)]) @ contrast[kept]
    if problem.data.groups is None:
        variance = lever @ contrast
    else:
        by_group = influences(problem.data, problem.family, fit.point, lever[None])
        variance = (by_group**2).sum()
    return Gap(
        asymmetry=float(fit.point.asymmetries[split]),
        distance=log_odds - float(np.mean(group.targets)),
        # The mean of a covariance matrix is the variance of the mean.
        variance=float(variance) + float(np.mean(group.covariance)),
        pull=-float(lever @ information @ _directions(fit, problem.family)[:, split]),
    )


def crossing_fit(problem: Problem, fit: ClassFit, split: int) -> ClassFit:
    """Move the asymmetry of a split until the curve runs through its anchors."""
    for _ in range(MOST_STRIDES):
        found, error = gap_at(problem, fit, split).solved()
        stride = found - fit.point.asymmetries[split]
        if abs(stride) <= SETTLED * error:
            break
        asymmetries = fit.point.asymmetries.copy()
        asymmetries[split] += float(np.clip(stride, -LARGEST_STRIDE, LARGEST_STRIDE))
        start = _along(fit, problem.family, asymmetries)
        low, _ = problem.family.lowest_rates(asymmetries)
        rates = np.clip(start.rates, low, np.maximum(low, problem.family.highest_rates))
        if not problem.family.keeps_classes(rates, asymmetries):
            break
        fit = climb(problem.data, problem.family, start, last_gain=NEAR_ENOUGH)
    return fit


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


# A split whose p-value is below this is read where the curve runs through its anchors too.
WORTH_A_FIT = 0.2


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found for one split."""

    statistic: float
    pvalue: float
    asymmetry: float
    standard_error: float
    rate: float  # of a flip from one class to another, both ways alike


def each_alone(problem: Problem, null: ClassFit, told: list[int]) -> dict[int, Finding]:
    """Test each of some splits against uniform noise."""
    return {split: _found(problem, null, split) for split in told}


def with_any_noise(problem: Problem, null: ClassFit) -> tuple[Problem, ClassFit]:
    """Return the problem and its fit where each class may be flipped to each other at any rate."""
    family = any_family(problem.data.n_classes)
    flips = problem.family.matrix(null.point.rates, null.point.asymmetries)
    return replace(problem, family=family), fit_from(problem.data, family, null, flips)


def pair_by_pair(problem: Problem, free: ClassFit, told: list[int]) -> dict[int, Finding]:
    """Test that some pairs are even, each whatever flips there are elsewhere.

    With the fit of any noise to start from.
    """
    flips = problem.family.matrix(free.point.rates, free.point.asymmetries)
    found = {}
    for pair in told:
        group = problem.anchors[pair]
        family = any_family(problem.data.n_classes, (group.positive[0], group.negative[0]))
        alone = Problem(problem.data, family, [group])
        found[pair] = _found(alone, fit_from(problem.data, family, free, flips), 0)
    return found


def _found(problem: Problem, even: ClassFit, split: int) -> Finding:
    """Test a split at the fit where it is even, and size it where the curve meets its anchors.

    A step from no asymmetry tells whether a split leans; a large lean is further than one step.
    The weaker of both tests counts, and none where they point opposite ways: what is rejected is
    outside the interval too.
    """
    one = _read(problem, even, split)
    if one.pvalue >= WORTH_A_FIT:
        return one
    there = _read(problem, crossing_fit(problem, even, split), split)
    agree = one.statistic * there.statistic > 0
    z = min(one.statistic, there.statistic, key=abs) if agree else 0.0
    return replace(there, statistic=z, pvalue=float(2 * ndtr(-abs(z))))


def _read(problem: Problem, fit: ClassFit, split: int) -> Finding:
    """Test a split by one step from a fit."""
    rates = fit.point.rates
    rate = float(rates[0] if len(rates) == 1 else rates[split])
    estimate, error = gap_at(problem, fit, split).solved()
    if not (np.isfinite(estimate) and 0 < error < np.inf):
        # No asymmetry moves the curve at these anchors: any would do.
        return Finding(0.0, 1.0, 0.0, 1.0, rate)
    z = estimate / error
    return Finding(z, float(2 * ndtr(-abs(z))), estimate, error, rate)
