r"""The whole flip matrix from rows looked up within strata, and which class gains from which.

Flip rates need no model of the noise. A cell is a stratum and a given label. With :math:`W_c` the
share of all rows in cell c and :math:`q_{ci}` the share of them that are truly i, flip rates are
ratios of sums over cells,

    pi_i = sum of W_c q_ci over all cells,
    T_ij = sum of W_c q_ci over cells labelled j, over pi_i.

That ``T_ij = r`` is linear in the shares, ``sum of W_c (1[labelled j] - r) q_ci = 0``, and that
two rates differ by Delta_0 is two such equations along the one rate left free. Shares are fitted
under the hypothesis, and what is left over is read off its own distribution, a weighted sum of
multinomial counts, as in the stratified audit (theory page, "Classes looked up within strata").
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from evenodds.errors import InputError
from evenodds.inference.audit.counts import read_pair
from evenodds.inference.audit.result import inverted
from evenodds.inference.audit.stratified import (
    ADDED_ROWS,
    EXCLUDED_Z,
    LikeliestShares,
    deviate,
    deviate_of,
)
from evenodds.inference.cases.counts import (
    CountedRows,
    answered,
    count_cases,
    count_columns,
    strata_check,
    strata_of_cases,
)
from evenodds.inference.cases.record import Cases
from evenodds.inference.multiplicity import holm
from evenodds.inference.profile import ConfidenceInterval
from evenodds.inference.results import Diagnostic, Result, frame_row, versions_in_use
from evenodds.rows.labels import Classes, read_classes
from evenodds.validation import FloatArray, check_between, join_quoted

# Newton's steps of multipliers and of sums within cells, and how exact they are.
MOST_STEPS, PRECISE = 100, 1e-11
# Log-likelihood to be gained by a step of Newton's that is the last.
NEAR = 1e-8
# Rows of a third class where there is none: any two rates are then possible.
LEAST_COUNT = 1e-6
# Rates are kept this far from 0 and 1 where they divide.
EDGE = 1e-9


@dataclass(frozen=True)
class ClassCells:
    """Rows of every stratum and given label, and the true classes of those looked up.

    Attributes
    ----------
    n_rows : array of shape (n_cells,)
        Rows of the data.
    given : array of int
        Number of the label that they carry.
    found : array of shape (n_cells, n_classes)
        Rows looked up, by true class; at least one in each cell.
    """

    n_rows: FloatArray
    given: NDArray[np.intp]
    found: FloatArray

    @property
    def audited(self) -> FloatArray:
        """Rows looked up in each cell."""
        return np.asarray(self.found.sum(axis=1))

    @property
    def weights(self) -> FloatArray:
        """The share of all rows in each cell."""
        return np.asarray(self.n_rows / self.n_rows.sum())

    def carries(self, label: int) -> FloatArray:
        """Return 1 for cells with this label and 0 for others."""
        return np.asarray(self.given == label, dtype=np.float64)

    @cached_property
    def matrix(self) -> FloatArray:
        """Estimated share of all rows by true class (down) and given label (across)."""
        each = self.weights[:, None] * self.found / self.audited[:, None]
        labelled = np.eye(self.found.shape[1])[self.given]
        return np.asarray(each.T @ labelled)

    @property
    def flip_rates(self) -> FloatArray:
        """Estimated share of each true class given each label."""
        return np.asarray(self.matrix / self.matrix.sum(axis=1, keepdims=True))

    @cached_property
    def filled(self) -> FloatArray:
        """Counts with half a row added to each cell, of classes as all rows with that label."""
        n_classes = self.found.shape[1]
        shares = np.zeros_like(self.found)
        for label in np.unique(self.given):
            here = self.given == label
            seen = self.n_rows[here] @ (self.found[here] / self.audited[here, None])
            rows = self.audited[here].sum()
            usual = (seen / self.n_rows[here].sum() * rows + 1 / n_classes) / (rows + 1)
            shares[here] = usual
        return np.asarray(self.found + ADDED_ROWS * shares)

    def rate_z(self, rate: float, true: int, given: int) -> float:
        """Return z of a hypothesised share of one true class that is given one label."""
        hits, rows = self.filled[:, true], self.filled.sum(axis=1)
        parts = self.weights * (self.carries(given) - rate)
        fit = LikeliestShares.of(hits, rows, parts)
        shares = fit.shares(fit.pull_for(np.zeros(1), MOST_STEPS))[0]
        # The rows are one outcome of what makes them; the draw has its own part of that.
        chance = rate * (1 - rate) * float(self.weights @ shares) / float(self.n_rows.sum())
        chance -= float((parts**2 * shares * (1 - shares) / self.n_rows).sum())
        return deviate(self.found[:, true], self.audited, shares, parts, max(chance, 0.0))

    def pair_z(self, difference: float, first: int, second: int) -> float:
        """Return z of a hypothesised ``T_second,first - T_first,second``."""
        if abs(difference) >= 1 - 2 * EDGE:
            return -float(np.sign(difference)) * EXCLUDED_Z
        fit, audited = self.pair_fit(first, second), self.audited
        fitted, rates = fit.under(difference)
        shares = fitted[:, :2]
        sizes = self.weights @ shares
        # By how much the difference rises with the share of either class in a cell.
        parts = np.column_stack(fit.parts(*rates)) * np.array([-1, 1]) / sizes
        within = (parts**2 * shares).sum(axis=1) - (parts * shares).sum(axis=1) ** 2
        flips = sum(rate * (1 - rate) / size for rate, size in zip(rates, sizes, strict=True))
        chance = flips / float(self.n_rows.sum()) - float((within / self.n_rows).sum())
        score = float((parts * (self.found[:, [first, second]] / audited[:, None] - shares)).sum())
        counts = audited, shares, parts / audited[:, None]
        return deviate_of(score, counts, float((within / audited).sum()), max(chance, 0.0))

    def least_pvalue(self, first: int, second: int) -> float:
        """Return about the smallest p-value that a pair could have, by its exchanged rows.

        Under equal flip rates each of them went the one way or the other with chances that the
        rows looked up decide; the rarest outcome is that all went the less likely way.
        """
        fitted, _ = self.pair_fit(first, second).under(0.0)
        there, back = self.carries(second), self.carries(first)
        exchanged = float(there @ self.found[:, first] + back @ self.found[:, second])
        ways = there @ (self.audited * fitted[:, 0]), back @ (self.audited * fitted[:, 1])
        rarer = float(min(ways) / max(sum(ways), EDGE))
        return float(min(1.0, 2 * rarer**exchanged))

    def pair_fit(self, first: int, second: int) -> "LikeliestPair":
        """Return what fits the shares of two classes."""
        pair = self.filled[:, [first, second]]
        others = np.maximum(self.filled.sum(axis=1) - pair.sum(axis=1), LEAST_COUNT)
        labels = self.carries(second), self.carries(first)
        return LikeliestPair(np.column_stack([pair, others]), self.weights, *labels)


@dataclass(frozen=True, slots=True)
class LikeliestPair:
    """Trinomial counts: which shares are likeliest if two flip rates differ by so much.

    Attributes
    ----------
    counts : array of shape (n_cells, 3)
        Rows of the first class, of the second, and of all others.
    weights : array
        Share of all rows in each cell.
    to_second, to_first : array
        1 for cells that carry the label of the other class, else 0.
    """

    counts: FloatArray
    weights: FloatArray
    to_second: FloatArray
    to_first: FloatArray

    def parts(self, first: float, second: float) -> tuple[FloatArray, FloatArray]:
        """Return factors of the shares of either class, whose sums are 0 at these flip rates."""
        return self.weights * (self.to_second - first), self.weights * (self.to_first - second)

    def rates_of(self, shares: FloatArray) -> tuple[float, float]:
        """Return both flip rates from shares."""
        each = self.weights[:, None] * shares[:, :2]
        to_other = self.to_second @ each[:, 0], self.to_first @ each[:, 1]
        sizes = each.sum(axis=0)
        return float(to_other[0] / sizes[0]), float(to_other[1] / sizes[1])

    def under(self, difference: float) -> tuple[FloatArray, tuple[float, float]]:
        """Return the likeliest shares and flip rates under ``second - first = difference``.

        Along the second rate, the log-likelihood rises by the multipliers times the sizes of the
        classes: it is likeliest where that is 0.
        """
        low, high = max(0.0, difference), min(1.0, 1.0 + difference)
        pulls = np.zeros(2)

        def slope(second: float) -> float:
            nonlocal pulls
            pulls, shares = self.at(second - difference, second, pulls)
            rise = float(pulls @ (self.weights @ shares[:, :2]))
            return rise * (second - low) * (high - second)  # which is finite at the ends

        # About between both rates as seen; else anywhere.
        seen = self.rates_of(self.counts / self.counts.sum(axis=1, keepdims=True))
        first, last = sorted((seen[1], seen[0] + difference))
        margin = (last - first) / 8
        first, last = max(first - margin, low + EDGE), min(last + margin, high - EDGE)
        if not (first < last and slope(first) > 0 > slope(last)):
            first, last = low + EDGE, high - EDGE
        second = float(brentq(slope, first, last, xtol=1e-9, rtol=1e-9))
        _, shares = self.at(second - difference, second, pulls)
        return shares, (second - difference, second)

    def at(self, first: float, second: float, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return multipliers and likeliest shares at two flip rates, by Newton's method.

        Shares are ``counts / (total + pull * part)``; the pulls minimise a convex function, whose
        gradient is the sums that should be 0.
        """
        parts = np.column_stack([*self.parts(first, second), np.zeros(len(self.weights))])
        pulls = min(start, np.zeros(2), key=lambda one: self._shares(one, parts)[1])
        shares, height = self._shares(pulls, parts)
        for _ in range(MOST_STEPS):
            sums = (parts * shares).sum(axis=0)[:2]
            curvature = self._curvature(shares, parts)
            step = np.linalg.solve(curvature, sums)
            gain = float(sums @ step)
            size, (ahead, lower) = 1.0, self._shares(pulls + step, parts)
            # Near the end rounding hides what is gained, and whole steps are right.
            while gain > NEAR and lower > height - size * gain / 4:
                size /= 2
                ahead, lower = self._shares(pulls + size * step, parts)
            pulls, shares, height = pulls + size * step, ahead, lower
            if gain < NEAR:
                break
        return pulls, shares

    def _shares(self, pulls: FloatArray, parts: FloatArray) -> tuple[FloatArray, float]:
        """Return shares at these pulls, and the function that the right pulls minimise."""
        pull = parts * np.append(pulls, 0.0)
        above = pull - pull.min(axis=1, keepdims=True)  # sums of which do not cancel
        # From below, where the sum of shares is above 1, Newton's steps cannot overshoot.
        total = (self.counts - above).max(axis=1)
        for _ in range(MOST_STEPS):
            shares = self.counts / (total[:, None] + above)
            excess = shares.sum(axis=1) - 1
            if excess.max() < PRECISE:
                break
            total = total + excess / (shares**2 / self.counts).sum(axis=1)
        return shares, float((self.counts * np.log(shares) - pull * shares).sum())

    def _curvature(self, shares: FloatArray, parts: FloatArray) -> FloatArray:
        """Return the second derivatives of that function."""
        slope = shares**2 / self.counts
        moved = (slope * parts)[:, :2]
        own = np.diag((slope * parts**2).sum(axis=0)[:2])
        return np.asarray(own - moved.T @ (moved / slope.sum(axis=1)[:, None]))


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
    truth = answered(true, cases)
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
