"""Every test is one function z(Delta_0); all answers are read off its table.

``z(Delta_0)`` is standard normal when the true asymmetry is ``Delta_0`` and falls
as ``Delta_0`` rises. From it: the test (at 0), the estimate (its root), intervals
(where it stays small), one-sided p-values (its sign), equivalence (at the margins).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from evenodds.validation import check_between

Alternative = Literal["two-sided", "greater", "less"]

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

        Beyond the table it is that of its end, or 0 where the end lies on the wrong side of 0:
        nothing more is known there. What the labels do not allow is rejected.
        """
        low, high = self.allowed
        if asymmetry < low or asymmetry > high:
            return EXCLUDED if asymmetry < low else -EXCLUDED
        if asymmetry in self.asymmetries:
            return self.z[self.asymmetries.index(asymmetry)]
        if asymmetry < self.asymmetries[0]:
            return max(self.z[0], 0.0)
        if asymmetry > self.asymmetries[-1]:
            return min(self.z[-1], 0.0)
        return float(_curve(self.asymmetries, self.z)(asymmetry))

    def outwards(self, asymmetry: float) -> float:
        """Return the z furthest out on the way from the estimate: what an interval goes by."""
        low, high = sorted((asymmetry, self.estimate))
        passed = [z for at, z in zip(self.asymmetries, self.z, strict=True) if low <= at <= high]
        furthest = max if asymmetry < self.estimate else min
        return furthest([self(asymmetry), *passed])

    @property
    def at_estimate(self) -> float:
        """Value of z at the estimate: 0 where it is a root."""
        return self.z[self.asymmetries.index(self.estimate)]

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
        # Small when clearly below the margin.
        above = reference.pvalue(self.outwards(margin), "less")
        below = reference.pvalue(self.outwards(-margin), "greater")
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
        """Return where z first passes `critical` on the way out from the estimate.

        Where it lies beyond it there already, on the way in, or else at the estimate.
        """
        start = self.asymmetries.index(self.estimate)
        outwards = (self.z[start] - critical) * direction > 0
        # A one-sided level below one half, or no root: the end lies on the other side.
        step = direction if outwards else -direction
        for inner, outer in pairwise(range(start, len(self.z) if step > 0 else -1, step)):
            if ((self.z[outer] - critical) * direction > 0) != outwards:
                return self._solve(critical, inner, outer)
        return None if outwards else self.estimate

    def _solve(self, critical: float, inner: int, outer: int) -> float:
        """Return where the interpolated z equals `critical` between two knots."""
        if self.z[outer] == critical:
            return self.asymmetries[outer]
        between = _curve(self.asymmetries, self.z)
        ends = self.asymmetries[inner], self.asymmetries[outer]
        root = brentq(lambda delta: float(between(delta)) - critical, *ends, xtol=1e-15, rtol=1e-14)
        return float(root)


@lru_cache(maxsize=4)
def _curve(asymmetries: tuple[float, ...], z: tuple[float, ...]) -> PchipInterpolator:
    """Return z between the knots; a table is read many times."""
    return PchipInterpolator(asymmetries, z)


def pvalue_of(z: float, alternative: Alternative) -> float:
    """Return the probability of a standard normal at least as extreme as `z`."""
    tails = {"two-sided": 2 * ndtr(-abs(z)), "greater": ndtr(-z), "less": ndtr(z)}
    return float(tails[alternative])


Z = Callable[[float], float]

# Confidence levels whose interval ends are knots of the table, and margins likewise.
EXACT_LEVELS = (0.8, 0.9, 0.95, 0.975, 0.98, 0.99, 0.995, 0.999)
EXACT_MARGINS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2)
# The table stops where z is this large: p-values beyond it are zero for any purpose.
FAR = 40.0
# A cheap z has this many knots on either side, up to where it reaches this size.
NEAR = 4.5
NEAR_KNOTS = 48
# A costly z has knots near these sizes, and exact ones at the most usual levels.
WALKED_SIZES = (0.6, 1.2, 1.6, 1.9, 2.25, 2.6, 2.9, 3.4, 5.0)
WALKED_LEVELS = (0.9, 0.95, 0.99)
SPARING_SIZES = (1.4, 2.4, 5.0)
# Asymmetries that can be tried at all; limits inside of them are set by the labels.
WIDEST = (-0.97, 0.97)
SMALLEST_STRIDE = 1e-5
LARGEST_STRIDE = 0.15
MOST_STRIDES = 20
MOST_ROOT_STEPS = 25
# Asymmetries that differ by less are one.
SAME_PLACE = 1e-9
# How often a stride into the steps is halved before the search is given up.
MOST_RETREATS = 4


def tabulate(z: Z, estimate: float, limits: tuple[float, float]) -> Profile:
    """Tabulate `z` between `limits`, closely where intervals of level 0.8 to 0.999 end."""
    knots = {0.0: z(0.0), estimate: 0.0}
    for margin in (*EXACT_MARGINS, *(-margin for margin in EXACT_MARGINS)):
        knots[margin] = z(margin)
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
            signed = -critical if limit > estimate else critical
            knots[crossing] = z(crossing) if crossing == end else signed
    return Profile(*_thinned(knots, keep=(0.0, estimate)), estimate)


def trace_line(z: Z, estimate: float) -> Profile:
    """Tabulate a z that is nearly a straight line, over all asymmetries that labels can have."""
    # At an asymmetry of 1 no variance may be left; stop a hair before it.
    end = 1 - 1e-9
    return tabulate(z, min(max(estimate, -0.999 * end), 0.999 * end), (-end, end))


