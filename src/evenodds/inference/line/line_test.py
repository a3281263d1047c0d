"""The line test: is one class flipped more often, by cases judged along any score?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from evenodds.errors import InputError
from evenodds.inference.cases.line_fit import (
    ALIKE,
    SHARE_FLOOR,
    GroupedRows,
    LineStatistic,
    Regressed,
    Strata,
    strata_by_label,
    strata_by_statement,
)
from evenodds.inference.cases.record import Answers, Cases, Ints, check_answers, count_labels
from evenodds.inference.line.ladder import (
    DOUBT_BELOW,
    ladder,
    of_one_fold,
    off_the_line,
    wider_than_rungs,
)
from evenodds.inference.line.result import LineRung, LineTestResult, Stratum
from evenodds.inference.profile import Alternative, Profile, pvalue_of
from evenodds.inference.results import Diagnostic, check_alternative
from evenodds.rows.labels import Labels, read_labels
from evenodds.rows.memory import read_groups, read_weights
from evenodds.validation import FloatArray, as_array, check_between, counted, with_minus

DEFAULT_SHARED_TOLERANCE = {"probability": 0.05, "looked-up": 0.0}
# Guesses dressed as truth: an expert who states probabilities states more than these.
THREE_WAY = (0.0, 0.5, 1.0)
FEWEST_ANSWERS_PER_STRATUM = 3
# What decides at 5%, and how many strata a line needs.
CRITICAL, FEWEST_STRATA_LEFT = 1.96, 2
# No estimate is shown where z stays this small over so wide a range to either side.
NEAR, FLAT = 1.0, 0.2


def line_test(
    scores: ArrayLike,
    y: ArrayLike,
    cases: Cases,
    stated: ArrayLike,
    *,
    answers: Answers,
    positive: Any = None,
    alternative: Alternative = "two-sided",
    shared_tolerance: float | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> LineTestResult:
    r"""Test for class-conditional noise by cases that an expert judged along a score.

    The null hypothesis is uniform noise. In every stratum of a score that did not see the row's
    own label, the share of positive given labels is a straight line in the share truly
    positive; under uniform noise it runs through the centre. The score may be poor, and of any
    model; what is needed is that flips depend on the class alone.

    Parameters
    ----------
    scores : array-like of float
        Out-of-fold probabilities of the given label, those that `choose_cases` had.
    y : array-like
        Given labels, a value a row.
    cases : Cases
        The rows that were judged, as `choose_cases` drew them.
    stated : array-like
        What was stated of each case, in the order of ``cases.rows``: how likely it is truly
        positive, or the truth. Cases at the end may be unanswered (nan). Several experts: a
        column each.
    answers : {"probability", "looked-up"}
        What the answers are: stated probabilities, or the truth, looked up.
    positive : object, optional
        The positive label. Default: the larger, True, or the later in sort order.
    alternative : {"two-sided", "greater", "less"}
        "greater": negatives are flipped more often than positives.
    shared_tolerance : float, optional
        How far an expert may lean the same way in every answer; 0.05 by default for
        probabilities, 0 for looked-up answers.
    sample_weight : array-like, optional
        How many rows each row stands for.
    groups : array-like, optional
        Rows that belong together.

    Returns
    -------
    LineTestResult
        Statistic, p-value, asymmetry, flip rates, interval, ladder of noise models.

    Raises
    ------
    InputError
        If the answers are not those of the cases, or cannot be what `answers` says.

    See Also
    --------
    out_of_fold_scores, choose_cases : What comes before.
    audit_test : For looked-up rows, also of these strata: valid whatever flips depend on.

    Notes
    -----
    With `n_s` rows of which `L_s` are labelled positive and `m_s` statements of sum `k_s`, the
    quasi-likelihood

    .. math:: \sum_s L_s \log l_s + (n_s - L_s) \log(1 - l_s)
              + \tfrac{1}{\phi_s} [k_s \log c_s + (m_s - k_s) \log(1 - c_s)]

    with :math:`l_s = (1 - \gamma + \Delta)/2 + \gamma c_s` is maximised over the line and the
    shares; z is the signed root of twice its drop (theory page, "The line"). Stated
    probabilities are regressed on the labels of their cases first: how many labels of a stratum
    are positive is known, and that the cases have more or fewer of them is chance.

    A straight line does not show that flips depend on the class alone. Where the truth was looked
    up, ``audit_test(..., strata=cases, scores=scores)`` needs no such assumption. Cases drawn by
    given label count by the rows of their label, as many as would give the same variance if
    drawn from the stratum at random.
    """
    kind = check_answers(answers)
    asked = check_alternative(alternative)
    strata_of_rows = cases.strata_of(scores)
    labels = read_labels(y, positive)
    if len(labels) != cases.n_rows:
        raise InputError(
            f"y has {len(labels):,} labels but the cases were drawn from {cases.n_rows:,} rows."
        )
    given = labels.block(slice(None))
    weights = read_weights(sample_weight, cases.n_rows)
    if cases.given_hash is not None:
        cases.check_given(given == 1)
        if kind != "looked-up" or weights is not None or groups is not None:
            raise InputError(
                "these cases were drawn by given label, for truths that are looked up: they go "
                "with answers='looked-up', without sample_weight and groups. For stated "
                "probabilities draw cases by score alone."
            )
    said = _statements(stated, cases, kind)
    tolerance = DEFAULT_SHARED_TOLERANCE[kind] if shared_tolerance is None else shared_tolerance
    tolerance = check_between(tolerance, "shared_tolerance", 0, 0.5, closed="left")
    data = _Judged(
        strata=strata_of_rows,
        given=given,
        weights=weights,
        rows=cases.rows[: len(said)],
        of_case=cases.strata[: len(said)],
        said=said.mean(axis=1),
    )
    worth, regressed = np.ones(len(said)), None
    if cases.given_hash is not None:
        counts, worth = _count_by_label(data, cases.n_strata)
    elif kind == "looked-up":
        counts = _count_looked_up(data, cases.n_strata)
    else:
        n, positive = _labels(data, cases.n_strata)
        counts, regressed = strata_by_statement(
            n, positive, data.of_case, data.said, given[data.rows]
        )
    others = [counts.without_each()] if len(counts) > FEWEST_STRATA_LEFT else []
    statistic, one_fold, *without = LineStatistic.of_each(
        [counts, of_one_fold(counts), *others], tolerance
    )
    if groups is not None:
        statistic = statistic.widened_by(_grouped(groups, data, regressed))
    rungs = ladder(one_fold)
    return _result(
        statistic, cases, (kind, asked), labels, said, worth=worth, rungs=rungs, without=without
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """Every row's stratum and given label, and what was stated of some."""

    strata: Ints
    given: FloatArray
    weights: FloatArray | None
    rows: Ints
    of_case: Ints
    said: FloatArray


