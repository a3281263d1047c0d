"""Making the table of z: densely where z is cheap, sparingly where each value is a fit."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from evenodds.inference.profile import Profile

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
            knots[crossing] = z(crossing) if crossing == end else _signed(critical, limit, estimate)
    return Profile(*_thinned(knots, keep=(0.0, estimate)), estimate)


class Slanted(Protocol):
    """A value of z with its slope in the hypothesised asymmetry."""

    @property
    def z(self) -> float: ...

    @property
    def slope(self) -> float: ...

    @property
    def usable(self) -> bool: ...


def walk(
    statistic: Callable[[float], Slanted], limits: tuple[float, float], *, sparing: bool = False
) -> Profile:
    """Tabulate a costly z: its root, then strides to either side, led by its slope.

    `sparing` takes fewer and longer strides, for statistics of very many rows, which are
    nearly straight and very costly.
    """
    known: dict[float, Slanted] = {}

    def at(asymmetry: float) -> Slanted:
        if asymmetry not in known:
            known[asymmetry] = statistic(asymmetry)
        return known[asymmetry]

    root = _find_root(at, known, limits, precision=1e-4 if sparing else 1e-8)
    sizes = SPARING_SIZES if sparing else WALKED_SIZES
    for limit in limits:
        _stride(at, root, limit, sizes)
    if not sparing:
        for level in WALKED_LEVELS:
            _pin_down(at, known, root, float(-ndtri((1 - level) / 2)))
    knots = {
        asymmetry: value.z
        for asymmetry, value in known.items()
        if value.usable or asymmetry in (0.0, root)
    }
    low, high = limits
    allowed = (low if low > WIDEST[0] else -1.0, high if high < WIDEST[1] else 1.0)
    return Profile(*_thinned(knots, keep=(0.0, root)), root, allowed)


def find_root(
    statistic: Callable[[float], Slanted], limits: tuple[float, float]
) -> tuple[float, float]:
    """Return where a costly z is zero, and its value there: not zero where it has no root."""
    known: dict[float, Slanted] = {}

    def at(asymmetry: float) -> Slanted:
        if asymmetry not in known:
            known[asymmetry] = statistic(asymmetry)
        return known[asymmetry]

    root = _find_root(at, known, limits, precision=1e-4)
    at(root)
    tried = sorted(place for place, found in known.items() if found.usable or place == root)
    return root, Profile(tuple(tried), tuple(known[place].z for place in tried), root).at_estimate


def _find_root(
    at: Callable[[float], Slanted],
    known: dict[float, Slanted],
    limits: tuple[float, float],
    precision: float,
) -> float:
    """Return where z is zero, by guarded Newton and secant steps.

    Where z has no root, return the asymmetry closest to one: the limit it points to, or the
    last one whose fit is a curve and not a step.
    """
    low, high = limits  # z is positive at low and negative at high, as far as is known
    here, value = 0.0, at(0.0)
    slope = value.slope
    for _ in range(MOST_ROOT_STEPS):
        # At a limit z may still point beyond it; where it points back, the root lies between.
        beyond = (here == limits[0] and value.z < 0) or (here == limits[1] and value.z > 0)
        if abs(value.z) <= precision or beyond:
            return here
        low, high = (here, high) if value.z > 0 else (low, here)
        stride = -value.z / slope if slope < 0 else np.sign(value.z) * LARGEST_STRIDE
        ahead = here + float(np.clip(stride, -LARGEST_STRIDE, LARGEST_STRIDE))
        if not low < ahead < high:
            # Past a limit that was never tried, go there; past a known bracket, halve it.
            tried = low in known and high in known
            ahead = (low + high) / 2 if tried else min(max(ahead, limits[0]), limits[1])
        if high - low < 1e-9:
            break
        following = at(ahead)
        for _ in range(MOST_RETREATS):
            if following.usable:
                break
            ahead = (here + ahead) / 2
            following = at(ahead)
        if not following.usable:
            break
        # After the first step the slope is taken from the last two values.
        change = following.z - value.z
        slope = change / (ahead - here) if change != 0 else slope
        here, value = ahead, following
    usable = [asymmetry for asymmetry, found in known.items() if found.usable or asymmetry == 0]
    return min(usable, key=lambda asymmetry: abs(known[asymmetry].z))


def _stride(
    at: Callable[[float], Slanted], root: float, limit: float, sizes: tuple[float, ...]
) -> None:
    """Walk outwards from the root, aiming each stride at the next size of z."""
    side = 1 if limit > root else -1
    here, value = root, at(root)
    remaining = list(sizes)
    for _ in range(MOST_STRIDES):
        if here == limit or not remaining:
            return
        wanted = (remaining[0] - abs(value.z)) / -value.slope if value.slope < 0 else np.inf
        stride = float(np.clip(wanted, SMALLEST_STRIDE, LARGEST_STRIDE))
        ahead = min(here + stride, limit) if side > 0 else max(here - stride, limit)
        here, value = ahead, at(ahead)
        if not value.usable:
            return  # beyond this nothing is known
        while remaining and abs(value.z) > 0.95 * remaining[0]:
            remaining.pop(0)


def _pin_down(
    at: Callable[[float], Slanted], known: dict[float, Slanted], root: float, critical: float
) -> None:
    """Add a knot where the table now says that z crosses a critical value, on either side."""
    ordered = sorted(knot for knot, found in known.items() if found.usable or knot in (0.0, root))
    profile = Profile(tuple(ordered), tuple(known[knot].z for knot in ordered), root)
    for side in (-1, 1):
        crossing = profile.crossing(-side * critical, side)
        if crossing is not None:
            at(crossing)


def _where(z: Z, start: float, limit: float, size: float) -> float:
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
