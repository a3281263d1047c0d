"""A whole plan: one unknown worked out, what lies around it, and the formula checked.

A parametric bootstrap: each further pilot is fitted as the first was, and the rows it would ask
for are worked out. docs/planning.md says how often the interval holds the rows truly needed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack

import numpy as np

from evenodds.errors import EvenoddsError, InputError
from evenodds.inference.results import Result
from evenodds.noise import ClassConditionalNoise, UniformNoise
from evenodds.planning.expected_data import COARSE, MOST_ANCHORS, AnchorVariance
from evenodds.planning.power import Unknown, rows_for, with_settings, work_out
from evenodds.planning.question import (
    EXACT,
    RUNS,
    Design,
    Point,
    Question,
    Settings,
    has_few_rows,
    read_question,
)
from evenodds.simulation.own_data import PilotWorld
from evenodds.simulation.parallel import Progress
from evenodds.simulation.rejection import RejectionRate, measure_rejections
from evenodds.simulation.world import World
from evenodds.validation import MOST_RUNS, check_between, check_whole, check_workers

LEVEL = 0.9
PILOTS = 25
PILOT_SEED = 11
# A pilot that asks for too few rows also draws pilots that scatter too little. With tails a
# quarter as large as the level says, the interval holds the rows needed as often as it says.
TAIL_SHARE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsRange:
    """The rows a plan needs, and the range that the error of its pilot leaves open.

    Attributes
    ----------
    n_rows : int
        The rows, as `sample_size` returns them.
    low, high : int
        The interval; `high` is None where no number of rows may be enough.
    level : float
        How often, over pilots, such an interval is to hold the rows truly needed.
    pilots : int
        Simulated pilots behind it.
    """

    n_rows: int
    low: int
    high: int | None
    level: float
    pilots: int


@with_settings
def sample_size_range(
    pilot: Design,
    noise: ClassConditionalNoise,
    *,
    n_anchors: int,
    power: float = 0.8,
    level: float = LEVEL,
    runs: int = RUNS,
    **settings: Unpack[Settings],
) -> RowsRange:
    """Return how many rows a test needs, with the range that a pilot's own error leaves open.

    Parameters are those of `sample_size`, with `pilot` made by ``data_world(X, y)`` and `level`
    that of the interval.

    Raises
    ------
    InputError
        If there is no labelled pilot, or `sample_size` refuses the plan.

    Notes
    -----
    Pilots of the same size are drawn from the world of the pilot, fitted again as it was, and
    planned from by the formula; the interval holds the middle of what they ask for. A pilot of
    few positives says little: its range may span a factor of ten.
    """
    question = read_question(pilot, **settings)
    wanted_level = check_between(level, "level", 0, 1, closed="neither")
    if not isinstance(question.design, PilotWorld):
        raise InputError(
            "a range of rows comes from the error of a labelled pilot: give data_world(X, y), or "
            "use sample_size."
        )
    plan, corrected = work_out(
        question, "rows", noise=noise, n_anchors=n_anchors, power=power, runs=runs
    )
    found = rows_range(corrected, plan, power, wanted_level)
    if found is None:
        raise InputError("no range can be worked out: no curve fits pilots drawn from this one.")
    return found


def rows_range(
    question: Question, plan: Point, wanted: float, level: float, pilots: int = PILOTS
) -> RowsRange | None:
    """Return the range of rows that a pilot's own error leaves open; None without a pilot."""
    pilot = question.design
    if not isinstance(pilot, PilotWorld) or plan.n_rows is None:
        return None
    own = _rows_of(question, pilot, plan, wanted)
    if math.isinf(own):  # at a ceiling that the fewer examples put a hair lower
        own = plan.n_rows
    drawn = []
    for number in range(pilots):
        rng = np.random.default_rng([question.seed, PILOT_SEED, number])
        try:
            drawn.append(_rows_of(question, pilot.pilot_again(rng), plan, wanted))
        except EvenoddsError:
            continue  # no curve could be fitted
    if not drawn:
        return None
    # What the first pilot needs by the finer formula, times how further ones differ from it.
    ratios = np.array(drawn) / own
    tail = TAIL_SHARE * (1 - level) / 2
    low = float(np.quantile(ratios, tail, method="lower"))
    high = float(np.quantile(ratios, 1 - tail, method="higher"))
    return RowsRange(
        n_rows=plan.n_rows,
        low=math.floor(plan.n_rows * min(low, 1.0)),
        high=math.ceil(plan.n_rows * max(high, 1.0)) if math.isfinite(high) else None,
        level=level,
        pilots=len(drawn),
    )


