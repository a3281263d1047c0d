"""True and given labels as counts, and how alike rows of one group are flipped.

Rows that share an item or an annotator tend to be flipped together. The variance of the flip
rates is then that of independent rows plus what pairs of rows in one group add (theory page,
"Rows in groups"): for each true class, rate (1 - rate) times the correlation of such pairs
times how many there are. Since the correlation is estimated, from few groups badly, the
statistic is read off a t distribution.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit

from evenodds.errors import InputError
from evenodds.inference.cases.counts import MOST_ROWS
from evenodds.rows.labels import distinct_labels, label_column, lookalikes, plain, read_labels
from evenodds.rows.memory import read_groups
from evenodds.validation import FloatArray, check_same_order, check_whole, counted, join_quoted

Quantity = Literal["asymmetry", "alpha", "beta"]

# Beyond so many rows one more or less is lost in rounding.


@dataclass(frozen=True, slots=True)
class Flips:
    """How many rows of either true class were audited, and how many were flipped."""

    n_positive: int
    flipped_positive: int
    n_negative: int
    flipped_negative: int

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The four counts, in this order."""
        return self.n_positive, self.flipped_positive, self.n_negative, self.flipped_negative

    @property
    def alpha(self) -> float:
        """Share of the true positives that are labelled negative."""
        return self.flipped_positive / self.n_positive

    @property
    def beta(self) -> float:
        """Share of the true negatives that are labelled positive."""
        return self.flipped_negative / self.n_negative

    @property
    def asymmetry(self) -> float:
        """How much more often negatives are flipped."""
        return self.beta - self.alpha

    @property
    def n_rows(self) -> int:
        """Audited rows."""
        return self.n_positive + self.n_negative

    @property
    def given_positive(self) -> int:
        """Audited rows that are labelled positive."""
        return self.n_positive - self.flipped_positive + self.flipped_negative

    @property
    def given_negative(self) -> int:
        """Audited rows that are labelled negative."""
        return self.n_rows - self.given_positive

    @property
    def fewest_expected(self) -> float:
        """Rows expected in the smallest cell if both classes were flipped equally often."""
        flipped = (self.flipped_positive + self.flipped_negative) / self.n_rows
        return min(self.n_positive, self.n_negative) * min(flipped, 1 - flipped)

    def reversed(self) -> "Flips":
        """Return the table with flips counted as stays: the question asked the other way."""
        stays = self.n_positive - self.flipped_positive, self.n_negative - self.flipped_negative
        return Flips(self.n_positive, stays[0], self.n_negative, stays[1])

    def mirrored(self) -> "Flips":
        """Return the table with classes swapped and flips counted as stays: the same question."""
        other = self.reversed()
        return Flips(
            other.n_negative, other.flipped_negative, other.n_positive, other.flipped_positive
        )

    @classmethod
    def of_cells(cls, cells: Iterable[int]) -> "Flips":
        """Count from the rows of each cell, numbered twice the true label plus the given one."""
        negative, to_positive, to_negative, positive = map(int, cells)
        return cls(positive + to_negative, to_negative, negative + to_positive, to_positive)


@dataclass(frozen=True, slots=True)
class AuditedLabels:
    """True and given labels of audited rows as True (positive) and False."""

    true: NDArray[np.bool_]
    given: NDArray[np.bool_]
    positive: Any
    negative: Any

    @property
    def cells(self) -> NDArray[np.int64]:
        """The cell of each row, as `Flips.of_cells` numbers them."""
        return 2 * self.true + self.given.astype(np.int64)

    def flips(self) -> Flips:
        """Count the rows."""
        return Flips.of_cells(np.bincount(self.cells, minlength=4))

    def positive_among(self, given: Any) -> NDArray[np.bool_]:
        """Return which given labels of all rows are positive; they must be the same two."""
        every = read_labels(given, self.positive, "given")
        if every.negative != self.negative:
            raise InputError(
                f"given has {every.negative!r} but true has {self.negative!r}: write the two "
                "classes in the same words in both."
            )
        return np.asarray(every.block(slice(None)) == 1)


def read_pair(
    true: Any, given: Any, called: tuple[str, str] = ("true", "given")
) -> dict[str, NDArray[Any]]:
    """Return both labels of the same rows by their names, one column each."""
    check_same_order(**dict(zip(called, (true, given), strict=True)))
    columns = [label_column(*named) for named in zip((true, given), called, strict=True)]
    lengths = [len(column) for column in columns]
    if lengths[0] != lengths[1]:
        raise InputError(
            f"{called[0]} has {lengths[0]:,} labels but {called[1]} has {lengths[1]:,}: give both "
            "labels of each audited row, in the same order."
        )
    if lengths[0] == 0:
        raise InputError(f"{called[0]} is empty: give the labels of at least one audited row.")
    return dict(zip(called, columns, strict=True))


