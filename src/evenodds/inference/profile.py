"""Every test is one function z(Delta_0); all answers are read off its table.

``z(Delta_0)`` is standard normal when the true asymmetry is ``Delta_0`` and falls
as ``Delta_0`` rises. From it: the test (at 0), the estimate (its root), intervals
(where it stays small), one-sided p-values (its sign), equivalence (at the margins).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from evenodds.validation import check_between

Alternative = Literal["two-sided", "greater", "less"]

# Confidence levels whose interval ends are knots of the table, exact to rounding.
EXACT_LEVELS = (0.8, 0.9, 0.95, 0.975, 0.98, 0.99, 0.995, 0.999)
# The table stops where z is this large: p-values beyond it are zero for any purpose.
FAR = 40.0
# Knots between the estimate and where z reaches this, on either side.
NEAR = 4.5
NEAR_KNOTS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceInterval:
    """An interval for the asymmetry.

    ``low_is_limit`` (``high_is_limit``) tells that the data set no bound on that
    side: every asymmetry down (up) to the end of the scale is compatible with it.
    """

    low: float
    high: float
    level: float
    low_is_limit: bool = False
    high_is_limit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence:
    """Two one-sided tests of "the asymmetry is at least `margin` in size"."""

    margin: float
    pvalue: float


@dataclass(frozen=True, slots=True)
class Profile:
    """A table of z against Delta_0, with 0 and the estimate among its knots."""

    asymmetries: tuple[float, ...]
    z: tuple[float, ...]

    def __call__(self, asymmetry: float) -> float:
        """Return z by cubic interpolation, exact at the knots; constant beyond the table."""
        inside = min(max(asymmetry, self.asymmetries[0]), self.asymmetries[-1])
        return float(CubicSpline(self.asymmetries, self.z)(inside))

    @property
    def estimate(self) -> float:
        """The asymmetry at which z is zero."""
        return self.asymmetries[self._root]

    @property
    def _root(self) -> int:
        return int(np.argmin(np.abs(self.z)))

    def pvalue(self, alternative: Alternative) -> float:
        """Return the p-value of the hypothesis that there is no asymmetry."""
        return pvalue_of(self.z[self.asymmetries.index(0.0)], alternative)

    def interval(self, level: float, alternative: Alternative) -> ConfidenceInterval:
        """Return the asymmetries not rejected at ``1 - level``: the piece that holds the estimate.

        One-sided alternatives give the one-sided interval that matches them.
        """
        check_between(level, "level", 0, 1, closed="neither")
        two_sided = alternative == "two-sided"
        critical = float(-ndtri((1 - level) / 2 if two_sided else 1 - level))
        low = None if alternative == "less" else self._crossing(critical, -1)
        high = None if alternative == "greater" else self._crossing(-critical, 1)
        return ConfidenceInterval(
            low=-1.0 if low is None else low,
            high=1.0 if high is None else high,
            level=level,
            low_is_limit=low is None,
            high_is_limit=high is None,
        )

    def equivalence(self, margin: float) -> Equivalence:
        """Test whether the asymmetry is smaller than `margin` in size (TOST)."""
        check_between(margin, "margin", 0, 1, closed="neither", why="it is a difference of rates")
        above = ndtr(self(margin))  # small when the asymmetry is clearly below the margin
        below = ndtr(-self(-margin))
        return Equivalence(margin=margin, pvalue=float(max(above, below)))

    def _crossing(self, critical: float, direction: int) -> float | None:
        """Return where z first passes `critical` on the way out from the estimate."""
        knots = range(self._root, len(self.z) if direction > 0 else -1, direction)
        for inner, outer in pairwise(knots):
            gap = (self.z[inner] - critical) * direction, (self.z[outer] - critical) * direction
            if gap[1] <= 0:
                return self._solve(critical, inner, outer)
        return None

    def _solve(self, critical: float, inner: int, outer: int) -> float:
        """Return where the interpolated z equals `critical` between two knots."""
        if self.z[outer] == critical:
            return self.asymmetries[outer]
        spline = CubicSpline(self.asymmetries, self.z)
        ends = self.asymmetries[inner], self.asymmetries[outer]
        root = brentq(lambda delta: float(spline(delta)) - critical, *ends, xtol=1e-15, rtol=1e-14)
        return float(root)


def trace_profile(
    z: Callable[[float], float], estimate: float, limits: tuple[float, float]
) -> Profile:
    """Tabulate `z` between `limits`, closely where intervals of level 0.8 to 0.999 end."""
    knots = {0.0: z(0.0), estimate: 0.0}
    for limit in limits:
        end = _where(z, estimate, limit, FAR)
        near_end = _where(z, estimate, end, NEAR)
        for asymmetry in np.linspace(estimate, near_end, NEAR_KNOTS + 1)[1:]:
            knots[float(asymmetry)] = z(float(asymmetry))
        for asymmetry in np.linspace(near_end, end, NEAR_KNOTS // 2 + 1)[1:]:
            knots[float(asymmetry)] = z(float(asymmetry))
        for level in EXACT_LEVELS:
            critical = float(-ndtri((1 - level) / 2))
            crossing = _where(z, estimate, end, critical)
            knots[crossing] = z(crossing) if crossing == end else _signed(critical, limit, estimate)
    return Profile(*_thinned(knots, keep=(0.0, estimate)))


def pvalue_of(z: float, alternative: Alternative) -> float:
    """Return the probability of a standard normal at least as extreme as `z`."""
    tails = {"two-sided": 2 * ndtr(-abs(z)), "greater": ndtr(-z), "less": ndtr(z)}
    return float(tails[alternative])


def _where(z: Callable[[float], float], start: float, limit: float, size: float) -> float:
    """Return where z reaches `size` on the way from `start` to `limit`, else `limit`."""
    if start == limit or abs(z(limit)) <= size:
        return limit
    return float(brentq(lambda delta: abs(z(delta)) - size, start, limit, xtol=1e-15, rtol=1e-14))


def _signed(critical: float, limit: float, estimate: float) -> float:
    return -critical if limit > estimate else critical


def _thinned(
    knots: dict[float, float], keep: tuple[float, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Sort the table and drop knots so close to another that a spline would swing."""
    ordered = sorted(knots)
    spacing = 1e-9 * (ordered[-1] - ordered[0])
    chosen: list[float] = []
    for knot in ordered:
        crowded = [other for other in (*chosen[-1:], *keep) if abs(knot - other) < spacing]
        if knot in keep or not crowded:
            chosen.append(knot)
    return tuple(chosen), tuple(knots[knot] for knot in chosen)
