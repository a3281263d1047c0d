"""True and given labels as counts: all that an audit test needs of the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.rows.labels import distinct_labels, label_column, lookalikes, plain, read_labels
from evenodds.validation import check_whole, join_quoted

# Beyond so many rows one more or less is lost in rounding.
MOST_ROWS = 10**12


@dataclass(frozen=True, slots=True)
class Flips:
    """How many rows of either true class were audited, and how many were flipped."""

    n_positive: int
    flipped_positive: int
    n_negative: int
    flipped_negative: int

    @property
    def alpha(self) -> float:
        """Share of the true positives that are labelled negative."""
        return self.flipped_positive / self.n_positive

    @property
    def beta(self) -> float:
        """Share of the true negatives that are labelled positive."""
        return self.flipped_negative / self.n_negative

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

    def mirrored(self) -> "Flips":
        """Return the table with classes swapped and flips counted as stays: the same question."""
        return Flips(
            self.n_negative,
            self.n_negative - self.flipped_negative,
            self.n_positive,
            self.n_positive - self.flipped_positive,
        )

    def reversed(self) -> "Flips":
        """Return the table with flips counted as stays: the question asked the other way."""
        return Flips(
            self.n_positive,
            self.n_positive - self.flipped_positive,
            self.n_negative,
            self.n_negative - self.flipped_negative,
        )


@dataclass(frozen=True, slots=True)
class AuditedLabels:
    """True and given labels of audited rows as True (positive) and False."""

    true: NDArray[np.bool_]
    given: NDArray[np.bool_]
    positive: Any
    negative: Any

    def flips(self) -> Flips:
        """Count the rows."""
        n_positive = int(np.count_nonzero(self.true))
        flipped_positive = int(np.count_nonzero(self.true & ~self.given))
        return Flips(
            n_positive=n_positive,
            flipped_positive=flipped_positive,
            n_negative=len(self.true) - n_positive,
            flipped_negative=int(np.count_nonzero(self.given)) - n_positive + flipped_positive,
        )


def read_audited(true: Any, given: Any, positive: Any = None) -> AuditedLabels:
    """Check that both columns hold the same two labels, and decide which one is positive."""
    columns = {"true": label_column(true, "true"), "given": label_column(given, "given")}
    if len(columns["true"]) != len(columns["given"]):
        raise InputError(
            f"true has {len(columns['true']):,} labels but given has {len(columns['given']):,}: "
            "give both labels of each audited row, in the same order."
        )
    if len(columns["true"]) == 0:
        raise InputError("true is empty: give the labels of at least one audited row.")
    labels = {name: distinct_labels(values, name) for name, values in columns.items()}
    chosen, other = _two_labels(labels, positive)
    return AuditedLabels(
        true=np.asarray(columns["true"] == chosen),
        given=np.asarray(columns["given"] == chosen),
        positive=plain(chosen),
        negative=plain(other),
    )


def _two_labels(labels: dict[str, list[Any]], positive: Any) -> tuple[Any, Any]:
    """Return the positive and the negative label that both columns share."""
    for name, found in labels.items():
        if len(found) > 2:
            shown = join_quoted([plain(label) for label in found], limit=5)
            raise InputError(
                f"{name} has {len(found)} distinct labels ({shown}) but this test needs 2: keep "
                "the rows of two of them, or use confusion_test."
            )
    both = [*labels["true"], *(label for label in labels["given"] if label not in labels["true"])]
    if len(both) > 2:
        own = {
            name: join_quoted([plain(label) for label in found]) for name, found in labels.items()
        }
        raise InputError(
            f"true has {own['true']} but given has {own['given']}: write the two classes in the "
            "same words in both."
        )
    if len(both) == 1:
        raise InputError(
            f"true and given hold one label only ({plain(both[0])!r}): audit rows of both classes."
        )
    refuse_lookalikes(both, "true and given")
    pair = read_labels(np.array(both, dtype=object), positive, "true")
    other = next(label for label in both if plain(label) == pair.negative)
    chosen = next(label for label in both if plain(label) == pair.positive)
    return chosen, other


def refuse_lookalikes(values: list[Any], name: str) -> None:
    """Refuse values of two kinds that print alike, such as 1 and "1"."""
    twins = lookalikes(values)
    if twins is not None:
        raise InputError(
            f"{name} hold both {twins[0]!r} and {twins[1]!r}, which print alike: write them in "
            "one way."
        )


def check_both_classes(flips: Flips, positive: Any, negative: Any) -> None:
    """Refuse an audit in which a class was never true: nothing is known of its flips."""
    for count, label in ((flips.n_positive, positive), (flips.n_negative, negative)):
        if count == 0:
            raise InputError(
                f"no audited row is truly {label!r}, so nothing is known of how often "
                "that class is flipped: audit rows until both classes are there."
            )


def read_given_counts(
    given_counts: Any, flips: Flips, positive: Any, negative: Any
) -> tuple[int, int]:
    """Return how many rows of the whole data are labelled negative and positive."""
    if given_counts is None:
        raise InputError(
            "given_counts is missing: rows audited by given class say nothing of how many rows "
            f"have each label. Give the counts of the whole data, as {{{negative!r}: ..., "
            f"{positive!r}: ...}}."
        )
    if isinstance(given_counts, Mapping):
        named = {str(plain(key)): value for key, value in given_counts.items()}
        wanted = {str(negative), str(positive)}
        if set(named) != wanted or len(given_counts) > len(named):
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
    audited = (flips.given_negative, flips.given_positive)
    counts = []
    for value, seen, label in zip(pair, audited, (negative, positive), strict=True):
        count = _check_count(value, label)
        if count < seen:
            raise InputError(
                f"given_counts says that {count:,} rows are labelled {label!r}, but {seen:,} of "
                "them were audited: count the whole data, audited rows included."
            )
        counts.append(count)
    return counts[0], counts[1]


def _check_count(value: Any, label: Any) -> int:
    """Return a count of the whole data, within what arithmetic tells apart."""
    if isinstance(value, int | np.integer) and value > MOST_ROWS:
        raise InputError(
            f"given_counts of {label!r} is above {MOST_ROWS:,}: no data has so many rows. Give "
            "the counts of the whole data."
        )
    count = check_whole(value, f"given_counts of {label!r}", at_least=1)
    return count if count <= MOST_ROWS else _check_count(count, label)


def check_both_given(flips: Flips, positive: Any, negative: Any) -> None:
    """Refuse an audit by given class that looked at one of them only."""
    for count, label in ((flips.given_positive, positive), (flips.given_negative, negative)):
        if count == 0:
            raise InputError(
                f"no audited row is labelled {label!r}: an audit by given class needs rows of "
                "both labels."
            )


def refuse_needless_counts(given_counts: Any, sampled_by: str) -> None:
    """Refuse counts that an audit of this kind would ignore."""
    if given_counts is not None:
        raise InputError(
            f"given_counts is used with sampled_by='given' only, and sampled_by is "
            f"{sampled_by!r}: leave it out, or say that rows were drawn by given label."
        )
