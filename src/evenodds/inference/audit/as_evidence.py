"""An audit as evidence beside anchors, or instead of them."""

from dataclasses import dataclass
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import InputError
from evenodds.inference.audit.counts import Flips, read_pair
from evenodds.inference.audit.result import SampledBy
from evenodds.model.noisy_likelihood import AuditTerms, KnownRows, NoisyProblem
from evenodds.rows.base import Block, Rows, read_row_numbers
from evenodds.rows.labels import distinct_labels, plain
from evenodds.validation import FloatArray, check_choice, join_quoted


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """Rows whose true label was looked up, for `asymmetry_test`.

    Parameters
    ----------
    true : array-like of shape (n_audited,)
        Their true labels, in the words of the given ones.
    given : array-like of shape (n_audited,), optional
        Their given labels; may be left out with `rows`.
    rows : array-like, optional
        Which rows of X they are, by number or as a mask. Without, they are taken as other
        rows than those of X; a row in both would count twice.
    sampled_by : {"random", "true", "given"}
        How they were chosen. "random" includes any choice by features. Rows of X may have been
        chosen at random or by given label, other rows at random or by true class.

    Notes
    -----
    With `rows`, each row counts once: its true label, then its given label in the light of the
    true one. Audited rows are taken as independent: one answer an item. `audit_test` has
    `groups` for rows that share items or annotators.

    Examples
    --------
    >>> import evenodds as eo
    >>> audit = eo.Audit(true=[1, 0, 1, 0], given=[1, 0, 0, 0])
    >>> len(audit)
    4
    """

    true: Any
    given: Any = None
    rows: ArrayLike | None = None
    sampled_by: SampledBy = "random"

    def __post_init__(self) -> None:
        check_choice(self.sampled_by, "sampled_by", get_args(SampledBy))
        if self.rows is None and self.sampled_by == "given":
            raise InputError(
                "sampled_by is 'given' but rows is missing: rows audited by given label must be "
                "rows of X (rows=), or be tested by themselves with audit_test and given_counts."
            )
        if self.rows is not None and self.sampled_by == "true":
            raise InputError(
                "sampled_by is 'true' but rows names rows of X: choosing them by their true class "
                "tilts what remains. Test the audit by itself with audit_test."
            )
        if self.given is None and self.rows is None:
            raise InputError(
                "given is missing: give the given labels of the audited rows, or say which rows "
                "of X they are (rows=)."
            )
        # Without given labels the true ones stand in for them, to be checked alone.
        columns = read_pair(self.true, self.true if self.given is None else self.given)
        for name, column in columns.items():
            distinct_labels(column, name)
            if getattr(self, name) is not None:
                object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.true)


def check_words(audit: Audit, rows: Rows) -> None:
    """Refuse an audit in other words than the labels of the data."""
    for name in ("true", "given"):
        if getattr(audit, name) is not None:
            _as_positive(getattr(audit, name), name, rows)


def check_stands_alone(audit: Audit) -> None:
    """Refuse an audit without anchors that leaves the flips of a class unknown."""
    seen = distinct_labels(audit.true, "true")
    if len(seen) < 2:
        raise InputError(
            f"every audited row is truly {plain(seen[0])!r} and there are no anchors, so nothing "
            "is known of how often the other class is flipped: audit rows of both classes, or give "
            "anchors too."
        )


def audit_terms(audit: Audit, problem: NoisyProblem) -> AuditTerms:
    """Return what an audit adds to the likelihood of the rows."""
    rows = problem.rows
    if rows.n_groups is not None:
        raise InputError(
            "audit cannot be used with groups: it counts every row by itself. Leave one out."
        )
    true = _as_positive(audit.true, "true", rows)
    if audit.rows is None:
        return _counted(true, _as_positive(audit.given, "given", rows))
    if rows.weighted:
        raise InputError(
            "audit names rows of X, which is weighted: repeat rows instead of weighting them."
        )
    chosen = _chosen_rows(audit, rows)
    features, labels = chosen.in_order()
    given = labels == 1
    stated = given if audit.given is None else _as_positive(audit.given, "given", rows)
    if (stated != given).any():
        first = int(np.argmax(stated != given))
        words = {True: rows.positive, False: rows.negative}
        raise InputError(
            f"audit says that row {int(chosen.wanted[first])} is labelled "
            f"{words[bool(stated[first])]!r} but y says {words[bool(given[first])]!r}: check the "
            "row numbers."
        )
    known = KnownRows(
        features=problem.design(features)[:, 1:],
        true=true.astype(np.float64),
        given=given.astype(np.float64),
        by_given=audit.sampled_by == "given",
    )
    return _counted(true, given, known)


