"""Audited rows in the likelihood of the noisy-logistic curve (theory page, "Audits as evidence").

A row whose true label is known says two things: how often its class is flipped, and, where its
features are known too, where the clean curve runs. Its given label alone then says nothing more.
"""

from dataclasses import dataclass

import numpy as np

from evenodds.model.noisy_sums import NoisyPoint, NoisySums, squeezed
from evenodds.rows.base import Block
from evenodds.validation import FloatArray

# Flip rates are kept this far from 0 and 1, where a flip seen would be impossible.
SMALLEST_RATE = 1e-9


@dataclass(frozen=True, slots=True)
class AuditPart:
    """What an audit adds to the likelihood at a point, in (theta, tau, Delta)."""

    log_likelihood: float
    score: FloatArray
    information: FloatArray


@dataclass(frozen=True, slots=True)
class KnownRows:
    """Audited rows that are among the rows of the fit, on the solver's scale."""

    features: FloatArray  # without a leading 1
    true: FloatArray
    given: FloatArray
    by_given: bool = False  # chosen by their given label, not at random or by features


@dataclass(frozen=True, slots=True)
class AuditTerms:
    """Flips counted in an audit, and its rows where they are among those of the fit."""

    n_positive: float
    flipped_positive: float
    n_negative: float
    flipped_negative: float
    known: KnownRows | None = None

    def scaled(self, share: float) -> "AuditTerms":
        """Return an audit weakened to go with a share of the rows, none of them its own."""
        return AuditTerms(
            self.n_positive * share,
            self.flipped_positive * share,
            self.n_negative * share,
            self.flipped_negative * share,
        )

    def at(self, point: NoisyPoint) -> AuditPart:
        """Return what the audit adds to rows that include its own, with their given labels."""
        own = self.own_at(point)
        if self.known is None:
            return own
        counted = _sums(self.known.features, self.known.given, point)
        return AuditPart(
            own.log_likelihood - counted.log_likelihood,
            own.score - counted.score,
            self._given_labels_known(self.known, point)
            if self.known.by_given
            else own.information - counted.information,
        )

    def _given_labels_known(self, known: KnownRows, point: NoisyPoint) -> FloatArray:
        """Return the information of the true labels where the given ones chose the rows.

        A true label is positive with probability r given features and given label, and moves
        the score by d: the score's variance is r (1 - r) d d'.
        """
        alpha = _spread(point.alpha, self.flipped_positive, self.n_positive)
        beta = _spread(point.beta, self.flipped_negative, self.n_negative)
        labelled = known.given == 1
        clean = squeezed(known.features, point.coefficients)
        positive = clean * np.where(labelled, 1 - alpha, alpha)
        negative = (1 - clean) * np.where(labelled, beta, 1 - beta)
        chance = positive / (positive + negative)
        by_alpha = np.where(labelled, -1 / (1 - alpha), 1 / alpha)
        by_beta = np.where(labelled, -1 / beta, 1 / (1 - beta))
        moves = np.column_stack(
            [
                np.ones(len(clean)),
                known.features,
                by_alpha + by_beta,
                (by_beta - by_alpha) / 2,
            ]
        )
        return np.asarray(moves.T @ (moves * (chance * (1 - chance))[:, None]))

    def own_at(self, point: NoisyPoint) -> AuditPart:
        """Return the likelihood of the audited rows by themselves."""
        flips = self.flips_at(point)
        if self.known is None:
            return flips
        clean = _clean(self.known, point)
        return AuditPart(
            flips.log_likelihood + clean.log_likelihood,
            flips.score + clean.score,
            flips.information + clean.information,
        )

    def flips_at(self, point: NoisyPoint) -> AuditPart:
        """Return the part of the counted flips, which know of tau and Delta alone."""
        alpha, beta = self._rates(point)
        size = len(point.coefficients) + 2
        score, information = np.zeros(size), np.zeros((size, size))
        score[-2:] = alpha.score + beta.score, (beta.score - alpha.score) / 2
        mixed = (beta.information - alpha.information) / 2
        both = alpha.information + beta.information
        information[-2:, -2:] = [[both, mixed], [mixed, both / 4]]
        return AuditPart(alpha.log_likelihood + beta.log_likelihood, score, information)

    def rates_at(self, point: NoisyPoint) -> tuple[FloatArray, FloatArray]:
        """Return score and information of (alpha, beta) in the counted flips."""
        alpha, beta = self._rates(point)
        return (
            np.array([alpha.score, beta.score]),
            np.diag([alpha.information, beta.information]),
        )

    def _rates(self, point: NoisyPoint) -> "tuple[_Binomial, _Binomial]":
        """Return what the counted flips say of alpha and of beta."""
        return (
            _Binomial.of(self.flipped_positive, self.n_positive, point.alpha),
            _Binomial.of(self.flipped_negative, self.n_negative, point.beta),
        )


@dataclass(frozen=True, slots=True)
class _Binomial:
    """Log-likelihood, score and information of one flip rate."""

    log_likelihood: float
    score: float
    information: float

    @classmethod
    def of(cls, flipped: float, n: float, rate: float) -> "_Binomial":
        """Return them at a rate, which may lie on its bound.

        Where no flip was seen the rate may be 0, and its information without bound: as if half a
        flip had been seen keeps it finite.
        """
        inside = min(max(rate, SMALLEST_RATE), 1 - SMALLEST_RATE)
        stayed = n - flipped
        spread = _spread(rate, flipped, n)
        return cls(
            float(flipped * np.log(inside) + stayed * np.log1p(-inside)),
            flipped / inside - stayed / (1 - inside),
            n / (spread * (1 - spread)),
        )


def _spread(rate: float, flipped: float, n: float) -> float:
    """Return the rate at which the information of some flips is taken."""
    inside = min(max(rate, SMALLEST_RATE), 1 - SMALLEST_RATE)
    return max(inside, 0.5 / (n + 1)) if flipped == 0 else inside


def _clean(known: KnownRows, point: NoisyPoint) -> AuditPart:
    """Return the likelihood of the true labels given the features: a logistic curve."""
    at_truth = NoisyPoint(point.coefficients, 0.0, 0.0)
    part = _sums(known.features, known.true, at_truth)
    # Without noise only theta is left.
    part.score[-2:] = 0
    part.information[-2:] = 0
    part.information[:, -2:] = 0
    return part


def _sums(features: FloatArray, labels: FloatArray, point: NoisyPoint) -> AuditPart:
    """Return the sums of the noisy-logistic curve over a few rows."""
    sums = NoisySums(point)
    sums.add(Block(features=features, labels=labels, weights=None, groups=None, start=0))
    return AuditPart(sums.log_likelihood, sums.score.copy(), sums.information.copy())