def read_audited(true: Any, given: Any, positive: Any = None) -> AuditedLabels:
    """Check that both columns hold the same two labels, and decide which one is positive."""
    columns = read_pair(true, given)
    labels = {name: distinct_labels(values, name) for name, values in columns.items()}
    shown = {
        name: join_quoted([plain(label) for label in found], limit=5)
        for name, found in labels.items()
    }
    for name, found in labels.items():
        if len(found) > 2:
            raise InputError(
                f"{name} has {len(found)} distinct labels ({shown[name]}) but this test needs 2: "
                "keep the rows of two of them, or use confusion_test."
            )
    both = list(dict.fromkeys([*labels["true"], *labels["given"]]))
    if len(both) > 2:
        raise InputError(
            f"true has {shown['true']} but given has {shown['given']}: write the two classes in "
            "the same words in both."
        )
    if len(both) == 1:
        raise InputError(
            f"true and given hold one label only ({shown['true']}): audit rows of both classes."
        )
    refuse_lookalikes(both, "true and given")
    pair = read_labels(np.array(both, dtype=object), positive, "true")
    chosen = both[int(np.argmax(pair.values))]
    return AuditedLabels(
        true=np.asarray(columns["true"] == chosen),
        given=np.asarray(columns["given"] == chosen),
        positive=pair.positive,
        negative=pair.negative,
    )


def refuse_lookalikes(values: list[Any], name: str) -> None:
    """Refuse values of two kinds that print alike, such as 1 and "1"."""
    twins = lookalikes(values)
    if twins is not None:
        raise InputError(
            f"{name} hold both {twins[0]!r} and {twins[1]!r}, which print alike: write them in "
            "one way."
        )


def check_both_classes(flips: Flips, sampled_by: str, labels: AuditedLabels) -> None:
    """Refuse an audit in which a class was never true, or by given class never given."""
    for truly, labelled, label in (
        (flips.n_positive, flips.given_positive, labels.positive),
        (flips.n_negative, flips.given_negative, labels.negative),
    ):
        if truly == 0:
            raise InputError(
                f"no audited row is truly {label!r}, so nothing is known of how often "
                "that class is flipped: audit rows until both classes are there."
            )
        if labelled == 0 and sampled_by == "given":
            raise InputError(
                f"no audited row is labelled {label!r}: an audit by given class needs rows of "
                "both labels."
            )


def read_given_counts(
    given_counts: Any, sampled_by: str, flips: Flips, labels: AuditedLabels
) -> tuple[int, int] | None:
    """Return rows of the whole data labelled negative and positive; None unless by given class."""
    if sampled_by != "given":
        refuse_needless_counts(given_counts, sampled_by)
        return None
    negative, positive = labels.negative, labels.positive
    if given_counts is None:
        raise InputError(
            "given_counts is missing: rows audited by given class say nothing of how many rows "
            f"have each label. Give the counts of the whole data, as {{{negative!r}: ..., "
            f"{positive!r}: ...}}."
        )
    if isinstance(given_counts, Mapping):
        named = {str(plain(key)): value for key, value in given_counts.items()}
        if set(named) != {str(negative), str(positive)} or len(given_counts) > len(named):
            names = join_quoted(given_counts) if given_counts else "no label"
            raise InputError(
                f"given_counts names {names} but the labels are "
                f"{join_quoted((negative, positive))}: give one count for each."
            )
        pair = [named[str(negative)], named[str(positive)]]
    else:
        pair = list(np.ravel(np.asarray(given_counts, dtype=object)))
        if len(pair) != 2:
            raise InputError(
                f"given_counts holds {len(pair)} numbers but must hold 2: rows labelled "
                f"{negative!r}, then rows labelled {positive!r}."
            )
    return (
        _check_count(pair[0], flips.given_negative, negative),
        _check_count(pair[1], flips.given_positive, positive),
    )


def _check_count(value: Any, audited: int, label: Any) -> int:
    """Return how many rows of the whole data have a label, audited rows included."""
    count = check_whole(value, f"given_counts of {label!r}", at_least=1, at_most=MOST_ROWS)
    if count < audited:
        raise InputError(
            f"given_counts says that the data have {counted(count, 'row')} labelled {label!r}, "
            f"but {audited:,} such rows were audited: count the whole data, audited rows included."
        )
    return count