def _rows_of(question: Question, pilot: PilotWorld, plan: Point, wanted: float) -> float:
    """Return the rows that another pilot would ask for, by the formula on fewer examples."""
    asked = replace(question, design=pilot, grain=COARSE, shortfall=EXACT, _known={})
    rows = rows_for(asked, plan.noise, plan.n_anchors, wanted)
    return math.inf if rows is None else rows


UNKNOWNS: dict[Unknown, str] = {
    "rows": "n_rows",
    "anchors": "n_anchors",
    "asymmetry": "noise",
    "power": "power",
}
# Around the answer, rows and anchors are shown at these multiples.
ROW_FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
ANCHOR_FACTORS = (0.5, 1.0, 2.0, 4.0)
# Beyond this a simulation would take too long; the formula is the better for it.
MOST_SIMULATED_ROWS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan(Result):
    """A plan, complete: what was asked, the answer, and how far to trust it.

    Attributes
    ----------
    unknown : {"rows", "anchors", "asymmetry", "power"}
        What was worked out from the rest.
    n_rows, n_anchors, noise, power
        The plan; `n_rows` is None where summary numbers are for some rows already.
    few_rows, corrected : bool
        Whether rows are too few, beside columns and noise, for the formula alone; and whether it
        was corrected by simulation.
    rows_range : RowsRange or None
        Where the rows are worked out from a pilot: the range that its own error leaves open.
    false_alarms : float
        Power where both classes are flipped at the mean of the two rates, by the same formula:
        the level of the test on data like these.
    row_numbers, anchor_numbers, powers
        Power around the plan, a row of `powers` for each number of rows.
    simulated : RejectionRate or None
        The power again, by simulation.
    level : RejectionRate or None
        How often the test rejects uniform noise of the same mean rate, by simulation.
    interrupted : bool
        Whether the simulation was cut short.
    """

    _schema: ClassVar[int] = 1

    unknown: Unknown
    data: str
    method: str
    alternative: str
    tolerance: float
    shared_tolerance: float
    shared_is_default: bool
    significance: float
    n_rows: int | None
    n_anchors: int
    noise: ClassConditionalNoise
    power: float
    few_rows: bool
    corrected: bool
    rows_range: RowsRange | None
    false_alarms: float
    row_numbers: tuple[int | None, ...]
    anchor_numbers: tuple[int, ...]
    powers: tuple[tuple[float, ...], ...]
    simulated: RejectionRate | None
    level: RejectionRate | None
    interrupted: bool = False

    def _rows(self, level: float) -> list[dict[str, Any]]:
        """Return the power for each number of rows and of anchors around the plan."""
        return [
            {"n_rows": n_rows, "n_anchors": n_anchors, "power": power}
            for n_rows, powers in zip(self.row_numbers, self.powers, strict=True)
            for n_anchors, power in zip(self.anchor_numbers, powers, strict=True)
        ]