def _counted(
    true: NDArray[np.bool_], given: NDArray[np.bool_], known: KnownRows | None = None
) -> AuditTerms:
    """Return the terms of counted flips."""
    flips = Flips.of_cells(np.bincount(2 * true + given, minlength=4))
    return AuditTerms(*flips.counts, known)


def _as_positive(labels: NDArray[Any], name: str, rows: Rows) -> NDArray[np.bool_]:
    """Return which labels are the positive one; all must be labels of the data."""
    positive = np.zeros(len(labels), dtype=bool)
    for label in distinct_labels(labels, name):
        said = str(plain(label))
        if said not in (str(rows.positive), str(rows.negative)):
            raise InputError(
                f"audit has the {name} label {plain(label)!r} but the labels of {rows.called} are "
                f"{join_quoted((rows.negative, rows.positive))}: write both in the same words."
            )
        if said == str(rows.positive):
            positive |= labels == label
    return positive


def _chosen_rows(audit: Audit, rows: Rows) -> "ChosenRows":
    """Find the audited rows among those of the fit."""
    named = np.asarray(audit.rows)
    # Which of the numbers there are is seen when rows are read: some may have been left out.
    last = int(named.max()) if named.dtype.kind in "iu" and named.size else 0
    numbers = np.asarray(read_row_numbers(named, max(rows.n_rows, last + 1)), dtype=np.int64)
    if len(numbers) != len(audit):
        raise InputError(
            f"rows names {len(numbers):,} rows but true has {len(audit):,} labels: give one true "
            "label a row."
        )
    if len(np.unique(numbers)) < len(numbers):
        raise InputError("rows names a row twice: audit each row once.")
    found = rows.unheld().sum_over_rows(ChosenRows(numbers))
    absent = np.setdiff1d(numbers, found.numbers)
    if len(absent):
        raise InputError(
            f"rows names row {int(absent[0])}, which is not among the {rows.n_rows:,} rows of the "
            "fit: name rows of X, by numbers from 0, that were not left out."
        )
    return found


def rows_among(numbers: NDArray[np.int64], rows: Rows) -> NDArray[np.int64]:
    """Return those of some row numbers that the fit does not leave out."""
    return np.sort(rows.unheld().sum_over_rows(ChosenRows(numbers)).numbers)


class ChosenRows:
    """Features and labels of some rows, by their numbers."""

    def __init__(self, wanted: NDArray[np.int64]) -> None:
        self.wanted = wanted
        self.parts: list[tuple[NDArray[Any], FloatArray, FloatArray]] = []

    def add(self, block: Block) -> None:
        numbers = block.numbers
        if numbers is None:
            numbers = block.start + np.arange(len(block.labels))
        chosen = np.isin(numbers, self.wanted)
        if chosen.any():
            self.parts.append((numbers[chosen], block.features[chosen], block.labels[chosen]))

    def merge(self, other: Self) -> None:
        self.parts += other.parts

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Numbers of the rows that were met."""
        met = [numbers for numbers, _, _ in self.parts]
        return np.concatenate(met) if met else np.empty(0, dtype=np.int64)

    def in_order(self) -> tuple[FloatArray, FloatArray]:
        """Return features and labels in the order they were asked for."""
        order = np.argsort(self.numbers)
        places = order[np.searchsorted(self.numbers, self.wanted, sorter=order)]
        _, features, labels = (np.concatenate(parts) for parts in zip(*self.parts, strict=True))
        return features[places], labels[places]
