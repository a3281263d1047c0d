"""Rows looked up within strata: counts by stratum, given label and true class, however they come.

Two classes are an audit, more are a flip matrix; both are counted here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.inference.cases.record import Cases, Ints
from evenodds.inference.results import Diagnostic
from evenodds.rows.labels import Classes, as_labels, distinct_labels, is_missing, plain
from evenodds.validation import check_whole, counted, join_quoted

MOST_ROWS = 10**12
# Cells of this share of the rows, told from their neighbours, give reason to doubt.
MUCH_BORROWED = 0.05


@dataclass(frozen=True, slots=True)
class Cell:
    """Rows of one stratum and given label, and the true classes of those looked up."""

    stratum: str  # of several that were joined, all of them
    label: int
    n_rows: int
    found: Ints


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Rows of the data by stratum and given label, and those looked up by true class too.

    Attributes
    ----------
    classes : tuple
        Names of the classes.
    names : list of str
        The strata, in order.
    rows : array of shape (n_strata, n_classes)
        Rows of the data with each label.
    found : array of shape (n_strata, n_classes, n_classes)
        Rows looked up, by stratum, given label and true class.
    """

    classes: tuple[Any, ...]
    names: list[str]
    rows: Ints
    found: Ints

    @property
    def audited(self) -> Ints:
        """Rows looked up, by stratum and given label."""
        return np.asarray(self.found.sum(axis=2))

    def joined(self) -> tuple[list[Cell], float]:
        """Return cells, those that nobody looked up joined to their neighbours with that label.

        And the share of all rows in cells that were joined.
        """
        audited, cells, borrowed = self.audited, [], 0
        for label, name in enumerate(self.classes):
            there = np.flatnonzero(self.rows[:, label] > 0)
            seen = there[audited[there, label] > 0]
            if not len(seen):
                n_rows = int(self.rows[:, label].sum())
                raise InputError(
                    f"no row labelled {name!r} was looked up, of {n_rows:,} in the data: look some "
                    "up, or merge the class with another."
                )
            nearest = seen[np.abs(seen[:, None] - there).argmin(axis=0)]
            for one in seen:
                together = there[nearest == one]
                n_rows = int(self.rows[together, label].sum())
                borrowed += n_rows - int(self.rows[one, label])
                called = " + ".join(self.names[place] for place in together)
                cells.append(Cell(called, label, n_rows, self.found[one, label]))
        return cells, borrowed / float(self.rows.sum())


def strata_check(rests_on: str, borrowed: float | None) -> Diagnostic:
    """Say what the strata are, and doubt an answer for cells that nobody looked at.

    `borrowed` is the share of rows in such cells; None where there can be none.
    """
    message = f"{rests_on}: z is read off its own distribution, not the normal."
    if borrowed:
        message += (
            f" Cells with {borrowed:.1%} of the rows have no row that was looked up, and are told "
            "from their neighbours: look some up there."
        )
    return Diagnostic(
        name="strata",
        message=message,
        concern=(borrowed or 0.0) > MUCH_BORROWED,
        statistic=borrowed,
    )


def strata_of_cases(cases: Cases, scores: Any, given_counts: Any) -> Ints:
    """Return the stratum of every row, refusing what does not go with cases."""
    if given_counts is not None:
        raise InputError(
            "given_counts goes with a stratum for each row that was looked up: with cases, rows "
            "are counted from scores and given. Leave it out."
        )
    if scores is None:
        raise InputError(
            "scores is missing: with strata=cases give the scores of all rows, those that "
            "choose_cases had."
        )
    return cases.strata_of(scores)


def answered(true: Any, cases: Cases) -> NDArray[Any]:
    """Return the true labels of the first cases; those at the end may be missing."""
    cases.check_order(true, "true")
    truth = as_labels(true, "true")
    if truth.ndim != 1 or not 0 < len(truth) <= len(cases):
        raise InputError(
            f"true has shape {truth.shape} but there are {len(cases)} cases: give the truth of "
            "each, in the order of cases.rows."
        )
    known = ~np.fromiter(map(is_missing, truth.tolist()), bool, len(truth))
    n_known = int(known.sum())
    if not known[:n_known].all():
        raise InputError(
            f"true is missing for case {int(np.argmin(known)) + 1} but not for later ones: cases "
            "may be left out at the end only, for whoever skips the hard ones changes the answer."
        )
    return truth[:n_known]


