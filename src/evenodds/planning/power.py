"""Before the data: how likely is a test to find what is there, and what would it take?"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal, NoReturn, TypeVar, Unpack

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from evenodds.errors import InputError
from evenodds.inference.profile import Alternative
from evenodds.noise import ClassConditionalNoise, UniformNoise, check_noise
from evenodds.planning.expected_data import MOST_ANCHORS
from evenodds.planning.question import (
    ENDLESS_ROWS,
    RUNS,
    Design,
    Point,
    Question,
    Settings,
    check_anchor_number,
    check_rows,
    read_question,
    settled,
)
from evenodds.validation import check_between, counted, signed

Unknown = Literal["rows", "anchors", "asymmetry", "power"]
Planning = TypeVar("Planning", bound=Callable[..., Any])

# Numbers of rows and sizes of asymmetry tried, smallest first, before an answer is narrowed down.
ROWS_TRIED = (20, 62.5, *(1000 * 4.0**power for power in range(-1, 15)), ENDLESS_ROWS)
ASYMMETRIES_TRIED = (0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, *(size / 10 for size in range(2, 10)))
# How finely rows (relative) and asymmetries (absolute) are worked out.
ROWS_PRECISION = 0.002
ASYMMETRY_PRECISION = 0.0005
# A test that rejects uniform noise more often than this many times its level finds nothing.
NO_LEVEL = 2.0


def first_reached(
    excess: Callable[[float], float], tried: Sequence[float], precision: float
) -> float | None:
    """Return where a rising function first reaches 0, to this precision; None if nowhere."""
    low, known = tried[0], cache(excess)  # the search begins with both ends again
    for high in tried:
        if known(high) >= 0:
            return float(brentq(known, low, high, xtol=precision)) if low < high else high
        low = high
    return None


def rows_for(question: Question, noise: ClassConditionalNoise, k: int, wanted: float) -> int | None:
    """Return the smallest number of rows with the power wanted; None if there is none."""

    def excess(log_rows: float) -> float:
        # On the scale of z, where the gap is nearly straight and a root soon found.
        found = question.power(noise, float(np.exp(log_rows)), k)
        return float(ndtri(np.clip(found, 1e-9, 1 - 1e-9)) - ndtri(wanted))

    if question.power(noise, ENDLESS_ROWS, k) < wanted:
        return None
    found = first_reached(excess, np.log(ROWS_TRIED).tolist(), ROWS_PRECISION)
    if found is None:
        return None
    rows = int(np.ceil(np.exp(found)))
    while question.power(noise, rows, k) < wanted:  # the root may be found a hair too low
        rows = int(np.ceil(rows * (1 + ROWS_PRECISION)))
    return rows


def anchors_for(
    question: Question, noise: ClassConditionalNoise, n_rows: float | None, wanted: float
) -> int | None:
    """Return the smallest number of anchors with the power wanted; None if there is none."""

    def enough(k: int) -> bool:
        return question.power(noise, n_rows, k) >= wanted

    return fewest(enough, 0, 1, MOST_ANCHORS)


def fewest(enough: Callable[[int], bool], low: int, high: int, most: int) -> int | None:
    """Return the smallest number above `low` that is enough, from `high` on; None up to `most`."""
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    return smallest(enough, low, high)


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
            f"{'' if question.method.name == 'boundary' else ': use method boundary'}."
        )

    def excess(noise: ClassConditionalNoise) -> float:
        return question.power(noise, n_rows, k) - wanted

    def refuse(sign: int, most: float) -> NoReturn:
        more, less = ("negatives", "positives") if sign > 0 else ("positives", "negatives")
        raise InputError(
            f"however much more often {more} are flipped than the {rate:.0%} of {less}, no power "
            f"of {wanted:g} is reached: the most is {wanted + most:.2f}. Plan with more rows, more "
            "anchors or a smaller tolerance."
        )

    step = ASYMMETRY_PRECISION
    return harder_asymmetry(excess, rate, question.alternative, refuse, step=step)


def harder_asymmetry(
    excess: Callable[[ClassConditionalNoise], float],
    rate: float,
    alternative: Alternative,
    refuse: Callable[[int, float], NoReturn],
    *,
    step: float = 0.0,
) -> float:
    """Return the asymmetry at which an excess reaches 0: of both directions the harder one.

    `refuse` is told the direction in which it never does, and the most there is. With a `step`
    it goes on by so much where the root was found a hair too low.
    """
    sizes = [size for size in ASYMMETRIES_TRIED if 2 * rate + size < 1]
    found: list[float] = []
    for sign in {"two-sided": (1, -1), "greater": (1,), "less": (-1,)}[alternative]:

        def here(size: float, sign: int = sign) -> float:
            return excess(leaning(rate, sign * size))

        if found and here(abs(found[0])) >= 0:
            continue  # this direction is the easier one
        size = first_reached(here, sizes, ASYMMETRY_PRECISION)
        if size is None:
            refuse(sign, max(here(one) for one in sizes))
        while step and here(size) < 0:
            size = min(size + step, sizes[-1])
        found.append(sign * size)
    return max(found, key=abs)


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
    known = f"known to ±{question.tolerance:g}"
    if question.shared_tolerance:
        known += f" each and ±{question.shared_tolerance:g} together"
    raise InputError(
        f"no number of rows reaches a power of {wanted:g}: with {counted(k, 'anchor')} {known} the "
        f"most is {ceiling:.2f}. It takes {', or '.join(remedies) or _last_resort(question)}."
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


def work_out(
    question: Question,
    unknown: Unknown,
    *,
    n_rows: int | None = None,
    n_anchors: int | None = None,
    noise: ClassConditionalNoise | None = None,
    power: float | None = None,
    rate: float = 0.05,
    runs: int = RUNS,
    workers: int = 1,
) -> tuple[Point, Question]:
    """Return a plan with its unknown worked out, and the question as it was corrected.

    An unknown asymmetry is the smallest that is found: of both directions the harder one, with
    `rate` the flip rate of the class that is flipped less.
    """
    sought = noise
    if unknown == "asymmetry":
        why = "it is a flip rate"
        sought = UniformNoise(check_between(rate, "rate", 0, 0.5, closed="left", why=why))
    sought = check_noise(sought)
    if unknown in {"rows", "anchors"} or sought.asymmetry:
        check_findable(sought, question.alternative)
    wanted = 0.0
    if unknown != "power":
        why = "no test rejects less often than its level, nor always"
        wanted = check_between(power, "power", question.significance, 1, closed="neither", why=why)
    n = None if unknown == "rows" else check_rows(n_rows, question)
    k = 0 if unknown == "anchors" else check_anchor_number(n_anchors, question)

    def solve(asked: Question) -> Point:
        if unknown == "rows":
            rows = rows_for(asked, sought, k, wanted)
            return Point(sought, rows or _refuse_rows(asked, sought, k, wanted), k)
        if unknown == "anchors":
            anchors = anchors_for(asked, sought, n, wanted)
            return Point(sought, n, anchors or _refuse_anchors(asked, sought, n, wanted))
        if unknown == "asymmetry":
            found = asymmetry_for(asked, sought.alpha, n, k, wanted)
            return Point(leaning(sought.alpha, found), n, k)
        return Point(sought, n, k)

    return settled(question, solve, runs=runs, workers=workers)


def check_findable(noise: ClassConditionalNoise, alternative: Alternative) -> None:
    """Refuse noise without an asymmetry, or on the side that is not tested."""
    if noise.asymmetry == 0:
        raise InputError(
            f"both flip rates are {noise.alpha:g}: there is no asymmetry to find. Give alpha and "
            "beta that differ."
        )
    wrong_way = {"two-sided": 0.0, "greater": -1.0, "less": 1.0}[alternative]
    if wrong_way * noise.asymmetry > 0:
        raise InputError(
            f"alternative is {alternative!r} but beta − alpha is {signed(noise.asymmetry, 2)}: a "
            "one-sided test looks the other way."
        )


def with_settings(function: Planning) -> Planning:
    """Show the settings that all plans take in a function's signature, as `help` prints it."""
    own, all_take = inspect.signature(function), inspect.signature(read_question)
    named = [part for part in own.parameters.values() if part.kind is not part.VAR_KEYWORD]
    settings = [part for part in all_take.parameters.values() if part.kind is part.KEYWORD_ONLY]
    function.__signature__ = own.replace(parameters=[*named, *settings])  # type: ignore[attr-defined]
    return function


