"""The line test: is one class flipped more often, by cases judged along any score?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import InputError
from evenodds.inference.cases.judged import read_statements
from evenodds.inference.cases.line_fit import LEAST_SLOPE, GroupedRows, LineStatistic
from evenodds.inference.cases.record import Answers, Cases, Ints, check_answers
from evenodds.inference.cases.strata import (
    ALIKE,
    Regressed,
    Strata,
    strata_by_label,
    strata_by_statement,
)
from evenodds.inference.diagnostics import groups_check
from evenodds.inference.line.class_line import ClassLineResult, class_line
from evenodds.inference.line.ladder import (
    STEEPER,
    against_labels,
    experts_differ,
    few_answers,
    ladder,
    of_one_fold,
    off_the_line,
    one_sided_answers,
    seen_own_labels,
    wider_than_rungs,
)
from evenodds.inference.line.result import LineRung, LineTestResult, Stratum
from evenodds.inference.profile import Alternative, Profile, pvalue_of
from evenodds.inference.results import Diagnostic, check_alternative
from evenodds.rows.labels import Labels, read_labels
from evenodds.rows.memory import read_groups, read_weights
from evenodds.validation import FloatArray, check_between, check_same_order, with_minus

DEFAULT_SHARED_TOLERANCE = {"probability": 0.05, "looked-up": 0.0}
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
) -> LineTestResult | ClassLineResult:
    r"""Test for class-conditional noise by cases that an expert judged along a score.

    The null hypothesis is uniform noise. In every stratum of a score that did not see the row's
    own label, the share of positive given labels is a straight line in the share truly
    positive; under uniform noise it runs through the centre. The score may be poor, and of any
    model; what is needed is that flips depend on the class alone.

    Of cases of three classes and more every pair is tested: as large a share of one class is
    given the label of the other as comes back.

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
        column each. Of several classes: a column for the chance of each class in sort order,
        which add up to 1 (to within 0.01), and a third axis for experts.
    answers : {"probability", "looked-up"}
        What the answers are: stated probabilities, or the truth, looked up; of several classes
        probabilities alone, for what was looked up goes to `confusion_test`.
    positive : object, optional
        The positive label. Default: the larger, True, or the later in sort order.
    alternative : {"two-sided", "greater", "less"}
        "greater": negatives are flipped more often than positives.
    shared_tolerance : float, optional
        How far an expert may lean the same way in every answer; 0.05 by default for
        probabilities, 0 for looked-up answers.
    sample_weight : array-like, optional
        Frequency weights: a row of weight 3 counts as three rows. They are not sampling weights.
    groups : array-like, optional
        Rows that belong together.

    Returns
    -------
    LineTestResult or ClassLineResult
        Statistic, p-value, asymmetry, flip rates, interval, ladder of noise models; the second of
        several classes, with a test of every pair. It knows neither `positive`, `alternative`,
        `sample_weight` nor `groups`.

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

    Of several classes shares of labels are :math:`T^\top c_s` with the flip matrix `T`, in the
    same quasi-likelihood; z of a pair is the signed root of its drop where the two flip rates of
    the pair differ by so much, and p-values are adjusted by Holm's method, so that the chance of
    naming any pair falsely is below the level. The shared tolerance is a lean from one class of
    the pair to the other. With two classes both agree.

    Examples
    --------
    A fifth of the cats became dogs; an expert says how likely each class is.

    >>> import numpy as np
    >>> import evenodds as eo
    >>> rng = np.random.default_rng(0)
    >>> chances = rng.dirichlet([0.3, 0.3, 0.3], size=4000)
    >>> true = (rng.random(4000)[:, None] > chances.cumsum(axis=1)[:, :2]).sum(axis=1)
    >>> given = np.where((true == 0) & (rng.random(4000) < 0.2), 1, true)
    >>> given = np.array(["cat", "dog", "fox"])[given]
    >>> scores = 0.1 + 0.7 * chances
    >>> cases = eo.choose_cases(scores, n_cases=120)
    >>> result = eo.line_test(scores, given, cases, chances[cases.rows], answers="probability")
    >>> [(pair.first, pair.second) for pair in result.pairs if pair.adjusted < 0.05]
    [('cat', 'dog')]
    >>> round(result.leading.asymmetry, 1)
    -0.2
    """
    if not isinstance(cases, Cases):
        raise InputError(
            f"cases is of the type {type(cases).__name__}: give what choose_cases returned, or "
            "Cases.read(path) of its file."
        )
    kind = check_answers(answers)
    asked = check_alternative(alternative)
    tolerance = DEFAULT_SHARED_TOLERANCE[kind] if shared_tolerance is None else shared_tolerance
    tolerance = check_between(tolerance, "shared_tolerance", 0, 0.5, closed="left")
    check_same_order(scores=scores, y=y, sample_weight=sample_weight, groups=groups)
    cases.check_order(stated, "stated")
    if cases.n_classes is not None:
        _refuse_of_several(
            kind,
            by_label=cases.given_hash is not None,
            sided=positive is not None or asked != "two-sided",
            unequal=sample_weight is not None or groups is not None,
        )
        return class_line(scores, y, cases, stated, tolerance)
    strata_of_rows = cases.strata_of(scores)
    labels = read_labels(y, positive)
    if len(labels) != cases.n_rows:
        raise InputError(
            f"y has {len(labels):,} labels but the cases were drawn from {cases.n_rows:,} rows."
        )
    given = labels.block(slice(None))
    weights = read_weights(sample_weight, cases.n_rows)
    cases.check_weights(weights)
    if cases.given_hash is not None:
        cases.check_given(given == 1)
        if kind != "looked-up" or weights is not None or groups is not None:
            raise InputError(
                "these cases were drawn by given label, for truths that are looked up: they go "
                "with answers='looked-up', without sample_weight and groups. For stated "
                "probabilities draw cases by score alone."
            )
    said = read_statements(stated, cases, kind)
    data = Judged(
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
        n, labelled = data.labels(cases.n_strata)
        counts, regressed = strata_by_statement(
            n, labelled, data.of_case, data.said, given[data.rows]
        )
    others = [counts.without_each()] if len(counts) > FEWEST_STRATA_LEFT else []
    statistic, one_fold, *without = LineStatistic.of_each(
        [counts, of_one_fold(counts), *others], tolerance
    )
    n_groups = None
    if groups is not None:
        grouped = _grouped(groups, data, regressed)
        statistic, n_groups = statistic.widened_by(grouped), int(grouped.group.max()) + 1
    rungs = ladder(one_fold)
    found = _result(
        statistic, cases, (kind, asked), labels, said, worth=worth, rungs=rungs, without=without
    )
    few_groups = groups_check(n_groups)
    if few_groups is None or not few_groups.concern:
        return found
    return replace(found, diagnostics=(*found.diagnostics, few_groups))


def _refuse_of_several(answers: Answers, *, by_label: bool, sided: bool, unequal: bool) -> None:
    """Refuse what the test of several classes does not know."""
    if answers == "looked-up":
        raise InputError(
            "these cases are of several classes: what was looked up goes to confusion_test(true, "
            "given, strata=cases, scores=scores), which is right whatever flips depend on."
        )
    if by_label:
        raise InputError(
            "these cases were drawn by given label, for truths that are looked up: for stated "
            "probabilities draw cases by score alone, choose_cases without given."
        )
    if sided:
        raise InputError(
            "of several classes every pair is tested, both ways: leave positive and alternative "
            "out."
        )
    if unequal:
        raise InputError(
            "of several classes every row counts as one, independent of others: leave "
            "sample_weight and groups out."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Every row's stratum and given label, and what was stated of some."""

    strata: Ints
    given: FloatArray
    weights: FloatArray | None
    rows: Ints
    of_case: Ints
    said: FloatArray

    def labels(self, size: int, *, judged: bool = True) -> tuple[FloatArray, FloatArray]:
        """Return the rows of each stratum and how many are labelled positive, judged or not."""
        rows = self.rows[:0] if judged else self.rows
        strata, given = self.strata, self.given
        if self.weights is not None:
            counts = self.weights.copy()
            counts[rows] = 0.0
            n, positive = (np.bincount(strata, each, size) for each in (counts, counts * given))
        else:  # whole numbers, so that rows can be taken off again instead of being weighed
            n = np.bincount(strata, minlength=size) - np.bincount(strata[rows], minlength=size)
            positive = np.bincount(strata, given, size)
            positive -= np.bincount(strata[rows], given[rows], size)
        if (n <= 0).any():
            raise InputError(
                f"stratum {int(n.argmin()) + 1} of {size} has no rows left to count labels in: all "
                "of them were judged, or weigh nothing. Draw fewer cases, or fewer strata."
            )
        return n.astype(float), positive.astype(float)


