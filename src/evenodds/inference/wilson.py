"""An interval for a share."""

import math

from scipy.special import ndtri


def wilson_interval(successes: float, trials: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for a share (Wilson 1927, J. Am. Stat. Assoc. 22, 209-212)."""
    z = float(-ndtri((1 - level) / 2))
    share = successes / trials
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    spread = math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    half_width = z / (1 + z**2 / trials) * spread
    return max(centre - half_width, 0.0), min(centre + half_width, 1.0)
