"""Where the K-class curve crosses the anchors, and which asymmetries would carry it there.

For hypothesised asymmetries the curve and the noise rates are fitted to the labels alone. The
gap between the curve's log-odds at a split's anchors and the stated ones then tells how much
more the labels lean than was hypothesised (theory page, "More than two classes").
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenodds.model.noisy import symmetric_inverse
from evenodds.model.softmax.climb import ClassFit, climb, fit_classes
from evenodds.model.softmax.flips import FlipFamily
from evenodds.model.softmax.sums import ClassData, ClassPoint
from evenodds.validation import FloatArray

LARGEST_STRIDE = 0.15
# Asymmetries stop moving when a stride is below this share of their standard errors.
SETTLED = 0.01
MOST_STRIDES = 15
# Fits on the way are this close to their optimum, in squared standard errors.
NEAR_ENOUGH = 1e-4


@dataclass(frozen=True, slots=True)
class SplitAnchors:
    """The anchors of one split, averaged, on the log-odds scale."""

    positive: tuple[int, ...]
    negative: tuple[int, ...]
    design: FloatArray  # anchor points on the solver's scale, with a leading 1
    target: float
    variance: float  # of the target


@dataclass(frozen=True, slots=True)
class Gaps:
    """How far the curve is from the anchors of each split, and what moves it."""

    distances: FloatArray
    covariance: FloatArray
    pulls: FloatArray  # derivative of the distances in the hypothesised asymmetries


@dataclass(frozen=True, slots=True)
class Crossing:
    """The asymmetries under which the curve runs through all anchors."""

    fit: ClassFit
    asymmetries: FloatArray
    covariance: FloatArray
    settled: bool


def cross(
    data: ClassData, family: FlipFamily, anchors: Sequence[SplitAnchors], null: ClassFit
) -> Crossing:
    """Move the asymmetries from zero until the curve runs through the anchors of every split."""
    fit = null
    settled = False
    for _ in range(MOST_STRIDES):
        gaps = gaps_at(fit, family, anchors)
        inverse = np.linalg.pinv(gaps.pulls)
        stride = -inverse @ gaps.distances
        covariance = inverse @ gaps.covariance @ inverse.T
        settled = bool((np.abs(stride) <= SETTLED * np.sqrt(covariance.diagonal())).all())
        if settled:
            break
        stride = stride * min(1.0, LARGEST_STRIDE / float(np.abs(stride).max()))
        fit = climb(
            data,
            family,
            _along(fit, family, fit.point.asymmetries + stride),
            last_gain=NEAR_ENOUGH,
        )
    return Crossing(fit, fit.point.asymmetries + (stride if settled else 0), covariance, settled)


def gaps_at(fit: ClassFit, family: FlipFamily, anchors: Sequence[SplitAnchors]) -> Gaps:
    """Return the curve's distances from the anchors with their covariance."""
    n_all = len(fit.here.score)
    contrasts = np.zeros((len(anchors), n_all))
    distances = np.empty(len(anchors))
    for number, group in enumerate(anchors):
        log_odds, gradient = split_log_odds(group, fit.point.coefficients)
        distances[number] = log_odds - group.target
        contrasts[number, : gradient.size] = gradient
    kept = fit.nuisance
    levers = contrasts[:, kept] @ symmetric_inverse(fit.here.information[np.ix_(kept, kept)])
    covariance = levers @ contrasts[:, kept].T
    covariance += np.diag([group.variance for group in anchors])
    pulls = -levers @ (fit.here.information @ _directions(fit, family))[kept]
    return Gaps(distances, covariance, pulls)


def split_log_odds(
    group: SplitAnchors, coefficients: FloatArray
) -> tuple[float, FloatArray]:
    """Return the mean clean log-odds of a split at its anchors, and its gradient."""
    linear = np.zeros((len(group.design), len(coefficients) + 1))
    linear[:, :-1] = group.design @ coefficients.T
    shares = np.zeros_like(linear)
    log_odds = 0.0
    for side, sign in ((list(group.positive), 1), (list(group.negative), -1)):
        highest = linear[:, side].max(axis=1, keepdims=True)
        sizes = np.exp(linear[:, side] - highest)
        totals = sizes.sum(axis=1, keepdims=True)
        shares[:, side] = sign * sizes / totals
        log_odds += sign * float((highest + np.log(totals)).mean())
    gradient = shares[:, :-1].T @ group.design / len(group.design)
    return log_odds, gradient.ravel()


def null_fit(data: ClassData, family: FlipFamily) -> ClassFit:
    """Return the curve with no asymmetry."""
    return fit_classes(data, family)


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
