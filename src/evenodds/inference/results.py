"""What a test returns: numbers, a table of z, and things to doubt; never the rows."""

import math
import os
import platform
from dataclasses import dataclass, field, fields, is_dataclass
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args, get_origin

from evenodds.anchors import TOSS_UP
from evenodds.errors import InputError
from evenodds.inference.profile import (
    HAIR,
    Alternative,
    ConfidenceInterval,
    Equivalence,
    Profile,
    Reference,
)
from evenodds.validation import check_between, check_choice, counted

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure

    from evenodds.validation import FloatArray


SCHEMA_VERSION = 3


class Result:
    """What every result can do: be stored, put into a frame, printed, drawn and reported."""

    __slots__ = ()

    _schema: ClassVar[int] = SCHEMA_VERSION
    # What is worked out from the fields, and stored beside them for other programs.
    _derived: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values, ready for JSON; what is not known is None."""
        told: dict[str, Any] = {"schema_version": self._schema}
        for name in (*self._derived, *_field_types(type(self))):
            value = getattr(self, name)
            told[name] = value.to_dict() if isinstance(value, Result) else plain_values(value)
        return told

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild a result from `to_dict`, also after a trip through JSON."""
        found = values.get("schema_version")
        if found != cls._schema:
            raise InputError(
                f"this result has schema version {found!r} but this evenodds reads {cls._schema}: "
                "test the data again."
            )
        return cls(**_restored_fields(cls, values))

    def to_frame(self, level: float = 0.95) -> "pd.DataFrame":
        """Return the numbers as a pandas frame, intervals at this level: a row a result.

        Results of several annotators, splits, rungs or tests have a row for each.
        """
        import pandas as pd

        check_between(level, "level", 0, 1, closed="neither")
        return pd.DataFrame(self._rows(level))

    def _rows(self, level: float) -> list[dict[str, Any]]:
        """Return the rows of the frame."""
        return [frame_row(self)]

    def summary(self, significance: float = 0.05) -> str:
        """Return the result in words and numbers: what `print` shows, read at this level."""
        return str(_presented(self, "text", significance=significance))

    def plot(
        self, kind: str | None = None, *, significance: float = 0.05, margin: float = 0.05
    ) -> "Figure":
        """Draw one figure, each the answer to one question.

        Parameters
        ----------
        kind : str, optional
            Which figure; the result's own page names them, and so does the answer to a
            wrong name. Default: the one for a reader in a hurry.
        significance : float, default 0.05
            Level at which it is read.
        margin : float, default 0.05
            Size of an asymmetry that would be harmless.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it, without pyplot; ``savefig`` writes it as PNG, SVG or PDF.
        """
        figure: Figure = _presented(self, "figure", kind, significance=significance, margin=margin)
        return figure

    def report(
        self,
        path: "str | Path",
        *,
        significance: float = 0.05,
        margin: float = 0.05,
        name: str | None = None,
    ) -> "Path":
        """Write the report: one HTML file that needs nothing else, and return its path.

        Parameters
        ----------
        path : str or Path
            Where to; the file appears whole or not at all.
        significance : float, default 0.05
            Level at which the result is read.
        margin : float, default 0.05
            Size of an asymmetry that would be harmless, for the equivalence test.
        name : str, optional
            Name of the data, for the title.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise InputError(f"path is {path!r} but must name the file to write, as report.html.")
        page: Path = _presented(self, "page", path, name, significance=significance, margin=margin)
        return page

    def _repr_html_(self) -> str:
        return str(_presented(self, "notebook"))

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {_presented(self, 'headline')}>"


def _presented(
    result: Result, way: str, *details: Any, significance: float = 0.05, margin: float = 0.05
) -> Any:
    """Show a result by its presenter in report/: the one look upwards."""
    from evenodds.report.sheet import View, present

    return present(result, View(significance=significance, margin=margin), way, *details)


def frame_row(record: Any, level: float | None = None) -> dict[str, Any]:
    """Return the single values of a record by name, with the ends of its interval at a level."""
    row = {
        name: getattr(record, name)
        for name, kind in _field_types(type(record)).items()
        if not _holds_many(kind)
    }
    if level is None:
        return row
    known = record.asymmetry is not None
    ends = record.confidence_interval(level) if known else None
    return {**row, **{end: getattr(ends, end, None) for end in ("low", "high")}}


def _holds_many(kind: Any) -> bool:
    """Tell whether values of this type have parts."""
    one = get_args(kind)[0] if isinstance(kind, UnionType) else kind
    return is_dataclass(one) or get_origin(one) in {tuple, dict}


def _field_types(record: Any) -> dict[str, Any]:
    """Return the types of a record's fields by name."""
    return {part.name: part.type for part in fields(record)}


