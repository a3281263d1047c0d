"""Exact unconditional p-values of a small audit by given class.

The wrong labels of either given class are binomial, with chances tied by the hypothesis and
by the share s of positive labels, which is taken as known. Tables are ordered by the signed
root of their likelihood ratio: it stays finite where a variance under the hypothesis does
not. The p-value is the chance of a table at least as extreme, at the worst nuisance rate.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, xlog1py, xlogy

from evenodds.inference.audit.by_given import AuditByGiven
from evenodds.inference.audit.exact import SMALLEST, TIE
from evenodds.inference.audit.rates_tried import rates_between
from evenodds.inference.audit.two_proportions import LARGEST_Z
from evenodds.inference.choosing import log_ways
from evenodds.validation import FloatArray

# With fewer wrong (or right) labels than this in a given class the score's variance may vanish.
FEW_WRONG = 5.0
# Points of the line per root of the rows in a class: about four to a standard error.
POINTS_A_ROOT = 12.6
FEWEST_POINTS = 65
ZOOMED_POINTS = 33
# Larger tables than this take too long to go through at every hypothesis.
MOST_WORK = 3_000_000


@dataclass(frozen=True, slots=True)
class WrongLabels:
    """Chances that a positive and that a negative label is wrong, along a hypothesis."""

    positive: FloatArray
    negative: FloatArray


def is_small(audit: AuditByGiven) -> bool:
    """Tell whether the score of an audit by given class cannot be trusted."""
    return fewest_wrong(audit) < FEW_WRONG


def fewest_wrong(audit: AuditByGiven) -> float:
    """Return the fewest wrong, or right, labels of a given class, seen or expected.

    With groups, as many independent ones as they are worth.
    """
    sizes = audit.sizes[:2] / audit.design_effect()
    shares = np.array([audit.seen.vector[:2], audit.constrained(0.0).vector[:2]])
    return float((np.minimum(shares, 1 - shares) * sizes).min())


def is_countable(audit: AuditByGiven) -> bool:
    """Tell whether all tables of an audit can be gone through."""
    positive, negative = audit.flips.given_positive, audit.flips.given_negative
    return (positive + 1) * (negative + 1) * points_needed(audit) <= MOST_WORK


def given_pvalues(audit: AuditByGiven, asymmetry: float) -> tuple[float, float]:
    """Return the exact p-values against a larger and against a smaller asymmetry."""
    alphas = possible_rates(asymmetry, audit.seen.positive_share, points_needed(audit))
    if len(alphas) == 0:
        return _impossible(audit, asymmetry)
    positive = Binomial(audit.flips.given_positive)
    negative = Binomial(audit.flips.given_negative)

    def logs(rates: FloatArray) -> tuple[FloatArray, FloatArray]:
        wrong = wrong_labels(rates, asymmetry, audit.seen.positive_share)
        return positive.logs(wrong.positive), negative.logs(wrong.negative)

    found = logs(alphas)
    sign = np.where(table_asymmetries(audit) >= asymmetry, 1.0, -1.0)
    order = sign * likelihood_roots(*found, positive.own[:, None] + negative.own[None, :])
    observed = float(order[audit.flips.flipped_negative, audit.flips.flipped_positive])
    hair = TIE * max(abs(observed), 1.0)
    own, other = np.exp(found[0] + positive.ways), np.exp(found[1] + negative.ways)

    def worst(region: NDArray[np.bool_]) -> float:
        weights = region.astype(np.float64)
        best = int(np.argmax(((own @ weights) * other).sum(axis=1)))
        ends = alphas[max(best - 1, 0)], alphas[min(best + 1, len(alphas) - 1)]
        closer = logs(np.linspace(*ends, ZOOMED_POINTS))
        one, two = np.exp(closer[0] + positive.ways), np.exp(closer[1] + negative.ways)
        top = float((own[best] @ weights) @ other[best])
        return min(max(top, float(((one @ weights) * two).sum(axis=1).max())), 1.0)

    return worst(order >= observed - hair), worst(order <= observed + hair)


def given_z(audit: AuditByGiven, asymmetry: float) -> float:
    """Return the normal deviate with the smaller of the exact p-values, on its side."""
    greater, less = given_pvalues(audit, asymmetry)
    size = float(max(-ndtri(max(min(greater, less), SMALLEST)), 0.0))
    return size if greater <= less else -size


def _impossible(audit: AuditByGiven, asymmetry: float) -> tuple[float, float]:
    """Return the p-values of an asymmetry that no flip rates have with this share of labels."""
    return (0.0, 1.0) if audit.seen.beta - audit.seen.alpha > asymmetry else (1.0, 0.0)


def points_needed(audit: AuditByGiven) -> int:
    """Return how many points a line needs, so that the likeliest is missed by little."""
    return max(FEWEST_POINTS, int(POINTS_A_ROOT * np.sqrt(audit.sizes[:2].max())))


def possible_rates(asymmetry: float, share: float, n_points: int) -> FloatArray:
    """Return the rates alpha that a share of positive labels allows, below and above chance."""
    low, high = max(0.0, -asymmetry), min(1.0, 1.0 - asymmetry)
    below = low, min(high, share - asymmetry, 1 - share)
    above = max(low, share - asymmetry, 1 - share), high
    branches = [rates_between(*ends, n_points) for ends in (below, above) if ends[0] <= ends[1]]
    return np.concatenate(branches) if branches else np.empty(0)


def wrong_labels(alphas: FloatArray, asymmetry: float, share: float) -> WrongLabels:
    """Return the chances of wrong labels where the asymmetry and the share are as supposed."""
    betas = alphas + asymmetry
    stretch = 1 - alphas - betas
    coin = np.abs(stretch) < TIE
    prior = np.where(coin, 0.5, (share - betas) / np.where(coin, 1.0, stretch))
    prior = np.clip(prior, 0.0, 1.0)
    return WrongLabels(
        positive=np.clip((1 - prior) * betas / share, 0.0, 1.0),
        negative=np.clip(prior * alphas / (1 - share), 0.0, 1.0),
    )


def likelihood_roots(positive: FloatArray, negative: FloatArray, free: FloatArray) -> FloatArray:
    """Return the root of the likelihood ratio of every table, the likeliest point found."""
    best = np.full(free.shape, -np.inf)
    for one, other in zip(positive, negative, strict=True):
        np.maximum(best, one[:, None] + other[None, :], out=best)
    return np.asarray(np.sqrt(np.clip(2 * (free - best), 0.0, LARGEST_Z**2)))


def table_asymmetries(audit: AuditByGiven) -> FloatArray:
    """Return the asymmetry that each table of wrong labels shows."""
    s, sizes = audit.seen.positive_share, audit.flips
    q1 = np.clip(np.linspace(0, 1, sizes.given_positive + 1), TIE, 1 - TIE)[:, None]
    q0 = np.clip(np.linspace(0, 1, sizes.given_negative + 1), TIE, 1 - TIE)[None, :]
    prior = q0 * (1 - s) + (1 - q1) * s
    return np.asarray(q1 * s / (1 - prior) - q0 * (1 - s) / prior)


class Binomial:
    """Wrong labels among `n`: log-likelihoods of every count, whole and at their own share."""

    def __init__(self, n: int) -> None:
        self._counts = np.arange(n + 1)
        self._n = n
        self.ways = log_ways(n, self._counts)
        shares = self._counts / n
        self.own = xlogy(self._counts, shares) + xlog1py(n - self._counts, -shares)

    def logs(self, chances: FloatArray) -> FloatArray:
        """Return log-likelihoods, one row a chance."""
        column = chances[:, None]
        return np.asarray(xlogy(self._counts, column) + xlog1py(self._n - self._counts, -column))
