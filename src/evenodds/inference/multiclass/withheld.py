"""Splits that the data cannot tell of: nothing is said of them but why.

Where hardly any row lies between two sides, the fitted curve is a step. It passes a toss-up at
any height, its slope has no bound, and numbers read there are those of where the climb stopped.
"""

import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from evenodds.inference.multiclass.attribution import Finding
from evenodds.inference.multiclass.crossing import Problem, side_shares
from evenodds.model.softmax.climb import (
    LAST_GAIN_ON_THE_WAY,
    STEP_ROWS_A_PARAMETER,
    ClassFit,
    climb,
)
from evenodds.model.softmax.sums import rows_between

# An interval of this level without an end on either side says nothing.
LEVEL = 0.95
# With so many times the rows needed no step can do as well; with fewer it is tried, from curves so
# much steeper. It does as well where it loses less log-likelihood than this, about what one
# parameter gains by chance once in 200 times.
ENOUGH = 8.0
NEAR_STEP = 12.0
AS_WELL = 4.0


def steps(problem: Problem, fit: ClassFit, *, rivals: bool = False) -> dict[int, str]:
    """Return the splits whose sides a fit parts by a step, with the reason.

    With `rivals` also those where a step would do as well.
    """
    # A curve of its own, the rate and the asymmetry.
    needed = STEP_ROWS_A_PARAMETER * (problem.data.design.shape[1] + 2)
    found, few = {}, set[int]()
    for number, rows in enumerate(_rows_at_the_anchors(problem, fit)):
        if not rows >= needed:
            found[number] = (
                f"Only about {rows:.0f} rows lie between the two sides and {needed:.0f} are "
                "needed: the fitted curve is a step there."
            )
        elif rows < ENOUGH * needed:
            few |= {*problem.anchors[number].positive, *problem.anchors[number].negative}
    for rival in _near_steps(problem, fit, few) if rivals else ():
        lost = fit.here.log_likelihood - rival.here.log_likelihood
        for number, rows in enumerate(_rows_at_the_anchors(problem, rival)):
            if rows < needed and lost < AS_WELL:
                found.setdefault(number, "A curve that is a step there fits about as well.")
    return found


def _rows_at_the_anchors(problem: Problem, fit: ClassFit) -> list[float]:
    """Return how many rows lie between the classes that meet at the anchors of each split."""
    between = rows_between(problem.data, fit.point.coefficients)
    shares = [side_shares(group, fit.point.coefficients) for group in problem.anchors]
    return [
        float(np.einsum("ak,kl,al->a", first, between, second).min()) for first, second in shares
    ]


def _near_steps(problem: Problem, fit: ClassFit, classes: set[int]) -> list[ClassFit]:
    """Return where climbs end that start with one of some classes, or all, parted by near-steps."""
    curves = np.vstack([fit.point.coefficients, np.zeros(fit.point.coefficients.shape[1])])
    starts = [NEAR_STEP * curves] if classes else []
    for one in sorted(classes):
        others = np.delete(curves, one, axis=0).mean(axis=0)
        starts.append(curves.copy())
        starts[-1][one] = others + NEAR_STEP * (curves[one] - others)
    return [
        climb(
            problem.data,
            problem.family,
            replace(fit.point, coefficients=start[:-1] - start[-1]),
            last_gain=LAST_GAIN_ON_THE_WAY,
        )
        for start in starts
    ]


def boundless(found: Finding) -> str | None:
    """Return why the numbers of a split say nothing, or None where they do."""
    if not math.isfinite(found.asymmetry) or abs(found.asymmetry) > 1:
        return "No possible asymmetry carries the fitted curve to its toss-ups."
    reach = float(ndtri((1 + LEVEL) / 2)) * found.standard_error
    if not reach < 1 + abs(found.asymmetry):
        return "Asymmetries of any size and sign fit its toss-ups."
    return None
