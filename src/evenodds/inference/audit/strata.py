"""Audited rows by stratum and given label, however they come, and the line beside them."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from evenodds.errors import InputError
from evenodds.inference.audit.counts import (
    MOST_ROWS,
    AuditedLabels,
    check_both_classes,
    read_audited,
)
from evenodds.inference.audit.result import AuditStratum
from evenodds.inference.audit.stratified import Shares, with_added
from evenodds.inference.line.by_label import strata_by_label
from evenodds.inference.line.cases import Cases, Ints
from evenodds.inference.line.likelihood import LineStatistic, leverages
from evenodds.inference.results import Diagnostic
from evenodds.rows.labels import as_labels, distinct_labels, is_missing, plain, read_labels
from evenodds.validation import check_whole, counted, signed

# What makes a check speak.
DOUBT_BELOW, DOUBT_ON_BOUND = 0.01, 0.001
# Strata of this share of the rows, told from their neighbours, give reason to doubt.
MUCH_BORROWED = 0.05
# The line is compared where it has so many strata, and so many audited rows are wrong.
FEWEST_STRATA, FEWEST_WRONG = 3, 6
LEAST_SHARE = 1e-3
IS_POSITIVE = np.array([0, 1])  # of the two columns of labels


@dataclass(frozen=True, slots=True)
class StratifiedRows:
    """Labels of audited rows, and every stratum and label with its rows of the data.

    Attributes
    ----------
    labels : AuditedLabels
        Of the audited rows.
    names : list
        The strata, in order.
    rows, audited, wrong : array of shape (n_strata, 2)
        Rows of the data labelled negative and positive, those audited, and those that are wrong.
    by_given : bool
        Whether rows were drawn by given label too.
    along_a_score : bool
        Whether strata are those of a score that did not see the row's own label.
    """

    labels: AuditedLabels
    names: list[Any]
    rows: Ints
    audited: Ints
    wrong: Ints
    by_given: bool
    along_a_score: bool

    def merged(self) -> tuple[tuple[AuditStratum, ...], float]:
        """Return strata by given label, those that nobody audited joined to their neighbours.

        And the share of all rows in strata that were joined.
        """
        found, borrowed = [], 0
        for label in (0, 1):
            there = np.flatnonzero(self.rows[:, label] > 0)
            seen = there[self.audited[there, label] > 0]
            nearest = seen[np.abs(seen[:, None] - there).argmin(axis=0)]
            for one in seen:
                joined = there[nearest == one]
                borrowed += int(self.rows[joined, label].sum() - self.rows[one, label])
                found.append(
                    AuditStratum(
                        stratum=" + ".join(str(self.names[place]) for place in joined),
                        given=(self.labels.negative, self.labels.positive)[label],
                        n_rows=int(self.rows[joined, label].sum()),
                        n_audited=int(self.audited[one, label]),
                        n_wrong=int(self.wrong[one, label]),
                    )
                )
        return tuple(found), borrowed / float(self.rows.sum())


def refuse_in_strata(strata: Any, sampled_by: str, groups: Any) -> None:
    """Refuse what an audit within strata cannot be."""
    if groups is not None:
        raise InputError(
            "groups goes without strata: an audit within strata takes rows as independent. Leave "
            "one out."
        )
    if sampled_by == "true":
        raise InputError(
            "sampled_by is 'true' but strata are given: within strata rows are drawn at random, or "
            "by given label ('given')."
        )
    if isinstance(strata, Cases) and sampled_by == "given" and strata.given_hash is None:
        raise InputError(
            "sampled_by is 'given' but the cases were drawn by score alone: leave it out. "
            "choose_cases(..., given=...) draws by label too."
        )


def read_strata(
    true: Any,
    given: Any,
    strata: Any,
    *,
    scores: Any = None,
    given_counts: Any = None,
    positive: Any = None,
    by_given: bool = False,
) -> StratifiedRows:
    """Check an audit within strata: a stratum a row, or cases with the scores of all rows."""
    if isinstance(strata, Cases):
        if given_counts is not None:
            raise InputError(
                "given_counts goes with a stratum for each audited row: with cases, rows are "
                "counted from scores and given. Leave it out."
            )
        return _from_cases(true, given, strata, scores, positive)
    if scores is not None:
        raise InputError(
            "scores goes with strata=cases, the record of choose_cases: with a stratum for each "
            "audited row, give given_counts."
        )
    labels = read_audited(true, given, positive)
    return _from_columns(labels, strata, given_counts, by_given)


def _from_cases(true: Any, given: Any, cases: Cases, scores: Any, positive: Any) -> StratifiedRows:
    """Count rows and audited rows along a score."""
    if scores is None:
        raise InputError(
            "scores is missing: with strata=cases give the scores of all rows, those that "
            "choose_cases had."
        )
    stratum = cases.strata_of(scores)
    truth = answered(true, len(cases))
    looked_up = cases.rows[: len(truth)]
    whole = as_labels(given, "given")
    if whole.shape != (cases.n_rows,):
        raise InputError(
            f"given has shape {whole.shape} but the cases were drawn from {cases.n_rows:,} rows: "
            "give the labels of all rows."
        )
    labels = read_audited(truth, whole[looked_up], positive)
    every = read_labels(whole, labels.positive, "given")
    if every.negative != labels.negative:
        raise InputError(
            f"given has {every.negative!r} but true has {labels.negative!r}: write the two classes "
            "in the same words in both."
        )
    is_positive = every.block(slice(None)) == 1
    cases.check_given(is_positive)
    edges = [0.0, *cases.edges.tolist(), 1.0]
    names = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    size = (len(names), 2)
    rows = np.bincount(2 * stratum + is_positive, minlength=2 * len(names)).reshape(size)
    return _counted(
        labels,
        names,
        stratum[looked_up],
        rows,
        by_given=cases.given_hash is not None,
        along_a_score=True,
    )


def answered(true: Any, n_cases: int) -> NDArray[Any]:
    """Return the true labels of the first cases; those at the end may be missing."""
    truth = as_labels(true, "true")
    if truth.ndim != 1 or not 0 < len(truth) <= n_cases:
        raise InputError(
            f"true has shape {truth.shape} but there are {n_cases} cases: give the truth of each, "
            "in the order of cases.rows."
        )
    known = ~np.fromiter(map(is_missing, truth.tolist()), bool, len(truth))
    n_known = int(known.sum())
    if not known[:n_known].all():
        raise InputError(
            f"true is missing for case {int(np.argmin(known)) + 1} but not for later ones: cases "
            "may be left out at the end only, for whoever skips the hard ones changes the answer."
        )
    return truth[:n_known]


def _from_columns(
    labels: AuditedLabels, strata: Any, given_counts: Any, by_given: bool
) -> StratifiedRows:
    """Count audited rows by their strata, and rows of the data as told."""
    column = as_labels(strata, "strata")
    if column.shape != labels.true.shape:
        raise InputError(
            f"strata has shape {column.shape} but there are {len(labels.true):,} audited rows: "
            "give the stratum of each."
        )
    seen = distinct_labels(column, "strata")
    told = _read_counts(given_counts, labels)
    unknown = [plain(name) for name in seen if str(plain(name)) not in told]
    if unknown:
        raise InputError(f"given_counts lacks stratum {unknown[0]!r}: count the rows of each.")
    names = _in_order([*map(plain, seen), *(name for name in told if name not in map(str, seen))])
    rows = np.array([told[str(name)] for name in names])
    places = {str(name): place for place, name in enumerate(names)}
    which = np.array([places[str(plain(value))] for value in column.tolist()])
    return _counted(labels, names, which, rows, by_given=by_given, along_a_score=False)


def _in_order(names: list[Any]) -> list[Any]:
    """Return strata by size or in alphabetical order, where they have one."""
    try:
        return sorted(names, key=float)
    except (TypeError, ValueError):
        return sorted(names, key=str)


def _read_counts(given_counts: Any, labels: AuditedLabels) -> dict[str, tuple[int, int]]:
    """Return rows of the data labelled negative and positive, by stratum."""
    pair = str(labels.negative), str(labels.positive)
    form = f"{{stratum: {{{labels.negative!r}: ..., {labels.positive!r}: ...}}, ...}}"
    if not isinstance(given_counts, Mapping) or not all(
        isinstance(part, Mapping) for part in given_counts.values()
    ):
        raise InputError(
            "given_counts is needed with strata: how many rows of the data each stratum has with "
            f"either label, as {form}."
        )
    told = {}
    for name, part in given_counts.items():
        named = {str(plain(label)): count for label, count in part.items()}
        if not set(named) <= set(pair):
            raise InputError(
                f"given_counts of stratum {plain(name)!r} names other labels than "
                f"{labels.negative!r} and {labels.positive!r}: give them as {form}."
            )
        whose = f"given_counts of stratum {plain(name)!r}"
        told[str(plain(name))] = (
            check_whole(named.get(pair[0], 0), whose, at_most=MOST_ROWS),
            check_whole(named.get(pair[1], 0), whose, at_most=MOST_ROWS),
        )
    return told


def _counted(
    labels: AuditedLabels, names: list[Any], stratum: Ints, rows: Ints, **design: bool
) -> StratifiedRows:
    """Count audited and wrong rows by stratum and given label."""
    check_both_classes(labels.flips(), "given", labels)
    cells, size = 2 * stratum + labels.given, 2 * len(names)
    audited = np.bincount(cells, minlength=size).reshape(-1, 2)
    wrong = np.bincount(cells[labels.true != labels.given], minlength=size).reshape(-1, 2)
    many = np.argwhere(audited > rows)
    if len(many):
        place, label = many[0]
        of_label = (labels.negative, labels.positive)[label]
        raise InputError(
            f"given_counts says that stratum {names[place]!r} has "
            f"{counted(rows[place, label], 'row')} labelled {of_label!r}, but "
            f"{audited[place, label]:,} such rows were audited: count the whole data, audited rows "
            "included."
        )
    return StratifiedRows(labels, names, rows, audited, wrong, **design)


def strata_check(found: StratifiedRows, n_cells: int, borrowed: float) -> Diagnostic:
    """Say what the strata are, and doubt an answer for strata that nobody looked at."""
    message = _rests_on(int(found.audited.sum()), int(found.wrong.sum()), n_cells)
    if borrowed:
        message += (
            f" Strata with {borrowed:.1%} of the rows have no audited row of one label, and are "
            "told from their neighbours: audit some there."
        )
    return Diagnostic(
        name="strata", message=message, concern=borrowed > MUCH_BORROWED, statistic=borrowed
    )


def cells_check(n_audited: int, cells: tuple[AuditStratum, ...]) -> Diagnostic:
    """Say what the strata of rows drawn with chances are."""
    wrong = sum(one.n_wrong for one in cells)
    return Diagnostic(name="strata", message=_rests_on(n_audited, wrong, len(cells)), concern=False)


def _rests_on(audited: int, wrong: int, n_cells: int) -> str:
    return (
        f"{audited:,} audited rows in {n_cells} cells of stratum and given label, {wrong:,} of "
        "them wrong: z is read off its own distribution, not the normal."
    )


def line_check(found: StratifiedRows) -> Diagnostic | None:
    """Tell of an asymmetry that the line reads otherwise: flips depend on the case.

    Nothing is said where they agree, which few rows do by chance, or where the line cannot tell.
    """
    compared = compare_with_line(found)
    if compared is None or not compared.differs:
        return None
    return Diagnostic(
        name="line",
        message="Read as if flips depended on the class alone (the line), the asymmetry would be "
        f"{signed(compared.line)}; the audit, which needs no such assumption, has "
        f"{signed(compared.audit)}. Flips depend on the case: line_test and tests on anchors "
        "mislead.",
        concern=True,
        statistic=compared.z,
        pvalue=compared.pvalue,
    )


@dataclass(frozen=True, slots=True)
class Compared:
    """The asymmetry by audit and line, and their difference over its standard error."""

    audit: float
    line: float
    z: float
    on_bound: bool  # by the line one class is never flipped: its estimate is cut off there

    @property
    def pvalue(self) -> float:
        """Of "they estimate the same"."""
        return 2 * float(ndtr(-abs(self.z)))

    @property
    def differs(self) -> bool:
        """Whether there is reason to doubt that."""
        return self.pvalue < (DOUBT_ON_BOUND if self.on_bound else DOUBT_BELOW)


def compare_with_line(found: StratifiedRows) -> Compared | None:
    """Compare the two estimates, from the same rows (theory page, "The stratified audit").

    Both are sums over cells of the share wrong there, and of labels, so that their difference is
    one too: its variance is that of the draw, and that of the flips. The draw's is taken at the
    rates of the line or as seen, whichever is larger.
    """
    rows, audited = found.rows.astype(float), found.audited.astype(float)
    few = len(rows) < FEWEST_STRATA or found.wrong.sum() < FEWEST_WRONG
    if not found.along_a_score or few or ((rows > 0) & (audited == 0)).any():
        return None
    seen_wrong = found.wrong / np.maximum(audited, 1)
    n, total = rows.sum(axis=1), float(rows.sum())
    flipped = (rows * seen_wrong).sum(axis=0) / total
    seen = Shares(float(flipped[0]), float(flipped[1]), float(rows[:, 1].sum() / total))
    strata = strata_by_label(rows, audited, np.abs(IS_POSITIVE * audited - found.wrong))
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # lines that leave 0 to 1 are tried, and dropped
        line = LineStatistic.of(strata)
    slope = float(line.best.slope[0])
    shares = np.clip(line.best.shares[0], LEAST_SHARE, 1 - LEAST_SHARE)
    alpha = max((1 - slope - line.estimate) / 2, LEAST_SHARE)
    beta = max((1 - slope + line.estimate) / 2, LEAST_SHARE)
    reach, _ = leverages(strata, slope, shares, line.estimate)
    given = beta + (1 - alpha - beta) * shares
    wrong = np.column_stack([alpha * shares / (1 - given), beta * (1 - shares) / given])
    # What the share wrong in a cell adds to the audit, less what it adds to the line.
    of_line = (2 * IS_POSITIVE - 1) * (reach * slope / n)[:, None] * rows
    part = seen.gradient("asymmetry") * rows / total - of_line
    left_out = 1 / np.maximum(audited, 1) - 1 / np.maximum(rows, 1)
    seen_wrong, seen_rows = with_added(found.wrong.astype(float), audited, rows)
    seen_wrong = seen_wrong / seen_rows
    spread = np.maximum(wrong * (1 - wrong), seen_wrong * (1 - seen_wrong))
    drawn = part**2 * spread * left_out
    # What a flip adds to either, by true class.
    positives = alpha * (1 - alpha) * (reach / n - 1 / (total * seen.prior)) ** 2
    negatives = beta * (1 - beta) * (reach / n - 1 / (total * (1 - seen.prior))) ** 2
    of_flips = n * (shares * positives + (1 - shares) * negatives)
    error = float(np.sqrt(drawn.sum() + of_flips.sum()))
    apart = (seen.asymmetry - line.estimate) / error
    return Compared(seen.asymmetry, line.estimate, apart, min(alpha, beta) <= LEAST_SHARE)
