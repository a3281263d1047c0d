"""The line for three classes and more: which class gains from which, by stated probabilities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from evenodds.errors import InputError
from evenodds.inference.cases.counts import names_of_strata
from evenodds.inference.cases.judged import read_numbers, read_statements
from evenodds.inference.cases.record import Cases, Ints
from evenodds.inference.cases.strata import ALIKE, Strata
from evenodds.inference.line.class_fit import ClassLine, ClassStrata
from evenodds.inference.line.ladder import (
    DOUBT_BELOW,
    STEEPER,
    against_labels,
    experts_differ,
    seen_own_labels,
)
from evenodds.inference.multiclass.confusion_strata import PairsResult
from evenodds.inference.multiplicity import holm
from evenodds.inference.profile import ConfidenceInterval
from evenodds.inference.results import Diagnostic, versions_in_use
from evenodds.rows.labels import Classes, read_classes
from evenodds.validation import FloatArray, check_between, join_quoted

# Chances of all classes may miss 1 by so much, and are then divided by their sum.
ROUNDING = 0.01
# No estimate is shown where its standard error is above this.
FLAT = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePair:
    """Whether one class gains from another, if flips depend on the class alone.

    Attributes
    ----------
    first, second : object
        The two classes.
    asymmetry : float or None
        Share of the second given the label of the first, less the share of the first given that
        of the second: positive where the first gains. None where the cases cannot tell.
    statistic, pvalue : float
        Of "both shares are the same"; nan where they are withheld.
    adjusted : float
        The p-value, adjusted for the number of pairs by Holm's method.
    """

    first: Any
    second: Any
    asymmetry: float | None
    statistic: float
    pvalue: float
    adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LineStratum:
    """Rows of one predicted class and confidence: what labels and experts say of them.

    Attributes
    ----------
    stratum : str
        Its name.
    given : tuple of int
        Rows that were not judged, by given label.
    n_cases : int
        Cases that were judged.
    stated : tuple of float
        Mean of what was stated of each class.
    products : tuple of tuple of float
        Sums of squares and products of statements about their mean.
    """

    stratum: str
    given: tuple[int, ...]
    n_cases: int
    stated: tuple[float, ...]
    products: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClassLineResult(PairsResult):
    """Outcome of a test of every pair of classes on cases that experts judged along a score.

    Attributes
    ----------
    classes : tuple
        Names, in the order of rows and columns.
    pairs : tuple of LinePair
        Whether as large a share goes from one to the other as comes back.
    rates : tuple of tuple of float, or None
        Estimated share of each true class (down) given each label (across); None where the
        cases cannot tell.
    given_shares : tuple of float
        How frequent labels are.
    noise_rate : float or None
        Estimated share of rows whose label is wrong, of the strata that were judged.
    strata : tuple of LineStratum
        Strata with cases: predicted class by predicted class.
    n_rows, n_cases, n_experts : int
        Rows of the data, cases that were answered, and experts.
    shared_tolerance : float
        How far an expert may lean from one class to another in every answer.
    withheld : str or None
        Why some numbers are not shown.
    diagnostics : tuple of Diagnostic
        What was checked, and what to doubt.
    versions : dict
        Of the libraries that the numbers depend on.

    Notes
    -----
    ``result.plot("confusion")`` draws the matrix.
    """

    _schema: ClassVar[int] = 1

    classes: tuple[Any, ...]
    pairs: tuple[LinePair, ...]
    rates: tuple[tuple[float, ...], ...] | None
    given_shares: tuple[float, ...]
    noise_rate: float | None
    strata: tuple[LineStratum, ...]
    n_rows: int
    n_cases: int
    n_experts: int
    shared_tolerance: float
    withheld: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    versions: dict[str, str] = field(default_factory=versions_in_use)

    def flip_rates(self) -> FloatArray:
        """Return the share of each true class given each label."""
        if self.rates is None:
            raise InputError(f"there are no flip rates: {self.withheld}.")
        return np.array(self.rates)

    def asymmetry_interval(
        self, first: Any, second: Any, level: float = 0.95
    ) -> ConfidenceInterval:
        """Return an interval for what the first class gains from the second.

        It is at most from -0.97 to 0.97, the asymmetries that are tried.
        """
        check_between(level, "level", 0, 1, closed="neither")
        i, j = self._places(first, second)
        found = self._intervals(level).get((min(i, j), max(i, j)))
        if found is None:
            raise InputError(f"there is no interval: {self.withheld}.")
        low, high = found if i < j else (-found[1], -found[0])
        return ConfidenceInterval(low=low, high=high, level=level)

    def asymmetry_intervals(self, level: float = 0.95) -> tuple[ConfidenceInterval, ...]:
        """Return an interval for each pair, in their order; nan where the cases cannot tell."""
        check_between(level, "level", 0, 1, closed="neither")
        found = self._intervals(level)
        every = combinations(range(len(self.classes)), 2)
        ends = (found.get(places, (math.nan, math.nan)) for places in every)
        return tuple(ConfidenceInterval(low=low, high=high, level=level) for low, high in ends)

    def _intervals(self, level: float) -> dict[tuple[int, int], tuple[float, float]]:
        """Return the intervals of pairs that the cases tell, by the places of their classes."""
        every = combinations(range(len(self.classes)), 2)
        told = zip(every, self.pairs, strict=True)
        known = tuple(places for places, pair in told if pair.asymmetry is not None)
        return _ends(self.strata, self.shared_tolerance, level, known)


@lru_cache(maxsize=16)
def _ends(
    strata: tuple[LineStratum, ...],
    tolerance: float,
    level: float,
    pairs: tuple[tuple[int, int], ...],
) -> dict[tuple[int, int], tuple[float, float]]:
    """Return intervals of some pairs, which take a second with five classes, and are kept."""
    if not pairs:
        return {}
    ends = ClassLine(counts_of(strata), tolerance).ends(np.array(pairs), level)
    return {pair: (float(low), float(high)) for pair, (low, high) in zip(pairs, ends, strict=True)}


def class_line(
    scores: ArrayLike, y: ArrayLike, cases: Cases, stated: ArrayLike, tolerance: float
) -> ClassLineResult:
    """Test every pair of classes by stated probabilities; see `line_test`."""
    of_row = cases.strata_of(scores)
    labels = read_classes(y, "y")
    if len(labels.codes) != cases.n_rows or len(labels.names) != cases.n_classes:
        raise InputError(
            f"y has {len(labels.codes):,} labels of {len(labels.names)} classes but the cases were "
            f"drawn from {cases.n_rows:,} rows and {cases.n_classes} classes: give the labels of "
            "all rows."
        )
    said = _read_chances(stated, cases, labels.names)
    strata = _counted(of_row, labels, cases, said.mean(axis=2))
    line = ClassLine(counts_of(strata), tolerance)
    return replace(
        _result(line, labels, strata, cases.n_rows, said),
        diagnostics=tuple(_checks(line.strata, labels.names, said)),
    )


def _read_chances(stated: ArrayLike, cases: Cases, names: tuple[Any, ...]) -> FloatArray:
    """Return the chance of each class of the first cases, by expert: (cases, classes, experts)."""
    said = read_numbers(stated, "class")
    said = said[:, :, None] if said.ndim == 2 else said
    if said.ndim != 3 or said.shape[1] != len(names) or not said.size:
        raise InputError(
            f"stated has shape {np.shape(stated)} but cases are of {len(names)} classes: give a "
            f"row for each case and a column for each of {join_quoted(names)}, and with several "
            "experts a third axis for them."
        )
    unknown = np.isnan(said)
    partly = np.argwhere(unknown.any(axis=1) & ~unknown.all(axis=1))
    if len(partly):
        raise InputError(
            f"stated lacks the chance of a class for case {partly[0][0] + 1}: give one for each "
            "class, 0 where it cannot be that."
        )
    n_experts = said.shape[2]
    read = read_statements(said.reshape(len(said), -1), cases, "probability")
    said = read.reshape(len(read), len(names), n_experts)
    sums = said.sum(axis=1, keepdims=True)
    off = np.argwhere(np.abs(sums[:, 0] - 1) > ROUNDING)
    if len(off):
        case, expert = off[0]
        raise InputError(
            f"chances stated of case {case + 1} add up to {sums[case, 0, expert]:g} but must to 1: "
            "one of the classes is the true one."
        )
    return np.asarray(said / sums)


def _counted(
    of_row: Ints, labels: Classes, cases: Cases, said: FloatArray
) -> tuple[LineStratum, ...]:
    """Return labels of rows that were not judged, and statements, by stratum with cases."""
    left = np.ones(len(of_row), dtype=bool)
    left[cases.rows[: len(said)]] = False
    of_case = cases.strata[: len(said)]
    names, found = names_of_strata(cases, labels.names), []
    for place in np.unique(of_case):
        given = np.bincount(labels.codes[left & (of_row == place)], minlength=len(labels.names))
        here = said[of_case == place]
        off = here - here.mean(axis=0)
        if not given.sum():
            raise InputError(
                f"stratum {names[place]!r} has no rows left to count labels in: all of them were "
                "judged. Draw fewer cases, or fewer strata."
            )
        found.append(
            LineStratum(
                stratum=names[place],
                given=tuple(map(int, given)),
                n_cases=len(here),
                stated=tuple(map(float, here.mean(axis=0))),
                products=tuple(tuple(map(float, row)) for row in off.T @ off),
            )
        )
    return tuple(found)


def counts_of(strata: Sequence[LineStratum]) -> ClassStrata:
    """Return the counts of all strata as arrays."""
    judged = np.array([one.n_cases for one in strata], dtype=float)
    means = np.array([one.stated for one in strata])
    return ClassStrata(
        np.array([one.given for one in strata], dtype=float),
        judged,
        judged[:, None] * means,
        np.array([one.products for one in strata]),
    )


def _result(
    line: ClassLine,
    labels: Classes,
    strata: tuple[LineStratum, ...],
    n_rows: int,
    said: FloatArray,
) -> ClassLineResult:
    names, counts, places = labels.names, line.strata, line.strata.pairs
    withheld = _cannot_tell(counts) or _at_odds(counts, names)
    n_pairs = len(places)
    if withheld:
        z, shown = np.full(n_pairs, math.nan), np.zeros(n_pairs, dtype=bool)
        asymmetries = z
    else:
        z, asymmetries = line.z(places, np.zeros(n_pairs)), line.asymmetries(places)
        shown = line.standard_errors(places) <= FLAT
        if not shown.all():
            withheld = (
                "asymmetries of very different size fit these answers alike for some pairs: judge "
                "more cases, or make a score that tells the classes apart better"
            )
    pvalues = 2 * ndtr(-np.abs(z))
    pairs = tuple(
        LinePair(
            first=names[i],
            second=names[j],
            asymmetry=float(asymmetry) if known else None,
            statistic=float(one),
            pvalue=float(pvalue),
            adjusted=float(adjusted),
        )
        for (i, j), asymmetry, known, one, pvalue, adjusted in zip(
            places, asymmetries, shown, z, pvalues, holm(pvalues), strict=True
        )
    )
    rates = line.rates if shown.any() else None
    wrong = None
    if rates is not None:
        rows = counts.labels.sum(axis=1)
        true = rows @ line.best.shares[0] / rows.sum()
        wrong = float(1 - true @ np.diag(rates))
    return ClassLineResult(
        classes=names,
        pairs=pairs,
        rates=None if rates is None else tuple(tuple(map(float, row)) for row in rates),
        given_shares=tuple((np.bincount(labels.codes) / n_rows).tolist()),
        noise_rate=wrong,
        strata=strata,
        n_rows=n_rows,
        n_cases=len(said),
        n_experts=said.shape[2],
        shared_tolerance=line.shared_tolerance,
        withheld=withheld,
    )


def _cannot_tell(strata: ClassStrata) -> str | None:
    """Return why these strata cannot tell the flips of every class; None where they can."""
    n_strata, n_classes = strata.labels.shape
    if n_strata < n_classes:
        return (
            f"cases are in {n_strata} strata, and the flips of {n_classes} classes need as many: "
            "draw more cases, or merge classes that are hardly ever predicted"
        )
    alike = strata.alike()
    if alike >= ALIKE:
        return (
            "some classes are labelled in much the same proportion in all strata of the score "
            f"(p = {alike:.2f}), which tells nothing of their flips; make a score that tells them "
            "apart, or merge them"
        )
    return None


def _at_odds(strata: ClassStrata, names: tuple[Any, ...]) -> str | None:
    """Return why answers cannot be of these rows, or scores saw labels; class by class."""
    each, misfit = _alone(strata), strata.misfit()
    if any(map(seen_own_labels, each)):
        return STEEPER
    off = misfit is not None and misfit[1] < DOUBT_BELOW
    found = (
        against_labels(
            alone,
            misfit=off,
            positive=repr(name),
            other="another class",
            answers=f"answers about {name!r}",
        )
        for name, alone in zip(names, each, strict=True)
    )
    return next(filter(None, found), None)


def _alone(strata: ClassStrata) -> list[Strata]:
    """Return each class against all others."""
    n, judged = strata.labels.sum(axis=1), strata.judged
    columns = zip(strata.labels.T, strata.stated.T, strict=True)
    return [
        Strata(n, labels, judged, stated, strata.dispersion, strata.freedom)
        for labels, stated in columns
    ]


def _checks(strata: ClassStrata, names: tuple[Any, ...], said: FloatArray) -> list[Diagnostic]:
    """Return what gives reason to doubt the result; what was found in order is not claimed."""
    found = []
    for place, (name, alone) in enumerate(zip(names, _alone(strata), strict=True)):
        for check in (seen_own_labels(alone), experts_differ(said[:, place])):
            if check is not None:
                found.append(replace(check, message=f"{name!r}: {check.message}"))
    misfit = strata.misfit()
    if misfit is not None and misfit[1] < DOUBT_BELOW:
        found.append(
            Diagnostic(
                name="flip matrix",
                message="No single flip matrix fits labels and answers of all strata: flips depend "
                "on the case, or answers are wrong in some strata. What one class gains from "
                "another is then no single number.",
                concern=True,
                statistic=misfit[0],
                pvalue=misfit[1],
            )
        )
    return found
