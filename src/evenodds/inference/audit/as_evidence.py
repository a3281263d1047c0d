"""An audit as evidence beside anchors, or instead of them."""

from dataclasses import dataclass
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import InputError
from evenodds.inference.audit.result import SampledBy
from evenodds.model.noisy_likelihood import AuditTerms, KnownRows, NoisyProblem
from evenodds.rows.base import Block, Rows, read_row_numbers
from evenodds.rows.labels import as_labels, distinct_labels, plain
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
        self._check_design()
        object.__setattr__(self, "true", _column(self.true, "true"))
        if self.given is None and self.rows is None:
            raise InputError(
                "given is missing: give the given labels of the audited rows, or say which rows "
                "of X they are (rows=)."
            )
        if self.given is not None:
            given = _column(self.given, "given")
            if len(given) != len(self.true):
                raise InputError(
                    f"true has {len(self.true):,} labels but given has {len(given):,}: give both "
                    "labels of each audited row, in the same order."
                )
            object.__setattr__(self, "given", given)

    def __len__(self) -> int:
        return len(self.true)

    def _check_design(self) -> None:
        """Refuse designs whose flips cannot be put beside the rows."""
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


def check_stands_alone(audit: Audit) -> None:
    """Refuse an audit without anchors that leaves the flips of a class unknown."""
    seen = distinct_labels(audit.true, "true")
    if len(seen) < 2:
        raise InputError(
            f"every audited row is truly {plain(seen[0])!r} and anchors is None, so nothing is "
            "known of how often the other class is flipped: audit rows of both classes, or give "
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
    given = chosen.labels == 1
    if audit.given is not None:
        _check_given(_as_positive(audit.given, "given", rows), given, chosen.numbers, rows)
    known = KnownRows(
        features=problem.design(chosen.features)[:, 1:],
        true=true.astype(np.float64),
        given=given.astype(np.float64),
        by_given=audit.sampled_by == "given",
    )
    return _counted(true, given, known)


def _counted(
    true: NDArray[np.bool_], given: NDArray[np.bool_], known: KnownRows | None = None
) -> AuditTerms:
    """Return the terms of counted flips."""
    return AuditTerms(
        n_positive=float(true.sum()),
        flipped_positive=float((true & ~given).sum()),
        n_negative=float((~true).sum()),
        flipped_negative=float((~true & given).sum()),
        known=known,
    )


def _column(values: Any, name: str) -> NDArray[Any]:
    """Return labels as one column without holes."""
    column = as_labels(values, name).ravel()
    if len(column) == 0:
        raise InputError(f"{name} is empty: give the labels of at least one audited row.")
    distinct_labels(column, name)
    return column


def _as_positive(labels: NDArray[Any], name: str, rows: Rows) -> NDArray[np.bool_]:
    """Return which labels are the positive one; all must be labels of the data."""
    values: dict[Any, bool] = {}
    for label in distinct_labels(labels, name):
        matches = [known for known in (rows.positive, rows.negative) if str(known) == _said(label)]
        if not matches:
            raise InputError(
                f"audit has the {name} label {plain(label)!r} but the labels of {rows.called} are "
                f"{join_quoted((rows.negative, rows.positive))}: write both in the same words."
            )
        values[label] = matches[0] == rows.positive
    positives = [label for label, positive in values.items() if positive]
    return np.isin(labels, positives) if positives else np.zeros(len(labels), dtype=bool)


def _said(label: Any) -> str:
    """Return how a label prints."""
    return str(plain(label))


def _chosen_rows(audit: Audit, rows: Rows) -> "ChosenRows":
    """Return features and given labels of the audited rows, in the order of the audit."""
    numbers = _numbers(audit.rows, rows)
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
    found.put_in_order()
    return found


def rows_among(numbers: NDArray[np.int64], rows: Rows) -> NDArray[np.int64]:
    """Return those of some row numbers that the fit does not leave out."""
    found = rows.unheld().sum_over_rows(ChosenRows(numbers)).numbers
    return np.sort(found)


def _numbers(named: Any, rows: Rows) -> NDArray[np.int64]:
    """Return row numbers; which of them there are is seen when they are read."""
    chosen = np.asarray(named)
    numeric = chosen.dtype.kind in "iu" and chosen.size > 0
    last = int(chosen.max()) if numeric else 0
    return np.asarray(read_row_numbers(chosen, max(rows.n_rows, last + 1)), dtype=np.int64)


class ChosenRows:
    """Features and labels of some rows, by their numbers."""

    def __init__(self, wanted: NDArray[np.int64]) -> None:
        self.wanted = wanted
        self.numbers = np.empty(0, dtype=np.int64)
        self.features: FloatArray = np.empty((0, 0))
        self.labels: FloatArray = np.empty(0)

    def add(self, block: Block) -> None:
        numbers = block.numbers
        if numbers is None:
            numbers = block.start + np.arange(len(block.labels))
        chosen = np.isin(numbers, self.wanted)
        if chosen.any():
            self._take(numbers[chosen], block.features[chosen], block.labels[chosen])

    def merge(self, other: Self) -> None:
        if len(other.numbers):
            self._take(other.numbers, other.features, other.labels)

    def _take(self, numbers: NDArray[Any], features: FloatArray, labels: FloatArray) -> None:
        first = len(self.numbers) == 0
        self.numbers = np.concatenate([self.numbers, numbers])
        self.labels = np.concatenate([self.labels, labels])
        self.features = features.copy() if first else np.concatenate([self.features, features])

    def put_in_order(self) -> None:
        """Put the rows in the order they were asked for."""
        order = np.argsort(self.numbers)
        places = order[np.searchsorted(self.numbers, self.wanted, sorter=order)]
        self.numbers = self.numbers[places]
        self.features, self.labels = self.features[places], self.labels[places]


def _check_given(
    stated: NDArray[np.bool_],
    found: NDArray[np.bool_],
    numbers: NDArray[np.int64],
    rows: Rows,
) -> None:
    """Refuse given labels that are not those of the rows."""
    wrong = np.flatnonzero(stated != found)
    if len(wrong):
        labels = {True: rows.positive, False: rows.negative}
        first = int(wrong[0])
        raise InputError(
            f"audit says that row {int(numbers[first])} is labelled "
            f"{labels[bool(stated[first])]!r} but y says {labels[bool(found[first])]!r}: check the "
            "row numbers."
        )