def make_plan(
    design: Design,
    *,
    n_rows: int | None = None,
    n_anchors: int | None = None,
    noise: ClassConditionalNoise | None = None,
    power: float | None = None,
    rate: float = 0.05,
    runs: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> Plan:
    """Work out the one quantity that is left out, from the others.

    Parameters are those of `power`, with exactly one of `n_rows`, `n_anchors`, `noise` and
    `power` None; `rate` is the flip rate of the class flipped less, where `noise` is unknown.
    With `runs`, the formula is corrected where rows are few, and the plan is simulated that often.
    """
    check_whole(runs, "runs", at_most=MOST_RUNS)
    check_workers(workers)
    question = read_question(design, **settings)
    given: dict[str, Any] = {
        "n_rows": n_rows,
        "n_anchors": n_anchors,
        "noise": noise,
        "power": power,
    }
    unknown = _find_unknown(question, given)
    point, question = work_out(question, unknown, **given, rate=rate, runs=runs, workers=workers)
    rows, anchors = _around(point)
    uniform = UniformNoise((point.noise.alpha + point.noise.beta) / 2)
    simulated = level = None
    if runs and _can_be_simulated(question, point):
        how: dict[str, Any] = {"significance": question.significance, "workers": workers}
        drawn = question.simulation(point, question.seed)
        simulated = measure_rejections(drawn, runs, **how, progress=_half(progress, 0))
        if simulated.runs == runs:  # an interrupt leaves fewer
            drawn = question.simulation(replace(point, noise=uniform), question.seed)
            level = measure_rejections(drawn, runs, **how, progress=_half(progress, 1))
    return Plan(
        unknown=unknown,
        data=question.design.name if isinstance(question.design, World) else "summary numbers",
        method=question.method.name,
        alternative=question.alternative,
        tolerance=question.tolerance,
        shared_tolerance=question.shared_tolerance,
        shared_is_default=question.shared_is_default,
        significance=question.significance,
        n_rows=point.n_rows,
        n_anchors=point.n_anchors,
        noise=point.noise,
        power=question.power(point.noise, point.n_rows, point.n_anchors),
        few_rows=has_few_rows(question, point),
        corrected=question.shortfall != EXACT,
        rows_range=rows_range(question, point, power or 0, LEVEL) if unknown == "rows" else None,
        false_alarms=question.power(uniform, point.n_rows, point.n_anchors),
        row_numbers=rows,
        anchor_numbers=anchors,
        powers=tuple(tuple(question.power(point.noise, n, k) for k in anchors) for n in rows),
        simulated=simulated,
        level=level,
        interrupted=any(rate is not None and rate.runs < runs for rate in (simulated, level)),
    )


def _find_unknown(question: Question, given: Mapping[str, object]) -> Unknown:
    """Return what is left out, which must be exactly one."""
    missing = [name for name, key in UNKNOWNS.items() if given[key] is None]
    # Summary numbers are for some rows already, so rows need not be said.
    if isinstance(question.design, AnchorVariance) and len(missing) == 2 and "rows" in missing:
        missing.remove("rows")
    if len(missing) != 1:
        left_out = f"{' and '.join(missing)} are left out" if missing else "all are given"
        raise InputError(
            "a plan works out one of rows, anchors, asymmetry and power from the other three, but "
            f"{left_out}: leave out exactly one."
        )
    return missing[0]


def _around(plan: Point) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
    """Return numbers of rows and of anchors around a plan."""
    rows: tuple[int | None, ...] = (None,)
    if plan.n_rows is not None:
        rows = tuple(int(np.ceil(factor * plan.n_rows)) for factor in ROW_FACTORS)
    if plan.n_anchors == 0:
        return rows, (0,)
    wanted = {max(1, min(int(factor * plan.n_anchors), MOST_ANCHORS)) for factor in ANCHOR_FACTORS}
    return rows, tuple(sorted(wanted))


def _can_be_simulated(question: Question, plan: Point) -> bool:
    """Tell whether data can be drawn, in bearable time."""
    return isinstance(question.design, World) and 0 < (plan.n_rows or 0) <= MOST_SIMULATED_ROWS


def _half(progress: Progress | None, number: int) -> Progress | None:
    """Return progress over one of two simulations of equal length."""
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, 2 * total)