def _count_looked_up(data: Judged, size: int) -> Strata:
    """Return counts of the rows that were not looked up, and of the truths."""
    n, positive = data.labels(size, judged=False)
    m = np.bincount(data.of_case, minlength=size).astype(float)
    k = np.bincount(data.of_case, data.said, size).astype(float)
    return Strata(n, positive, m, k, np.ones(size), math.inf)


def _count_by_label(data: Judged, size: int) -> tuple[Strata, FloatArray]:
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


def _grouped(groups: ArrayLike, data: Judged, regressed: Regressed | None) -> GroupedRows:
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
    elif few := one_sided_answers(strata, labels.positive, labels.negative):
        z, withheld = math.nan, few
    elif seen_own_labels(strata):
        z, withheld = math.nan, STEEPER
    elif against := against_labels(
        strata,
        misfit=off_the_line(rungs) is not None,
        positive=repr(labels.positive),
        other=repr(labels.negative),
    ):
        z, withheld = math.nan, against
    elif slope <= 2 * LEAST_SLOPE:
        z = math.nan
        withheld = (
            "given labels do not follow the answers, and a flat line fits best: check that each "
            "answer stands beside its own case"
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
        alpha=None if withheld else statistic.rates[0],
        beta=None if withheld else statistic.rates[1],
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
        smallest_margin=None if withheld else statistic.smallest_margin,
        strata=_points(statistic, cases, None if withheld else (slope, shares), len(said)),
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
        seen_own_labels(statistic.strata),
        off_the_line(rungs),
        _decided_by_one(statistic, without, z),
        experts_differ(said),
        few_answers(statistic.strata.judged) if np.isfinite(statistic.strata.freedom) else None,
    ]
    return tuple(check for check in found if check is not None)


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


def _points(
    statistic: LineStatistic,
    cases: Cases,
    line: tuple[float, FloatArray] | None,
    n_answered: int,
) -> tuple[Stratum, ...]:
    """Return the strata as the picture shows them; `line` has its slope and the true shares."""
    strata = statistic.strata
    judged = np.bincount(cases.strata[:n_answered], minlength=len(strata))
    edges = [0.0, *(float(edge) for edge in cases.edges), 1.0]
    given, stated = strata.positive / strata.n, strata.stated / strata.judged
    true: list[float | None] = [None] * len(strata)
    fitted = true
    if line is not None:
        slope, shares = line
        true = shares.tolist()
        fitted = ((1 - slope + statistic.estimate) / 2 + slope * shares).tolist()
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
            true=true[place],
            fitted=fitted[place],
        )
        for place in range(len(strata))
    )
