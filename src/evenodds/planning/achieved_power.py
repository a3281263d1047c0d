"""After the test: what asymmetry could it have found?"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from evenodds.inference.audit.audit_test import EXACT
from evenodds.inference.audit.result import AuditTestResult
from evenodds.inference.audit.score import AuditByGiven, AuditByTrue
from evenodds.inference.cases.line_fit import LEAST_SLOPE, LineStatistic
from evenodds.inference.cases.strata import Strata
from evenodds.inference.line.result import LineTestResult
from evenodds.inference.results import Profiled
from evenodds.planning.exact_power import is_summable, powers_at
from evenodds.validation import FloatArray, check_between

# Sizes of z that the curve is traced at, up to this far beyond the critical value.
TRACED = 80
BEYOND = 3.5
# How far beyond its critical value z lies where it is found four times out of five.
USUAL = float(ndtri(0.8))
# Sizes of asymmetry at which the power of an exact audit is summed.
SIZES = np.linspace(0, 1, 101)


@dataclass(frozen=True, slots=True)
class PowerCurve:
    """How likely a test like a finished one is to find a true asymmetry, by its size.

    Sizes rise from 0, where the probability is the level of the test.
    """

    asymmetries: tuple[float, ...]
    powers: tuple[float, ...]


def could_have_found(
    result: Profiled, *, power: float = 0.8, significance: float = 0.05
) -> float | None:
    """Return the size of asymmetry that a test like this one finds with this power.

    Where `detectable_asymmetry` works from a world, this reads a finished test: how far the
    hypothesised asymmetry must be from the estimate for z to lie beyond its critical value with
    room for its own scatter. Of a two-sided test, in the direction that is harder to find. None
    if nowhere. A z that few tables can have is far from normal: the power of an exact audit is
    that of all its tables. Along few looked-up cases z falls in steps: there it is that of a plan.
    """
    wanted = check_between(power, "power", 0, 1, closed="neither")
    summed = _summed(result, significance)
    if summed:
        return _hardest([_reached(powers, wanted) for powers in summed])
    return _reach(result, _critical(result, significance) + float(ndtri(wanted)))


def power_curve(result: Profiled, *, significance: float = 0.05) -> PowerCurve:
    """Return how likely a test like this one is to find asymmetries of all sizes.

    The power of which `could_have_found` is the inverse, in the one direction that is harder to
    find at a power of 0.8: the harder of both at every size would jump where the labels allow no
    larger asymmetry in one of them. It looks at how far z moves with the hypothesised asymmetry,
    not at what was found.
    """
    summed = _summed(result, significance)
    if summed:
        powers = max(summed, key=lambda one: (_reached(one, 0.8) or 0.0, -np.nanmax(one)))
        shown = ~np.isnan(powers)
        return PowerCurve(tuple(SIZES[shown].tolist()), tuple(powers[shown].tolist()))
    critical = _critical(result, significance)
    sizes, chances = [0.0], [significance]
    marked = {side: _one_way(result, critical + USUAL, side) for side in _sides(result)}
    known = {side: reach for side, reach in marked.items() if reach is not None}
    if math.isfinite(critical) and known:
        side = max(known, key=lambda one: known[one])
        for size in np.linspace(0, critical + BEYOND, TRACED + 1)[1:]:
            reach = _one_way(result, float(size), side)
            if reach is not None and sizes[-1] < reach < 1:
                other_side = ndtr(-size - critical) if result.alternative == "two-sided" else 0.0
                sizes.append(reach)
                chances.append(max(float(ndtr(size - critical) + other_side), significance))
    return PowerCurve(tuple(sizes), tuple(chances))


def _critical(result: Profiled, significance: float) -> float:
    """Return the size of z beyond which the test rejects."""
    above, below = result.reference.critical(significance, result.alternative)
    return max(above, -below)


def _reach(result: Profiled, size: float) -> float | None:
    """Return how far from the estimate z reaches a size; None if nowhere on the scale.

    Labels that lean to a positive asymmetry lift z above what lower asymmetries would give. Of a
    two-sided test the direction that is harder to find counts.
    """
    return _hardest([_one_way(result, size, side) for side in _sides(result)])


def _hardest(reaches: list[float | None]) -> float | None:
    """Return the farthest of the reaches there are; None where it is the end of the scale."""
    known = [reach for reach in reaches if reach is not None]
    return None if not known or max(known) >= 1 else max(known)


def _summed(result: Profiled, significance: float) -> list[FloatArray]:
    """Return the powers at all sizes, either way, where they are not read off the profile."""
    if isinstance(result, LineTestResult) and result.answers == "looked-up":
        return [_along_line(result, significance, side) for side in _sides(result)]
    if not isinstance(result, AuditTestResult) or result.method not in EXACT:
        return []
    counts = result.given_counts
    audit = AuditByTrue(result.counts) if counts is None else AuditByGiven(result.counts, *counts)
    if not is_summable(audit):
        return []
    tail = float(ndtr(-_critical(result, significance)))
    level = 2 * tail if result.alternative == "two-sided" else tail
    # To the lower side of the estimate lies what a positive asymmetry has to be told from.
    return [powers_at(audit, -side * SIZES, level, result.alternative) for side in _sides(result)]


def _along_line(result: LineTestResult, significance: float, side: int) -> FloatArray:
    """Return the power of a line through looked-up cases, as it is planned: z on expected counts.

    The shares truly positive stay, and so does the rate of the class that is flipped less.
    """
    if result.alpha is None or result.beta is None:
        return np.full(len(SIZES), np.nan)
    less = min(result.alpha, result.beta)
    sizes = SIZES[2 * less + SIZES < 1 - LEAST_SLOPE]
    slope = (1 - 2 * less - sizes)[:, None]
    rows, judged, true = (
        np.array([getattr(one, name) for one in result.strata])
        for name in ("n_rows", "n_cases", "true")
    )
    given = less + (sizes[:, None] if side < 0 else 0.0) + slope * true
    ones = np.ones(given.shape)
    counts = Strata(rows * ones, rows * given, judged * ones, judged * true * ones, ones, math.inf)
    statistic = LineStatistic.of(counts, result.shared_tolerance)
    z, critical = -side * statistic(np.zeros(1))[:, 0], _critical(result, significance)
    powers = ndtr(z - critical) + ndtr(-z - critical) * (result.alternative == "two-sided")
    return np.concatenate([powers, np.full(len(SIZES) - len(sizes), np.nan)])


def _reached(powers: FloatArray, wanted: float) -> float | None:
    """Return the smallest size with so much power: 1 if nowhere on the scale.

    None where the labels allow no such asymmetry, which then need not be found.
    """
    enough = np.flatnonzero(powers >= wanted)
    if len(enough) == 0:
        return None if np.isnan(powers).any() else 1.0
    ends = slice(max(int(enough[0]) - 1, 0), int(enough[0]) + 1)
    return float(np.interp(wanted, powers[ends], SIZES[ends]))


def _sides(result: Profiled) -> tuple[int, ...]:
    """Return the directions that the test looks in."""
    return {"greater": (-1,), "less": (1,), "two-sided": (-1, 1)}[result.alternative]


def _one_way(result: Profiled, size: float, side: int) -> float | None:
    """Return how far z reaches a size in one direction: 1 if nowhere on the scale.

    None where the labels allow no such asymmetry, which then need not be found.
    """
    profile = result.profile
    if not profile.asymmetries:
        return None  # nothing could be told at all
    end = profile.crossing(-side * size, side)
    if end is not None:
        return abs(end - profile.estimate)
    return 1.0 if abs(profile.allowed[max(side, 0)]) == 1 else None
