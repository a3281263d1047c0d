"""Every test is one function z(Delta_0); all answers are read off its table.

``z(Delta_0)`` is standard normal when the true asymmetry is ``Delta_0`` and falls
as ``Delta_0`` rises. From it: the test (at 0), the estimate (its root), intervals
(where it stays small), one-sided p-values (its sign), equivalence (at the margins).
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from evenodds.validation import check_between

Alternative = Literal["two-sided", "greater", "less"]

# A z of this size is beyond any level in use.
LARGE = 4.5
HAIR = 1e-12
# As sure as the labels are of the asymmetries that they do not allow.
EXCLUDED = 3.5


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
class Reference:
    """What z is compared with: a standard normal, or sorted draws under uniform noise."""

    draws: tuple[float, ...] = ()

    def pvalue(self, z: float, alternative: Alternative) -> float:
        """Return the probability of a value at least as extreme as `z`; nan where z is."""
        if not self.draws or math.isnan(z):
            return pvalue_of(z, alternative)
        drawn = np.array(self.draws)
        extreme = {
            "two-sided": np.abs(drawn) >= abs(z),
            "greater": drawn >= z,
            "less": drawn <= z,
        }[alternative]
        return float((1 + extreme.sum()) / (len(drawn) + 1))

    def critical(self, significance: float, alternative: Alternative) -> tuple[float, float]:
        """Return the values beyond which z rejects, above and below."""
        if not self.draws:
            tail = significance / 2 if alternative == "two-sided" else significance
            return float(-ndtri(tail)), float(ndtri(tail))
        # Rejection means (1 + number at least as extreme) / (draws + 1) < significance.
        drawn = np.sort(np.abs(self.draws)) if alternative == "two-sided" else np.array(self.draws)
        # Rounded: 1 - 0.95 is a hair more than 0.05.
        allowed = math.ceil(round(significance * (len(drawn) + 1), 9)) - 2
        if allowed < 0:
            return math.inf, -math.inf
        if alternative == "two-sided":
            edge = float(drawn[len(drawn) - 1 - allowed])
            return edge, -edge
        return float(drawn[len(drawn) - 1 - allowed]), float(drawn[allowed])


@dataclass(frozen=True, slots=True)
class Profile:
    """A table of z against Delta_0, with 0 and the estimate among its knots.

    The estimate is where z is zero; where it never is, the end of the scale it points to.
    """

    asymmetries: tuple[float, ...]
    z: tuple[float, ...]
    estimate: float
    allowed: tuple[float, float] = (-1.0, 1.0)  # the asymmetries that labels leave possible

    @classmethod
    def unknown(cls) -> "Profile":
        """Return the table of a test whose numbers are withheld."""
        return cls((), (), math.nan)

    def __call__(self, asymmetry: float) -> float:
        """Return z between the knots without overshooting them.

        Beyond the table it is that of its end where that is large already, else 0: nothing is
        known there. What the labels do not allow is rejected.
        """
        low, high = self.allowed
        if asymmetry < low or asymmetry > high:
            return EXCLUDED if asymmetry < low else -EXCLUDED
        if asymmetry <= self.asymmetries[0] or asymmetry >= self.asymmetries[-1]:
            end = 0 if asymmetry <= self.asymmetries[0] else -1
            known = asymmetry == self.asymmetries[end] or abs(self.z[end]) >= LARGE
            return self.z[end] if known else 0.0
        return float(PchipInterpolator(self.asymmetries, self.z)(asymmetry))

    @property
    def at_estimate(self) -> float:
        """Value of z at the estimate: 0 where it is a root, or z jumps over 0 beside it."""
        place = self.asymmetries.index(self.estimate)
        here, last = self.z[place], len(self.z) - 1
        beside = self.z[min(place + 1, last)] if here > 0 else self.z[max(place - 1, 0)]
        return 0.0 if here * beside < 0 else here

    @property
    def at_zero(self) -> float:
        """Value of z at no asymmetry: the test itself."""
        return self.z[self.asymmetries.index(0.0)]

    def interval(
        self, level: float, alternative: Alternative, reference: Reference
    ) -> ConfidenceInterval:
        """Return the asymmetries not rejected at ``1 - level``: the piece that holds the estimate.

        One-sided alternatives give the one-sided interval that matches them.
        """
        check_between(level, "level", 0, 1, closed="neither")
        above, below = reference.critical(1 - level, alternative)
        low = -1.0 if alternative == "less" else self._end(above, -1)
        high = 1.0 if alternative == "greater" else self._end(below, 1)
        kept_low, kept_high = self._agreeing_with_the_test(low, high, above, below)
        return ConfidenceInterval(
            low=kept_low,
            high=kept_high,
            level=level,
            low_is_limit=low == -1,
            high_is_limit=high == 1,
        )

    def _agreeing_with_the_test(
        self, low: float, high: float, above: float, below: float
    ) -> tuple[float, float]:
        """Return the interval with 0 inside exactly when 0 is not rejected.

        The piece around the estimate may miss it where z is not monotone, or touch it where z
        has no root.
        """
        if self.at_zero > above and low > -1:
            return max(low, HAIR), max(high, HAIR)
        if self.at_zero < below and high < 1:
            return min(low, -HAIR), min(high, -HAIR)
        if below <= self.at_zero <= above:
            return min(low, 0.0), max(high, 0.0)
        return low, high

    def equivalence(self, margin: float, reference: Reference) -> Equivalence:
        """Test whether the asymmetry is smaller than `margin` in size (TOST)."""
        check_between(margin, "margin", 0, 1, closed="neither", why="it is a difference of rates")
        above = reference.pvalue(self(margin), "less")  # small when clearly below the margin
        below = reference.pvalue(self(-margin), "greater")
        return Equivalence(margin=margin, pvalue=max(above, below))

    def half_width(self, above: float, below: float) -> float:
        """Return half the distance between where z passes two values; 1 where it does not."""
        low, high = self.crossing(above, -1), self.crossing(below, 1)
        return 1.0 if low is None or high is None else (high - low) / 2

    def _end(self, critical: float, direction: int) -> float:
        """Return where z passes `critical`, or else the last asymmetry that labels allow."""
        found = self.crossing(critical, direction)
        return self.allowed[0 if direction < 0 else 1] if found is None else found

    def crossing(self, critical: float, direction: int) -> float | None:
        """Return where z first passes `critical` on the way out from the estimate."""
        start = self.asymmetries.index(self.estimate)
        if (self.z[start] - critical) * direction <= 0:
            # A one-sided level below one half, or no root: the end lies on the other side.
            return self._crossing_back(critical, start, direction)
        knots = range(start, len(self.z) if direction > 0 else -1, direction)
        for inner, outer in pairwise(knots):
            if (self.z[outer] - critical) * direction <= 0:
                return self._solve(critical, inner, outer)
        return None

    def _crossing_back(self, critical: float, start: int, direction: int) -> float:
        """Return where z passes `critical` on the inner side of the estimate, or the estimate."""
        for inner, outer in pairwise(
            range(start, -1 if direction > 0 else len(self.z), -direction)
        ):
            if (self.z[outer] - critical) * direction > 0:
                return self._solve(critical, inner, outer)
        return self.estimate

    def _solve(self, critical: float, inner: int, outer: int) -> float:
        """Return where the interpolated z equals `critical` between two knots."""
        if self.z[outer] == critical:
            return self.asymmetries[outer]
        between = PchipInterpolator(self.asymmetries, self.z)
        ends = self.asymmetries[inner], self.asymmetries[outer]
        root = brentq(lambda delta: float(between(delta)) - critical, *ends, xtol=1e-15, rtol=1e-14)
        return float(root)


def pvalue_of(z: float, alternative: Alternative) -> float:
    """Return the probability of a standard normal at least as extreme as `z`."""
    tails = {"two-sided": 2 * ndtr(-abs(z)), "greater": ndtr(-z), "less": ndtr(z)}
    return float(tails[alternative])
