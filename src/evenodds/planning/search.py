"""Searching for the rows, anchors, asymmetry or tolerance at which a plan reaches its power."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from evenodds.errors import InputError
from evenodds.noise import ClassConditionalNoise
from evenodds.planning.exemplary import MOST_ANCHORS
from evenodds.planning.question import ENDLESS_ROWS, Question

FEWEST_ROWS = 20
# How finely rows (relative) and asymmetries (absolute) are worked out.
ROWS_PRECISION = 0.002
ASYMMETRY_PRECISION = 0.0005
# Sizes tried, smallest first, before the answer is narrowed down.
ASYMMETRY_STEPS = (0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def rows_for(question: Question, noise: ClassConditionalNoise, k: int, wanted: float) -> int | None:
    """Return the smallest number of rows with the power wanted; None if there is none."""

    def reached(log_rows: float) -> float:
        return question.power(noise, float(np.exp(log_rows)), k) - wanted

    low, end = float(np.log(FEWEST_ROWS)), float(np.log(ENDLESS_ROWS))
    if reached(end) < 0:
        return None
    high = low
    while high < end and reached(high) < 0:
        low, high = high, min(high + np.log(4), end)
    if high == low:
        return FEWEST_ROWS
    rows = int(np.ceil(np.exp(brentq(reached, low, high, xtol=ROWS_PRECISION))))
    while question.power(noise, rows, k) < wanted:  # the root may be found a hair too low
        rows = int(np.ceil(rows * (1 + ROWS_PRECISION)))
    return rows


def anchors_for(
    question: Question, noise: ClassConditionalNoise, n_rows: float | None, wanted: float
) -> int | None:
    """Return the smallest number of anchors with the power wanted; None if there is none."""

    def enough(k: int) -> bool:
        return question.power(noise, n_rows, k) >= wanted

    high = 1
    while not enough(high):
        if high == MOST_ANCHORS:
            return None
        high = min(2 * high, MOST_ANCHORS)
    return smallest(enough, high // 2, high)


def smallest(enough: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest number above `low` that is enough, knowing that `high` is."""
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def asymmetry_for(
    power_of: Callable[[ClassConditionalNoise], float], rate: float, sign: int, wanted: float
) -> float:
    """Return the smallest size of asymmetry, in one direction, with the power wanted."""

    def reached(size: float) -> float:
        return power_of(leaning(rate, sign * size)) - wanted

    level = reached(0.0) + wanted
    if level >= wanted:
        raise InputError(
            f"this test rejects uniform noise of {rate:g} with probability {level:.2f} on data "
            "like these, so its rejections say nothing: use method 'boundary'."
        )
    low, best = 0.0, level
    for high in (step for step in ASYMMETRY_STEPS if 2 * rate + step < 1):
        gap = reached(high)
        best = max(best, gap + wanted)
        if gap >= 0:
            found = float(brentq(reached, low, high, xtol=ASYMMETRY_PRECISION))
            while reached(found) < 0:  # the root may be found a hair too low
                found = min(found + ASYMMETRY_PRECISION, high)
            return found
        low = high
    raise InputError(
        f"no asymmetry reaches a power of {wanted:g} where the other class is flipped at {rate:g}: "
        f"the most is {best:.2f}. Plan with more rows, more anchors or a smaller tolerance."
    )


def leaning(rate: float, asymmetry: float) -> ClassConditionalNoise:
    """Return noise of this asymmetry where the class flipped less is flipped at `rate`."""
    return ClassConditionalNoise(rate + max(-asymmetry, 0.0), rate + max(asymmetry, 0.0))


def tolerance_for(
    question: Question, noise: ClassConditionalNoise, k: int, wanted: float
) -> float | None:
    """Return the largest tolerance that endless rows would put up with."""

    def enough(hundredths: int) -> bool:
        eased = replace(question, tolerance=question.tolerance * hundredths / 100)
        return eased.power(noise, ENDLESS_ROWS, k) >= wanted

    if not enough(1):
        return None
    share = 100 - smallest(lambda lost: enough(100 - lost), 0, 99)
    return float(np.floor(question.tolerance * share) / 100)