def _statements(stated: ArrayLike, cases: Cases, answers: Answers) -> FloatArray:
    """Return what was stated of the first cases, a column an expert."""
    try:
        said = np.array(as_array(stated), dtype=float)
    except (TypeError, ValueError):
        raise InputError("stated must hold numbers between 0 and 1, one a case.") from None
    said = said[:, None] if said.ndim == 1 else said
    if said.ndim != 2 or len(said) > len(cases) or not said.size:
        raise InputError(
            f"stated has shape {said.shape} but there are {len(cases)} cases: give one value for "
            "each, in the order of cases.rows, or a column for each expert."
        )
    known = ~np.isnan(said)
    if (known[1:] & ~known[:-1]).any():
        expert = int((known[1:] & ~known[:-1]).any(axis=0).argmax())
        gap = int((~known[:, expert]).argmax())
        raise InputError(
            f"stated has no answer for case {gap + 1} but has some for later ones: cases may be "
            "left out at the end only, for whoever skips the hard ones changes the answer."
        )
    said = said[known.all(axis=1)]
    outside = np.argwhere((said < 0) | (said > 1))
    if len(outside):
        raise InputError(
            f"stated is {said[tuple(outside[0])]:g} for case {outside[0][0] + 1} but must lie "
            "between 0 and 1: it is a probability, or the truth."
        )
    _refuse_other_kinds(said, answers)
    counts = np.bincount(cases.strata[: len(said)], minlength=cases.n_strata)
    if (counts < FEWEST_ANSWERS_PER_STRATUM).any():
        raise InputError(
            f"stratum {counts.argmin() + 1} of {cases.n_strata} has "
            f"{counted(counts.min(), 'answer')} and needs {FEWEST_ANSWERS_PER_STRATUM}: "
            f"{len(said)} of {len(cases)} cases are answered; answer some more."
        )
    return np.asarray(said)


def _refuse_other_kinds(said: FloatArray, answers: Answers) -> None:
    """Refuse guesses that are called something else."""
    if answers == "looked-up":
        between = np.argwhere((said > 0) & (said < 1))
        if len(between):
            raise InputError(
                f"stated is {said[tuple(between[0])]:g} for case {between[0][0] + 1} but looked-up "
                "answers are 0 or 1: say answers='probability' for stated probabilities."
            )
        return
    if np.isin(said, THREE_WAY).all():
        values = "0 and 1" if np.isin(said, (0, 1)).all() else "0, 1/2 and 1"
        raise InputError(
            f"all answers are {values}: as probabilities these are guesses, which bias the test. "
            "Ask how likely each case is, or say answers='looked-up' where the truth was."
        )


