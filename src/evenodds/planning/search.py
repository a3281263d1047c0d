"""Searching for the rows, anchors, asymmetry or tolerance at which a plan reaches its power."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from evenodds.errors import InputError
from evenodds.inference.boundary import Boundary
from evenodds.noise import ClassConditionalNoise, UniformNoise
from evenodds.planning.exemplary import MOST_ANCHORS
from evenodds.planning.question import ENDLESS_ROWS, Question

FEWEST_ROWS = 20
LIKELY_ROWS = 1000  # where the search starts
# How finely rows (relative) and asymmetries (absolute) are worked out.
ROWS_PRECISION = 0.002
ASYMMETRY_PRECISION = 0.0005
# A test that rejects uniform noise more often than this many times its level finds nothing.
NO_LEVEL = 2.0
# Sizes tried, smallest first, before the answer is narrowed down.
ASYMMETRY_STEPS = (0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def rows_for(question: Question, noise: ClassConditionalNoise, k: int, wanted: float) -> int | None:
    """Return the smallest number of rows with the power wanted; None if there is none."""

    def reached(log_rows: float) -> float:
        # On the scale of z, where the gap is nearly straight and a root soon found.
        found = question.power(noise, float(np.exp(log_rows)), k)
        return float(ndtri(np.clip(found, 1e-9, 1 - 1e-9)) - ndtri(wanted))

    first, end = float(np.log(FEWEST_ROWS)), float(np.log(ENDLESS_ROWS))
    low = high = float(np.log(LIKELY_ROWS))
    if reached(high) < 0:
        if reached(end) < 0:
            return None
        while high < end and reached(high) < 0:
            low, high = high, min(high + np.log(4), end)
    else:
        while low > first and reached(low) >= 0:
            low, high = max(low - np.log(4), first), low
        if reached(low) >= 0:
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
    question: Question, rate: float, n_rows: float | None, k: int, wanted: float
) -> float:
    """Return the smallest asymmetry with the power wanted, signed.

    Of a two-sided test, in the direction that is harder to find.
    """
    level = question.power(UniformNoise(rate), n_rows, k)
    if level > NO_LEVEL * question.significance:
        raise InputError(
            f"on data like these this test rejects uniform noise of {rate:g} with probability "
            f"{level:.2f}, so its rejections say nothing about an asymmetry"
            f"{'' if isinstance(question.method, Boundary) else ': use method boundary'}."
        )
    signs = {"two-sided": (1, -1), "greater": (1,), "less": (-1,)}[question.alternative]
    found = [
        sign * _size_for(lambda noise: question.power(noise, n_rows, k), rate, sign, wanted)
        for sign in signs
    ]
    return max(found, key=abs)


def _size_for(
    power_of: Callable[[ClassConditionalNoise], float], rate: float, sign: int, wanted: float
) -> float:
    """Return the smallest size of asymmetry, in one direction, with the power wanted."""

    def reached(size: float) -> float:
        return power_of(leaning(rate, sign * size)) - wanted

    low, best = 0.0, 0.0
    for high in (step for step in ASYMMETRY_STEPS if 2 * rate + step < 1):
        gap = reached(high)
        best = max(best, gap + wanted)
        if gap >= 0:
            found = float(brentq(reached, low, high, xtol=ASYMMETRY_PRECISION))
            while reached(found) < 0:  # the root may be found a hair too low
                found = min(found + ASYMMETRY_PRECISION, high)
            return found
        low = high
    more, less = ("negatives", "positives") if sign > 0 else ("positives", "negatives")
    raise InputError(
        f"however much more often {more} are flipped than the {rate:.0%} of {less}, no power of "
        f"{wanted:g} is reached: the most is {best:.2f}. Plan with more rows, more anchors or a "
        "smaller tolerance."
    )


def leaning(rate: float, asymmetry: float) -> ClassConditionalNoise:
    """Return noise of this asymmetry where the class flipped less is flipped at `rate`."""
    return ClassConditionalNoise(rate + max(-asymmetry, 0.0), rate + max(asymmetry, 0.0))


def tolerance_for(
    question: Question, noise: ClassConditionalNoise, k: int, wanted: float
) -> float | None:
    """Return the largest tolerance that endless rows would put up with.

    A shared tolerance that was not stated follows it.
    """

    def enough(hundredths: int) -> bool:
        part = hundredths / 100
        eased = replace(
            question,
            tolerance=question.tolerance * part,
            shared_tolerance=question.shared_tolerance
            * (part if question.shared_is_default else 1),
        )
        return eased.power(noise, ENDLESS_ROWS, k) >= wanted

    if not enough(1):
        return None
    share = 100 - smallest(lambda lost: enough(100 - lost), 0, 99)
    return question.tolerance * share / 100
