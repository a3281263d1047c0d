"""What a line test returns: the line, its strata, the ladder of noise models, things to doubt."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenodds.inference.cases.record import Answers
from evenodds.inference.contour.result import Answer, Noise, Wider
from evenodds.inference.profile import Alternative, Profile, Reference, pvalue_of
from evenodds.inference.results import Diagnostic, Profiled, versions_in_use
from evenodds.validation import check_between

# The ladder, the narrowest noise first: each leaves one more degree of freedom to a line.
RUNGS: tuple[Noise, ...] = ("clean", "uniform", "class-conditional")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """Rows of similar score: what labels and the expert say of them.

    Attributes
    ----------
    low, high : float
        Scores it lies between.
    n_rows, given : float
        Rows whose labels count, and the share of them with the positive label. Rows that were
        looked up are not among them.
    given_error : float
        Standard error of that share.
    n_cases, stated : float
        Cases that were judged, and the mean of what was stated.
    stated_error : float
        Standard error of that mean.
    true, fitted : float or None
        Share truly positive, and of positive labels, by the fitted line; None where that is
        withheld.
    """

    low: float
    high: float
    n_rows: float
    given: float
    given_error: float
    n_cases: int
    stated: float
    stated_error: float
    true: float | None
    fitted: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRung:
    """A noise model tried on the strata, against shares that lie anywhere.

    Attributes
    ----------
    noise : str
        "clean" (the diagonal), "uniform" (a line through the centre), or "class-conditional"
        (any line).
    statistic, df, pvalue : number
        Twice the drop of the log-likelihood, its degrees of freedom, and its p-value.
    """

    noise: Noise
    statistic: float
    df: int
    pvalue: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LineTestResult(Profiled):
    """Outcome of a test on cases along a score.

    Attributes
    ----------
    statistic : float
        z at no asymmetry, as a standard normal value; nan where it is withheld.
    pvalue : float
        Probability, under uniform noise, of a statistic at least as extreme; nan where it is
        withheld.
    asymmetry : float or None
        Estimate of ``beta - alpha``; None where the cases cannot tell.
    alpha, beta : float or None
        Estimated flip rates of the positives and the negatives.
    method : str
        "line".
    alternative, answers : str
        What was asked, and what kind of answers were given.
    positive, negative : object
        The two labels.
    n_rows, n_cases, n_strata, n_experts : int
        Rows of the data, cases that were answered, strata and experts.
    shared_tolerance : float
        How far an expert may lean the same way in every answer.
    smallest_margin : float or None
        The smallest asymmetry that equivalence could rule out at the 5% level, however many
        cases are judged; None where the line is withheld.
    strata : tuple of Stratum
        By rising score.
    rungs : tuple of LineRung
        The ladder of noise models, the narrowest first.
    wider : tuple of Wider
        For every rung the stated noises above it, and whether the strata rule them out.
    diagnostics : tuple of Diagnostic
        What was checked, and what to doubt.
    profile : Profile
        Table of z as a function of the hypothesised asymmetry.
    withheld : str or None
        Why no numbers are shown.
    design_effect : float
        How many times the variance is that of independent rows, where there are groups.
    """

    _schema: ClassVar[int] = 4

    statistic: float
    pvalue: float
    asymmetry: float | None
    alpha: float | None
    beta: float | None
    method: str
    alternative: Alternative
    answers: Answers
    positive: Any
    negative: Any
    n_rows: int
    n_cases: int
    n_strata: int
    n_experts: int
    shared_tolerance: float
    smallest_margin: float | None
    strata: tuple[Stratum, ...]
    rungs: tuple[LineRung, ...]
    wider: tuple[Wider, ...]
    diagnostics: tuple[Diagnostic, ...]
    profile: Profile
    withheld: str | None = None
    design_effect: float = 1.0
    reference: Reference = field(default_factory=Reference)
    versions: dict[str, str] = field(default_factory=versions_in_use)

    @property
    def line_pvalue(self) -> float | None:
        """P-value of "some line fits": small where flips depend on the case; None with 2 strata."""
        found = [rung.pvalue for rung in self.rungs if rung.noise == "class-conditional"]
        return found[0] if found else None

    def not_rejected(self, significance: float = 0.05) -> Noise:
        """Return the simplest noise that is not rejected; past the last, "instance-dependent".

        Uniform noise is also rejected by the test itself, which looks for an asymmetry alone.
        """
        check_between(significance, "significance", 0, 1, closed="neither")
        leans = pvalue_of(self.statistic, "two-sided") < significance
        kept: list[Noise] = [
            rung.noise
            for rung in self.rungs
            if rung.pvalue >= significance and not (leans and rung.noise != "class-conditional")
        ]
        if not kept and not any(rung.noise == "class-conditional" for rung in self.rungs):
            return "class-conditional"  # two strata: a line runs through any two points
        return kept[0] if kept else "instance-dependent"

    def not_ruled_out(self, significance: float = 0.05) -> tuple[Wider, ...]:
        """Return the stated noises above `not_rejected` that these strata do not rule out."""
        stopped = self.not_rejected(significance)
        return tuple(
            one for one in self.wider if one.rung == stopped and not one.ruled_out(significance)
        )

    def reached(self, significance: float = 0.05) -> Answer:
        """Return the noise these labels have, or "cannot tell".

        It is the simplest noise that is not rejected, if stated noises above it are ruled out:
        else they would have gone unseen, and `not_ruled_out` names them.
        """
        if math.isnan(self.pvalue) or self.not_ruled_out(significance):
            return "cannot tell"
        return self.not_rejected(significance)
