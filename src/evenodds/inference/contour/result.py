"""What a contour test returns: a ladder of noise models, and the contours they were tried on."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from evenodds.errors import InputError
from evenodds.inference.profile import ConfidenceInterval
from evenodds.inference.results import Diagnostic, Result, frame_row, versions_in_use
from evenodds.validation import check_between

Noise = Literal["clean", "uniform", "class-conditional", "instance-dependent"]
Answer = Noise | Literal["cannot tell"]
Rate = Literal["alpha", "beta", "asymmetry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One noise model, tested against everything above it.

    Attributes
    ----------
    hypothesis : str
        "clean", "uniform" or "class-conditional".
    statistic : float
        Squared distance of the contours from the model, in standard errors.
    df : int
        Degrees of freedom. "clean" is one-sided: its reference mixes chi-squared laws of up to
        two fewer.
    contour_pvalue : float or None
        Of the statistic; None where there are too few contours to test it.
    pvalue : float or None
        With the agreement of cases within contours: twice the smaller of the two p-values.
    """

    hypothesis: Noise
    statistic: float
    df: int
    contour_pvalue: float | None
    pvalue: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wider:
    """Noise wider than a rung, of a stated size: do these contours rule it out?

    Attributes
    ----------
    rung : str
        The noise that it goes beyond.
    noise : str
        "uniform": both classes flipped equally often. "asymmetry": one class flipped more often
        than the other. "hard cases": toss-ups flipped more often than sure cases, by
        ``4 p (1 - p)``. "sure cases": the other way round, by ``(1 - 2p)^2``.
    size : float
        Its stated size: a flip rate, or a difference of two.
    standard_error : float or None
        Of the size, by these contours; None where they say nothing of it.
    pvalue : float or None
        Of noise of this size or more, on top of the rung.
    """

    rung: Noise
    noise: str
    size: float
    standard_error: float | None
    pvalue: float | None

    def ruled_out(self, significance: float = 0.05) -> bool:
        """Tell whether noise of this size, or more, is rejected."""
        return self.pvalue is not None and self.pvalue < significance


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Whether cases of one contour have the same share of positive labels.

    They do under clean labels, uniform and class-conditional noise alike.
    """

    statistic: float
    df: int
    pvalue: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Contour:
    """Anchors of one stated posterior.

    Attributes
    ----------
    stated : float
        Mean of their stated posteriors.
    stated_error : float
        Its standard error, from the tolerances.
    estimate : float
        Mean share of positive labels at these anchors, by the fit.
    standard_error : float
        Of `estimate`, from the rows alone.
    n_anchors : int
        How many anchors.
    """

    stated: float
    stated_error: float
    estimate: float
    standard_error: float
    n_anchors: int


def first_kept(rungs: tuple[Rung, ...], significance: float) -> Noise:
    """Return the first noise of the sequence that is not rejected, or cannot be tested."""
    for rung in rungs:
        if rung.pvalue is None or rung.pvalue >= significance:
            return rung.hypothesis
    return "instance-dependent"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContourTestResult(Result):
    """Outcome of a test of noise models on contours of the posterior.

    Attributes
    ----------
    rungs : tuple of Rung
        Clean, uniform and class-conditional noise, in this order.
    wider : tuple of Wider
        For every rung the stated noises above it, and whether the contours rule them out.
    agreement : Agreement or None
        Do cases of one contour agree? None where that cannot be asked: one anchor a contour,
        anchors that do not differ in their features, or too few groups.
    alpha, beta, asymmetry : float
        Flip rates of positives and negatives, and ``beta - alpha``, by the line through the
        contours; they mean something only where the line holds.
    rate_covariance : tuple of tuple of float
        Covariance of (alpha, beta).
    contours : tuple of Contour
        The contours, from the lowest stated posterior to the highest.
    cases : tuple of (float, float)
        Stated posterior and estimated share of positive labels of single anchors; where there are
        very many, of some.
    engine : str
        "spline" or "local": how the share of positive labels was estimated.
    settings : dict
        Of the engine.
    positive, negative : object
        The two labels.
    n_rows, n_features, n_anchors : int
        Sizes; rows are counted with their frequency weights.
    tolerance, shared_tolerance, shared_is_default
        Smallest and largest tolerance of the anchors, the error common to all, and whether that
        was worked out from the tolerances, not stated.
    diagnostics : tuple of Diagnostic
        What was checked, and what to doubt.
    versions : dict
        Of the libraries that the numbers depend on.
    """

    _schema: ClassVar[int] = 2
    _derived: ClassVar[tuple[str, ...]] = ("method", "alternative", "pvalue", "statistic")
    method: ClassVar[str] = "contour"
    alternative: ClassVar[str] = "two-sided"

    rungs: tuple[Rung, ...]
    wider: tuple[Wider, ...]
    agreement: Agreement | None
    alpha: float
    beta: float
    asymmetry: float
    rate_covariance: tuple[tuple[float, float], tuple[float, float]]
    contours: tuple[Contour, ...]
    cases: tuple[tuple[float, float], ...]
    engine: str
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
    versions: dict[str, str] = field(default_factory=versions_in_use)

    def reached(self, significance: float = 0.05) -> Answer:
        """Return the noise these labels have, or "cannot tell".

        It is the simplest noise that is not rejected, if stated noises above it are ruled out:
        else it would have gone unseen, and `not_ruled_out` names it.
        """
        return (
            "cannot tell" if self.not_ruled_out(significance) else self.not_rejected(significance)
        )

    def not_ruled_out(self, significance: float = 0.05) -> tuple[Wider, ...]:
        """Return the stated noises above `not_rejected` that these contours do not rule out."""
        stopped = self.not_rejected(significance)
        return tuple(
            wider
            for wider in self.wider
            if wider.rung == stopped and not wider.ruled_out(significance)
        )

    def not_rejected(self, significance: float = 0.05) -> Noise:
        """Return the simplest noise that is not rejected, by the fixed sequence of tests.

        The sequence stops at the first noise that is not rejected, or cannot be tested; past
        the last it is "instance-dependent". Going past the true one takes a false rejection
        of it, so the number of rungs needs no correction.
        """
        check_between(significance, "significance", 0, 1, closed="neither")
        return first_kept(self.rungs, significance)

    def rung(self, hypothesis: Noise) -> Rung:
        """Return one rung by its hypothesis."""
        return next(rung for rung in self.rungs if rung.hypothesis == hypothesis)

    @property
    def pvalue(self) -> float:
        """P-value of uniform noise in the sequence: the larger of those of clean and uniform."""
        return max(1.0 if rung.pvalue is None else rung.pvalue for rung in self.rungs[:2])

    @property
    def statistic(self) -> float:
        """Of uniform noise, on the contours alone."""
        return self.rung("uniform").statistic

    def confidence_interval(
        self, level: float = 0.95, rate: Rate = "asymmetry"
    ) -> ConfidenceInterval:
        """Return an interval for a flip rate or the asymmetry, by the line."""
        from scipy.special import ndtri

        check_between(level, "level", 0, 1, closed="neither")
        weights = {"alpha": (1, 0), "beta": (0, 1), "asymmetry": (-1, 1)}
        if rate not in weights:
            raise InputError(f"rate is {rate!r} but must be 'alpha', 'beta' or 'asymmetry'.")
        reach = float(ndtri((1 + level) / 2)) * self._spread(*weights[rate])
        middle: float = getattr(self, rate)
        return ConfidenceInterval(
            low=max(middle - reach, -1.0), high=min(middle + reach, 1.0), level=level
        )

    def line(self, stated: float) -> tuple[float, float]:
        """Return the height of the fitted line at a stated posterior, and its standard error."""
        height = self.beta + (1 - self.alpha - self.beta) * stated
        return height, self._spread(-stated, 1 - stated)

    def _spread(self, of_alpha: float, of_beta: float) -> float:
        """Return the standard error of a weighted sum of the two flip rates."""
        (alpha, mixed), (_, beta) = self.rate_covariance
        return math.sqrt(of_alpha**2 * alpha + 2 * of_alpha * of_beta * mixed + of_beta**2 * beta)

    def _rows(self, level: float) -> list[dict[str, Any]]:
        return [frame_row(rung) for rung in self.rungs]
