r"""How far z must lie when a test is looked at several times while it grows.

The chance of a false rejection is spent over the looks, little at first (the spending function of
Lan and DeMets 1983 that is like O'Brien and Fleming's): by the time a share t of the planned rows
is there, a one-sided test of level a has spent :math:`2 - 2\Phi(z_{a/2}/\sqrt t)`. z at two looks
has correlation :math:`\sqrt{t_1/t_2}`, so that each critical value follows from those before it
(theory page, "Looks").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from evenodds.errors import InputError
from evenodds.inference.profile import Alternative, Reference
from evenodds.validation import FloatArray, check_whole

FEWEST_LOOKS, MOST_LOOKS = 2, 5
# Nodes of the integrals, and how far into a side without a bound they go, in deviations.
NODES, REACH = 96, 9.0
# p-values are no smaller than this, and no critical value is larger.
SMALLEST, LARGEST_Z = 1e-12, 38.0


def read_looks(looks: Any, n_rows: int) -> tuple[int, ...]:
    """Return the planned sizes, refusing a look that was not planned."""
    if isinstance(looks, str) or not isinstance(looks, Sequence | np.ndarray):
        raise InputError(
            "looks must be the planned numbers of audited rows, one for each look, such as "
            "(50, 100, 150, 200)."
        )
    sizes = tuple(check_whole(size, "looks", at_least=1) for size in looks)
    rising = all(one < other for one, other in pairwise(sizes))
    if not FEWEST_LOOKS <= len(sizes) <= MOST_LOOKS or not rising:
        raise InputError(
            f"looks holds {', '.join(map(str, sizes)) or 'nothing'} but needs {FEWEST_LOOKS} to "
            f"{MOST_LOOKS} rising numbers of audited rows."
        )
    if n_rows not in sizes:
        ahead = [size for size in sizes if size > n_rows]
        then = f"the next is at {ahead[0]:,}" if ahead else f"the last was at {sizes[-1]:,}"
        raise InputError(
            f"there are {n_rows:,} audited rows, and no look was planned then: {then}. Whoever "
            "looks whenever they like rejects too often."
        )
    return sizes


def look_reached(looks: tuple[int, ...], n_rows: int) -> int:
    """Return the size of the last planned look that so many rows have reached.

    Rows after it wait for the next: what they say is not read in between.
    """
    reached = [size for size in looks if size <= n_rows]
    if not reached:
        raise InputError(
            f"no look is due until case {looks[0]:,}, and {n_rows:,} are answered: looks were "
            f"planned at {', '.join(map(str, looks))}."
        )
    return reached[-1]


def look_line(looks: tuple[int, ...], n_rows: int) -> str:
    """Say how far it is to the next planned look, and nothing of what a look would show."""
    so_far = f"{n_rows:,} of {looks[-1]:,} cases"
    if n_rows in looks:
        return f"{so_far}: the {_which(looks, looks.index(n_rows))} look is due."
    ahead = next(place for place, size in enumerate(looks) if size > n_rows)
    return f"{so_far}; the {_which(looks, ahead)} look is at {looks[ahead]:,}."


def _which(looks: tuple[int, ...], place: int) -> str:
    """Name a look by its place."""
    return "last" if place == len(looks) - 1 else ("first", "second", "third", "fourth")[place]


@dataclass(frozen=True, slots=True)
class AfterLooks(Reference):
    """What z is compared with at the last of several looks, none of which has rejected so far."""

    shares: tuple[float, ...] = ()  # of the planned rows, at each look up to this one

    def pvalue(self, z: float, alternative: Alternative) -> float:
        """Return the smallest level at which z would reject at this look; nan where z is."""
        if math.isnan(z):
            return z
        towards = -z if alternative == "less" else z
        return looked_at_pvalue(self.shares, towards, 2 if alternative == "two-sided" else 1)

    def critical(self, significance: float, alternative: Alternative) -> tuple[float, float]:
        """Return the values beyond which z rejects at this look, above and below."""
        edge = critical_value(self.shares, significance, 2 if alternative == "two-sided" else 1)
        return edge, -edge


def critical_value(shares: tuple[float, ...], significance: float, sides: int) -> float:
    """Return what z must exceed at the last of some looks, at these shares of the planned rows."""
    return _critical_values(shares, significance / sides, sides)[-1]


def looked_at_pvalue(shares: tuple[float, ...], z: float, sides: int) -> float:
    """Return the smallest level at which z would reject at the last of these looks."""
    reached = abs(z) if sides == 2 else z

    def beyond(log_level: float) -> float:
        return critical_value(shares, math.exp(log_level), sides) - reached

    low, high = math.log(SMALLEST), math.log(1 - 1e-9)
    if beyond(high) >= 0:
        return 1.0
    return SMALLEST if beyond(low) <= 0 else math.exp(brentq(beyond, low, high, xtol=1e-10))


def planned_looks(
    n_rows: int, n_looks: int, significance: float, sides: int, power: float
) -> tuple[int, ...]:
    """Return sizes of equal looks that find together what one look at `n_rows` finds."""
    check_whole(n_looks, "n_looks", at_least=FEWEST_LOOKS, at_most=MOST_LOOKS)
    shares = tuple((k + 1) / n_looks for k in range(n_looks))
    edges = _critical_values(shares, significance / sides, sides)
    one = float(ndtri(power) - ndtri(significance / sides))  # what z must be on average
    several = brentq(lambda drift: _found(shares, edges, drift, sides) - power, one / 2, 2 * one)
    most = math.ceil(n_rows * (several / one) ** 2)
    return tuple(math.ceil(most * share - 1e-9) for share in shares)


def _found(shares: tuple[float, ...], edges: tuple[float, ...], drift: float, sides: int) -> float:
    """Return the chance that any look rejects, where z has mean `drift` at the end."""
    places, heights, before = np.zeros(1), np.ones(1), 0.0
    for share, edge in zip(shares, edges, strict=True):
        step, reach = share - before, edge * math.sqrt(share)
        low = max(-reach if sides == 2 else -REACH, -REACH)
        places = places + drift * step
        places, heights = _moved_on(places, heights, math.sqrt(step), (low, min(reach, REACH)))
        before = share
    return 1 - float(heights.sum())


@lru_cache(maxsize=512)
def _critical_values(shares: tuple[float, ...], level: float, sides: int) -> tuple[float, ...]:
    """Return what z must exceed at every look, for a level of each side."""
    spent = 2 * ndtr(ndtri(level / 2) / np.sqrt(np.array(shares)))
    found: list[float] = []
    places, heights = np.zeros(1), np.ones(1)  # where the sum is if no look has rejected
    for look, share in enumerate(shares):
        step = math.sqrt(share - (shares[look - 1] if look else 0.0))
        to_spend = float(spent[look] - (spent[look - 1] if look else 0.0))
        sums = places, heights, step
        edge = _edge(sums, to_spend, math.sqrt(share))
        found.append(edge / math.sqrt(share))
        low = -edge if sides == 2 else -REACH
        places, heights = _moved_on(*sums, (max(low, -REACH), min(edge, REACH)))
    return tuple(found)


def _edge(sums: tuple[FloatArray, FloatArray, float], to_spend: float, deviation: float) -> float:
    """Return the sum that is passed with a given chance after the next step."""
    places, heights, step = sums

    def left_over(edge: float) -> float:
        return float(heights @ ndtr((places - edge) / step)) - to_spend

    most = LARGEST_Z * deviation
    if left_over(most) >= 0:  # so little is there to spend
        return most
    return float(brentq(left_over, -REACH, most, xtol=1e-12))


def _moved_on(
    places: FloatArray, heights: FloatArray, step: float, within: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Return where the sum is after a step, as nodes and weights, kept within two ends."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = (within[1] - within[0]) / 2
    ahead = within[0] + half * (nodes + 1)
    gaps = (ahead[:, None] - places) / step
    density = np.exp(-(gaps**2) / 2) @ heights / (step * math.sqrt(2 * math.pi))
    return ahead, half * weights * density
