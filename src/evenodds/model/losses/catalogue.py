"""The common losses of the margin, by name."""

from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy.special import expit

from evenodds.errors import InputError
from evenodds.model.losses.base import Loss
from evenodds.model.losses.links import LinearLink, LogOddsLink
from evenodds.model.losses.margin import MarginLoss
from evenodds.validation import FloatArray, check_choice


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
    value: FloatArray = np.logaddexp(0, -m)
    return value


def _logistic_slope(m: FloatArray) -> FloatArray:
    slope: FloatArray = -expit(-m)
    return slope


def _exponential(m: FloatArray) -> FloatArray:
    value: FloatArray = np.exp(-m)
    return value


def _exponential_slope(m: FloatArray) -> FloatArray:
    slope: FloatArray = -np.exp(-m)
    return slope


def _squared(m: FloatArray) -> FloatArray:
    value: FloatArray = (1 - m) ** 2
    return value


def _squared_slope(m: FloatArray) -> FloatArray:
    return -2 * (1 - m)


def _savage(m: FloatArray) -> FloatArray:
    value: FloatArray = expit(-2 * m) ** 2
    return value


def _savage_slope(m: FloatArray) -> FloatArray:
    slope: FloatArray = -4 * expit(-2 * m) ** 2 * expit(2 * m)
    return slope


def _unhinged(m: FloatArray) -> FloatArray:
    return 1 - m


def _unhinged_slope(m: FloatArray) -> FloatArray:
    return np.full_like(m, -1.0)


def _ramp(m: FloatArray) -> FloatArray:
    return np.clip((1 - m) / 2, 0, 1)


def _ramp_slope(m: FloatArray) -> FloatArray:
    return np.where(np.abs(m) < 1, -0.5, 0.0)


def _sigmoid(m: FloatArray) -> FloatArray:
    value: FloatArray = expit(-m)
    return value


def _sigmoid_slope(m: FloatArray) -> FloatArray:
    slope: FloatArray = -expit(-m) * expit(m)
    return slope


_LINEAR: Final = LinearLink()
_HALF_LOG_ODDS: Final = LogOddsLink(scale=2)

# First those with psi(m) + psi(-m) = K, then those without.
_LOSSES: Final = (
    MarginLoss(name="zero-one", psi=_zero_one, psi_slope=_flat, symmetry_constant=1.0),
    MarginLoss(name="sigmoid", psi=_sigmoid, psi_slope=_sigmoid_slope, symmetry_constant=1.0),
    MarginLoss(name="ramp", psi=_ramp, psi_slope=_ramp_slope, symmetry_constant=1.0),
    MarginLoss(
        name="unhinged",
        psi=_unhinged,
        psi_slope=_unhinged_slope,
        convex=True,
        linear_odd=True,
        symmetry_constant=2.0,
    ),
    MarginLoss(
        name="logistic",
        psi=_logistic,
        psi_slope=_logistic_slope,
        convex=True,
        linear_odd=True,
        link=LogOddsLink(),
    ),
    MarginLoss(
        name="exponential",
        psi=_exponential,
        psi_slope=_exponential_slope,
        convex=True,
        link=_HALF_LOG_ODDS,
    ),
    MarginLoss(
        name="squared",
        psi=_squared,
        psi_slope=_squared_slope,
        convex=True,
        linear_odd=True,
        link=_LINEAR,
    ),
    MarginLoss(name="hinge", psi=_hinge, psi_slope=_hinge_slope, convex=True),
    MarginLoss(
        name="squared hinge",
        psi=_squared_hinge,
        psi_slope=_squared_hinge_slope,
        convex=True,
        link=_LINEAR,
    ),
    MarginLoss(
        name="modified Huber",
        psi=_modified_huber,
        psi_slope=_modified_huber_slope,
        convex=True,
        linear_odd=True,
        link=_LINEAR,
    ),
    MarginLoss(name="savage", psi=_savage, psi_slope=_savage_slope, link=_HALF_LOG_ODDS),
)

margin_losses: Final = MappingProxyType({loss.name: loss for loss in _LOSSES})


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
