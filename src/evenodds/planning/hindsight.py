"""After the test: what asymmetry could it have found?"""

from scipy.special import ndtri

from evenodds.inference.results import AsymmetryTestResult
from evenodds.validation import check_between


def could_have_found(
    result: AsymmetryTestResult, *, power: float = 0.8, significance: float = 0.05
) -> float | None:
    """Return the size of asymmetry that a test like this one finds with this power.

    Where `detectable_asymmetry` works from a world, this reads a finished test: how far the
    hypothesised asymmetry must be from the estimate for z to lie beyond its critical value with
    room for its own scatter. Of a two-sided test, in the direction that is harder to find. None
    if nowhere.
    """
    wanted = check_between(power, "power", 0, 1, closed="neither")
    above, below = result.reference.critical(significance, result.alternative)
    room = float(ndtri(wanted))
    profile = result.profile
    # Labels that lean to a positive asymmetry lift z above what lower asymmetries would give.
    ends = {
        "greater": (profile.crossing(above + room, -1),),
        "less": (profile.crossing(below - room, 1),),
        "two-sided": (profile.crossing(above + room, -1), profile.crossing(below - room, 1)),
    }[result.alternative]
    reaches = [1.0 if end is None else abs(end - profile.estimate) for end in ends]
    return None if max(reaches) >= 1 else max(reaches)