@with_settings
def power(
    design: Design,
    noise: ClassConditionalNoise,
    *,
    n_rows: int | None = None,
    n_anchors: int,
    runs: int = RUNS,
    **settings: Unpack[Settings],
) -> float:
    r"""Return the probability that a test rejects uniform noise.

    Parameters
    ----------
    design : str, World or AnchorVariance
        Data like those you will have: the name of a world, `data_world(X, y)` of a pilot
        sample, `data_world(X, coefficients=...)`, or the paper's summary numbers (method
        "wald" only).
    noise : ClassConditionalNoise
        The flip rates to find.
    n_rows : int
        Number of rows; may be left out with summary numbers, which are for some rows already.
    n_anchors : int
        Number of toss-up cases; 0 for method "joint" only.
    method : {"boundary", "joint", "wald"} or a record of settings
        Default "boundary", or "wald" with summary numbers.
    alternative : {"two-sided", "greater", "less"}
        "greater" means that negatives are flipped more often (beta > alpha).
    tolerance, shared_tolerance : float
        How well the toss-ups will be known, each and all together. A shared tolerance of
        None is as wide as the tolerance, as for `Anchors`.
    significance : float, default 0.05
        Level of the test.
    seed : int, default 0
        For the cases and toss-ups drawn to stand for the world, and for the simulation.
    runs : int, default 200
        Data sets simulated to correct the formula where rows are few beside columns and noise;
        0 leaves it as it is. Where rows are many none is simulated.

    Returns
    -------
    float

    See Also
    --------
    rejection_rate : The same by simulation, the check on this formula.
    sample_size, anchors_needed, detectable_asymmetry : One of the other quantities, from power.

    Notes
    -----
    The statistic is computed on exemplary data, every row with both labels weighted by their
    probabilities under the noise; it is where :math:`z` of real data is centred, and the test
    rejects when a normal variable so centred is beyond its critical value. The probability is
    averaged over sets of anchors drawn from the world. With few rows per parameter the fitted
    curve follows chance and z is centred nearer 0; then data sets are simulated, and z is scaled
    so that the formula rejects as often as they do (docs/planning.md says where, and how close
    the power reached is to the power promised). Where a test rejects uniform noise too, as "wald"
    does on lopsided data, this is no power. Always check a plan that matters with
    `rejection_rate`.

    Examples
    --------
    >>> import evenodds as eo
    >>> noise = eo.ClassConditionalNoise(alpha=0.05, beta=0.15)
    >>> few = eo.power("rare", noise, n_rows=1000, n_anchors=4, runs=0)
    >>> many = eo.power("rare", noise, n_rows=8000, n_anchors=4)
    >>> round(few, 1), round(many, 1)
    (0.3, 0.7)
    """
    given: dict[str, Any] = {"noise": noise, "n_rows": n_rows, "n_anchors": n_anchors}
    plan, question = work_out(read_question(design, **settings), "power", **given, runs=runs)
    return question.power(plan.noise, plan.n_rows, plan.n_anchors)