def plain_values(value: Any) -> Any:
    """Return what JSON can hold: records as dicts, nan and infinite numbers as None."""
    if is_dataclass(value):
        return {name: plain_values(getattr(value, name)) for name in _field_types(type(value))}
    if isinstance(value, (tuple, list)):
        return type(value)(map(plain_values, value))
    if isinstance(value, dict):
        return {name: plain_values(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _restored(kind: Any, value: Any) -> Any:
    """Return a value of this type from what `plain_values` made of it."""
    if isinstance(kind, UnionType):  # "something or None"
        return None if value is None else _restored(get_args(kind)[0], value)
    if isinstance(kind, type) and issubclass(kind, Result) and "schema_version" in value:
        return kind.from_dict(value)
    if is_dataclass(kind):
        return kind(**_restored_fields(kind, value))  # type: ignore[operator]
    if get_origin(kind) is tuple:
        return tuple(_restored(get_args(kind)[0], part) for part in value)
    return math.nan if kind is float and value is None else value


def _restored_fields(record: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a stored record, refusing one that is not whole."""
    types = _field_types(record)
    absent = [name for name in types if name not in values]
    if absent:
        raise InputError(f"this result has no {absent[0]!r}: it is not a whole test result.")
    return {name: _restored(kind, values[name]) for name, kind in types.items()}


def versions_in_use() -> dict[str, str]:
    """Return the versions that numbers depend on."""
    import numpy  # noqa: ICN001 - by its own name, as it is listed
    import scipy

    from evenodds import __version__

    return {
        "evenodds": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorPosition:
    """What the labels say of one anchor, if the noise is uniform.

    Attributes
    ----------
    number : int
        Place among the anchors, counted from 1.
    stated : float
        The expert's posterior.
    posterior : float
        What the rows alone say of it.
    standard_error : float
        Of `posterior` about `stated`, the anchor's tolerance included.
    """

    number: int
    stated: float
    posterior: float
    standard_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveBin:
    """Rows of similar log-odds: how many of their labels are positive, and should be.

    Attributes
    ----------
    log_odds : float
        Mean log-odds of the clean curve, those beyond the bins counted at their edge.
    fitted, observed : float
        Share of positive labels that the curve with its plateaus expects, and that there is.
    low, high : float
        95% interval of the observed share.
    n_rows : float
        Rows, counted with their weights.
    """

    log_odds: float
    fitted: float
    observed: float
    low: float
    high: float
    n_rows: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """Rows and anchors on the two strongest features, with the clean curve's log-odds.

    The log-odds are ``intercept + slopes[0] * first + slopes[1] * second``. Further features
    are counted into the second, in its units, so that every case keeps its side of the
    boundary.

    Attributes
    ----------
    first, second : str
        Names of the two features.
    n_others : int
        Features counted into the second.
    intercept : float
    slopes : tuple of float
    first_range, second_range : tuple of float
        What the cells cover.
    counts, positives : tuple of tuple of float
        Rows and positive labels, by weight, one row of cells for each step along the first
        feature.
    anchors : tuple of tuple of float
        Where the anchors of the sketch lie.
    """

    first: str
    second: str
    n_others: int
    intercept: float
    slopes: tuple[float, float]
    first_range: tuple[float, float]
    second_range: tuple[float, float]
    counts: tuple[tuple[float, ...], ...]
    positives: tuple[tuple[float, ...], ...]
    anchors: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """Small summaries of a test's rows and anchors.

    Attributes
    ----------
    n_rows_seen : float
        Rows that bins and cells were counted on: a sample where there are very many.
    anchors : tuple of AnchorPosition
        All anchors, or where there are many a few from the lowest to the highest.
    bins : tuple of CurveBin
        By rising log-odds.
    plane : Plane or None
        None with fewer than two features, or for a method without flip rates.
    noisy_boundary : float or None
        Log-odds of the clean curve where a label is as likely positive as negative; None
        where that is nowhere.
    between : float or None
        Share of the rows between the clean and the noisy boundary.
    """

    n_rows_seen: float
    anchors: tuple[AnchorPosition, ...]
    bins: tuple[CurveBin, ...]
    plane: Plane | None = None
    noisy_boundary: float | None = None
    between: float | None = None

    @property
    def only_toss_ups(self) -> bool:
        """Whether every anchor shown was stated at 1/2."""
        return all(anchor.stated == TOSS_UP for anchor in self.anchors)


def check_alternative(value: Any) -> Alternative:
    """Return a checked alternative hypothesis."""
    alternative: Alternative = check_choice(value, "alternative", get_args(Alternative))  # type: ignore[assignment]
    return alternative


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One thing that was checked, in numbers and in a sentence.

    Attributes
    ----------
    name : str
        What was checked.
    message : str
        The finding as a plain sentence.
    concern : bool
        Whether it gives reason to doubt the result.
    statistic, pvalue : float or None
        The numbers behind the sentence, where there are any.
    """

    name: str
    message: str
    concern: bool
    statistic: float | None = None
    pvalue: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRegion:
    """Posteriors at the anchors that do not reject uniform noise, by the test as it was asked."""

    low: float
    high: float
    significance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipRate:
    """A flip rate with an interval, from anchors stated away from 1/2.

    Attributes
    ----------
    name : str
        "alpha" or "beta".
    estimate, low, high : float
        The rate and the ends of its interval.
    level : float
        Confidence of the interval.
    n_anchors : int
        Anchors stated at 1 (for alpha) or 0 (for beta), which give the rate directly; with none
        it rests on the line through the others.
    """

    name: str
    estimate: float
    low: float
    high: float
    level: float
    n_anchors: int


class Profiled(Result):
    """A result that rests on one function z(Delta_0)."""

    __slots__ = ()

    statistic: float
    pvalue: float
    asymmetry: float | None
    alpha: float | None
    beta: float | None
    method: str
    alternative: Alternative
    positive: Any
    negative: Any
    diagnostics: tuple[Diagnostic, ...]
    profile: Profile
    reference: Reference
    withheld: str | None = None

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Return the asymmetries this test would not reject at ``1 - level``.

        With a one-sided alternative the interval is one-sided too. An end without a
        bound is at -1 or 1 and marked so; where numbers are withheld neither has one.
        """
        if not self.withheld:
            return self.profile.interval(level, self.alternative, self.reference)
        check_between(level, "level", 0, 1, closed="neither")
        rejected = self.pvalue < 1 - level  # then at least the sign is known
        low = HAIR if rejected and self.statistic > 0 else -1.0
        high = -HAIR if rejected and self.statistic < 0 else 1.0
        return ConfidenceInterval(
            low=low, high=high, level=level, low_is_limit=low == -1, high_is_limit=high == 1
        )

    def equivalence(self, margin: float = 0.05) -> Equivalence:
        """Test whether the asymmetry is smaller than `margin` in size.

        A small p-value shows that it is: the one way to *support* uniform noise. Where numbers
        are withheld it is nan. With anchors it is never small below their `smallest_margin`,
        however many rows there are.
        """
        if self.withheld:
            return Equivalence(margin=margin, pvalue=math.nan)
        return self.profile.equivalence(margin, self.reference)

    def _rows(self, level: float) -> list[dict[str, Any]]:
        return [frame_row(self, level)]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AsymmetryTestResult(Profiled):
    """Outcome of a test for class-conditional label noise.

    Attributes
    ----------
    statistic : float
        Standardised distance of the fitted curve from what uniform noise would give
        at the anchors; nan where it is withheld.
    pvalue : float
        Probability, under uniform noise, of a statistic at least as extreme; nan where it is
        withheld.
    asymmetry : float or None
        Estimate of ``beta - alpha``: how many more of the negatives than of the
        positives are flipped. None where it is withheld.
    alpha, beta : float or None
        Estimated flip rates of positives and negatives; None where the method has none, the
        rows cannot tell them, or they are withheld.
    withheld : str or None
        Why there are no numbers: the data cannot tell. None where there are.
    mean_posterior : float or None
        What the labels say of the posterior at the anchors, on average, if the noise is
        uniform: near `stated_posterior` when it is. None without anchors.
    standard_error : float or None
        Of `mean_posterior`, under uniform noise.
    stated_posterior : float or None
        Weighted mean of the posteriors stated for the anchors.
    method, alternative : str
        What was asked.
    settings : dict
        The method's settings.
    positive, negative : object
        The two labels.
    n_rows, n_features, n_anchors, n_audited : int
        Sizes; rows are counted with their frequency weights. Audited rows are those of `audit`.
    tolerance : tuple of float
        Smallest and largest tolerance of the anchors.
    shared_tolerance : float
        Error common to all anchors.
    shared_is_default : bool
        Whether that was worked out from the tolerances, not stated.
    diagnostics : tuple of Diagnostic
        What was checked, and what to doubt.
    profile : Profile
        Table of the statistic as a function of the hypothesised asymmetry.
    endless_z : tuple of float
        The statistic at the asymmetries of the profile if the curve were known exactly and the
        anchors as they are: what rows without end would leave. Empty where rows alone can settle
        any asymmetry.
    reference : Reference
        What the statistic is compared with: a standard normal, or bootstrap draws.
    sketch : Sketch
        Small summaries of rows and anchors, for the figures.
    flip_rates : tuple of FlipRate
        Both flip rates with intervals, where the method gives any.
    versions : dict
        Of the libraries that the numbers depend on.

    Notes
    -----
    ``result.plot(kind)`` draws one figure, each the answer to one question:

    - "anchors": where do the toss-ups fall, against what uniform noise allows?
    - "evidence": how strong is the evidence for each asymmetry?
    - "power": what could this data have found?
    - "fit": does the curve fit?
    - "boundary": what would the noise do?
    """

    statistic: float
    pvalue: float
    asymmetry: float | None
    alpha: float | None
    beta: float | None
    mean_posterior: float | None
    standard_error: float | None
    stated_posterior: float | None
    method: str
    alternative: Alternative
    settings: dict[str, str]
    positive: Any
    negative: Any
    n_rows: int
    n_features: int
    n_anchors: int
    tolerance: tuple[float, float]
    shared_tolerance: float
    shared_is_default: bool
    diagnostics: tuple[Diagnostic, ...]
    profile: Profile
    endless_z: tuple[float, ...] = ()
    reference: Reference = field(default_factory=Reference)
    sketch: Sketch
    flip_rates: tuple[FlipRate, ...] = ()
    n_audited: int = 0
    withheld: str | None = None
    versions: dict[str, str] = field(default_factory=versions_in_use)

    def flip_probability(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        formula: str | None = None,
        probabilities: str | None = None,
    ) -> "FloatArray":
        """Return how likely each label is flipped, in the order of the rows; sort by it to relabel.

        The clean curve is fitted anew with the flip rates of this test, as they were estimated:
        their own error is not part of the answer.

        Parameters
        ----------
        X, y : as for `asymmetry_test`
            The data that were tested; they are not kept by the result.
        sample_weight, formula, probabilities : as for `asymmetry_test`
            As they were given there.

        Raises
        ------
        InputError
            If the method estimates no flip rates, these data could not tell, or the data have
            other features than those tested.

        Examples
        --------
        >>> import numpy as np
        >>> import evenodds as eo
        >>> rng = np.random.default_rng(7)
        >>> true = rng.integers(0, 2, size=2000)
        >>> X = rng.normal(size=(2000, 2)) + (2 * true - 1)[:, None]
        >>> given = eo.ClassConditionalNoise(alpha=0.3, beta=0.1).flip(true, rng)
        >>> result = eo.asymmetry_test(X, given, eo.Anchors([[1.0, -1.0], [-2.0, 2.0]]))
        >>> likely = np.argsort(-result.flip_probability(X, given))[:100]
        >>> bool(np.mean(given[likely] != true[likely]) > 0.9)  # nearly all of them are
        True
        """
        from evenodds.model.robust import fit_robust
        from evenodds.rows.read import read_data

        if self.withheld or self.alpha is None or self.beta is None:
            said = {check.name: check.message.rstrip(".") for check in self.diagnostics}
            none = said.get("noise rate", f"method {self.method!r} estimates none")
            raise InputError(f"flip_probability needs flip rates: {self.withheld or none}.")
        rows = read_data(
            X,
            y,
            positive=self.positive,
            sample_weight=sample_weight,
            formula=formula,
            probabilities=probabilities,
        )
        if rows.n_features != self.n_features:
            raise InputError(
                f"X has {counted(rows.n_features, 'feature')} but the test had {self.n_features}: "
                "give the data that were tested."
            )
        block = rows.to_memory()
        curve = fit_robust(rows, alpha=self.alpha, beta=self.beta)
        return curve.flip_probability(block.features, block.labels)

    def smallest_margin(self, significance: float = 0.05) -> float:
        """Return the margin below which `equivalence` can show nothing with these anchors.

        Errors of the anchors remain however many rows there are: half the width that the
        interval at ``1 - 2 * significance`` would have if the curve were known exactly. 0 where
        rows alone can show any margin (strict anchors, an audit, method "joint"), 1 where they
        can show none, nan where the result is withheld.
        """
        check_between(significance, "significance", 0, 1, closed="neither")
        if self.withheld:
            return math.nan
        if not self.endless_z:
            return 0.0
        above, _ = self.reference.critical(significance, "greater")
        _, below = self.reference.critical(significance, "less")
        endless = Profile(self.profile.asymmetries, self.endless_z, self.profile.estimate)
        return max(endless.half_width(above, below), 0.0)

    def retention_region(self, significance: float = 0.05) -> RetentionRegion | None:
        """Return the mean posteriors that retain uniform noise; None without any.

        A one-sided test rejects on one side only: its region then reaches to 0 or 1.
        """
        if self.standard_error is None or self.stated_posterior is None:
            return None
        return self._region(self.stated_posterior, self.standard_error, significance)

    def anchor_region(self, anchor: AnchorPosition, significance: float = 0.05) -> RetentionRegion:
        """Return the posteriors at one anchor that would retain uniform noise by itself."""
        return self._region(anchor.stated, anchor.standard_error, significance)

    def _region(self, stated: float, standard_error: float, significance: float) -> RetentionRegion:
        from scipy.special import expit, logit

        check_between(significance, "significance", 0, 1, closed="neither")
        above, below = self.reference.critical(significance, self.alternative)
        if self.method in {"wald", "local"}:
            low, high = stated + below * standard_error, stated + above * standard_error
        else:  # these tests live on the scale of log-odds
            target, stretched = logit(stated), standard_error / (stated * (1 - stated))
            low, high = expit(target + below * stretched), expit(target + above * stretched)
        return RetentionRegion(
            low=0.0 if self.alternative == "greater" else max(float(low), 0.0),
            high=1.0 if self.alternative == "less" else min(float(high), 1.0),
            significance=significance,
        )
