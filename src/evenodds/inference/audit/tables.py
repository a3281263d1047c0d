"""The table of z of an audit: by the score, exactly in small audits, or by given class."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

from scipy.optimize import brentq
from scipy.special import ndtri

from evenodds.inference.audit.by_given import AuditByGiven
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.exact import exact_z
from evenodds.inference.audit.exact_given import given_z
from evenodds.inference.audit.groups import Groupings
from evenodds.inference.audit.two_proportions import flips_z
from evenodds.inference.profile import Profile
from evenodds.inference.tracing import EXACT_MARGINS, tabulate, walk

# Sizes of the score near which the exact z is computed, on either side of the estimate.
LADDER = (0.3, 0.7, 1.1, 1.4, 1.7, 2.0, 2.3, 2.6, 3.0, 3.5, 4.2, 5.0)
GIVEN_LADDER = (0.7, 1.4, 2.0, 2.6, 3.5)
# Confidence levels whose ends are found to this width of the scale.
PINNED_LEVELS = (0.9, 0.95, 0.99)
PINNED_WIDTH = 2e-4
GIVEN_PINNED_WIDTH = 1e-3
LIMITS = (-1.0, 1.0)
# The rates of an audit by given class degenerate at the very ends.
GIVEN_LIMITS = (-0.999, 0.999)


def score_table(flips: Flips, groupings: Groupings = ()) -> Profile:
    """Return the score's z for all asymmetries."""
    estimate = flips.beta - flips.alpha
    return tabulate(lambda value: flips_z(flips, value, groupings), estimate, LIMITS)


def given_table(audit: AuditByGiven) -> Profile:
    """Return the z of an audit by given class for all asymmetries."""
    return walk(audit.at, GIVEN_LIMITS)


def given_root_table(audit: AuditByGiven) -> Profile:
    """Return the root of the likelihood ratio of an audit by given class."""
    return walk(audit.root_at, GIVEN_LIMITS)


def given_exact_table(audit: AuditByGiven, at_zero: float) -> Profile:
    """Return the z of the exact p-values of an audit by given class."""
    rough = given_root_table(audit)
    estimate = audit.seen.beta - audit.seen.alpha

    def ladder(limit: float) -> list[float]:
        side = 1 if limit > estimate else -1
        found = (rough.crossing(-side * size, side) for size in GIVEN_LADDER)
        rungs = [rung for rung in found if rung is not None and side * (rung - estimate) > 0]
        return sorted({*rungs, limit}, reverse=side < 0)

    z = partial(given_z, audit)
    return _exact_table(z, estimate, at_zero, ladder, width=GIVEN_PINNED_WIDTH)


def exact_table(flips: Flips, at_zero: float) -> Profile:
    """Return the z of the exact p-values; `at_zero` is that of the test itself."""
    estimate = flips.beta - flips.alpha
    ladder = partial(_ladder, flips, estimate)
    return _exact_table(partial(exact_z, flips), estimate, at_zero, ladder)


def _exact_table(
    exact: Callable[[float], float],
    estimate: float,
    at_zero: float,
    ladder: Callable[[float], list[float]],
    width: float = PINNED_WIDTH,
) -> Profile:
    """Tabulate an exact z on the rungs of a ladder, closely where usual intervals end."""
    knots = {0.0: at_zero}
    knots.setdefault(estimate, 0.0)

    def z(asymmetry: float) -> float:
        if asymmetry not in knots:
            knots[asymmetry] = exact(asymmetry)
        return knots[asymmetry]

    for margin in EXACT_MARGINS:
        z(margin)
        z(-margin)
    for limit in LIMITS:
        rungs = [estimate, *ladder(limit)]
        for rung in rungs:
            z(rung)
        for level in PINNED_LEVELS:
            _pin_down(z, rungs, float(-ndtri((1 - level) / 2)), width)
    ordered = tuple(sorted(knots))
    return Profile(ordered, tuple(knots[knot] for knot in ordered), estimate)


def _ladder(flips: Flips, estimate: float, limit: float) -> list[float]:
    """Return where the score reaches the sizes of the ladder, and the limit."""
    sizes = [size for size in LADDER if size < abs(flips_z(flips, limit))]
    rungs = [
        float(brentq(lambda x, size=size: abs(flips_z(flips, x)) - size, estimate, limit))
        for size in sizes
    ]
    return [*rungs, limit] if limit != estimate else rungs


def _pin_down(
    z: Callable[[float], float], rungs: list[float], critical: float, width: float
) -> None:
    """Halve between the rungs where z first passes a critical value."""
    crossed = next((ends for ends in pairwise(rungs) if abs(z(ends[1])) > critical), None)
    if crossed is None:
        return
    inner, outer = crossed
    while abs(outer - inner) > width:
        middle = (inner + outer) / 2
        inner, outer = (inner, middle) if abs(z(middle)) > critical else (middle, outer)
