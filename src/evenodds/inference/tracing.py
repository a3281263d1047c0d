"""Making the table of z: densely where z is cheap, sparingly where each value is a fit."""

from collections.abc import Callable

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
WALKED_SIZES = (0.6, 1.2, 1.6, 1.9, 2.25, 2.6, 2.9, 3.4)
WALKED_LEVELS = (0.9, 0.95, 0.99)
SMALLEST_STRIDE = 1e-4
LARGEST_STRIDE = 0.15
MOST_STRIDES = 16


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


def walk(z: Z, limits: tuple[float, float]) -> Profile:
    """Tabulate a costly `z`: its root, then strides of about half a unit to either side."""
    knots: dict[float, float] = {}

    def known(asymmetry: float) -> float:
        if asymmetry not in knots:
            knots[asymmetry] = z(asymmetry)
        return knots[asymmetry]

    root = _find_root(known, limits)
    for limit in limits:
        _stride(known, knots, root, limit)
    for level in WALKED_LEVELS:
        _pin_down(known, knots, root, float(-ndtri((1 - level) / 2)))
    return Profile(*_thinned(knots, keep=(0.0, root)), root)


def _find_root(z: Z, limits: tuple[float, float]) -> float:
    """Return where z is zero, or the limit it points to if it has no zero."""
    low, high = limits
    here, value = 0.0, z(0.0)
    stride = 0.05
    while value != 0:
        # z falls as the asymmetry rises, so its sign points to the root.
        ahead = here + stride if value > 0 else here - stride
        ahead = min(max(ahead, low), high)
        next_value = z(ahead)
        if next_value * value <= 0:
            return float(brentq(z, min(here, ahead), max(here, ahead), xtol=1e-10, rtol=1e-10))
        if ahead in limits:
            return ahead
        here, value, stride = ahead, next_value, 1.6 * stride
    return here


def _stride(z: Z, knots: dict[float, float], root: float, limit: float) -> None:
    """Walk outwards from the root, aiming each stride at the next size of z."""
    side = 1 if limit > root else -1
    here, value = root, z(root)
    sizes = iter(WALKED_SIZES)
    aim = next(sizes)
    slope = _slope_near(knots, root)
    for _ in range(MOST_STRIDES):
        if here == limit:
            return
        wanted = (aim - abs(value)) / slope if slope > 0 else LARGEST_STRIDE
        stride = float(np.clip(wanted, SMALLEST_STRIDE, LARGEST_STRIDE))
        ahead = here + side * stride
        ahead = min(ahead, limit) if side > 0 else max(ahead, limit)
        next_value = z(ahead)
        slope = (abs(next_value) - abs(value)) / abs(ahead - here)
        here, value = ahead, next_value
        while abs(value) > 0.97 * aim:
            following = next(sizes, None)
            if following is None:
                return
            aim = following


def _slope_near(knots: dict[float, float], root: float) -> float:
    """Return how fast z changes at the root, from the nearest other knot."""
    others = [knot for knot in knots if abs(knot - root) > 1e-6]
    if not others:
        return 0.0
    nearest = min(others, key=lambda knot: abs(knot - root))
    return abs(knots[nearest] - knots[root]) / abs(nearest - root)


def _pin_down(z: Z, knots: dict[float, float], root: float, critical: float) -> None:
    """Add a knot where the table now says that z crosses a critical value, on either side."""
    ordered = sorted(knots)
    profile = Profile(tuple(ordered), tuple(knots[knot] for knot in ordered), root)
    for side in (-1, 1):
        crossing = profile.crossing(-side * critical, side)
        if crossing is not None:
            z(crossing)


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