def refuse_needless_counts(given_counts: Any, sampled_by: str) -> None:
    """Refuse counts that an audit of this kind would ignore."""
    if given_counts is not None:
        raise InputError(
            f"given_counts is used with sampled_by='given' only, and sampled_by is "
            f"{sampled_by!r}: leave it out, or say that rows were drawn by given label."
        )


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


def added_variance(
    groupings: Groupings, alpha: float, beta: float, quantity: Quantity = "asymmetry"
) -> float:
    """Return what all groupings add; a pair that shares two of them counts twice."""
    return sum(one.added(alpha, beta, quantity) for one in groupings)


def degrees_of_freedom(groupings: Groupings, quantity: Quantity = "asymmetry") -> float:
    """Return the fewest degrees of freedom of any grouping."""
    place = ("asymmetry", "alpha", "beta").index(quantity)
    return min((one.degrees[place] for one in groupings), default=MOST_DEGREES)


def as_normal(z: float, groupings: Groupings, quantity: Quantity = "asymmetry") -> float:
    """Return z, with groups the normal deviate whose p-value is that of a t statistic."""
    if not groupings:
        return z
    tail = float(stdtr(degrees_of_freedom(groupings, quantity), -abs(z)))
    return math.copysign(float(-ndtri(max(tail, SMALLEST))), z)


def worth(groupings: Groupings, n_rows: int, rate: Quantity, level: float) -> float:
    """Return how many independent rows would give a flip rate an interval as wide.

    Korn and Graubard (1998, Survey Methodology 24, 193-201); the t distribution is part of it.
    """
    # At any rate the same multiple of the variance of independent rows; here at 1/2.
    effect = 1 + n_rows * added_variance(groupings, 0.5, 0.5, rate) / 0.25
    tail = (1 - level) / 2
    shrink = ndtri(tail) / stdtrit(degrees_of_freedom(groupings, rate), tail)
    return float(n_rows / effect * shrink**2)


# A class that shows flips in so many groups counts its own correlation half, that of both half.
OWN_GROUPS = 10.0
# Rows at odds with their own group that count as much as "flips come in whole groups".
AT_ODDS = 0.5
MOST_WAYS = 2


Ways = Sequence[NDArray[np.int64]]  # groups of each row, numbered 0, 1, 2, ..., in each grouping


def read_ways(groups: Any, n_rows: int) -> Ways | None:
    """Check one column of groups, or two; None without groups."""
    if groups is None:
        return None
    ways = [groups]
    if isinstance(groups, tuple | list) and len(groups) not in (0, n_rows):
        # Groups of rows may themselves be tuples, such as (patient, day).
        single = (isinstance(part, str | bytes) or not hasattr(part, "__len__") for part in groups)
        ways = ways if any(single) else list(groups)
    if len(ways) > MOST_WAYS:
        raise InputError(
            f"groups holds {len(ways)} columns but takes one or two: a group for each row, or "
            "a pair of such columns, such as (items, annotators)."
        )
    whose = f"there are {n_rows:,} audited rows"
    return [read_groups(way, n_rows, whose=whose)[0] for way in ways]


def groupings_of(
    ways: Ways, labels: AuditedLabels, given_counts: tuple[int, int] | None = None
) -> Groupings:
    """Measure how rows go together in each grouping; a grouping without pairs is left out.

    By given class an audited row stands for as many rows of the data as `given_counts` say.
    """
    true, given = labels.true, labels.given
    flipped, weights = true != given, np.ones(len(true))
    if given_counts is not None:
        weights = (np.array(given_counts) / np.bincount(given, minlength=2))[given.astype(np.intp)]
    found = []
    for codes in ways:
        sizes = np.bincount(codes)
        if sizes.max() > 1:
            positive, negative = (
                ClassInGroups.of(codes[rows], flipped[rows], weights[rows], len(sizes))
                for rows in (true, ~true)
            )
            found.append(_grouping(positive, negative, int(sizes.max())))
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
    both = _ratio(*(np.array([one.spread for one in classes]) @ sums), otherwise=1.0)
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
    own = _ratio(*parts, otherwise=0.0)
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
    uncertain, total = float((shares**2 - of_rows).sum()), float(shares.sum())
    known = uncertain <= total**2 / MOST_DEGREES
    return MOST_DEGREES if known else max(total**2 / uncertain - 1, 1.0)


def _ratio(seen: float, possible: float, *, otherwise: float) -> float:
    """Return a correlation from 0 to 1, or something else where nothing can be seen of it."""
    return min(max(float(seen / possible), 0.0), 1.0) if possible > 0 else otherwise