def _labels(data: _Judged, size: int, *, judged: bool = True) -> tuple[FloatArray, FloatArray]:
    """Return the rows of each stratum and how many are labelled positive, judged ones or not."""
    left_out = None if judged else data.rows
    n, positive = count_labels(
        data.strata, data.given, size, weights=data.weights, left_out=left_out
    )
    if (n <= 0).any():
        raise InputError(
            f"stratum {int(n.argmin()) + 1} of {size} has no rows left to count labels in: all of "
            "them were judged, or weigh nothing. Draw fewer cases, or fewer strata."
        )
    return n, positive


def _count_looked_up(data: _Judged, size: int) -> Strata:
    """Return counts of the rows that were not looked up, and of the truths."""
    n, positive = _labels(data, size, judged=False)
    m = np.bincount(data.of_case, minlength=size).astype(float)
    k = np.bincount(data.of_case, data.said, size).astype(float)
    return Strata(n, positive, m, k, np.ones(size), math.inf)


def _count_by_label(data: _Judged, size: int) -> tuple[Strata, FloatArray]:
    """Return counts of all rows and of cases drawn by given label, and what each case counts."""

    def by_cell(strata: Ints, labels: FloatArray, values: FloatArray | None = None) -> FloatArray:
        cells = 2 * strata + labels.astype(np.intp)
        return np.bincount(cells, values, 2 * size).reshape(size, 2).astype(float)

    rows, of_case = by_cell(data.strata, data.given), data.given[data.rows]
    judged = by_cell(data.of_case, of_case)
    unseen = np.argwhere((rows > 0) & (judged == 0))
    if len(unseen):
        raise InputError(
            f"stratum {unseen[0][0] + 1} of {size} has no answer for one of its given labels: "
            "answer some more cases."
        )
    worth = (rows / np.maximum(judged, 1))[data.of_case, of_case.astype(np.intp)]
    return strata_by_label(rows, judged, by_cell(data.of_case, of_case, data.said)), worth


def _grouped(groups: ArrayLike, data: _Judged, regressed: Regressed | None) -> GroupedRows:
    n_rows = len(data.strata)
    which, _ = read_groups(groups, n_rows, whose=f"there are {n_rows:,} rows")
    counted = np.ones(n_rows) if data.weights is None else data.weights.copy()
    if regressed is None:
        counted[data.rows] = 0.0
    return GroupedRows(
        group=which,
        stratum=data.strata,
        label=data.given,
        weight=counted,
        case_group=which[data.rows],
        case_stratum=data.of_case,
        statement=data.said if regressed is None else regressed.said,
        pull=np.zeros(data.strata.max() + 1) if regressed is None else regressed.pull,
    )


def _result(
    statistic: LineStatistic,
    cases: Cases,
    asked: tuple[Answers, Alternative],
    labels: Labels,
    said: FloatArray,
    *,
    worth: FloatArray,
    rungs: tuple[LineRung, ...],
    without: Sequence[LineStatistic],
) -> LineTestResult:
    answers, alternative = asked
    strata, profile = statistic.strata, statistic.profile()
    slope, shares = float(statistic.best.slope[0]), statistic.best.shares[0]
    z, withheld = profile.at_zero, None
    alike = float(strata.alike(statistic.inflation))
    if alike >= ALIKE:
        z = math.nan
        withheld = (
            f"labels are much the same in all strata of the score (p = {alike:.2f}), which tells "
            "nothing of them; make a score that does"
        )
    elif profile.half_width(NEAR, -NEAR) > FLAT:
        withheld = (
            "asymmetries of very different size fit these answers alike: judge more cases, or make "
            "a score that tells the classes apart better"
        )
    return LineTestResult(
        statistic=z,
        pvalue=pvalue_of(z, alternative),
        asymmetry=None if withheld else statistic.estimate,
        alpha=None if withheld else (1 - slope - statistic.estimate) / 2,
        beta=None if withheld else (1 - slope + statistic.estimate) / 2,
        method="line",
        alternative=alternative,
        answers=answers,
        positive=labels.positive,
        negative=labels.negative,
        n_rows=cases.n_rows,
        n_cases=len(said),
        n_strata=len(strata),
        n_experts=said.shape[1],
        shared_tolerance=statistic.shared_tolerance,
        smallest_margin=statistic.smallest_margin,
        strata=_points(statistic, cases, slope, shares, len(said)),
        rungs=rungs,
        wider=wider_than_rungs(statistic, cases.strata[: len(said)], said.mean(axis=1), worth),
        diagnostics=_checks(statistic, rungs, said, without, z),
        profile=Profile.unknown() if withheld else profile,
        withheld=withheld,
        design_effect=statistic.inflation,
    )


