"""Audited rows by stratum and given label, however they come, and the line beside them.

Where rows were drawn with recorded chances, such as the likelier to be wrong, those of about the
same chance are a stratum: within it, and within a given label, the draw was at random. In a
stratum rows are weighted by one over their chance, and count as so many rows of equal weight (Kish
1965); the strata are then those of any stratified audit, which holds with few wrong rows because a
stratum in which none was found may still have some (theory page, "Rows drawn with chances").
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from evenodds.errors import InputError
from evenodds.inference.audit.counts import AuditedLabels, check_both_classes, read_audited
from evenodds.inference.audit.result import AuditStratum
from evenodds.inference.audit.stratified import Shares, with_added
from evenodds.inference.cases.counts import (
    CountedRows,
    answered,
    count_cases,
    count_columns,
    strata_check,
    strata_of_cases,
)
from evenodds.inference.cases.line_fit import LineStatistic, leverages
from evenodds.inference.cases.record import Cases, Ints
from evenodds.inference.cases.strata import ALIKE, strata_by_label
from evenodds.inference.results import Diagnostic
from evenodds.rows.labels import Classes, as_labels, is_missing
from evenodds.validation import FloatArray, check_vector, signed

# What makes a check speak.
DOUBT_BELOW, DOUBT_ON_BOUND = 0.01, 0.001
# The line is compared where it has so many strata, and so many audited rows are wrong.
FEWEST_STRATA, FEWEST_WRONG = 3, 6
LEAST_SHARE = 1e-3
# One over a chance, and sums of those, must be numbers.
LEAST_CHANCE = 1e-300
IS_POSITIVE = np.array([0, 1])  # of the two columns of labels
# Chances of one stratum differ by at most this factor, and it has so many audited rows.
RATIO, FEWEST_AUDITED = 2.0, 5
# Rows drawn that are further than this from those that the chances would draw, in z.
SURPRISING = 4.0
# Drawn rows of a label that stand for a smaller share of its rows hardly speak of the others.
LEAST_STOOD_FOR = 0.5


@dataclass(frozen=True, slots=True)
class StratifiedRows:
    """Labels of audited rows, and every stratum and label with its rows of the data.

    Attributes
    ----------
    labels : AuditedLabels
        Of the audited rows.
    counts : CountedRows
        Rows of every stratum, labelled negative and positive, and what was found.
    by_given : bool
        Whether rows were drawn by given label too.
    along_a_score : bool
        Whether strata are those of a score that did not see the row's own label.
    """

    labels: AuditedLabels
    counts: CountedRows
    by_given: bool
    along_a_score: bool

    @property
    def wrong(self) -> Ints:
        """Audited rows that are wrong, by stratum and given label."""
        return np.asarray(self.counts.found[:, IS_POSITIVE, 1 - IS_POSITIVE])

    def merged(self) -> tuple[tuple[AuditStratum, ...], float]:
        """Return strata by given label, those that nobody audited joined to their neighbours.

        And the share of all rows in strata that were joined.
        """
        cells, borrowed = self.counts.joined()
        found = tuple(
            AuditStratum(
                stratum=cell.stratum,
                given=self.counts.classes[cell.label],
                n_rows=cell.n_rows,
                n_audited=int(cell.found.sum()),
                n_wrong=int(cell.found[1 - cell.label]),
            )
            for cell in cells
        )
        return found, borrowed


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
        return _along_a_score(
            true, given, strata, strata_of_cases(strata, scores, given_counts), positive
        )
    labels = read_audited(true, given, positive)
    check_both_classes(labels.flips(), "given", labels)
    codes = Classes(labels.true.astype(np.intp), (labels.negative, labels.positive))
    counts = count_columns(
        codes,
        labels.given.astype(np.intp),
        strata=strata,
        scores=scores,
        given_counts=given_counts,
    )
    return StratifiedRows(labels, counts, by_given=by_given, along_a_score=False)


def _along_a_score(
    true: Any, given: Any, cases: Cases, stratum: Ints, positive: Any
) -> StratifiedRows:
    """Count rows and audited rows along a score."""
    truth = answered(true, cases)
    whole = as_labels(given, "given")
    if whole.shape != (cases.n_rows,):
        raise InputError(
            f"given has shape {whole.shape} but the cases were drawn from {cases.n_rows:,} rows: "
            "give the labels of all rows."
        )
    labels = read_audited(truth, whole[cases.rows[: len(truth)]], positive)
    codes = labels.positive_among(whole).astype(np.intp)
    check_both_classes(labels.flips(), "given", labels)
    classes = Classes(codes, (labels.negative, labels.positive))
    counts = count_cases(cases, stratum, classes, labels.true.astype(np.intp))
    return StratifiedRows(labels, counts, by_given=cases.given_hash is not None, along_a_score=True)


def audited_check(
    audited: int, wrong: int, n_cells: int, borrowed: float | None = None
) -> Diagnostic:
    """Say what an audit within strata rests on."""
    return strata_check(
        f"{audited:,} audited rows in {n_cells} cells of stratum and given label, {wrong:,} of "
        "them wrong",
        borrowed,
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
    rows, audited = found.counts.rows.astype(float), found.counts.audited.astype(float)
    found_wrong = found.wrong
    few = len(rows) < FEWEST_STRATA or found_wrong.sum() < FEWEST_WRONG
    if not found.along_a_score or few or ((rows > 0) & (audited == 0)).any():
        return None
    seen_wrong = found_wrong / np.maximum(audited, 1)
    n, total = rows.sum(axis=1), float(rows.sum())
    flipped = (rows * seen_wrong).sum(axis=0) / total
    seen = Shares(float(flipped[0]), float(flipped[1]), float(rows[:, 1].sum() / total))
    strata = strata_by_label(rows, audited, np.abs(IS_POSITIVE * audited - found_wrong))
    if strata.alike() >= ALIKE:
        return None
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # lines that leave 0 to 1 are tried, and dropped
        line = LineStatistic.of(strata)
    slope = float(line.best.slope[0])
    shares = np.clip(line.best.shares[0], LEAST_SHARE, 1 - LEAST_SHARE)
    alpha, beta = (max(rate, LEAST_SHARE) for rate in line.rates)
    reach, _ = leverages(strata, slope, shares, line.estimate)
    given = beta + (1 - alpha - beta) * shares
    wrong = np.column_stack([alpha * shares / (1 - given), beta * (1 - shares) / given])
    # What the share wrong in a cell adds to the audit, less what it adds to the line.
    of_line = (2 * IS_POSITIVE - 1) * (reach * slope / n)[:, None] * rows
    part = seen.gradient("asymmetry") * rows / total - of_line
    left_out = 1 / np.maximum(audited, 1) - 1 / np.maximum(rows, 1)
    seen_wrong, seen_rows = with_added(found_wrong.astype(float), audited, rows)
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


def read_inclusion(
    true: Any, given: Any, inclusion: Any, positive: Any = None
) -> tuple[AuditedLabels, tuple[AuditStratum, ...], tuple[int, int], Diagnostic]:
    """Return audited labels, strata of like chances, counts of given labels, and a check.

    All three columns are of all rows; the truth is missing where a row was not drawn.
    """
    whole, truth = as_labels(given, "given"), as_labels(true, "true")
    chances = check_vector(inclusion, "inclusion", len(whole), "row", one_for_all=False)
    if truth.shape != whole.shape:
        raise InputError(
            f"true has shape {truth.shape} but given has {len(whole):,} rows: with inclusion, give "
            "the truth of all rows, missing where a row was not drawn."
        )
    outside = np.flatnonzero((chances <= LEAST_CHANCE) | (chances > 1))
    if len(outside):
        raise InputError(
            f"inclusion must lie above {LEAST_CHANCE:g} and at most at 1 but row "
            f"{outside[0] + 1:,} of {len(chances):,} has {chances[outside[0]]:g}: give the chance "
            "with which each row was drawn (one over its weight); a row that could not be drawn is "
            "not of the data audited."
        )
    drawn = np.array([not (is_missing(one) or one == "") for one in truth.tolist()], dtype=bool)
    if not drawn.any():
        raise InputError("true is missing for every row: no row was audited.")
    labels = read_audited(truth[drawn], whole[drawn], positive)
    check_both_classes(labels.flips(), "given", labels)
    labelled = labels.positive_among(whole)
    wrong = np.zeros(len(whole))
    wrong[drawn] = labels.true != labels.given
    strata = [
        _stratum(chances[rows], drawn[rows], wrong[rows], name)
        for value, name in ((False, labels.negative), (True, labels.positive))
        for rows in _alike(chances, drawn, np.flatnonzero(labelled == value))
    ]
    counts = int((~labelled).sum()), int(labelled.sum())
    check = inclusion_check(chances, drawn)
    if not check.concern:
        check = unseen_check(chances, drawn, labelled, labels) or check
    return labels, tuple(strata), counts, check


def _alike(chances: FloatArray, drawn: Any, rows: Any) -> list[Any]:
    """Return rows in steps of their chance, from the least; a step has enough audited rows."""
    steps = np.floor(np.log(chances[rows] / chances[rows].min()) / math.log(RATIO) + 1e-9)
    found: list[Any] = [np.empty(0, dtype=np.intp)]
    for step in np.unique(steps):
        if drawn[found[-1]].sum() >= FEWEST_AUDITED:
            found.append(np.empty(0, dtype=np.intp))
        found[-1] = np.concatenate([found[-1], rows[steps == step]])
    if len(found) > 1 and drawn[found[-1]].sum() < FEWEST_AUDITED:
        last = found.pop()
        found[-1] = np.concatenate([found[-1], last])
    return found


def _stratum(chances: FloatArray, drawn: Any, wrong: FloatArray, given: Any) -> AuditStratum:
    """Return rows of one given label and like chances."""
    weights, off = 1 / chances[drawn], wrong[drawn]
    shares = weights / weights.sum()
    wrong_share = min(float(shares @ off), 1.0)
    worth = min(1 / float((shares**2).sum()), float(len(shares)))  # never more, by rounding
    # Where the wrong rows are those of large weight, they are worth less than that.
    variance = float((shares**2 * (off - wrong_share) ** 2).sum())
    if variance > 0:
        worth = min(worth, wrong_share * (1 - wrong_share) / variance)
    low, high = f"{chances.min():.3g}", f"{chances.max():.3g}"
    return AuditStratum(
        stratum=f"chance {low}" if low == high else f"chance {low} to {high}",
        given=given,
        n_rows=len(chances),
        n_audited=int(drawn.sum()),
        n_wrong=int(off.sum()),
        worth=worth,
        share_wrong=wrong_share,
    )


def unseen_check(
    chances: FloatArray, drawn: Any, labelled: Any, labels: AuditedLabels
) -> Diagnostic | None:
    """Doubt rows of a label of which most had so small a chance that hardly one was drawn.

    The others are then taken for like those that were, which had a large chance for a reason.
    """
    for value, name in ((False, labels.negative), (True, labels.positive)):
        own = labelled == value
        stands_for = float((1 / chances[drawn & own]).sum())
        if stands_for < own.sum() * LEAST_STOOD_FOR:
            return Diagnostic(
                name="inclusion",
                message=f"The rows drawn among those labelled {name!r} stand for "
                f"{stands_for:,.0f} of {own.sum():,}: the others had small chances, and hardly one "
                "was drawn. They are taken for as often wrong as those that were: audit some of "
                "them.",
                concern=True,
                statistic=stands_for / float(own.sum()),
            )
    return None


def inclusion_check(chances: FloatArray, drawn: Any) -> Diagnostic:
    """Doubt chances that would hardly have drawn these rows: they must stand for all."""
    n, expected = int(drawn.sum()), float(chances.sum())
    stands_for = float((1 / chances[drawn]).sum())
    spread = math.sqrt(float(((1 - chances) / chances).sum())) or 1.0
    z = (stands_for - len(chances)) / spread
    concern = abs(z) > SURPRISING
    message = (
        f"{n:,} rows were drawn where the chances add up to {expected:,.1f}, and stand for "
        f"{stands_for:,.0f} of {len(chances):,}"
    )
    message += (
        ": such chances would hardly draw these rows. Are they those of this draw, and is every "
        "drawn row there?"
        if concern
        else "."
    )
    return Diagnostic(name="inclusion", message=message, concern=concern, statistic=z)
