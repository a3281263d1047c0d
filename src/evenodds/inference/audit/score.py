"""Score tests of two flip rates (theory page, "Audit samples").

Rows of a true class are flipped independently, so the flips of each class are binomial.
For a hypothesised difference the rates are estimated under it; the variance they give
standardises the difference observed (Miettinen and Nurminen 1985, Stat. Med. 4, 213-226).

The audit tells how often a given label is wrong; the counts of the whole data turn that
into how often a true class is flipped. Audited rows contribute true and given label, the
others their given label alone:

    L = sum over cells of a log(cell) + R1 log(s) + R0 log(1 - s),

with cells pi(1 - alpha), pi alpha, (1 - pi) beta, (1 - pi)(1 - beta) and s the chance of a
positive label.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import xlog1py, xlogy

from evenodds.inference.audit.counts import Flips, Groupings, Quantity, added_variance, as_normal
from evenodds.validation import FloatArray

# Beyond this size z is cut: at the ends of the scale its variance is zero.
LARGEST_Z = 1000.0


def constrained_rates(
    n_positive: Any, flipped_positive: Any, n_negative: Any, flipped_negative: Any, asymmetry: float
) -> tuple[FloatArray, FloatArray]:
    """Return the likeliest alpha and beta with ``beta - alpha`` as hypothesised.

    The likelihood equation is a cubic in beta; its middle root in closed form is due to
    Farrington and Manning (1990, Stat. Med. 9, 1447-1454).
    """
    alpha_hat, beta_hat = flipped_positive / n_positive, flipped_negative / n_negative
    if asymmetry == 0:
        pooled = np.asarray(
            (flipped_positive + flipped_negative) / (n_positive + n_negative), dtype=np.float64
        )
        return pooled, pooled
    ratio = n_positive / n_negative
    cubic = 1 + ratio
    square = -(1 + ratio + beta_hat + ratio * alpha_hat + asymmetry * (ratio + 2))
    linear = asymmetry**2 + asymmetry * (2 * beta_hat + ratio + 1) + beta_hat + ratio * alpha_hat
    constant = -beta_hat * asymmetry * (1 + asymmetry)
    third = square / (3 * cubic)
    depressed = third**3 - third * linear / (2 * cubic) + constant / (2 * cubic)
    radius = np.sqrt(np.maximum(third**2 - linear / (3 * cubic), 0))
    signed = np.where(depressed > 0, radius, -radius)
    cosine = np.divide(
        depressed, signed**3, out=np.ones(np.shape(signed)), where=np.abs(signed) > 1e-100
    )
    angle = (np.pi + np.arccos(np.clip(cosine, -1, 1))) / 3
    beta = np.clip(
        2 * signed * np.cos(angle) - third, max(asymmetry, 0.0), min(1.0, 1.0 + asymmetry)
    )
    return np.clip(beta - asymmetry, 0.0, 1.0), beta


def score_z(
    n_positive: Any, flipped_positive: Any, n_negative: Any, flipped_negative: Any, asymmetry: float
) -> FloatArray:
    """Return z for a hypothesised asymmetry, for one table of counts or many."""
    alpha, beta = constrained_rates(
        n_positive, flipped_positive, n_negative, flipped_negative, asymmetry
    )
    total = n_positive + n_negative
    variance = alpha * (1 - alpha) / n_positive + beta * (1 - beta) / n_negative
    variance = variance * total / (total - 1)
    gap = flipped_negative / n_negative - flipped_positive / n_positive - asymmetry
    # What is zero up to rounding over zero variance is no evidence.
    gap = np.where(np.abs(gap) < 1e-14, 0.0, gap)
    floor = (np.abs(gap) / LARGEST_Z) ** 2
    standard_error = np.sqrt(np.maximum(np.maximum(variance, floor), 1e-300))
    return np.asarray(gap / standard_error)


@dataclass(frozen=True, slots=True)
class AuditByTrue:
    """Counts of an audit drawn at random, or by true class."""

    flips: Flips
    groupings: Groupings = ()

    @property
    def seen(self) -> Flips:
        """What has the flip rates as observed."""
        return self.flips

    def z(self, asymmetry: float) -> float:
        """Return z for a hypothesised asymmetry.

        With groups, its variance grows by what pairs of rows in one group add, at the same rates,
        and it is the normal deviate of a t statistic.
        """
        z = float(score_z(*self.flips.counts, asymmetry))
        if self.groupings:
            alpha, beta = constrained_rates(*self.flips.counts, asymmetry)
            z /= np.sqrt(self.design_effect(float(alpha), float(beta)))
        return as_normal(z, self.groupings)

    def design_effect(self, alpha: float = 0.5, beta: float = 0.5) -> float:
        """Return how many times the variance is that of independent rows, at two flip rates.

        It is the same at all that are equal.
        """
        flips = self.flips
        variance = alpha * (1 - alpha) / flips.n_positive + beta * (1 - beta) / flips.n_negative
        added = added_variance(self.groupings, alpha, beta)
        return 1 + added / variance if variance > 0 else 1.0


def binomial_logs(hits: Any, n: Any, chances: Any) -> FloatArray:
    """Return binomial log-likelihoods, less the ways to choose."""
    return np.asarray(xlogy(hits, chances) + xlog1py(n - hits, -chances))


def rates_between(low: float, high: float, n_rates: int) -> FloatArray:
    """Return rates spaced closely at both ends, where chances change fast."""
    steps = np.sin(np.linspace(0, np.pi / 2, n_rates)) ** 2
    return np.asarray(low + (high - low) * steps)


# Where a hypothesis comes as near to what the share of positive labels allows, in standard errors
# of that share, others are tried, up to so far away and in such steps.
NEAR_ITS_LIMIT, FARTHEST_SHARE, SHARE_STEP = 3.0, 6.0, 0.25


def share_off_by(share: float, n_rows: float, errors: float) -> float:
    """Return the share that a counted one is off from by so many standard errors (Wilson)."""
    square = errors**2 / n_rows
    spread = np.sqrt(share * (1 - share) / n_rows + square / (4 * n_rows))
    return float((share + square / 2 + errors * spread) / (1 + square))


def at_likeliest_share(
    z: Callable[[float], float],
    value: float,
    quantity: Quantity,
    counted: tuple[float, float],
    *,
    otherwise: float,
    above_chance: bool = False,
) -> float:
    """Return z of a hypothesis, which is a function of the share of positive labels.

    Flips cannot be more frequent than labels: beta is at most their positive share, alpha at most
    the negative one (at least, where alpha and beta make more than 1, `above_chance`). The share is
    counted, among so many rows, but of labels that were flipped by chance: close to that limit it
    is one more estimate, and the likeliest share counts. Where z changes its sign on the way there,
    the shares beyond speak for the hypothesis, and only their distance is left. `otherwise` is
    what z is, and its sign, where the hypothesis has no room at the share counted, or at any.
    """
    share, n_rows = counted

    def room(of: float) -> tuple[float, float]:
        """Return how far the hypothesis is from what a larger share, and a smaller one, allow."""
        if quantity == "asymmetry":
            return of - value, 1 - of + value
        limit = of if quantity == "beta" else 1 - of
        left = value - limit if above_chance else limit - value
        return (left, np.inf) if (quantity == "beta") != above_chance else (np.inf, left)

    side = 1.0 if room(share)[0] <= room(share)[1] else -1.0
    if min(room(share)) > NEAR_ITS_LIMIT * np.sqrt(share * (1 - share) / n_rows):
        return z(share)
    best: float | None = None
    sign = np.copysign(1.0, otherwise)
    for errors in np.arange(0.0, FARTHEST_SHARE + SHARE_STEP, SHARE_STEP):
        if best is not None and errors >= abs(best):
            break
        tried = share_off_by(share, n_rows, side * errors)
        if min(room(tried)) > 0:
            found = z(tried)
            sign = sign if errors else np.copysign(1.0, found)
            size = float(np.hypot(max(sign * found, 0.0), errors))
            if best is None or size < abs(best):
                best = float(np.copysign(size, sign))
    return otherwise if best is None else best


# Points of the first search along a line of flip rates; steps towards the likeliest prior.
LINE_POINTS = 65
MOST_STEPS = 60
SETTLED = 1e-13
# Near the estimate the slope of the root is told from a value no smaller than this.
LEAST_ROOT = 0.05
# Shares and rates are kept this far from 0 and 1 where they divide.
NEARLY_ZERO = 1e-12


def true_share(wrong_positive: Any, wrong_negative: Any, share: float) -> Any:
    """Return the share of rows that are truly positive, from the errors among given labels."""
    return wrong_negative * (1 - share) + (1 - wrong_positive) * share


def flip_rates(wrong_positive: Any, wrong_negative: Any, share: float) -> tuple[Any, Any]:
    """Return alpha and beta, from the errors among given labels and the share of positive ones."""
    prior = true_share(wrong_positive, wrong_negative, share)
    return wrong_negative * (1 - share) / prior, wrong_positive * share / (1 - prior)


@dataclass(frozen=True, slots=True)
class GivenSample:
    """Shares that are estimated directly: errors among given labels, and positive labels."""

    wrong_positive: float  # q1, truly negative among those labelled positive
    wrong_negative: float  # q0, truly positive among those labelled negative
    positive_share: float  # s

    @property
    def vector(self) -> FloatArray:
        """The three shares."""
        return np.array([self.wrong_positive, self.wrong_negative, self.positive_share])

    @property
    def alpha(self) -> float:
        """Share of the true positives that are labelled negative."""
        return float(flip_rates(*self.vector)[0])

    @property
    def beta(self) -> float:
        """Share of the true negatives that are labelled positive."""
        return float(flip_rates(*self.vector)[1])

    @property
    def asymmetry(self) -> float:
        """How much more often negatives are flipped."""
        return self.beta - self.alpha

    @classmethod
    def of(cls, alpha: float, beta: float, prior: float) -> "GivenSample":
        """Return what flip rates and the true share of positives make of the shares."""
        share = beta + (1 - alpha - beta) * prior
        return cls(
            wrong_positive=min((1 - prior) * beta / share, 1.0) if share > 0 else 0.0,
            wrong_negative=min(prior * alpha / (1 - share), 1.0) if share < 1 else 0.0,
            positive_share=min(max(share, 0.0), 1.0),
        )

    def gradient(self, quantity: Quantity) -> FloatArray:
        """Return the derivatives of a flip rate, or of their difference, in the shares."""
        q1, q0, s = self.vector
        spread = s * (1 - s)
        prior = _inside(true_share(q1, q0, s))
        alpha = np.array([q0 * spread, (1 - q1) * spread, -q0 * (1 - q1)]) / prior**2
        beta = np.array([(1 - q0) * spread, q1 * spread, q1 * (1 - q0)]) / (1 - prior) ** 2
        return {"alpha": alpha, "beta": beta, "asymmetry": beta - alpha}[quantity]


@dataclass(frozen=True, slots=True)
class Slanting:
    """A value of z with its slope in the hypothesised value."""

    z: float
    slope: float
    usable: bool = True


@dataclass(frozen=True, slots=True)
class AuditByGiven:
    """Counts of an audit drawn by given class, and of the whole data."""

    flips: Flips
    given_negative: float
    given_positive: float
    groupings: Groupings = ()

    @property
    def seen(self) -> GivenSample:
        """The shares as observed."""
        flips = self.flips
        return GivenSample(
            wrong_positive=flips.flipped_negative / flips.given_positive,
            wrong_negative=flips.flipped_positive / flips.given_negative,
            positive_share=self.given_positive / (self.given_positive + self.given_negative),
        )

    @property
    def sizes(self) -> FloatArray:
        """How many rows each share was estimated from."""
        whole = self.given_positive + self.given_negative
        return np.array([self.flips.given_positive, self.flips.given_negative, whole])

    def at(self, value: float, quantity: Quantity = "asymmetry") -> Slanting:
        """Return z for a hypothesised difference of the flip rates, or for one of them.

        The efficient score: the observed shares less those of the constrained fit, along
        the gradient of what is hypothesised, over its standard error, to which pairs of rows in
        one group add.
        """
        fit = self.constrained(value, quantity)
        variance = self.variance(fit, fit, quantity)
        variance += added_variance(self.groupings, fit.alpha, fit.beta, quantity)
        distance = float(fit.gradient(quantity) @ (self.seen.vector - fit.vector))
        standard_error = max(np.sqrt(variance), abs(distance) / LARGEST_Z, 1e-150)
        z = as_normal(float(distance / standard_error), self.groupings, quantity)
        return Slanting(z, float(-1 / standard_error))

    def root_at(self, value: float, quantity: Quantity = "asymmetry") -> Slanting:
        """Return the signed root of the likelihood ratio, for audits too small for the score.

        It needs no variance, which may vanish under the hypothesis.
        """
        fit, seen = self.constrained(value, quantity), self.seen
        gap = getattr(seen, quantity) - value
        size = float(np.sqrt(max(2 * (self._fitted(seen) - self._fitted(fit)), 0.0)))
        size /= float(np.sqrt(self.design_effect(quantity)))
        z = as_normal(float(np.sign(gap)) * size, self.groupings, quantity)
        return Slanting(z, -max(size, LEAST_ROOT) / max(abs(gap), 1e-3))

    def design_effect(self, quantity: Quantity = "asymmetry") -> float:
        """Return how many times a variance is that of independent rows, at the shares seen.

        Half a wrong and half a right label more in either class keep it from vanishing.
        """
        if not self.groupings:
            return 1.0
        wrong = (self.sizes[:2] * self.seen.vector[:2] + 0.5) / (self.sizes[:2] + 1)
        sample = GivenSample(float(wrong[0]), float(wrong[1]), self.seen.positive_share)
        added = added_variance(self.groupings, sample.alpha, sample.beta, quantity)
        return 1 + added / self.variance(sample, sample, quantity)

    def variance(self, at: GivenSample, sample: GivenSample, quantity: Quantity) -> float:
        """Return the variance of a flip rate, or their difference, linear at some shares.

        It is that of independent rows, drawn with the shares of `sample`.
        """
        shares = sample.vector
        return float(at.gradient(quantity) ** 2 @ (shares * (1 - shares) / self.sizes))

    def _fitted(self, sample: GivenSample) -> float:
        """Return the log-likelihood of the three shares."""
        sizes, hits = self.sizes, self.sizes * self.seen.vector
        shares = np.clip(sample.vector, 0.0, 1.0)
        # A share that the fit puts at 0 or 1 against the counts is a hair inside.
        inside = np.where((hits > 0) & (hits < sizes), _inside(shares), shares)
        return float(binomial_logs(hits, sizes, inside).sum())

    def constrained(self, value: float, quantity: Quantity = "asymmetry") -> GivenSample:
        """Return the likeliest shares under a hypothesis, searched along its line of rates."""
        low, high = (max(0.0, -value), min(1.0, 1.0 - value))
        if quantity != "asymmetry":
            low, high = 0.0, 1.0
        points = rates_between(low, high, LINE_POINTS)

        def along(points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            alphas, betas = line_of_rates(points, value, quantity)
            return alphas, betas, self._priors(alphas, betas)

        def slope(point: float) -> float:
            return float(self._slope(*along(np.array([point])), quantity)[0])

        best = int(np.argmax(self._log_likelihood(*along(points))))
        found = points[best]
        # At an end of the line the slope may be infinite; step inside by a hair.
        hair = 1e-13 * (high - low)
        left, right = points[max(best - 1, 0)], points[min(best + 1, LINE_POINTS - 1)]
        ends = max(left, low + hair), min(right, high - hair)
        if slope(ends[0]) > 0 > slope(ends[1]):
            found = brentq(slope, *ends, xtol=1e-16, rtol=1e-14)
        alpha, beta, prior = along(np.array([found]))
        return GivenSample.of(float(alpha[0]), float(beta[0]), float(prior[0]))

    def _priors(self, alphas: FloatArray, betas: FloatArray) -> FloatArray:
        """Return the likeliest true share of positives for each pair of flip rates.

        The likelihood is concave in it: Newton's steps on its slope, halving where they leave
        the bracket.
        """
        flips, stretch = self.flips, 1 - alphas - betas
        low, high = np.zeros(len(alphas)), np.ones(len(alphas))
        prior = np.full(len(alphas), (flips.n_positive + 0.5) / (flips.n_rows + 1))
        for _ in range(MOST_STEPS):
            share, pull = self._pull(alphas, betas, prior)
            slope = flips.n_positive / prior - flips.n_negative / (1 - prior) + stretch * pull
            bend = -flips.n_positive / prior**2 - flips.n_negative / (1 - prior) ** 2
            bend -= stretch**2 * (self._others[1] / share**2 + self._others[0] / (1 - share) ** 2)
            low, high = np.where(slope > 0, prior, low), np.where(slope > 0, high, prior)
            ahead = prior - slope / bend
            ahead = np.where((ahead > low) & (ahead < high), ahead, (low + high) / 2)
            moved = float(np.abs(ahead - prior).max())
            prior = _inside(ahead)
            if moved < SETTLED:
                break
        return prior

    @property
    def _others(self) -> tuple[float, float]:
        """Rows that were not audited, labelled negative and positive."""
        return (
            self.given_negative - self.flips.given_negative,
            self.given_positive - self.flips.given_positive,
        )

    def _pull(
        self, alphas: FloatArray, betas: FloatArray, priors: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the chance of a positive label, and what rows not audited pull it by."""
        share = _inside(betas + (1 - alphas - betas) * priors)
        others_negative, others_positive = self._others
        return share, others_positive / share - others_negative / (1 - share)

    def _slope(
        self, alphas: FloatArray, betas: FloatArray, priors: FloatArray, quantity: Quantity
    ) -> FloatArray:
        """Return the slope of the likelihood along the line."""
        flips = self.flips
        _, pull = self._pull(alphas, betas, priors)
        by_alpha = _odds_slope(flips.flipped_positive, flips.n_positive, alphas) - priors * pull
        by_beta = _odds_slope(flips.flipped_negative, flips.n_negative, betas)
        by_beta = by_beta + (1 - priors) * pull
        return {"asymmetry": by_alpha + by_beta, "alpha": by_beta, "beta": by_alpha}[quantity]

    def _log_likelihood(
        self, alphas: FloatArray, betas: FloatArray, priors: FloatArray
    ) -> FloatArray:
        """Return the log-likelihood of the audit and of the counts."""
        flips, (others_negative, others_positive) = self.flips, self._others
        share, _ = self._pull(alphas, betas, priors)
        return np.asarray(
            binomial_logs(flips.n_positive, flips.n_rows, priors)
            + binomial_logs(flips.flipped_positive, flips.n_positive, alphas)
            + binomial_logs(flips.flipped_negative, flips.n_negative, betas)
            + binomial_logs(others_positive, others_positive + others_negative, share)
        )


def line_of_rates(
    points: FloatArray, value: float, quantity: Quantity
) -> tuple[FloatArray, FloatArray]:
    """Return the flip rates along the line where the hypothesis holds."""
    if quantity == "asymmetry":
        return points, np.clip(points + value, 0.0, 1.0)
    fixed = np.full(len(points), value)
    return (fixed, points) if quantity == "alpha" else (points, fixed)


def _odds_slope(flipped: int, n: int, rates: FloatArray) -> FloatArray:
    """Return the slope of a binomial log-likelihood in its rate."""
    inside = _inside(rates)
    return np.asarray(flipped / inside - (n - flipped) / (1 - inside))


def _inside(values: Any) -> FloatArray:
    """Return shares or rates a hair inside 0 and 1."""
    return np.asarray(np.clip(values, NEARLY_ZERO, 1 - NEARLY_ZERO))
