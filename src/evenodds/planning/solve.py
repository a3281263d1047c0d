"""Turning power around: rows, anchors or asymmetry from the power that is wanted."""

from typing import NoReturn

from evenodds.errors import InputError
from evenodds.inference.asymmetry import Method
from evenodds.noise import ClassConditionalNoise, check_noise
from evenodds.planning.correction import RUNS, Point, settled
from evenodds.planning.exemplary import MOST_ANCHORS
from evenodds.planning.question import (
    ENDLESS_ROWS,
    Design,
    Question,
    check_anchor_number,
    check_direction,
    check_rows,
    read_question,
)
from evenodds.planning.search import anchors_for, asymmetry_for, leaning, rows_for, tolerance_for
from evenodds.validation import check_between


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
