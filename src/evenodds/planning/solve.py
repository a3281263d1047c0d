"""Turning power around: rows, anchors or asymmetry from the power that is wanted."""

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from evenodds.errors import InputError
from evenodds.inference.method import Method
from evenodds.noise import ClassConditionalNoise, UniformNoise, check_noise
from evenodds.planning.expected_data import MOST_ANCHORS
from evenodds.planning.power import (
    ENDLESS_ROWS,
    RUNS,
    Design,
    Point,
    Question,
    check_anchor_number,
    check_direction,
    check_rows,
    read_question,
    settled,
)
from evenodds.validation import check_between

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
        instead = "" if question.method.name == "boundary" else ": use method boundary"
        raise InputError(
            f"on data like these this test rejects uniform noise of {rate:g} with probability "
            f"{level:.2f}, so its rejections say nothing about an asymmetry{instead}."
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


def sample_size(
    design: Design,
    noise: ClassConditionalNoise,
    *,
    n_anchors: int,
    power: float = 0.8,
    method: str | Method | None = None,
    alternative: str = "two-sided",
    tolerance: float = 0.05,
    shared_tolerance: float | None = None,
    significance: float = 0.05,
    seed: int = 0,
    runs: int = RUNS,
) -> int:
    """Return how many rows a test needs to find this noise.

    Parameters are those of `power`, with `power` (default 0.8) wanted and `n_rows` unknown.

    Raises
    ------
    InputError
        If no number of rows is enough: anchors known to a tolerance set a ceiling that rows
        cannot lift. The message says what would.

    Examples
    --------
    >>> import evenodds as eo
    >>> noise = eo.ClassConditionalNoise(alpha=0.05, beta=0.15)
    >>> eo.sample_size("rare", noise, n_anchors=8) < eo.sample_size("rare", noise, n_anchors=4)
    True
    """
    question = read_question(
        design,
        method=method,
        alternative=alternative,
        tolerance=tolerance,
        shared_tolerance=shared_tolerance,
        significance=significance,
        seed=seed,
    )
    plan, _ = plan_rows(question, noise, n_anchors=n_anchors, power=power, runs=runs)
    return plan.n_rows or 0


def anchors_needed(
    design: Design,
    noise: ClassConditionalNoise,
    *,
    n_rows: int | None = None,
    power: float = 0.8,
    method: str | Method | None = None,
    alternative: str = "two-sided",
    tolerance: float = 0.05,
    shared_tolerance: float | None = None,
    significance: float = 0.05,
    seed: int = 0,
    runs: int = RUNS,
) -> int:
    """Return how many toss-up cases a test needs to find this noise.

    Parameters are those of `power`, with `power` (default 0.8) wanted and `n_anchors` unknown.

    Raises
    ------
    InputError
        If no number of anchors is enough: the curve's own error, and what all anchors share,
        set a ceiling. The message says what would lift it.

    Examples
    --------
    >>> import evenodds as eo
    >>> noise = eo.ClassConditionalNoise(alpha=0.05, beta=0.15)
    >>> few = eo.anchors_needed("rare", noise, n_rows=20_000)
    >>> many = eo.anchors_needed("rare", noise, n_rows=10_000)
    >>> few < many
    True
    """
    question = read_question(
        design,
        method=method,
        alternative=alternative,
        tolerance=tolerance,
        shared_tolerance=shared_tolerance,
        significance=significance,
        seed=seed,
    )
    plan, _ = plan_anchors(question, noise, n_rows=n_rows, power=power, runs=runs)
    return plan.n_anchors


def detectable_asymmetry(
    design: Design,
    *,
    n_rows: int | None = None,
    n_anchors: int,
    rate: float = 0.05,
    power: float = 0.8,
    method: str | Method | None = None,
    alternative: str = "two-sided",
    tolerance: float = 0.05,
    shared_tolerance: float | None = None,
    significance: float = 0.05,
    seed: int = 0,
    runs: int = RUNS,
) -> float:
    """Return the smallest asymmetry that a test would find.

    Parameters are those of `power`, with `power` (default 0.8) wanted and the noise unknown but
    for `rate`, the flip rate of the class that is flipped less.

    Returns
    -------
    float
        ``beta - alpha``: positive for alternative "greater", negative for "less"; for
        "two-sided" the size that is found whichever class is flipped more.

    Examples
    --------
    >>> import evenodds as eo
    >>> found = eo.detectable_asymmetry("rare", n_rows=5000, n_anchors=8)
    >>> 0.05 < found < 0.15
    True
    """
    question = read_question(
        design,
        method=method,
        alternative=alternative,
        tolerance=tolerance,
        shared_tolerance=shared_tolerance,
        significance=significance,
        seed=seed,
    )
    plan, _ = plan_asymmetry(
        question, n_rows=n_rows, n_anchors=n_anchors, rate=rate, power=power, runs=runs
    )
    found = plan.noise.asymmetry
    return abs(found) if question.alternative == "two-sided" else found


def plan_rows(
    question: Question,
    noise: ClassConditionalNoise,
    *,
    n_anchors: int,
    power: float,
    runs: int,
    workers: int = 1,
) -> tuple[Point, Question]:
    """Work out the rows; returned with the question as it was corrected."""
    wanted = _check_wanted(power, question, check_noise(noise))
    k = check_anchor_number(n_anchors, question)

    def solve(asked: Question) -> Point:
        rows = rows_for(asked, noise, k, wanted)
        if rows is None:
            _refuse_rows(asked, noise, k, wanted)
        return Point(noise, rows, k)

    return settled(question, solve, runs=runs, workers=workers)


def plan_anchors(
    question: Question,
    noise: ClassConditionalNoise,
    *,
    n_rows: int | None,
    power: float,
    runs: int,
    workers: int = 1,
) -> tuple[Point, Question]:
    """Work out the anchors; returned with the question as it was corrected."""
    wanted = _check_wanted(power, question, check_noise(noise))
    n = check_rows(n_rows, question)

    def solve(asked: Question) -> Point:
        anchors = anchors_for(asked, noise, n, wanted)
        if anchors is None:
            _refuse_anchors(asked, noise, n, wanted)
        return Point(noise, n, anchors)

    return settled(question, solve, runs=runs, workers=workers)


def plan_asymmetry(
    question: Question,
    *,
    n_rows: int | None,
    n_anchors: int,
    rate: float,
    power: float,
    runs: int,
    workers: int = 1,
) -> tuple[Point, Question]:
    """Work out the smallest asymmetry that is found: of both directions the harder one."""
    lesser = check_between(rate, "rate", 0, 0.5, closed="left", why="it is a flip rate")
    wanted = check_between(power, "power", question.significance, 1, closed="neither")
    n, k = check_rows(n_rows, question), check_anchor_number(n_anchors, question)

    def solve(asked: Question) -> Point:
        return Point(leaning(lesser, asymmetry_for(asked, lesser, n, k, wanted)), n, k)

    return settled(question, solve, runs=runs, workers=workers)


def _check_wanted(wanted: float, question: Question, noise: ClassConditionalNoise) -> float:
    """Check the power wanted, and that there is something to find."""
    if noise.asymmetry == 0:
        raise InputError(
            f"both flip rates are {noise.alpha:g}: there is no asymmetry to find. Give alpha and "
            "beta that differ."
        )
    check_direction(question, noise)
    return check_between(
        wanted,
        "power",
        question.significance,
        1,
        closed="neither",
        why="no test rejects less often than its level, nor always",
    )


def _refuse_rows(
    question: Question, noise: ClassConditionalNoise, k: int, wanted: float
) -> NoReturn:
    ceiling = question.power(noise, ENDLESS_ROWS, k)
    remedies = []
    anchors = anchors_for(question, noise, ENDLESS_ROWS, wanted)
    if anchors is not None:
        remedies.append(f"at least {anchors} anchors, with rows without end")
    tolerance = tolerance_for(question, noise, k, wanted)
    if tolerance is not None:
        remedies.append(f"a tolerance of at most {tolerance:.3g}")
    known = f"known to +-{question.tolerance:g}"
    if question.shared_tolerance:
        known += f" each and +-{question.shared_tolerance:g} together"
    raise InputError(
        f"no number of rows reaches a power of {wanted:g}: with {k} anchor{'s' if k > 1 else ''} "
        f"{known} the most is {ceiling:.2f}. It takes "
        f"{', or '.join(remedies) or _last_resort(question)}."
    )


def _refuse_anchors(
    question: Question, noise: ClassConditionalNoise, n_rows: float | None, wanted: float
) -> NoReturn:
    ceiling = question.power(noise, n_rows, MOST_ANCHORS)
    with_rows = "these summary numbers" if n_rows is None else f"{n_rows:,.0f} rows"
    rows = None if n_rows is None else rows_for(question, noise, MOST_ANCHORS, wanted)
    remedy = _last_resort(question)
    if rows is not None:
        remedy = f"at least {rows:,} rows"
    elif n_rows is None:
        remedy = "a smaller floor, that is, more rows"
    raise InputError(
        f"no number of anchors reaches a power of {wanted:g}: with {with_rows} the most is "
        f"{ceiling:.2f}, at {MOST_ANCHORS} anchors. It takes {remedy}."
    )


def _last_resort(question: Question) -> str:
    """Say what helps where neither rows nor anchors do."""
    shared = ", or a smaller shared tolerance" if question.shared_tolerance else ""
    return f"a larger asymmetry{shared}"
