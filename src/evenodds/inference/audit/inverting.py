"""The interval of one flip rate, from a z that falls as the rate supposed rises."""

from collections.abc import Callable

from scipy.optimize import brentq
from scipy.special import ndtri

# How far inside the scale its ends are tried: on them the fit degenerates.
EDGE = 1e-9


def inverted(z: Callable[[float], float], estimate: float, level: float) -> tuple[float, float]:
    """Return the rates that are not rejected at ``1 - level``."""
    critical = float(-ndtri((1 - level) / 2))
    return _end(z, estimate, EDGE, critical), _end(z, estimate, 1 - EDGE, -critical)


def _end(z: Callable[[float], float], estimate: float, limit: float, critical: float) -> float:
    """Return where z passes its critical value on the way to the limit, or the scale's end."""
    scale_end = 0.0 if limit < 0.5 else 1.0
    if abs(estimate - scale_end) <= EDGE or abs(z(limit)) <= abs(critical):
        return scale_end
    return float(brentq(lambda rate: z(rate) - critical, estimate, limit, xtol=1e-10))
