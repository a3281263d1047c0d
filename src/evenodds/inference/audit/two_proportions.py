"""The score test of two flip rates (theory page, "Audit samples").

Rows of a true class are flipped independently, so the flips of each class are binomial.
For a hypothesised difference the rates are estimated under it; the variance they give
standardises the difference observed (Miettinen and Nurminen 1985, Stat. Med. 4, 213-226).
"""

from typing import Any

import numpy as np

from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.groups import (
    Groupings,
    added_variance,
    as_normal,
    degrees_of_freedom,
)
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


def flips_z(flips: Flips, asymmetry: float, groupings: Groupings = ()) -> float:
    """Return z of one audit for a hypothesised asymmetry.

    With groups, its variance grows by what pairs of rows in one group add, at the same rates,
    and it is the normal deviate of a t statistic.
    """
    counts = flips.n_positive, flips.flipped_positive, flips.n_negative, flips.flipped_negative
    z = float(score_z(*counts, asymmetry))
    if not groupings:
        return z
    alpha, beta = (float(rate) for rate in constrained_rates(*counts, asymmetry))
    return as_normal(
        z / np.sqrt(_design_effect(flips, groupings, alpha, beta)), degrees_of_freedom(groupings)
    )


def design_effect(flips: Flips, groupings: Groupings) -> float:
    """Return how many times the variance is that of independent rows, where flips are equal."""
    return _design_effect(flips, groupings, 0.5, 0.5)  # the same at any rate


def _design_effect(flips: Flips, groupings: Groupings, alpha: float, beta: float) -> float:
    """Return how many times the variance is that of independent rows, at two flip rates."""
    variance = alpha * (1 - alpha) / flips.n_positive + beta * (1 - beta) / flips.n_negative
    return 1 + added_variance(groupings, alpha, beta) / variance if variance > 0 else 1.0
