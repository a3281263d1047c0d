"""The whole flip matrix from rows looked up within strata, and which class gains from which."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr

from evenodds.errors import InputError
from evenodds.inference.audit.counts import read_pair
from evenodds.inference.audit.result import inverted
from evenodds.inference.cases.counts import (
    CountedRows,
    answered,
    count_cases,
    count_columns,
    strata_check,
    strata_of_cases,
)
from evenodds.inference.cases.record import Cases
from evenodds.inference.multiclass.looked_up import ClassCells
from evenodds.inference.multiplicity import holm
from evenodds.inference.profile import ConfidenceInterval
from evenodds.inference.results import Diagnostic, Result, frame_row, versions_in_use
from evenodds.rows.classes import Classes, read_classes
from evenodds.validation import FloatArray, check_between, join_quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassStratum:
    """Rows of one stratum and given label.

    Attributes
    ----------
    stratum : str
        Its name; of several that were joined, all of them.
    given : object
        The label that its rows carry.
    n_rows : int
        Rows of the data.
    found : tuple of int
        Rows looked up, by true class.
    """

    stratum: str
    given: Any
    n_rows: int
    found: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPair:
    """Whether one class gains from another.

    Attributes
    ----------
    first, second : object
        The two classes.
    asymmetry : float
        Share of the second given the label of the first, less the share of the first given that
        of the second: positive where the first gains.
    statistic, pvalue : float
        Of "both shares are the same".
    adjusted : float
        The p-value, adjusted by Holm's method for the number of pairs that could have come as
        low, with the rows exchanged between them (Tarone).
    """

    first: Any
    second: Any
    asymmetry: float
    statistic: float
    pvalue: float
    adjusted: float


class PairsResult(Result):
    """What results about all pairs of several classes have in common."""

    __slots__ = ()
    _derived: ClassVar[tuple[str, ...]] = ("pvalue", "statistic")

    classes: tuple[Any, ...]
    pairs: tuple[Any, ...]

    @property
    def leading(self) -> Any:
        """The pair with the smallest p-value."""
        return min(self.pairs, key=lambda pair: pair.pvalue)

    @property
    def pvalue(self) -> float:
        """Of "no class gains from another": the smallest adjusted one."""
        return float(self.leading.adjusted)

    @property
    def statistic(self) -> float:
        """Of the leading pair."""
        return float(self.leading.statistic)

    def asymmetry_interval(
        self, first: Any, second: Any, level: float = 0.95
    ) -> ConfidenceInterval:
        """Return an interval for what the first class gains from the second."""
        raise NotImplementedError

    def asymmetry_intervals(self, level: float = 0.95) -> tuple[ConfidenceInterval, ...]:
        """Return an interval for each pair, in their order."""
        return tuple(self.asymmetry_interval(pair.first, pair.second, level) for pair in self.pairs)

    def _place(self, name: Any) -> int:
        place = Classes(np.empty(0, dtype=np.intp), self.classes).number(name)
        if place is None:
            raise InputError(f"{name!r} is none of the classes {join_quoted(self.classes)}.")
        return place

    def _places(self, first: Any, second: Any) -> tuple[int, int]:
        """Return the places of two classes."""
        i, j = self._place(first), self._place(second)
        if i == j:
            raise InputError(f"first and second are both {first!r}: name two classes.")
        return i, j

    def _rows(self, level: float) -> list[dict[str, Any]]:
        return [
            {**frame_row(pair), "low": ends.low, "high": ends.high}
            for pair, ends in zip(self.pairs, self.asymmetry_intervals(level), strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StratifiedConfusionResult(PairsResult):
    """The flip matrix from rows looked up within strata, and a test of every pair of classes.

    Attributes
    ----------
    classes : tuple
        Names, in the order of rows and columns.
    pairs : tuple of ClassPair
        Whether as large a share goes from one to the other as comes back.
    rates : tuple of tuple of float
        Estimated share of each true class (down) given each label (across), of all rows.
    true_shares, given_shares : tuple of float
        How frequent classes are, as estimated, and labels, as counted.
    noise_rate : float
        Estimated share of rows whose label is wrong.
    strata : tuple of ClassStratum
        Rows by stratum and given label, and what was found in them.
    n_rows : int
        Rows of the data.
    diagnostics : tuple of Diagnostic
        What was checked, and what to doubt.
    versions : dict
        Of the libraries that the numbers depend on.

    Notes
    -----
    ``result.plot("confusion")`` draws the matrix.
    """

    _schema: ClassVar[int] = 1
    _derived: ClassVar[tuple[str, ...]] = ("pvalue", "statistic", "n_audited")

    classes: tuple[Any, ...]
    pairs: tuple[ClassPair, ...]
    rates: tuple[tuple[float, ...], ...]
    true_shares: tuple[float, ...]
    given_shares: tuple[float, ...]
    noise_rate: float
    strata: tuple[ClassStratum, ...]
    n_rows: int
    diagnostics: tuple[Diagnostic, ...] = ()
    versions: dict[str, str] = field(default_factory=versions_in_use)

    @property
    def n_audited(self) -> int:
        """Rows looked up."""
        return sum(sum(one.found) for one in self.strata)

    def flip_rates(self) -> FloatArray:
        """Return the share of each true class given each label."""
        return np.array(self.rates)

    def flip_interval(self, true: Any, given: Any, level: float = 0.95) -> ConfidenceInterval:
        """Return an interval for the share of one true class that is given one label."""
        check_between(level, "level", 0, 1, closed="neither")
        i, j = self._place(true), self._place(given)
        cells = class_cells(self.strata, self.classes)
        low, high = inverted(lambda rate: cells.rate_z(rate, i, j), self.rates[i][j], level)
        return ConfidenceInterval(low=low, high=high, level=level)

    def asymmetry_interval(
        self, first: Any, second: Any, level: float = 0.95
    ) -> ConfidenceInterval:
        """Return an interval for what the first class gains from the second."""
        check_between(level, "level", 0, 1, closed="neither")
        i, j = self._places(first, second)
        cells = class_cells(self.strata, self.classes)
        # On the scale from 0 to 1.
        estimate = (1 + self.rates[j][i] - self.rates[i][j]) / 2
        ends = inverted(lambda place: cells.pair_z(2 * place - 1, i, j), estimate, level)
        low, high = (2 * end - 1 for end in ends)
        return ConfidenceInterval(low=low, high=high, level=level)


def class_cells(strata: tuple[ClassStratum, ...], classes: tuple[Any, ...]) -> ClassCells:
    """Return the counts of all strata as arrays."""
    return ClassCells(
        np.array([one.n_rows for one in strata], dtype=float),
        np.array([classes.index(one.given) for one in strata], dtype=np.intp),
        np.array([one.found for one in strata], dtype=float),
    )


def stratified_confusion(
    true: Any, given: Any, strata: Any, scores: Any, given_counts: Any
) -> StratifiedConfusionResult:
    """Test every pair of classes on rows looked up within strata; see `confusion_test`."""
    counted = (
        _from_cases(true, given, strata, scores, given_counts)
        if isinstance(strata, Cases)
        else _from_columns(true, given, strata, scores, given_counts)
    )
    cells, borrowed = counted.joined()
    names = counted.classes
    strata_found = tuple(
        ClassStratum(
            stratum=cell.stratum,
            given=names[cell.label],
            n_rows=cell.n_rows,
            found=tuple(map(int, cell.found)),
        )
        for cell in cells
    )
    at_hand = class_cells(strata_found, names)
    missing = np.flatnonzero(at_hand.found.sum(axis=0) == 0)
    if len(missing):
        raise InputError(
            f"no row that was looked up is truly {names[missing[0]]!r}: how its rows are flipped "
            "cannot be told. Look up more rows, or merge it with another class."
        )
    rates, shares = at_hand.flip_rates, at_hand.matrix
    places = list(combinations(range(len(names)), 2))
    statistics = [at_hand.pair_z(0.0, i, j) for i, j in places]
    pvalues = [2 * float(ndtr(-abs(z))) for z in statistics]
    least = [at_hand.least_pvalue(i, j) for i, j in places]
    n_cells = f"{len(cells)} cells of stratum and given label"
    rests_on = f"{int(at_hand.found.sum()):,} rows looked up in {n_cells}"
    return StratifiedConfusionResult(
        classes=names,
        pairs=tuple(
            ClassPair(
                first=names[i],
                second=names[j],
                asymmetry=float(rates[j, i] - rates[i, j]),
                statistic=z,
                pvalue=pvalue,
                adjusted=float(adjusted),
            )
            for (i, j), z, pvalue, adjusted in zip(
                places, statistics, pvalues, holm(pvalues, least), strict=True
            )
        ),
        rates=tuple(tuple(map(float, row)) for row in rates),
        true_shares=tuple(map(float, shares.sum(axis=1))),
        given_shares=tuple(map(float, shares.sum(axis=0))),
        noise_rate=float(1 - shares.trace()),
        strata=strata_found,
        n_rows=int(counted.rows.sum()),
        diagnostics=(strata_check(rests_on, borrowed),),
    )


def _from_cases(true: Any, given: Any, cases: Cases, scores: Any, given_counts: Any) -> CountedRows:
    """Count rows by predicted class, confidence and label."""
    if cases.n_classes is None:
        raise InputError(
            "strata=cases needs cases of several classes: draw them with "
            "choose_cases(probabilities, given=given), a column a class."
        )
    stratum = strata_of_cases(cases, scores, given_counts)
    labels = read_classes(given, "given")
    truth = answered(true, len(cases))
    found = read_classes(truth, "true", known=labels.names).codes
    return count_cases(cases, stratum, labels, found)


def _from_columns(
    true: Any, given: Any, strata: Any, scores: Any, given_counts: Any
) -> CountedRows:
    """Count rows looked up by their strata, and rows of the data as told."""
    read_pair(true, given)
    labels = read_classes(true, "true", for_two="audit_test (evenodds audit)")
    codes = read_classes(given, "given", known=labels.names).codes
    return count_columns(labels, codes, strata=strata, scores=scores, given_counts=given_counts)
