"""Descending a risk: any loss with a slope, with or without a bound on the size of scores."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import NonlinearConstraint, minimize

from evenodds.errors import ConvergenceError, ImprecisionWarning, InputError
from evenodds.model.losses.base import Loss
from evenodds.validation import FloatArray

# From a place to the risk there and its slope.
Risk = Callable[[FloatArray], tuple[float, FloatArray]]

# A loss that is not convex is descended from least squares stretched by each of these.
STRETCHES = (1.0, 4.0, 16.0)
# What a step too long costs, where the loss overflows: finite, so that a search turns back.
FORBIDDING = 1e100
# Scores at which a loss is looked at, none of them a usual kink.
LOOKED_AT = np.linspace(-3, 3, 61) + 0.0123
# Scores of this size on average mean that larger ones are better still, without end.
ENDLESS = 200.0
# The smallest gain worth another step, without and with a bound; the latter search jitters below.
LAST_GAIN = 1e-13
LAST_GAIN_WITHIN = 1e-11
PATIENCE = 1000
# How the two searches say that they ran out of steps.
OUT_OF_STEPS = {"L-BFGS-B": 1, "SLSQP": 9}


class Minimum(NamedTuple):
    """Where a descent ended, and how low."""

    place: FloatArray
    risk: float
    settled: bool


def descend(risk: Risk, least_squares: FloatArray, loss: Loss, radius: float | None) -> Minimum:
    """Return the lowest minimum found, in coordinates whose length is the size of scores."""
    starts = [least_squares * stretch for stretch in (STRETCHES[:1] if loss.convex else STRETCHES)]
    if not (loss.convex or least_squares.any()):
        # Stretching zero leads nowhere, and what is not convex may be lower along an axis.
        starts = [least_squares, *np.eye(len(least_squares))]
    if radius is not None:
        starts = [_drawn_in(start, radius) for start in starts]
    heights, slopes = zip(*map(risk, starts), strict=True)
    if not any(slope.any() for slope in slopes):
        _refuse_without_slope(loss, min(heights))
    found = [_descend_from(risk, start, radius) for start in starts]
    best = min(found, key=lambda minimum: minimum.risk)
    if radius is None and np.linalg.norm(best.place) > ENDLESS:
        raise endless(loss)
    if not best.settled:
        warnings.warn(
            f"the risk of loss {loss.name!r} was still falling after {PATIENCE} steps: its "
            "boundary may be off; a smaller radius helps.",
            ImprecisionWarning,
            stacklevel=4,
        )
    return best


def _drawn_in(start: FloatArray, radius: float) -> FloatArray:
    """Return the start, or where its direction meets the radius."""
    length = float(np.linalg.norm(start))
    return start if length <= radius else start * (radius / length)


def _refuse_without_slope(loss: Loss, lowest: float) -> None:
    """Say why there is no slope at any start, unless a start is the minimum."""
    scores, labels = np.tile(LOOKED_AT, 2), np.repeat([0.0, 1.0], len(LOOKED_AT))
    with np.errstate(over="ignore", invalid="ignore"):
        slopes, values = loss.slopes(scores, labels), loss.values(scores, labels)
    for what, numbers in (("slope", slopes), ("value", values)):
        if np.isnan(numbers).any():
            raise InputError(
                f"the {what} of loss {loss.name!r} is nan at a score of "
                f"{scores[np.isnan(numbers)][0]:.3g}: it must be a number at every score."
            )
    if not slopes.any():
        raise InputError(
            f"loss {loss.name!r} is flat, so there is no slope to follow: use 'sigmoid' or 'ramp'."
        )
    if lowest >= FORBIDDING:
        raise InputError(
            f"the risk of loss {loss.name!r} overflows already at the scores of least squares: "
            "some rows lie too far out, so leave them out or use a loss that grows more slowly, "
            "such as 'logistic'."
        )


def endless(loss: Loss) -> ConvergenceError:
    """Return the error for a risk that has no minimum."""
    return ConvergenceError(
        f"the risk of loss {loss.name!r} still falls where scores are {ENDLESS:g} on average, so "
        "these rows give it no minimum of any use: give radius, the largest root-mean-square "
        "score, such as radius=5."
    )


def _descend_from(risk: Risk, start: FloatArray, radius: float | None) -> Minimum:
    """Return the minimum reached from one start."""
    if radius is None:
        result = minimize(
            risk,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=_stop_far_out,
            options={"ftol": LAST_GAIN, "gtol": 1e-10, "maxiter": PATIENCE},
        )
        return Minimum(result.x, float(result.fun), result.status != OUT_OF_STEPS["L-BFGS-B"])
    within = NonlinearConstraint(
        lambda place: place @ place, -np.inf, radius**2, jac=lambda place: 2 * place
    )
    result = minimize(
        risk,
        start,
        jac=True,
        method="SLSQP",
        constraints=[within],
        options={"ftol": LAST_GAIN_WITHIN, "maxiter": PATIENCE},
    )
    return Minimum(result.x, float(result.fun), result.status != OUT_OF_STEPS["SLSQP"])


def _stop_far_out(xk: FloatArray) -> None:
    """End a descent that has no end; the optimiser looks at the name of the argument."""
    if np.linalg.norm(xk) > ENDLESS:
        raise StopIteration
