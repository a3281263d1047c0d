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


def _loss(name: str, psi: Any, psi_slope: Any, **facts: Any) -> tuple[str, MarginLoss]:
    return name, MarginLoss(name=name, psi=psi, psi_slope=psi_slope, **facts)


_LINEAR: Final = LinearLink()
_HALF_ODDS: Final = LogOddsLink(scale=2)

# Every loss by its name: first those with psi(m) + psi(-m) = K, then those without.
margin_losses: Final = MappingProxyType(
    dict(
        [
            _loss("zero-one", _zero_one, _flat, symmetry_constant=1.0),
            _loss("sigmoid", _sigmoid, _sigmoid_slope, symmetry_constant=1.0),
            _loss("ramp", _ramp, _ramp_slope, symmetry_constant=1.0),
            _loss(
                "unhinged",
                _unhinged,
                _unhinged_slope,
                convex=True,
                linear_odd=True,
                symmetry_constant=2.0,
            ),
            _loss(
                "logistic",
                _logistic,
                _logistic_slope,
                convex=True,
                linear_odd=True,
                link=LogOddsLink(),
            ),
            _loss(
                "exponential", _exponential, _exponential_slope, convex=True, link=LogOddsLink(2)
            ),
            _loss("squared", _squared, _squared_slope, convex=True, linear_odd=True, link=_LINEAR),
            _loss("hinge", _hinge, _hinge_slope, convex=True),
            _loss("squared hinge", _squared_hinge, _squared_hinge_slope, convex=True, link=_LINEAR),
            _loss(
                "modified Huber",
                _modified_huber,
                _modified_huber_slope,
                convex=True,
                linear_odd=True,
                link=_LINEAR,
            ),
            _loss("savage", _savage, _savage_slope, link=_HALF_ODDS),
        ]
    )
)


def find_loss(loss: Any) -> Loss:
    """Return a loss by its name, or as it is."""
    if isinstance(loss, str):
        return margin_losses[check_choice(loss, "loss", margin_losses)]
    if not (hasattr(loss, "values") and hasattr(loss, "slopes")):
        raise InputError(
            f"loss is {loss!r}: give the name of a margin loss, a MarginLoss of your own, or what "
            "corrected_loss returns."
        )
    found: Loss = loss
    return found


def find_margin_loss(loss: Any) -> MarginLoss:
    """Return a loss of the margin by its name, or as it is."""
    found = find_loss(loss)
    if not isinstance(found, MarginLoss):
        raise InputError(f"loss is {found.name!r}, which is corrected already: give a margin loss.")
    return found
