"""Climbing a likelihood that is not concave: damped Fisher scoring, some parameters in bounds.

Steps are scoring steps, bent by the last secant and damped where they do not gain. A bounded
parameter that would leave its bounds stops there, and the others make the best of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenodds.model.newton import with_secant
from evenodds.model.sums import symmetric_inverse
from evenodds.validation import FloatArray

# A climb is given up after this many steps, or several in a row that gain next to nothing: a
# curve that is a step creeps on forever.
MAX_STEPS = 60
CREEP = 1e-8
MAX_CREEPING = 3
# Fewer rows than this many a parameter on the slope of the curve make it a step.
STEP_ROWS_A_PARAMETER = 2.0

Here = TypeVar("Here")


@dataclass(frozen=True, slots=True)
class Place(Generic[Here]):
    """What a climb sees of a point: its objective, and the derivatives of all that may move."""

    here: Here
    objective: float
    score: FloatArray
    information: FloatArray
    bounded: FloatArray  # the parameters with bounds, which come last among the derivatives
    creep: float = CREEP  # steps to here that gain less than this creep


@dataclass(frozen=True, slots=True)
class End(Generic[Here]):
    """Where a climb ended."""

    place: Place[Here]
    free: NDArray[np.bool_]  # which bounded parameters are off their bounds
    converged: bool
    n_steps: int


@dataclass(frozen=True, slots=True)
class Secant:
    """The last step, the change of score it made, and which bounded parameters were free."""

    step: FloatArray
    change: FloatArray
    free: NDArray[np.bool_]


def climb_bounded(
    place: Place[Here],
    move: Callable[[Place[Here], FloatArray], Place[Here] | None],
    bounds: tuple[FloatArray, FloatArray],
    last_gain: float,
    *,
    patience: int = MAX_CREEPING,
    arriving: Callable[[Place[Here], FloatArray], bool] = lambda place, step: False,
) -> End[Here]:
    """Climb until score times step, the square of the error in standard errors, is `last_gain`.

    `move` returns where a step leads, or None where it must not. Equal bounds hold a parameter
    where it is. `patience` is the number of steps in a row that may gain next to nothing; the
    climb also ends before a step that is `arriving` somewhere known.
    """
    damping, creeping = 0.0, 0
    secant: Secant | None = None
    for n_steps in range(1, max(MAX_STEPS, patience) + 1):
        free = _free(place, bounds)
        step = _step(place, free, damping, secant, bounds)
        gain = float(place.score @ step)
        if gain <= last_gain:
            # What has next to no way to go to its bound is on it, and not free there.
            ahead = place.bounded + step[len(step) - len(free) :]
            held = free & ((ahead <= bounds[0]) | (ahead >= bounds[1]))
            if held.any():
                place, free = move(place, step) or place, free & ~held
            return End(place, free, True, n_steps)
        if arriving(place, step):
            break
        there = move(place, step)
        gained = -np.inf if there is None else there.objective - place.objective
        # Near the top the gain drowns in the rounding of the sum; trust the derivatives there.
        rounding = 1e-13 * abs(place.objective)
        if there is not None and (gained > 0 or (gain < 1e-6 and gained > -rounding)):
            secant = Secant(step, place.score - there.score, free)
            creeping = creeping + 1 if gained < there.creep < gain else 0
            place = there
            damping = damping / 10 if damping > 1e-6 else 0.0
            if creeping == patience:
                break
        else:
            damping, secant = max(10 * damping, 1e-3), None
            if damping > 1e12:
                break
    return End(place, free, False, n_steps)


def _free(place: Place[Here], bounds: tuple[FloatArray, FloatArray]) -> NDArray[np.bool_]:
    """Tell which bounded parameters may move: inside their bounds, or wanting to go inwards."""
    wish = place.score[len(place.score) - len(place.bounded) :]
    stuck = (place.bounded <= bounds[0]) & (wish <= 0)
    stuck |= (place.bounded >= bounds[1]) & (wish >= 0)
    return np.asarray(~stuck)


def _step(
    place: Place[Here],
    free: NDArray[np.bool_],
    damping: float,
    secant: Secant | None,
    bounds: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Return the damped scoring step; what would leave its bounds stops there."""
    score, information, here = place.score, place.information, place.bounded
    first = len(score) - len(here)
    step = np.zeros(len(score))
    moving = np.concatenate([np.ones(first, dtype=bool), free])
    for _ in range(len(here) + 1):
        block = information if moving.all() else information[moving][:, moving]
        if damping:
            block = block + damping * np.diag(block.diagonal())
        inverse = symmetric_inverse(block)
        if secant is not None and (secant.free == moving[first:]).all():
            inverse = with_secant(inverse, secant.step[moving], secant.change[moving])
        step[moving] = inverse @ (score - information @ np.where(moving, 0.0, step))[moving]
        target = here + step[first:]
        kept = np.minimum(np.maximum(target, bounds[0]), bounds[1])
        beyond = moving[first:] & (target != kept)
        if not beyond.any():
            return step
        step[first:][beyond] = (kept - here)[beyond]
        moving[first:][beyond] = False
    return step
