"""How far a pilot leaves the rows open: other pilots of its size, drawn from it and planned from.

A parametric bootstrap: each further pilot is fitted as the first was, and the rows it would ask
for are worked out. docs/planning.md says how often the interval holds the rows truly needed.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from evenodds.errors import EvenoddsError, InputError
from evenodds.inference.asymmetry import Method
from evenodds.noise import ClassConditionalNoise
from evenodds.planning.correction import RUNS, Point
from evenodds.planning.exemplary import COARSE
from evenodds.planning.question import EXACT, Design, Question, read_question
from evenodds.planning.search import rows_for
from evenodds.planning.solve import plan_rows
from evenodds.simulation.own_data import PilotWorld
from evenodds.validation import check_between

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


def sample_size_range(
    pilot: Design,
    noise: ClassConditionalNoise,
    *,
    n_anchors: int,
    power: float = 0.8,
    level: float = LEVEL,
    method: str | Method | None = None,
    alternative: str = "two-sided",
    tolerance: float = 0.05,
    shared_tolerance: float | None = None,
    significance: float = 0.05,
    seed: int = 0,
    runs: int = RUNS,
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
    question = read_question(
        pilot,
        method=method,
        alternative=alternative,
        tolerance=tolerance,
        shared_tolerance=shared_tolerance,
        significance=significance,
        seed=seed,
    )
    wanted_level = check_between(level, "level", 0, 1, closed="neither")
    if not isinstance(question.design, PilotWorld):
        raise InputError(
            "a range of rows comes from the error of a labelled pilot: give data_world(X, y), or "
            "use sample_size."
        )
    plan, corrected = plan_rows(question, noise, n_anchors=n_anchors, power=power, runs=runs)
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