def names_of_strata(cases: Cases, classes: tuple[Any, ...]) -> list[str]:
    """Return what each stratum is called: steps of a score, within each predicted class if many."""
    edges = [0.0, *cases.edges.tolist(), 1.0]
    steps = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    if cases.n_classes is None:
        return steps
    parts = [f", {step}" for step in steps] if len(steps) > 1 else [""]
    return [f"{name}{part}" for name in classes for part in parts]


def count_cases(cases: Cases, stratum: Ints, given: Classes, true: Ints) -> CountedRows:
    """Count rows along a score by stratum and given label, and the first cases by their truth."""
    cases.check_given(given.codes == 1 if len(given.names) == 2 else given.codes)
    steps = names_of_strata(cases, given.names)
    looked_up = cases.rows[: len(true)]
    size = (len(steps), len(given.names))
    return CountedRows(
        given.names,
        steps,
        _table((stratum, given.codes), size),
        _table((stratum[looked_up], given.codes[looked_up], true), (*size, size[1])),
    )


def count_columns(
    true: Classes, given: Ints, *, strata: Any, scores: Any, given_counts: Any
) -> CountedRows:
    """Count rows looked up by a stratum for each, and rows of the data as told."""
    if scores is not None:
        raise InputError(
            "scores goes with strata=cases, the record of choose_cases: with a stratum for each "
            "row that was looked up, give given_counts."
        )
    column = as_labels(strata, "strata")
    if column.shape != given.shape:
        raise InputError(
            f"strata has shape {column.shape} but {len(given):,} rows were looked up: give the "
            "stratum of each."
        )
    told = _read_counts(given_counts, true)
    seen = [plain(name) for name in distinct_labels(column, "strata")]
    unknown = [name for name in seen if str(name) not in told]
    if unknown:
        raise InputError(f"given_counts lacks stratum {unknown[0]!r}: count the rows of each.")
    names = _in_order(list(told))
    places = {name: place for place, name in enumerate(names)}
    which = np.array([places[str(plain(name))] for name in column.tolist()])
    rows = np.array([told[name] for name in names])
    found = _table((which, given, true.codes), (*rows.shape, rows.shape[1]))
    audited = found.sum(axis=2)
    many = np.argwhere(audited > rows)
    if len(many):
        place, label = many[0]
        raise InputError(
            f"given_counts says that stratum {names[place]!r} has "
            f"{counted(rows[place, label], 'row')} labelled {true.names[label]!r}, but "
            f"{audited[place, label]:,} such rows were looked up: count the whole data, these rows "
            "included."
        )
    return CountedRows(true.names, names, rows, found)


def _in_order(names: list[str]) -> list[str]:
    """Return strata by size or in alphabetical order."""
    try:
        return sorted(names, key=float)
    except ValueError:
        return sorted(names)


def _read_counts(given_counts: Any, labels: Classes) -> dict[str, list[int]]:
    """Return rows of the data with each label, by stratum."""
    if not isinstance(given_counts, Mapping) or not all(
        isinstance(part, Mapping) for part in given_counts.values()
    ):
        form = ", ".join(f"{label!r}: ..." for label in labels.names)
        raise InputError(
            "given_counts is needed with strata: how many rows of the data each stratum has with "
            f"each label, as {{stratum: {{{form}}}, ...}}."
        )
    told = {}
    for name, part in given_counts.items():
        whose = f"given_counts of stratum {plain(name)!r}"
        counts = told[str(plain(name))] = [0] * len(labels.names)
        for label, count in part.items():
            place = labels.number(plain(label))
            if place is None:
                raise InputError(
                    f"{whose} has label {plain(label)!r}, which is none of "
                    f"{join_quoted(labels.names)}: of these, rows were looked up."
                )
            counts[place] = check_whole(count, whose, at_most=MOST_ROWS)
    return told


def _table(codes: tuple[NDArray[np.intp], ...], size: tuple[int, ...]) -> Ints:
    """Count rows by several columns of numbers."""
    flat = np.ravel_multi_index(codes, size)
    return np.bincount(flat, minlength=int(np.prod(size))).reshape(size)