@with_settings
def sample_size(
    design: Design,
    noise: ClassConditionalNoise,
    *,
    n_anchors: int,
    power: float = 0.8,
    runs: int = RUNS,
    **settings: Unpack[Settings],
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
    question = read_question(design, **settings)
    plan, _ = work_out(question, "rows", noise=noise, n_anchors=n_anchors, power=power, runs=runs)
    return plan.n_rows or 0


@with_settings
def anchors_needed(
    design: Design,
    noise: ClassConditionalNoise,
    *,
    n_rows: int | None = None,
    power: float = 0.8,
    runs: int = RUNS,
    **settings: Unpack[Settings],
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
    question = read_question(design, **settings)
    plan, _ = work_out(question, "anchors", noise=noise, n_rows=n_rows, power=power, runs=runs)
    return plan.n_anchors


@with_settings
def detectable_asymmetry(
    design: Design,
    *,
    n_rows: int | None = None,
    n_anchors: int,
    rate: float = 0.05,
    power: float = 0.8,
    runs: int = RUNS,
    **settings: Unpack[Settings],
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
    question = read_question(design, **settings)
    given: dict[str, Any] = {"n_rows": n_rows, "n_anchors": n_anchors, "power": power}
    plan, _ = work_out(question, "asymmetry", **given, rate=rate, runs=runs)
    found = plan.noise.asymmetry
    return abs(found) if question.alternative == "two-sided" else found
