"""What rows of one item, or of one annotator, add to the variance of an audit.

Rows that share an item or an annotator tend to be flipped together. The variance of the flip
rates is then that of independent rows plus what pairs of rows in one group add (theory page,
"Rows in groups"): for each true class, rate (1 - rate) times the correlation of such pairs
times how many there are. Since the correlation is estimated, from few groups badly, the
statistic is read off a t distribution.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scipy.special import ndtri, stdtr, stdtrit

Quantity = Literal["asymmetry", "alpha", "beta"]

MOST_DEGREES = 1e6
SMALLEST = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """How rows of one group go together.

    Attributes
    ----------
    n_groups, largest : int
        Groups, and rows of the largest.
    flipped : tuple of int
        Groups in which a true positive is flipped, and in which a true negative is; or is not,
        if these are fewer.
    pairs : tuple of float
        Pairs of rows in one group: both truly positive, both truly negative, one of either;
        as shares of all such pairs of rows.
    correlations : tuple of float
        Of being flipped, between the rows of such a pair.
    degrees : tuple of float
        Degrees of freedom of the asymmetry, of alpha and of beta.
    """

    n_groups: int
    largest: int
    flipped: tuple[int, int]
    pairs: tuple[float, float, float]
    correlations: tuple[float, float, float]
    degrees: tuple[float, float, float]

    def added(self, alpha: float, beta: float, quantity: Quantity) -> float:
        """Return what pairs of rows in one group add to a variance, at these flip rates."""
        spread = max(alpha * (1 - alpha), 0.0), max(beta * (1 - beta), 0.0)
        own = [spread[k] * self.pairs[k] * self.correlations[k] for k in (0, 1)]
        if quantity != "asymmetry":
            return own[0 if quantity == "alpha" else 1]
        between = math.sqrt(spread[0] * spread[1]) * self.pairs[2] * self.correlations[2]
        return max(sum(own) - 2 * between, 0.0)


Groupings = tuple[Grouping, ...]


def restored(values: Sequence[dict[str, Any]]) -> Groupings:
    """Rebuild groupings from plain values."""
    several = ("flipped", "pairs", "correlations", "degrees")
    return tuple(
        Grouping(**{**one, **{name: tuple(one[name]) for name in several}}) for one in values
    )


def added_variance(
    groupings: Groupings, alpha: float, beta: float, quantity: Quantity = "asymmetry"
) -> float:
    """Return what all groupings add; a pair that shares two of them counts twice."""
    return sum(one.added(alpha, beta, quantity) for one in groupings)


def degrees_of_freedom(groupings: Groupings, quantity: Quantity = "asymmetry") -> float:
    """Return the fewest degrees of freedom of any grouping."""
    place = ("asymmetry", "alpha", "beta").index(quantity)
    return min((one.degrees[place] for one in groupings), default=MOST_DEGREES)


def as_normal(statistic: float, degrees: float) -> float:
    """Return the normal deviate whose p-value is that of a t statistic."""
    tail = max(float(stdtr(degrees, -abs(statistic))), SMALLEST)
    return math.copysign(float(-ndtri(tail)), statistic)


def worth(groupings: Groupings, n_rows: int, rate: Quantity, level: float) -> float:
    """Return how many independent rows would give a flip rate an interval as wide.

    Korn and Graubard (1998, Survey Methodology 24, 193-201); the t distribution is part of it.
    """
    # At any rate the same multiple of the variance of independent rows; here at 1/2.
    effect = 1 + n_rows * added_variance(groupings, 0.5, 0.5, rate) / 0.25
    tail = (1 - level) / 2
    shrink = ndtri(tail) / stdtrit(degrees_of_freedom(groupings, rate), tail)
    return float(n_rows / effect * shrink**2)
