"""Losses that see through label noise of known rates.

The corrections are of the loss, not of the labels: any learner that minimises a loss can use
them. What each needs and gives is on the page docs/robust.md.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import InputError
from evenodds.model.losses.base import signs_and_scores
from evenodds.model.losses.catalogue import find_margin_loss, margin_losses
from evenodds.model.losses.links import Link
from evenodds.model.losses.margin import MarginLoss
from evenodds.noise import ClassConditionalNoise, check_noise
from evenodds.validation import FloatArray, check_choice, join_quoted

Correction = Literal["backward", "forward", "costs"]


@dataclass(frozen=True, slots=True)
class BackwardLoss:
    """A loss of noisy labels whose mean over the noise is `loss` of the true label."""

    loss: MarginLoss
    noise: ClassConditionalNoise

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.loss.name}, corrected backward"

    @property
    def convex(self) -> bool:
        """Whether it is known to be convex: noise subtracts a multiple of the mirrored loss."""
        keeps = self.loss.linear_odd or self.noise.alpha + self.noise.beta == 0
        return self.loss.convex and keeps

    def values(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the loss of each score where the given label is 1 or 0; it may be negative."""
        signs, scores = signs_and_scores(scores, labels)
        own, other = self._shares(signs)
        return own * self.loss.psi(signs * scores) - other * self.loss.psi(-signs * scores)

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the derivative in the score."""
        signs, scores = signs_and_scores(scores, labels)
        own, other = self._shares(signs)
        by_own, by_other = self.loss.psi_slope(signs * scores), self.loss.psi_slope(-signs * scores)
        return signs * (own * by_own + other * by_other)

    def _shares(self, signs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the factors on the loss of the given label and on that of the other."""
        alpha, beta = self.noise.alpha, self.noise.beta
        kept = np.where(signs > 0, 1 - beta, 1 - alpha)
        lost = np.where(signs > 0, alpha, beta)
        return kept / (1 - alpha - beta), lost / (1 - alpha - beta)


@dataclass(frozen=True, slots=True)
class ForwardLoss:
    """A proper loss of the noisy posterior that a score implies; least at the clean one."""

    loss: MarginLoss
    noise: ClassConditionalNoise
    link: Link

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.loss.name}, corrected forward"

    @property
    def convex(self) -> bool:
        """Whether it is known to be convex: a straight line into a convex loss is."""
        straight = self.link.linear or self.noise.alpha + self.noise.beta == 0
        return self.loss.convex and straight

    def values(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the loss of each score where the given label is 1 or 0."""
        noisy = self.link.noisy_scores(np.asarray(scores, dtype=np.float64), self.noise)
        return self.loss.values(noisy, labels)

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the derivative in the score."""
        scores = np.asarray(scores, dtype=np.float64)
        noisy = self.link.noisy_scores(scores, self.noise)
        return self.loss.slopes(noisy, labels) * self.link.noisy_slopes(scores, self.noise)


@dataclass(frozen=True, slots=True)
class CostLoss:
    """A loss whose errors cost more under one label than under the other."""

    loss: MarginLoss
    positive_cost: float
    negative_cost: float

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.loss.name}, by costs"

    @property
    def convex(self) -> bool:
        """Whether it is known to be convex: costs are positive."""
        return self.loss.convex

    def values(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the loss of each score where the given label is 1 or 0."""
        return self._costs(labels) * self.loss.values(scores, labels)

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the derivative in the score."""
        return self._costs(labels) * self.loss.slopes(scores, labels)

    def _costs(self, labels: ArrayLike) -> FloatArray:
        return np.where(np.asarray(labels) == 1, self.positive_cost, self.negative_cost)


def corrected_loss(
    loss: str | MarginLoss, noise: ClassConditionalNoise, *, correction: Correction = "backward"
) -> BackwardLoss | ForwardLoss | CostLoss:
    r"""Return a loss for labels with noise whose rates are known.

    Parameters
    ----------
    loss : str or MarginLoss
        The loss that clean labels would have; see `margin_losses`.
    noise : ClassConditionalNoise
        Flip rates of the positives and the negatives, for instance from an audit or from
        `asymmetry_test`. They are taken as exact.
    correction : {"backward", "forward", "costs"}
        "backward" is unbiased for any loss, and may be negative and not convex. "forward" is
        for losses whose score states a posterior; it is never negative, and is right where
        scores can follow the true posterior. "costs" is for losses with
        ``psi(m) + psi(-m) = K``, and uses the difference of the flip rates alone.

    Returns
    -------
    BackwardLoss, ForwardLoss or CostLoss
        With ``values(scores, labels)`` and ``slopes(scores, labels)``, labels 0 or 1 as given.

    Raises
    ------
    InputError
        If the forward correction is asked of a loss whose score states no posterior, or costs
        of one that is not symmetric.

    Notes
    -----
    With ``a`` the flip rate of the class given and ``b`` that of the other, the backward
    correction [1]_ of a label ``y`` is

    .. math:: \frac{(1 - b)\,\psi(yf) - a\,\psi(-yf)}{1 - \alpha - \beta}.

    The forward correction [2]_ puts the score through the noise before the loss sees it; for
    the logistic loss it is the likelihood that `NoiseAwareLogisticRegression` maximises. Costs
    are :math:`1 - \Delta` under positive and :math:`1 + \Delta` under negative labels,
    :math:`\Delta = \beta - \alpha`; the noisy risk is then :math:`1 - \alpha - \beta` times
    the clean one, plus what no score changes.

    References
    ----------
    .. [1] Natarajan, N., Dhillon, I. S., Ravikumar, P., Tewari, A. (2013). Learning with noisy
           labels. Advances in Neural Information Processing Systems 26.
    .. [2] Patrini, G., Rozza, A., Menon, A. K., Nock, R., Qu, L. (2017). Making deep neural
           networks robust to label noise: a loss correction approach. CVPR.

    Examples
    --------
    >>> import evenodds as eo
    >>> noise = eo.ClassConditionalNoise(alpha=0.25, beta=0.05)
    >>> loss = corrected_loss("logistic", noise)
    >>> given_right, given_wrong = loss.values([1.0, 1.0], [1, 0])  # of a true positive
    >>> round(float(0.75 * given_right + 0.25 * given_wrong), 6)  # on average, the clean loss:
    0.313262
    >>> float(eo.margin_losses["logistic"].values(1.0, 1).round(6))
    0.313262
    """
    found, checked = find_margin_loss(loss), check_noise(noise)
    check_choice(correction, "correction", get_args(Correction))
    if correction == "forward":
        return ForwardLoss(found, checked, _link_of(found))
    if correction == "costs":
        _check_symmetric(found)
        return CostLoss(found, 1 - checked.asymmetry, 1 + checked.asymmetry)
    return BackwardLoss(found, checked)


def _link_of(loss: MarginLoss) -> Link:
    if loss.link is None:
        proper = [name for name, known in margin_losses.items() if known.link is not None]
        raise InputError(
            f"the score of loss {loss.name!r} states no posterior that noise could be put "
            f"through: use correction='backward', or one of {join_quoted(proper, 'or')}."
        )
    return loss.link


def _check_symmetric(loss: MarginLoss) -> None:
    symmetry = loss.symmetry()
    if not symmetry.holds:
        raise InputError(
            f"costs correct a symmetric loss only, and for {loss.name!r} {symmetry} Use "
            "correction='backward', which corrects any loss."
        )
