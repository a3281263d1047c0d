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
    room for its own scatter, on average over both directions. None if nowhere.
    """
    wanted = check_between(power, "power", 0, 1, closed="neither")
    above, below = result.reference.critical(significance, result.alternative)
    reach = result.profile.half_width(max(above, -below) + float(ndtri(wanted)))
    return None if reach is None or reach >= 1 else reach
