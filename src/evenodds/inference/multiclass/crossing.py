"""Where the K-class curve crosses the anchors, and which asymmetries would carry it there.

For hypothesised asymmetries the curve and the noise rates are fitted to the labels alone. The
gap between the curve's log-odds at a split's anchors and the stated ones then tells how much
more the labels lean than was hypothesised (theory page, "More than two classes").
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenodds.model.inverses import symmetric_inverse
from evenodds.model.softmax.climb import ClassFit, climb
from evenodds.model.softmax.flips import FlipFamily
from evenodds.model.softmax.sums import ClassData, ClassPoint, influences
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
    target: float  # mean of the stated log-odds
    variance: float  # of that mean


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
        distances[number] = log_odds - group.target
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
        covariance=covariance + np.diag([group.variance for group in anchors]),
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
    (first, gain), (second, loss) = _sides(group, coefficients)
    gradient = (first - second)[:, :-1].T @ group.design / len(group.design)
    return float((gain - loss).mean()), gradient.ravel()


def side_shares(group: SplitAnchors, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return, anchor by anchor, the share that each class has of the two sides."""
    (first, _), (second, _) = _sides(group, coefficients)
    return first, second


def _sides(group: SplitAnchors, coefficients: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """Return the shares of the classes of each side, and the log of what they add up to."""
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
