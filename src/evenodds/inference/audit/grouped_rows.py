"""Audited rows in groups, and how alike rows of one group are flipped."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.inference.audit.counts import AuditedLabels
from evenodds.inference.audit.groups import MOST_DEGREES, Grouping, Groupings
from evenodds.rows.source import read_groups
from evenodds.validation import FloatArray

# A class that shows flips in so many groups counts its own correlation half, that of both half.
OWN_GROUPS = 10.0
# Rows at odds with their own group that count as much as "flips come in whole groups".
AT_ODDS = 0.5
MOST_WAYS = 2


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


def _is_several(groups: Any, n_rows: int) -> bool:
    """Tell a tuple or list of columns from one column of groups."""
    if not isinstance(groups, tuple | list):
        return False
    columns = [hasattr(part, "__len__") and not isinstance(part, str | bytes) for part in groups]
    # Groups of rows may themselves be tuples, such as (patient, day).
    return len(columns) > 0 and all(columns) and len(groups) != n_rows


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
    both = _within_one(seen / possible) if possible > 0 else 1.0
    rho = [_leaning_up(one, parts, both) for one, parts in zip(classes, sums, strict=True)]
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
        flipped=(positive.n_flipped, negative.n_flipped),
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


def _leaning_up(one: ClassInGroups, parts: tuple[float, float], both: float) -> float:
    """Return the correlation of a class, drawn up as far as it is uncertain.

    First to that of both classes; then to 1, since few flips can hide that they come in whole
    groups, and none say nothing.
    """
    own = _within_one(parts[0] / parts[1]) if parts[1] > 0 else 0.0
    own += max(both - own, 0.0) * OWN_GROUPS / (OWN_GROUPS + one.n_flipped)
    return own + (1 - own) * AT_ODDS / (AT_ODDS + one.at_odds)


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
