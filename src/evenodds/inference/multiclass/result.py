"""What a test of several classes returns: a record a split, and what they say together."""

from dataclasses import dataclass, field, replace
from math import inf, nan
from typing import Any, ClassVar, Self

from evenodds.errors import InputError
from evenodds.inference.multiclass.confusion import ConfusionTestResult
from evenodds.inference.multiclass.splits import Scheme
from evenodds.inference.profile import ConfidenceInterval
from evenodds.inference.results import Diagnostic, Result, frame_row, versions_in_use
from evenodds.validation import check_between


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRecord:
    """What was found for one split of the classes.

    Attributes
    ----------
    name : str
        The split in words, ``"cat | dog"``; the positive side comes first.
    positive, negative, left_out : tuple
        The classes on each side, and on neither.
    null_ratio : float
        Flips out of the positive side for one into it, under uniform noise: negative classes
        for each positive one.
    statistic, pvalue : float or None
        Standardised asymmetry and its two-sided p-value; None where the split was not tested, nan
        where its numbers are withheld.
    adjusted_pvalue : float or None
        The p-value with the number of splits counted: rejecting where it is below the level
        keeps the chance of any false rejection below it.
    asymmetry, standard_error : float or None
        How many more negatives than positives change sides, beyond what uniform noise gives
        (for a pair simply ``beta - alpha``).
    alpha, beta : float or None
        Estimated share of positives labelled negative, and of negatives labelled positive. For
        a pair they differ by the asymmetry, so that one near 0 may be estimated below it.
    n_rows, n_anchors : int
        Rows labelled with a class of either side; toss-ups.
    shared_tolerance, shared_is_default
        Error common to its toss-ups, and whether that was worked out from their tolerances.
    untested : str
        Why the split was not tested; empty where it was.
    withheld : str or None
        Why the data cannot tell of this split: it then has no estimate, interval, rates or
        p-value. None where they can.
    diagnostics : tuple of Diagnostic
        What was checked of its anchors.
    """

    name: str
    positive: tuple[Any, ...]
    negative: tuple[Any, ...]
    left_out: tuple[Any, ...]
    null_ratio: float
    n_rows: int
    n_anchors: int
    shared_tolerance: float = 0.0
    shared_is_default: bool = False
    statistic: float | None = None
    pvalue: float | None = None
    adjusted_pvalue: float | None = None
    asymmetry: float | None = None
    standard_error: float | None = None
    alpha: float | None = None
    beta: float | None = None
    untested: str = ""
    withheld: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def tested(self) -> bool:
        """Whether there are numbers: toss-ups to test it with, and data that can tell."""
        return self.asymmetry is not None

    def rejected(self, significance: float = 0.05) -> bool:
        """Tell whether this split leans, all splits counted."""
        return self.adjusted_pvalue is not None and self.adjusted_pvalue < significance

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Return an interval for the asymmetry of this split alone.

        It holds 0 exactly where the p-value of this split is at least ``1 - level``: towards 0 it
        reaches as far as the test does, away from 0 as the standard error says.
        """
        from scipy.special import ndtri

        check_between(level, "level", 0, 1, closed="neither")
        if self.withheld is not None:
            raise InputError(f"split {self.name!r} has no interval. {self.withheld}")
        if self.asymmetry is None or self.standard_error is None or self.statistic is None:
            raise InputError(f"split {self.name!r} was not tested: {self.untested}")
        size, z = abs(self.asymmetry), abs(self.statistic)
        inwards = outwards = self.standard_error
        if size > 0:
            inwards = size / z if z > 0 else inf
        below, above = (inwards, outwards) if self.asymmetry > 0 else (outwards, inwards)
        reach = float(ndtri((1 + level) / 2))
        low, high = self.asymmetry - reach * below, self.asymmetry + reach * above
        return ConfidenceInterval(
            low=max(low, -1.0),
            high=min(high, 1.0),
            level=level,
            low_is_limit=low <= -1,
            high_is_limit=high >= 1,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MulticlassTestResult(Result):
    """Outcome of a test for uneven label noise among several classes.

    Attributes
    ----------
    scheme : {"one-vs-one", "one-vs-rest", "output-codes"}
        How the classes were split.
    classes : tuple
        Their names, sorted.
    class_counts : tuple of int
        Rows labelled with each.
    splits : tuple of SplitRecord
        One record a split, tested or not.
    noise_rate : float or None
        Estimated share of wrong labels, averaged over the classes: of any noise by class in
        one-vs-one, else of uniform noise. None where all splits are withheld.
    n_rows, n_features : int
        Sizes; rows are counted with their frequency weights.
    diagnostics : tuple of Diagnostic
        What was checked of the curve, and every doubt about a split.
    audit : ConfusionTestResult or None
        Tests of the confusion matrix of an audit sample.
    versions : dict
        Of the libraries that the numbers depend on.
    """

    _schema: ClassVar[int] = 2
    _derived: ClassVar[tuple[str, ...]] = ("pvalue", "statistic", "withheld")

    scheme: Scheme
    classes: tuple[Any, ...]
    class_counts: tuple[int, ...]
    splits: tuple[SplitRecord, ...]
    noise_rate: float | None
    n_rows: int
    n_features: int
    diagnostics: tuple[Diagnostic, ...]
    audit: ConfusionTestResult | None = None
    versions: dict[str, str] = field(default_factory=versions_in_use)

    @property
    def pvalue(self) -> float:
        """Of the hypothesis that no split leans: the smallest adjusted p-value.

        Not a number where all splits are withheld.
        """
        return min(
            (s.adjusted_pvalue for s in self.tested if s.adjusted_pvalue is not None), default=nan
        )

    @property
    def statistic(self) -> float:
        """Standardised asymmetry of the split with the smallest adjusted p-value."""
        return next((s.statistic for s in self.surest_first if s.statistic is not None), nan)

    @property
    def withheld(self) -> str | None:
        """Why the data cannot tell of any split; None where they can of some."""
        if self.tested:
            return None
        return next((s.withheld for s in self.splits if s.withheld is not None), None)

    @property
    def surest_first(self) -> tuple[SplitRecord, ...]:
        """The splits that were tested, those of the smallest adjusted p-values first."""
        return tuple(sorted(self.tested, key=lambda s: (s.adjusted_pvalue or 0.0, s.pvalue or 0.0)))

    @property
    def tested(self) -> tuple[SplitRecord, ...]:
        """The splits that have numbers: tested, and not withheld."""
        return tuple(split for split in self.splits if split.tested)

    def split(self, name: str) -> SplitRecord:
        """Return the record of a split by its name."""
        for record in self.splits:
            if record.name == name:
                return record
        raise InputError(
            f"there is no split {name!r}: the splits are "
            f"{', '.join(repr(record.name) for record in self.splits)}."
        )

    def asymmetry_matrix(self) -> list[list[float | None]]:
        """Return the asymmetry of every pair: how much more class `row` gains from `column`.

        Entry (i, j) is the share of j labelled i less the share of i labelled j; None where the
        pair was not tested, and on the diagonal. For scheme "one-vs-one" only.
        """
        if self.scheme != "one-vs-one":
            raise InputError(
                f"the asymmetry matrix is about pairs but scheme is {self.scheme!r}: use "
                "scheme='one-vs-one'."
            )
        place = {name: number for number, name in enumerate(self.classes)}
        matrix: list[list[float | None]] = [[None] * len(place) for _ in place]
        for record in self.tested:
            if record.asymmetry is not None:
                i, j = place[record.positive[0]], place[record.negative[0]]
                matrix[i][j], matrix[j][i] = record.asymmetry, -record.asymmetry
        return matrix

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values, ready for JSON: what is withheld is None."""
        told = Result.to_dict(self)
        if self.scheme == "one-vs-one":
            told["asymmetry_matrix"] = self.asymmetry_matrix()
        return told

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild a result from `to_dict`, also after a trip through JSON."""
        found = super(MulticlassTestResult, cls).from_dict(values)
        return replace(found, splits=tuple(map(_withheld_again, found.splits)))

    def _rows(self, level: float) -> list[dict[str, Any]]:
        return [frame_row(split, level) for split in self.splits]


def _withheld_again(split: SplitRecord) -> SplitRecord:
    """Return a split whose withheld numbers are nan: JSON has None for these, too."""
    if split.withheld is None:
        return split
    return replace(split, statistic=nan, pvalue=nan, adjusted_pvalue=nan)
