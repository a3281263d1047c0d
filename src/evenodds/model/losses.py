"""Losses of the margin, by name, and the posteriors their scores state.

A proper loss is least, on average over labels, at the score that states their posterior. Such
a score ``f`` states ``p``; labels with noise have the posterior ``beta + (1 - alpha - beta) p``,
and the score stating *that* is the noisy score.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from evenodds.errors import InputError
from evenodds.noise import ClassConditionalNoise
from evenodds.validation import FloatArray, check_between, check_choice, check_zero_one


@runtime_checkable
class Loss(Protocol):
    """A price for giving a score to a row with a label."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def convex(self) -> bool:
        """Whether it is known to be convex in the score, so that every minimum is the least."""

    def values(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the loss of each score where the label is 1 or 0."""

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the derivative in the score, or a subgradient where there is a kink."""


def signs_and_scores(scores: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return 0/1 labels as -1/+1, and the scores beside them.

    Raises
    ------
    InputError
        If there are more of one than of the other; a single one serves all of the other.
    """
    signs = np.where(check_zero_one(labels), 1.0, -1.0)
    known = np.asarray(scores, dtype=np.float64)
    if signs.ndim and known.ndim and signs.shape != known.shape:
        raise InputError(
            f"there are {known.size} scores but {signs.size} labels: give one label a score."
        )
    return signs, known


class Link(Protocol):
    """How scores state posteriors."""

    @property
    def linear(self) -> bool:
        """Whether the noisy score is a straight line in the score."""

    def posterior(self, scores: FloatArray) -> FloatArray:
        """Return the probability that a score states."""

    def score(self, posterior: FloatArray) -> FloatArray:
        """Return the score that states a probability."""

    def noisy_scores(self, scores: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        """Return the scores that state the noisy posteriors."""

    def noisy_slopes(self, scores: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        """Return the derivative of the noisy score in the score."""


@dataclass(frozen=True, slots=True)
class LogOddsLink:
    """The score is the log-odds, divided by `scale`."""

    scale: float = 1.0
    linear: bool = False

    def posterior(self, scores: FloatArray) -> FloatArray:
        return expit(self.scale * scores)

    def score(self, posterior: FloatArray) -> FloatArray:
        return logit(posterior) / self.scale

    def noisy_scores(self, scores: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        # log of (beta + (1 - alpha) e^g) / (1 - beta + alpha e^g), without the overflow.
        log_odds = self.scale * scores
        kept, lost, gained, spared = _log_rates(noise)
        above = np.logaddexp(gained, kept + log_odds)
        return (above - np.logaddexp(spared, lost + log_odds)) / self.scale

    def noisy_slopes(self, scores: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        log_odds = self.scale * scores
        kept, lost, gained, spared = _log_rates(noise)
        return expit(log_odds + kept - gained) - expit(log_odds + lost - spared)


@dataclass(frozen=True, slots=True)
class LinearLink:
    """The score is ``2 p - 1``; scores beyond -1 and 1 state certainty."""

    linear: bool = True

    def posterior(self, scores: FloatArray) -> FloatArray:
        return np.clip((1 + scores) / 2, 0, 1)

    def score(self, posterior: FloatArray) -> FloatArray:
        return 2 * posterior - 1

    def noisy_scores(self, scores: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        return noise.asymmetry + (1 - noise.alpha - noise.beta) * scores

    def noisy_slopes(self, scores: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        return np.full_like(scores, 1 - noise.alpha - noise.beta)


def _log_rates(noise: ClassConditionalNoise) -> tuple[float, float, float, float]:
    """Return the logs of 1 - alpha, alpha, beta and 1 - beta; no noise is minus infinity."""
    with np.errstate(divide="ignore"):
        lost, gained = float(np.log(noise.alpha)), float(np.log(noise.beta))
    return float(np.log1p(-noise.alpha)), lost, gained, float(np.log1p(-noise.beta))


Psi = Callable[[FloatArray], FloatArray]

# How far from 0 the symmetry of a loss is looked at, and in how many steps.
REACH = 10.0
STEPS = 4001
# A sum that is constant departs from it by rounding alone.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Symmetry:
    """Whether ``psi(m) + psi(-m)`` is the same at every margin.

    Attributes
    ----------
    constant : float
        ``2 psi(0)``, the only value it could have.
    departure : float
        The largest distance from it found.
    margin : float
        Where that was.
    """

    constant: float
    departure: float
    margin: float

    @property
    def holds(self) -> bool:
        """Whether the sum is constant, up to rounding."""
        return self.departure <= ROUNDING * max(1.0, abs(self.constant))

    def __str__(self) -> str:
        if self.holds:
            return f"psi(m) + psi(-m) = {self.constant:g} at every margin."
        return (
            f"psi(m) + psi(-m) is not constant: {self.constant:.4g} at margin 0, off by "
            f"{self.departure:.4g} at margin {self.margin:g}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginLoss:
    """A loss ``psi(m)`` of the margin ``m``: the score, negated for negative labels.

    Parameters
    ----------
    name : str
        What messages call it.
    psi : callable
        Its value, from an array of margins.
    psi_slope : callable
        Its derivative, or a subgradient where there is a kink.
    convex : bool, default False
        Whether it is known to be convex.
    linear_odd : bool, default False
        Whether ``psi(m) - psi(-m)`` is a straight line; backward correction then keeps it convex.
    symmetry_constant : float, optional
        K, where ``psi(m) + psi(-m) = K`` is known to hold; `symmetry` measures it.
    link : Link, optional
        Which posterior a score states, for a proper loss; forward correction needs it.

    Examples
    --------
    >>> from evenodds.model.losses import margin_losses
    >>> margin_losses["sigmoid"].values([2.0, 2.0], [1, 0]).round(3)
    array([0.119, 0.881])
    >>> print(margin_losses["sigmoid"].symmetry())
    psi(m) + psi(-m) = 1 at every margin.
    >>> print(margin_losses["logistic"].symmetry())
    psi(m) + psi(-m) is not constant: 1.386 at margin 0, off by 8.614 at margin 10.
    """

    name: str
    psi: Psi
    psi_slope: Psi
    convex: bool = False
    linear_odd: bool = False
    symmetry_constant: float | None = None
    link: Link | None = None

    def values(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the loss of each score where the label is 1 or 0."""
        signs, known = signs_and_scores(scores, labels)
        return self.psi(signs * known)

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the derivative in the score, or a subgradient where there is a kink."""
        signs, known = signs_and_scores(scores, labels)
        return signs * self.psi_slope(signs * known)

    def symmetry(self, reach: float = REACH) -> Symmetry:
        """Look at ``psi(m) + psi(-m)`` for margins up to `reach`."""
        margins = np.linspace(0, check_between(reach, "reach", 0, 500, closed="neither"), STEPS)
        sums = self.psi(margins) + self.psi(-margins)
        departures = np.abs(sums - sums[0])
        worst = int(np.argmax(departures))
        return Symmetry(float(sums[0]), float(departures[worst]), float(margins[worst]))


# Half at 0, where a score does not decide: else psi(0) + psi(-0) would not be 1.
def _zero_one(m: FloatArray) -> FloatArray:
    return np.heaviside(-m, 0.5)


def _flat(m: FloatArray) -> FloatArray:
    return np.zeros_like(m)


def _hinge(m: FloatArray) -> FloatArray:
    return np.maximum(0.0, 1 - m)


def _hinge_slope(m: FloatArray) -> FloatArray:
    return -(m < 1).astype(np.float64)


def _squared_hinge(m: FloatArray) -> FloatArray:
    return np.maximum(0.0, 1 - m) ** 2


def _squared_hinge_slope(m: FloatArray) -> FloatArray:
    return -2 * np.maximum(0.0, 1 - m)


# The squared hinge with a straight line for margins below -1, where squares trust outliers.
def _modified_huber(m: FloatArray) -> FloatArray:
    return np.where(m < -1, -4 * m, _squared_hinge(np.maximum(m, -1)))


def _modified_huber_slope(m: FloatArray) -> FloatArray:
    return np.maximum(-4.0, _squared_hinge_slope(m))


def _logistic(m: FloatArray) -> FloatArray:
    return np.logaddexp(0, -m)


def _logistic_slope(m: FloatArray) -> FloatArray:
    return -expit(-m)


def _exponential(m: FloatArray) -> FloatArray:
    return np.exp(-m)


def _exponential_slope(m: FloatArray) -> FloatArray:
    return -np.exp(-m)


def _squared(m: FloatArray) -> FloatArray:
    return (1 - m) ** 2


def _squared_slope(m: FloatArray) -> FloatArray:
    return -2 * (1 - m)


def _savage(m: FloatArray) -> FloatArray:
    return expit(-2 * m) ** 2


def _savage_slope(m: FloatArray) -> FloatArray:
    return -4 * expit(-2 * m) ** 2 * expit(2 * m)


def _unhinged(m: FloatArray) -> FloatArray:
    return 1 - m


def _unhinged_slope(m: FloatArray) -> FloatArray:
    return np.full_like(m, -1.0)


def _ramp(m: FloatArray) -> FloatArray:
    return np.clip((1 - m) / 2, 0, 1)


def _ramp_slope(m: FloatArray) -> FloatArray:
    return np.where(np.abs(m) < 1, -0.5, 0.0)


def _sigmoid(m: FloatArray) -> FloatArray:
    return expit(-m)


def _sigmoid_slope(m: FloatArray) -> FloatArray:
    return -expit(-m) * expit(m)


_CONVEX: Final[dict[str, Any]] = {"convex": True}
_ODD: Final[dict[str, Any]] = {"convex": True, "linear_odd": True}
_BOUNDED: Final[dict[str, Any]] = {"symmetry_constant": 1.0}
_LINEAR: Final[dict[str, Any]] = {"link": LinearLink()}
_HALF_LOG_ODDS: Final[dict[str, Any]] = {"link": LogOddsLink(scale=2)}

# First those with psi(m) + psi(-m) = K, then those without.
_LOSSES: Final[tuple[tuple[str, Psi, Psi, dict[str, Any]], ...]] = (
    ("zero-one", _zero_one, _flat, _BOUNDED),
    ("sigmoid", _sigmoid, _sigmoid_slope, _BOUNDED),
    ("ramp", _ramp, _ramp_slope, _BOUNDED),
    ("unhinged", _unhinged, _unhinged_slope, {**_ODD, "symmetry_constant": 2.0}),
    ("logistic", _logistic, _logistic_slope, {**_ODD, "link": LogOddsLink()}),
    ("exponential", _exponential, _exponential_slope, _CONVEX | _HALF_LOG_ODDS),
    ("squared", _squared, _squared_slope, _ODD | _LINEAR),
    ("hinge", _hinge, _hinge_slope, _CONVEX),
    ("squared hinge", _squared_hinge, _squared_hinge_slope, _CONVEX | _LINEAR),
    ("modified Huber", _modified_huber, _modified_huber_slope, _ODD | _LINEAR),
    ("savage", _savage, _savage_slope, _HALF_LOG_ODDS),
)

margin_losses: Final = MappingProxyType(
    {
        name: MarginLoss(name=name, psi=psi, psi_slope=psi_slope, **facts)
        for name, psi, psi_slope, facts in _LOSSES
    }
)


def find_loss(loss: Any) -> Loss:
    """Return a loss by its name, or as it is."""
    if isinstance(loss, str):
        return margin_losses[check_choice(loss, "loss", margin_losses)]
    if not isinstance(loss, Loss):
        raise InputError(
            f"loss is {loss!r}: give the name of a margin loss, a MarginLoss of your own, or what "
            "corrected_loss returns."
        )
    return loss


def find_margin_loss(loss: Any) -> MarginLoss:
    """Return a loss of the margin by its name, or as it is."""
    found = find_loss(loss)
    if not isinstance(found, MarginLoss):
        raise InputError(f"loss is {found.name!r}, which is corrected already: give a margin loss.")
    return found
