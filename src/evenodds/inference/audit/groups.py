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

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit

from evenodds.errors import InputError
from evenodds.inference.audit.counts import AuditedLabels
from evenodds.rows.source import read_groups
from evenodds.validation import FloatArray

Quantity = Literal["asymmetry", "alpha", "beta"]

# A class that shows flips in so many groups counts its own correlation half, that of both half.
OWN_GROUPS = 10.0
# Rows at odds with their own group that would count as much as "flips come in whole groups".
AT_ODDS = 3.0
MOST_DEGREES = 1e6
SMALLEST = 1e-300
MOST_WAYS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """How rows of one group go together.

    Attributes
    ----------
    n_groups, largest : int
        Groups, and rows of the largest.
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
    several = ("pairs", "correlations", "degrees")
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


def _is_several(groups: Any, n_rows: int) -> bool:
    """Tell a tuple or list of columns from one column of groups."""
    if not isinstance(groups, tuple | list):
        return False
    columns = [hasattr(part, "__len__") and not isinstance(part, str | bytes) for part in groups]
    # Groups of rows may themselves be tuples, such as (patient, day).
    return len(columns) > 0 and all(columns) and len(groups) != n_rows


def worth(groupings: Groupings, n_rows: int, rate: Quantity, level: float) -> float:
    """Return how many independent rows would give a flip rate an interval as wide.

    Korn and Graubard (1998, Survey Methodology 24, 193-201); the t distribution is part of it.
    """
    # At any rate the same multiple of the variance of independent rows; here at 1/2.
    effect = 1 + n_rows * added_variance(groupings, 0.5, 0.5, rate) / 0.25
    tail = (1 - level) / 2
    shrink = ndtri(tail) / stdtrit(degrees_of_freedom(groupings, rate), tail)
    return float(n_rows / effect * shrink**2)


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """Audited rows and their groups, numbered 0, 1, 2, ... in each grouping."""

    groups: tuple[NDArray[np.int64], ...]
    labels: AuditedLabels

    @classmethod
    def read(cls, groups: Any, labels: AuditedLabels) -> "GroupedRows | None":
        """Check one column of groups, or two; None without groups."""
        if groups is None:
            return None
        n_rows = len(labels.true)
        ways = list(groups) if _is_several(groups, n_rows) else [groups]
        if len(ways) > MOST_WAYS:
            raise InputError(
                f"groups holds {len(ways)} columns but takes one or two: a group for each row, or "
                "a pair of such columns, such as (items, annotators)."
            )
        whose = f"there are {n_rows:,} audited rows"
        return cls(tuple(read_groups(way, n_rows, whose=whose)[0] for way in ways), labels)

    def groupings(self, given_counts: tuple[int, int] | None = None) -> Groupings:
        """Measure how rows go together in each grouping; a grouping without pairs is left out.

        By given class an audited row stands for as many rows of the data as `given_counts` say.
        """
        true, given = self.labels.true, self.labels.given
        flipped, weights = true != given, np.ones(len(true))
        if given_counts is not None:
            audited = np.count_nonzero(~given), np.count_nonzero(given)
            weights = np.where(
                given, given_counts[1] / audited[1], given_counts[0] / audited[0]
            ).astype(np.float64)
        found = []
        for codes in self.groups:
            n_groups, largest = int(codes.max()) + 1, int(np.bincount(codes).max())
            if largest > 1:
                positive, negative = (
                    ClassInGroups.of(codes[rows], flipped[rows], weights[rows], n_groups)
                    for rows in (true, ~true)
                )
                found.append(_grouping(positive, negative, largest))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class ClassInGroups:
    """Weighted rows of one true class by group, and what is needed of their flips."""

    weight: FloatArray  # of each group's rows
    squares: FloatArray  # their squared weights
    fourths: FloatArray
    left: FloatArray  # flips less those expected, of each group
    spread: float  # rate (1 - rate)
    own: float  # squares of the rows' own shares in `left`
    n_flipped: int  # groups with a flip, or with a row that is not, if these are fewer
    at_odds: int  # rows outvoted in their group: none, if flips come in whole groups

    @classmethod
    def of(
        cls,
        codes: NDArray[np.int64],
        flipped: NDArray[np.bool_],
        weights: FloatArray,
        n_groups: int,
    ) -> "ClassInGroups":
        """Sum the rows of a class by group."""

        def by_group(values: Any) -> FloatArray:
            return np.asarray(np.bincount(codes, values, n_groups), dtype=np.float64)

        weight, hit = by_group(weights), by_group(weights * flipped)
        rate = float(hit.sum() / weight.sum())
        flips, stays = by_group(flipped), by_group(~flipped)
        return cls(
            weight=weight,
            squares=by_group(weights**2),
            fourths=by_group(weights**4),
            left=hit - weight * rate,
            spread=rate * (1 - rate),
            own=float((weights**2 * (flipped - rate) ** 2).sum()),
            n_flipped=int(min((flips > 0).sum(), (stays > 0).sum())),
            at_odds=int(np.minimum(flips, stays).sum()),
        )

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weight.sum())

    @property
    def pairs(self) -> FloatArray:
        """Weighted ordered pairs of rows in each group."""
        return np.maximum(self.weight**2 - self.squares, 0.0)

    def seen_and_possible(self) -> tuple[float, float]:
        """Return what pairs of rows have in common, and what they would if always flipped alike.

        Both in units of rate (1 - rate). The rate is estimated from the same rows; the terms
        beyond the plain sums take that out, so that groups of one mind have correlation 1.
        """
        if self.spread == 0:
            return 0.0, 0.0
        share, squared = self.weight / self.total, float((self.weight**2).sum())
        scatter = float((self.left**2).sum()) / self.spread
        pairs = float(self.pairs.sum())
        seen = scatter - self.own / self.spread
        seen += (squared - scatter) * float(self.squares.sum()) / self.total**2
        possible = float((self.pairs * (1 - 2 * share)).sum())
        possible += (squared + scatter) * pairs / self.total**2
        return seen, possible


def _grouping(positive: ClassInGroups, negative: ClassInGroups, largest: int) -> Grouping:
    """Return the correlations within groups, and how surely they are known."""
    classes = positive, negative
    sums = [one.seen_and_possible() for one in classes]
    possible = sum(one.spread * parts[1] for one, parts in zip(classes, sums, strict=True))
    seen = sum(one.spread * parts[0] for one, parts in zip(classes, sums, strict=True))
    at_odds = positive.at_odds + negative.at_odds
    # Few flips can hide that they come in whole groups; with none at all nothing is known.
    both = _within_one(seen / possible) if possible > 0 else 1.0
    both += (1 - both) * AT_ODDS / (AT_ODDS + at_odds)
    rho = [
        _leaning_up(parts, both, OWN_GROUPS / (OWN_GROUPS + one.n_flipped))
        for one, parts in zip(classes, sums, strict=True)
    ]
    between = _between(positive, negative, math.sqrt(rho[0] * rho[1]))
    shares = [
        (one.squares + one.pairs * correlation) / one.total**2
        for one, correlation in zip(classes, rho, strict=True)
    ]
    fourths = [one.fourths / one.total**4 for one in classes]
    met = positive.weight * negative.weight / (positive.total * negative.total)
    together = np.maximum(shares[0] + shares[1] - 2 * met * between, 0.0)
    return Grouping(
        n_groups=len(positive.weight),
        largest=largest,
        pairs=(
            float(positive.pairs.sum()) / positive.total**2,
            float(negative.pairs.sum()) / negative.total**2,
            float(met.sum()),
        ),
        correlations=(rho[0], rho[1], between),
        degrees=(
            _degrees(together, fourths[0] + fourths[1]),
            _degrees(shares[0], fourths[0]),
            _degrees(shares[1], fourths[1]),
        ),
    )


def _leaning_up(parts: tuple[float, float], both: float, lean: float) -> float:
    """Return the correlation of a class, drawn up to that of both as far as it is uncertain."""
    own = _within_one(parts[0] / parts[1]) if parts[1] > 0 else 0.0
    return own + max(both - own, 0.0) * lean


def _between(positive: ClassInGroups, negative: ClassInGroups, most: float) -> float:
    """Return the correlation between rows of either class in one group, at most `most` in size."""
    spread = math.sqrt(positive.spread * negative.spread)
    met = positive.weight * negative.weight
    share = positive.weight / positive.total + negative.weight / negative.total
    possible = float((met * (1 - share)).sum())
    possible += float(met.sum()) ** 2 / (positive.total * negative.total)
    if spread == 0 or possible <= 0:
        return 0.0
    found = float((positive.left * negative.left).sum()) / (spread * possible)
    return min(max(found, -most), most)


def _degrees(shares: FloatArray, of_rows: FloatArray) -> float:
    """Return degrees of freedom, from each group's share of the variance (Satterthwaite).

    What rows add by themselves needs no estimate, so groups of one row cost nothing.
    """
    uncertain = float((shares**2 - of_rows).sum())
    total = float(shares.sum())
    if uncertain <= total**2 / MOST_DEGREES:
        return MOST_DEGREES
    return max(total**2 / uncertain - 1, 1.0)


def _within_one(correlation: float) -> float:
    """Return a correlation that is no less than 0 and no more than 1."""
    return min(max(correlation, 0.0), 1.0)