def _checks(
    statistic: LineStatistic,
    rungs: tuple[LineRung, ...],
    said: FloatArray,
    without: Sequence[LineStatistic],
    z: float,
) -> tuple[Diagnostic, ...]:
    """Return what gives reason to doubt the result; what was found in order is not claimed."""
    found = [
        _seen_own_labels(statistic.strata),
        off_the_line(rungs),
        _decided_by_one(statistic, without, z),
        experts_differ(said),
    ]
    return tuple(check for check in found if check is not None)


def _seen_own_labels(strata: Strata) -> Diagnostic | None:
    """Tell of labels that follow the score more steeply than the truth does.

    Flips only flatten: labels as steep as the answers are clean, steeper ones are those that
    the score was fitted to. Errors of the answers flatten the slope, so it doubts too seldom.
    """
    given, stated = strata.positive / strata.n, strata.stated / strata.judged
    spread = np.maximum(given * (1 - given), SHARE_FLOOR * (1 - SHARE_FLOOR)) / strata.n
    spread += strata.dispersion * np.maximum(stated * (1 - stated), SHARE_FLOOR) / strata.judged
    weights = 1 / spread
    off = stated - np.average(stated, weights=weights)
    size = float(weights @ off**2)
    slope = float(weights @ (off * given)) / size if size > 0 else 0.0
    z = (slope - 1) * math.sqrt(size)
    pvalue = float(stdtr(min(float(strata.freedom), 1e9), -z))
    if pvalue >= DOUBT_BELOW:
        return None
    return Diagnostic(
        name="own labels",
        message=f"From low scores to high, labels change {slope:.1f} times as much as the answers "
        "say; no flips do that. Did the scores see the labels of their own rows? Make them out of "
        "fold: out_of_fold_scores.",
        concern=True,
        statistic=z,
        pvalue=pvalue,
    )


def _decided_by_one(
    statistic: LineStatistic, others: Sequence[LineStatistic], z: float
) -> Diagnostic | None:
    """Tell of a stratum without which the verdict at 5% would be another, by a refit."""
    if not others or math.isnan(z):
        return None
    without = replace(others[0], inflation=statistic.inflation)(np.zeros(1))[:, 0]
    changes = np.flatnonzero((np.abs(without) > CRITICAL) != (abs(z) > CRITICAL))
    if not len(changes):
        return None
    return Diagnostic(
        name="leave one stratum out",
        message=f"Without stratum {changes[0] + 1} of {len(without)}, by rising score, the verdict "
        "at 5% would be another ("
        + with_minus(f"z = {without[changes[0]]:.2f} instead of {z:.2f})."),
        concern=True,
        statistic=float(without[changes[0]]),
    )


def experts_differ(said: FloatArray) -> Diagnostic | None:
    """Tell of experts who lean apart: the mean difference of each from the first."""
    if said.shape[1] == 1:
        return None
    apart = said[:, 1:] - said[:, :1]
    error = apart.std(axis=0, ddof=1) / math.sqrt(len(apart))
    t = np.divide(apart.mean(axis=0), error, out=np.zeros(len(error)), where=error > 0)
    pvalues = np.minimum(2 * stdtr(len(apart) - 1, -np.abs(t)) * len(t), 1.0)
    worst = int(pvalues.argmin())
    if pvalues[worst] >= DOUBT_BELOW:
        return None
    return Diagnostic(
        name="experts",
        message=f"Expert {worst + 2} states {abs(apart[:, worst].mean()):.3f} "
        f"{'more' if t[worst] > 0 else 'less'} than expert 1 on average: one of them leans.",
        concern=True,
        statistic=float(t[worst]),
        pvalue=float(pvalues[worst]),
    )


def _points(
    statistic: LineStatistic, cases: Cases, slope: float, shares: FloatArray, n_answered: int
) -> tuple[Stratum, ...]:
    """Return the strata as the picture shows them."""
    strata = statistic.strata
    judged = np.bincount(cases.strata[:n_answered], minlength=len(strata))
    edges = [0.0, *(float(edge) for edge in cases.edges), 1.0]
    given, stated = strata.positive / strata.n, strata.stated / strata.judged
    fitted = (1 - slope + statistic.estimate) / 2 + slope * shares
    given_error = np.sqrt(given * (1 - given) / strata.n)
    stated_error = np.sqrt(strata.dispersion * stated * (1 - stated) / strata.judged)
    return tuple(
        Stratum(
            low=edges[place],
            high=edges[place + 1],
            n_rows=float(strata.n[place]),
            given=float(given[place]),
            given_error=float(given_error[place]),
            n_cases=int(judged[place]),
            stated=float(stated[place]),
            stated_error=float(stated_error[place]),
            true=float(shares[place]),
            fitted=float(fitted[place]),
        )
        for place in range(len(strata))
    )
