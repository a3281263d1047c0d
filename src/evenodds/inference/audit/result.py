"""What an audit test returns: counts, numbers and a table of z."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from evenodds.inference.audit.counts import Flips, Grouping, Quantity, worth
from evenodds.inference.audit.exact import clopper_pearson
from evenodds.inference.audit.score import AuditByGiven
from evenodds.inference.audit.stratified import Cells, StratifiedAudit
from evenodds.inference.looks import AfterLooks
from evenodds.inference.multiplicity import wilson_interval
from evenodds.inference.profile import Alternative, ConfidenceInterval, Profile, Reference
from evenodds.inference.results import Diagnostic, Profiled, versions_in_use
from evenodds.validation import check_between

# How far inside the scale its ends are tried: on them the fit degenerates.
EDGE = 1e-9
# With fewer rows flipped, or not, a rate has the exact interval, however large the audit: Wilson's
# holds a small rate in as few as .84.
FEW_FLIPS = 10


def inverted(z: Callable[[float], float], estimate: float, level: float) -> tuple[float, float]:
    """Return the rates that are not rejected at ``1 - level``."""
    critical = float(-ndtri((1 - level) / 2))
    return _end(z, estimate, EDGE, critical), _end(z, estimate, 1 - EDGE, -critical)


def _end(z: Callable[[float], float], estimate: float, limit: float, critical: float) -> float:
    """Return where z passes its critical value on the way to the limit, or the scale's end.

    At the estimate, where z is beyond it there already: it need not be a root.
    """

    def beyond(rate: float) -> float:
        return (z(rate) - critical) * (1.0 if critical > 0 else -1.0)

    scale_end = 0.0 if limit < 0.5 else 1.0
    if abs(estimate - scale_end) <= EDGE or beyond(limit) <= 0:
        return scale_end
    if beyond(estimate) >= 0:
        return estimate
    return float(brentq(beyond, estimate, limit, xtol=1e-10))


SampledBy = Literal["random", "true", "given"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditStratum:
    """Rows of one stratum and given label.

    Attributes
    ----------
    stratum : str
        Its name; of several that were joined, all of them.
    given : object
        The label that its rows carry.
    n_rows, n_audited, n_wrong : int
        Rows of the data, how many of them were audited, and how many of these are wrong.
    worth, share_wrong : float or None
        Where rows were drawn with chances that differ: how many rows of equal weight the audited
        ones are worth, and the share of rows that they say is wrong.
    """

    stratum: str
    given: Any
    n_rows: int
    n_audited: int
    n_wrong: int
    worth: float | None = None
    share_wrong: float | None = None

    @property
    def counts(self) -> tuple[float, float, float]:
        """Rows, audited and wrong ones, these two as what they are worth."""
        if self.worth is None or self.share_wrong is None:
            return self.n_rows, self.n_audited, self.n_wrong
        return self.n_rows, self.worth, self.worth * self.share_wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class NextLook:
    """When an audit is read again, and how large z must be then for the verdict to stand."""

    n_rows: int
    critical: float


def cells_of(strata: tuple[AuditStratum, ...], positive: Any) -> Cells:
    """Return the counts of all strata as arrays."""
    counts = np.array([one.counts for one in strata], dtype=float)
    labelled = np.array([one.given == positive for one in strata])
    return Cells(counts[:, 0], counts[:, 1], counts[:, 2], labelled)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AuditTestResult(Profiled):
    """Outcome of a test on rows whose true label was looked up.

    Attributes
    ----------
    statistic : float
        Standardised difference of the flip rates; of the exact test, the normal deviate that
        has its p-value.
    pvalue : float
        Probability, under equal flip rates, of an audit at least as extreme.
    asymmetry : float
        Estimate of ``beta - alpha``.
    alpha, beta : float
        Share of the true positives that are labelled negative, and of the true negatives
        that are labelled positive.
    method : {"boschloo", "exact", "likelihood", "score", "stratified"}
        The exact unconditional test, at random or by true class, and by given class; the
        likelihood ratio; the score test; or, within strata, the score with its own distribution.
    alternative, sampled_by : str
        What was asked, and how the audited rows were drawn.
    positive, negative : object
        The two labels.
    n_rows : int
        Audited rows.
    counts : Flips
        Audited rows of either true class, and the flipped ones among them.
    given_counts : tuple of int or None
        Rows of the whole data labelled negative and positive; None unless drawn by given class
        or within strata.
    diagnostics : tuple of Diagnostic
        What was checked, and what to doubt.
    profile : Profile
        Table of the statistic as a function of the hypothesised asymmetry.
    strata : tuple of AuditStratum
        Where rows were drawn within strata: each with either given label.
    groupings : tuple of Grouping
        How rows of one group go together, for each column of groups; empty without groups, or
        where no group has two rows.
    design_effect : float
        How many times the variance is that of independent rows.
    looks : tuple of int
        Audited rows at every planned look; this is one of them. p-value and intervals then
        account for all looks up to this one. Empty where the audit is read once.
    versions : dict
        Of the libraries that the numbers depend on.

    Notes
    -----
    ``result.plot(kind)`` draws one figure, each the answer to one question:

    - "rates": how often is either class flipped?
    - "evidence": how strong is the evidence for each asymmetry?
    - "power": what could this audit have found?
    """

    _derived: ClassVar[tuple[str, ...]] = ("reference",)

    statistic: float
    pvalue: float
    asymmetry: float
    alpha: float
    beta: float
    method: Literal["boschloo", "exact", "likelihood", "score", "stratified"]
    alternative: Alternative
    sampled_by: SampledBy
    positive: Any
    negative: Any
    n_rows: int
    counts: Flips
    given_counts: tuple[int, int] | None
    diagnostics: tuple[Diagnostic, ...]
    profile: Profile
    strata: tuple[AuditStratum, ...] = ()
    groupings: tuple[Grouping, ...] = ()
    design_effect: float = 1.0
    looks: tuple[int, ...] = ()
    versions: dict[str, str] = field(default_factory=versions_in_use)

    @property
    def reference(self) -> Reference:  # type: ignore[override]  # it follows from the looks
        """What the statistic is compared with: a standard normal, or what looks leave of it."""
        if not self.looks:
            return Reference()
        return AfterLooks(shares=tuple(n / self.looks[-1] for n in self.looks[: self.look]))

    @property
    def look(self) -> int:
        """Which of the planned looks this is, counted from 1; 0 where none were planned."""
        return self.looks.index(self.n_rows) + 1 if self.looks else 0

    def next_look(self, significance: float = 0.05) -> NextLook | None:
        """Return when to look again, and what z would have to be; None after the last look."""
        check_between(significance, "significance", 0, 1, closed="neither")
        if self.look == len(self.looks):
            return None
        ahead = replace(self, n_rows=self.looks[self.look])
        above, below = ahead.reference.critical(significance, self.alternative)
        return NextLook(n_rows=ahead.n_rows, critical=max(above, -below))

    @property
    def n_strata(self) -> int:
        """Strata that rows were drawn within; 0 where there are none."""
        labels = [one.given for one in self.strata]
        return max(map(labels.count, labels), default=0)

    @property
    def by_chances(self) -> bool:
        """Whether rows were drawn with recorded chances that differ."""
        return any(one.worth is not None for one in self.strata)

    def alpha_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Return a two-sided interval for the flip rate of the positives."""
        return self._rate_interval("alpha", level)

    def beta_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Return a two-sided interval for the flip rate of the negatives."""
        return self._rate_interval("beta", level)

    def _rate_interval(self, rate: Quantity, level: float) -> ConfidenceInterval:
        """Return the exact interval with few flips in the class, else that of the score.

        By given class it is that of the likelihood ratio in small audits. With groups it is
        the exact one of as many independent rows as these are worth.
        """
        check_between(level, "level", 0, 1, closed="neither")
        wanted = level
        if self.looks:  # as sure as one look would have to be
            level = 1 - 2 * float(ndtr(self.reference.critical(1 - level, "two-sided")[1]))
        counts = self.counts
        flipped, n = (
            (counts.flipped_positive, counts.n_positive)
            if rate == "alpha"
            else (counts.flipped_negative, counts.n_negative)
        )
        if self.strata:
            within = StratifiedAudit(cells_of(self.strata, self.positive))
            estimate = getattr(within.seen, rate)
            low, high = inverted(lambda value: within.z(value, rate), estimate, level)
        elif self.given_counts is not None:
            audit = AuditByGiven(counts, *self.given_counts, self.groupings)
            z = audit.at if self.method == "score" else audit.root_at
            estimate = self.alpha if rate == "alpha" else self.beta
            low, high = inverted(lambda value: z(value, rate).z, estimate, level)
        elif self.groupings:
            rows = worth(self.groupings, n, rate, level)
            low, high = clopper_pearson(rows * (flipped / n), rows, level)
        elif self.method == "boschloo" or min(flipped, n - flipped) < FEW_FLIPS:
            low, high = clopper_pearson(flipped, n, level)
        else:
            low, high = wilson_interval(flipped, n, level)
        return ConfidenceInterval(low=low, high=high, level=wanted)