class Slanted(Protocol):
    """A value of z with its slope in the hypothesised asymmetry."""

    @property
    def z(self) -> float: ...

    @property
    def slope(self) -> float: ...

    @property
    def usable(self) -> bool: ...


class Walked:
    """A costly statistic that keeps what it has worked out."""

    def __init__(self, statistic: Callable[[float], Slanted]) -> None:
        self.statistic = statistic
        self.known: dict[float, Slanted] = {}

    def at(self, asymmetry: float) -> Slanted:
        """Return the statistic at a hypothesised asymmetry."""
        if asymmetry not in self.known:
            self.known[asymmetry] = self.statistic(asymmetry)
        return self.known[asymmetry]

    def usable(self, *kept: float) -> dict[float, float]:
        """Return z where it is evidence, and where it is to be kept in any case, in order."""
        known = sorted(self.known.items())
        return {place: found.z for place, found in known if found.usable or place in kept}


def walk(
    statistic: Callable[[float], Slanted], limits: tuple[float, float], *, sparing: bool = False
) -> Profile:
    """Tabulate a costly z: its root, then strides to either side, led by its slope.

    `sparing` takes fewer and longer strides, for statistics of very many rows, which are
    nearly straight and very costly.
    """
    walked = Walked(statistic)
    root = _find_root(walked, limits, precision=1e-4 if sparing else 1e-8)
    sizes = SPARING_SIZES if sparing else WALKED_SIZES
    for limit in limits:
        _stride(walked, root, limit, sizes)
    if not sparing:
        for level in WALKED_LEVELS:
            _pin_down(walked, root, float(-ndtri((1 - level) / 2)))
    knots = walked.usable(0.0, root)
    low, high = limits
    allowed = (low if low > WIDEST[0] else -1.0, high if high < WIDEST[1] else 1.0)
    return Profile(*_thinned(knots, keep=(0.0, root)), root, allowed)


def find_root(
    statistic: Callable[[float], Slanted], limits: tuple[float, float]
) -> tuple[float, float]:
    """Return where a costly z is zero, and its value there: not zero where it has no root."""
    walked = Walked(statistic)
    root = _find_root(walked, limits, precision=1e-4)
    return root, walked.at(root).z


def _find_root(walked: Walked, limits: tuple[float, float], precision: float) -> float:
    """Return where z is zero, by guarded Newton and secant steps.

    Where z has no root, return the asymmetry closest to one: the limit it points to, or the
    last one whose fit is a curve and not a step.
    """
    low, high = limits  # z is positive at low and negative at high, as far as is known
    here, value = 0.0, walked.at(0.0)
    slope = value.slope
    for _ in range(MOST_ROOT_STEPS):
        # At a limit z may still point beyond it; where it points back, the root lies between.
        beyond = (here == limits[0] and value.z < 0) or (here == limits[1] and value.z > 0)
        if abs(value.z) <= precision or beyond:
            return here
        low, high = (here, high) if value.z > 0 else (low, here)
        stride = -value.z / slope if slope < 0 else np.sign(value.z) * LARGEST_STRIDE
        ahead = here + float(np.clip(stride, -LARGEST_STRIDE, LARGEST_STRIDE))
        # A limit is a share of labels, known up to rounding.
        ahead = next((limit for limit in limits if abs(ahead - limit) < SAME_PLACE), ahead)
        if not low < ahead < high:
            # Past a limit that was never tried, go there; past a known bracket, halve it.
            tried = low in walked.known and high in walked.known
            ahead = (low + high) / 2 if tried else min(max(ahead, limits[0]), limits[1])
        if high - low < SAME_PLACE:
            break
        following = walked.at(ahead)
        for _ in range(MOST_RETREATS):
            if following.usable:
                break
            ahead = (here + ahead) / 2
            following = walked.at(ahead)
        if not following.usable:
            break
        # After the first step the slope is taken from the last two values.
        change = following.z - value.z
        slope = change / (ahead - here) if change != 0 else slope
        here, value = ahead, following
    usable = walked.usable(0.0)
    return min(usable, key=lambda asymmetry: abs(usable[asymmetry]))


def _stride(walked: Walked, root: float, limit: float, sizes: tuple[float, ...]) -> None:
    """Walk outwards from the root, aiming each stride at the next size of z."""
    side = 1 if limit > root else -1
    here, value = root, walked.at(root)
    remaining = list(sizes)
    for _ in range(MOST_STRIDES):
        if here == limit or not remaining:
            return
        wanted = (remaining[0] - abs(value.z)) / -value.slope if value.slope < 0 else np.inf
        stride = float(np.clip(wanted, SMALLEST_STRIDE, LARGEST_STRIDE))
        ahead = min(here + stride, limit) if side > 0 else max(here - stride, limit)
        here, value = ahead, walked.at(ahead)
        if not value.usable:
            return  # beyond this nothing is known
        while remaining and abs(value.z) > 0.95 * remaining[0]:
            remaining.pop(0)


def _pin_down(walked: Walked, root: float, critical: float) -> None:
    """Add a knot where the table now says that z crosses a critical value, on either side."""
    knots = walked.usable(0.0, root)
    profile = Profile(tuple(knots), tuple(knots.values()), root)
    for side in (-1, 1):
        crossing = profile.crossing(-side * critical, side)
        if crossing is not None:
            walked.at(crossing)


def _where(z: Z, start: float, limit: float, size: float) -> float:
    """Return where z reaches `size` on the way from `start` to `limit`, else `limit`."""
    if start == limit or abs(z(limit)) <= size:
        return limit
    return float(brentq(lambda delta: abs(z(delta)) - size, start, limit, xtol=1e-15, rtol=1e-14))


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
