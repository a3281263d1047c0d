"""What the boundary and the joint test share: one null fit, two directions, one outcome.

For a hypothesised asymmetry the noisy-logistic curve is fitted with the anchors as
evidence. *Boundary* then asks whether the curve crosses 1/2 at the anchors; *joint* asks
whether the likelihood still rises with the asymmetry (theory page, "Noise-aware tests").

Of any rows that are not chosen by their labels, a share of at least beta is labelled positive
and at least alpha negative: true negatives that are flipped, true positives that are. So no
beta is larger than the share of positive labels, among all rows or among those where it is
lowest, and no alpha larger than that of negative ones.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from evenodds.anchors import Anchors
from evenodds.inference.audit.as_evidence import Audit, audit_terms
from evenodds.inference.null_fits import AnchorEquations, NullFits
from evenodds.inference.profile import WIDEST, Alternative, Profile, Reference
from evenodds.inference.results import AsymmetryTestResult, Diagnostic, Sketch
from evenodds.model.anchor_evidence import Evidence
from evenodds.model.covariance import GroupedNoisyScores
from evenodds.model.logistic import climb
from evenodds.model.noisy_fit import NoisyFit, asymmetry_direction, index_counts
from evenodds.model.noisy_likelihood import AuditTerms, NoisyPoint, NoisyProblem
from evenodds.model.sums import symmetric_inverse
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray, join_quoted

# Information below this share of all is what rounding leaves of none.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class FittedRows:
    """Rows with their plain curve, from which every null fit starts."""

    problem: NoisyProblem
    plain_coefficients: FloatArray

    @classmethod
    def of(cls, rows: Rows) -> "FittedRows":
        """Fit the plain curve, once for all statistics of these rows."""
        plain, optimum = climb(rows)
        return cls(NoisyProblem.of(rows, plain.scaling), optimum.coefficients)

    def with_audit(self, audit: Audit | None) -> "FittedRows":
        """Return the same with an audit in the likelihood."""
        if audit is None:
            return self
        return replace(self, problem=self.problem.with_audit(audit_terms(audit, self.problem)))


@dataclass(frozen=True, slots=True)
class Direction:
    """A statistic at one null fit: the ratio of a distance and its standard error.

    `slope` is how fast z changes with the hypothesised asymmetry, to first order. `usable`
    is False at a step, which fits anything and so is no evidence for its asymmetry.
    `anchor_error` is the part of the standard error that rows without end would leave.
    """

    z: float
    slope: float
    distance: float
    standard_error: float
    usable: bool
    anchor_error: float = 0.0

    @property
    def endless_z(self) -> float:
        """What z would be if rows without end showed the same distance."""
        return self.distance / self.anchor_error


class Remembered:
    """A statistic that keeps what it has worked out."""

    def __init__(self, statistic: Callable[[float], Direction]) -> None:
        self._statistic = statistic
        self._known: dict[float, Direction] = {}

    def __call__(self, asymmetry: float) -> Direction:
        if asymmetry not in self._known:
            self._known[asymmetry] = self._statistic(asymmetry)
        return self._known[asymmetry]


class BoundaryStatistic:
    """The boundary test's z as a function of the hypothesised asymmetry."""

    def __init__(self, fitted: FittedRows, equation: AnchorEquations) -> None:
        self.equation = equation
        self.fits = NullFits(fitted.problem, equation.evidence(), fitted.plain_coefficients)

    def at(self, asymmetry: float) -> Direction:
        """Return the statistic at a hypothesised asymmetry."""
        fit = self.fits.at(asymmetry)
        audit = self.fits.problem.audit
        if audit is not None:
            return joint_direction(shape_blind(fit, audit), self.fits.evidence)
        return self._read(fit, self.equation, self.fits.problem)

    def without(self, equations: AnchorEquations, left_out: int) -> float:
        """Return z(0) with equal weights on all anchors but one, from a fit without that one.

        With very many rows what leaving it out moves is measured on a sample.
        """
        n_anchors = len(equations.targets)
        weights = np.full(n_anchors, 1 / (n_anchors - 1))
        weights[left_out] = 0
        rest = equations.averaged(weights)
        sampled, evidence = self.fits.sampled, rest.evidence()
        if sampled is None:
            return self._read(self.fits.refitted(evidence, 0.0), rest, self.fits.problem).z
        fit = sampled.at(0.0, self.fits.at(0.0).point)
        before = self._read(fit, self.equation, sampled.problem)
        fit = sampled.refitted(evidence.scaled(sampled.share), fit.point)
        after = self._read(fit, rest, sampled.problem)
        error = float(rest.covariance[0, 0])
        variance = (after.standard_error**2 - error) * sampled.share + error
        return (self.at(0.0).distance + after.distance - before.distance) / float(variance**0.5)

    @staticmethod
    def _read(fit: NoisyFit, equation: AnchorEquations, problem: NoisyProblem) -> Direction:
        return boundary_direction(fit, equation, grouped_scores(problem, fit.point))


class JointStatistic:
    """The joint test's z as a function of the hypothesised asymmetry."""

    def __init__(
        self, fitted: FittedRows, evidence: Evidence, near: NoisyFit | None = None
    ) -> None:
        self.evidence = evidence
        self.fits = NullFits(fitted.problem, evidence, fitted.plain_coefficients, near)

    def at(self, asymmetry: float) -> Direction:
        """Return the statistic at a hypothesised asymmetry."""
        fit = self.fits.at(asymmetry)
        return joint_direction(fit, self.evidence, grouped_scores(self.fits.problem, fit.point))


def boundary_direction(
    fit: NoisyFit, equation: AnchorEquations, group_scores: FloatArray | None = None
) -> Direction:
    """Return how far the curve's own crossing of the stated posterior is from the anchors.

    One scoring step from the null fit, without the evidence, estimates the log-odds at the
    weighted anchor; its variance is that of the curve plus that of the anchors.
    """
    n_parameters = len(fit.point.coefficients)
    inverse = nuisance_inverse(fit)
    n_nuisance = len(inverse)
    contrast = np.zeros(n_nuisance)
    contrast[:n_parameters] = equation.design[0]
    lever = inverse @ contrast
    estimate = contrast[:n_parameters] @ fit.point.coefficients
    distance = float(estimate + lever @ fit.here.score[:n_nuisance] - equation.targets[0])
    if group_scores is None:
        curve_variance = float(contrast @ lever)
    else:
        curve_variance = float(((group_scores[:, :n_nuisance] @ lever) ** 2).sum())
    standard_error = float(np.sqrt(curve_variance + equation.covariance[0, 0]))
    # A higher hypothesised asymmetry explains positive labels away and lowers the log-odds.
    slope = -float(lever @ (fit.here.information @ asymmetry_direction(fit))[:n_nuisance])
    return Direction(
        z=distance / standard_error,
        slope=slope / standard_error,
        distance=distance,
        standard_error=standard_error,
        usable=not fit.is_step,
        anchor_error=float(np.sqrt(equation.covariance[0, 0])),
    )


def shape_blind(fit: NoisyFit, audit: AuditTerms) -> NoisyFit:
    """Return a fit whose rows speak of the asymmetry only through curve and noise rate.

    Their score for Delta is replaced by what their nuisance scores foretell of it, so that the
    shape of the plateaus is not read. The efficient score of what remains weighs anchors and
    audit as well as can be; without an audit it is the boundary statistic itself.

    Rows chosen by their given label leave others whose labels are no fair sample. Then all
    rows speak by their given labels, and the audit adds true labels given these.
    """
    chosen_by_label = audit.known is not None and audit.known.by_given
    own = audit.at(fit.point) if chosen_by_label else audit.own_at(fit.point)
    # What is left of the rows is zero up to rounding where every row was audited.
    left = fit.here.information - own.information
    told = left.diagonal() > ROUNDING * fit.here.information.diagonal()
    rows_score = np.where(told, fit.here.score - own.score, 0.0)
    rows_information = np.where(np.outer(told, told), left, 0.0)
    n_nuisance = len(fit.point.coefficients) + fit.rate_is_free
    inverse = symmetric_inverse(rows_information[:n_nuisance, :n_nuisance])
    lever = rows_information[:, :n_nuisance] @ inverse
    blind = replace(
        fit.here,
        score=lever @ rows_score[:n_nuisance],
        information=lever @ rows_information[:n_nuisance],
    )
    return replace(fit, here=blind.with_part(own))


def nuisance_inverse(fit: NoisyFit) -> FloatArray:
    """Return the inverse information of the coefficients, and of tau where it is free."""
    n_nuisance = len(fit.point.coefficients) + fit.rate_is_free
    return symmetric_inverse(fit.here.information[:n_nuisance, :n_nuisance])


def joint_direction(
    fit: NoisyFit, evidence: Evidence, group_scores: FloatArray | None = None
) -> Direction:
    """Return the efficient score for the asymmetry, with the anchors' information counted.

    Without noise or asymmetry either flip rate can only grow: the one that raises the
    likelihood decides, and where neither does, the statistic is zero.
    """
    target = asymmetry_direction(fit)
    if fit.rate_is_free or fit.point.rate > 0:
        return _efficient_score(fit, evidence, target, group_scores)
    target[-2] = 0.5
    more_beta = _efficient_score(fit, evidence, target, group_scores)
    target[-2] = -0.5
    more_alpha = _efficient_score(fit, evidence, target, group_scores)
    if max(more_beta.z, -more_alpha.z) <= 0:
        return replace(more_beta, z=0.0)
    return more_beta if more_beta.z > -more_alpha.z else more_alpha


def _efficient_score(
    fit: NoisyFit, evidence: Evidence, target: FloatArray, group_scores: FloatArray | None
) -> Direction:
    """Return the score along `target`, less what the nuisance parameters explain of it."""
    n_parameters = len(fit.point.coefficients)
    # Coordinates: free coefficients, then tau if it is free.
    n_free = evidence.basis.shape[1]
    nuisance = np.zeros((n_parameters + 2, n_free + fit.rate_is_free))
    nuisance[:n_parameters, :n_free] = evidence.basis
    if fit.rate_is_free:
        nuisance[n_parameters, n_free] = 1
    rows_information = fit.here.information
    prior = nuisance[:n_parameters].T @ evidence.precision @ nuisance[:n_parameters]
    inverse = symmetric_inverse(nuisance.T @ rows_information @ nuisance + prior)
    mixed = nuisance.T @ (rows_information @ target)
    if group_scores is None:
        information = float(target @ rows_information @ target - mixed @ inverse @ mixed)
    else:
        residual = target - nuisance @ (inverse @ mixed)
        anchors = float(mixed @ inverse @ prior @ inverse @ mixed)
        information = float(((group_scores @ residual) ** 2).sum()) + anchors
    # The nuisance score is zero at the null fit, up to where the climb stopped.
    slack = fit.here.score[:n_parameters] + evidence.penalty_score(fit.point.coefficients)
    nuisance_score = nuisance.T @ np.concatenate([slack, fit.here.score[n_parameters:]])
    score = float(fit.here.score @ target - mixed @ inverse @ nuisance_score)
    standard_error = float(np.sqrt(max(information, 1e-300)))
    return Direction(
        z=score / standard_error,
        slope=-information / standard_error,
        distance=score,
        standard_error=standard_error,
        usable=not fit.is_step,
    )


def grouped_scores(problem: NoisyProblem, point: NoisyPoint) -> FloatArray | None:
    """Return scores summed within groups at a point, or None where rows have no groups."""
    rows = problem.rows
    if rows.n_groups is None:
        return None
    outside = problem.outside(point)
    empty = GroupedNoisyScores(outside, problem.scaling.shift, rows.n_groups)
    scores = rows.sum_over_rows(empty).scores
    return scores * problem.factors


# The lowest share is looked for among many sets of rows, and has this many standard errors'
# room; fewer rows than this say nothing.
ROOM = 3.5
FEWEST_ROWS = 30


@dataclass(frozen=True, slots=True)
class RateBounds:
    """The largest flip rates that labels allow."""

    alpha: float
    beta: float

    def limits(self, widest: tuple[float, float]) -> tuple[float, float]:
        """Return the asymmetries that the labels allow."""
        return max(-self.alpha, widest[0]), min(self.beta, widest[1])

    def rate_within(self, rate: float, asymmetry: float) -> float:
        """Return the mean flip rate, no larger than either flip rate may be."""
        highest = min(self.beta - asymmetry / 2, self.alpha + asymmetry / 2)
        return max(min(rate, highest), abs(asymmetry) / 2)


def rate_bounds_of(problem: NoisyProblem, plain_coefficients: FloatArray) -> RateBounds:
    """Return the largest flip rates that the labels allow, along the plain curve."""
    rows = problem.rows
    share = rows.positive_weight() / rows.total_weight
    alpha, beta = 1 - share, share
    if rows.n_groups is None:  # else the error of a share is not known so simply
        _, positives, negatives = index_counts(problem.small, plain_coefficients)
        beta = min(beta, _lowest_share(positives, negatives))
        alpha = min(alpha, _lowest_share(negatives[::-1], positives[::-1]))
    return RateBounds(alpha, beta)


def _lowest_share(counted: FloatArray, others: FloatArray) -> float:
    """Return an upper limit of the share of `counted` in the first bins, the lowest of all cuts."""
    total = np.cumsum(counted + others)
    enough = total >= FEWEST_ROWS
    share = np.cumsum(counted)[enough] / total[enough]
    room = ROOM**2 / total[enough]
    upper = share + room / 2 + np.sqrt(room * share * (1 - share) + room**2 / 4)
    return float(np.min(upper / (1 + room), initial=1.0))


# z at an estimate that is a root, up to where the search stops; and at one on a bound that only
# a contradiction explains.
ROOT, CONTRADICTION = 0.01, 3.0
# Checks that still speak where no number is shown.
KEPT = frozenset({"anchors and curve", "range of the data", "rows per parameter", "groups", "step"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AtAnchors:
    """What the labels say of the posterior at the anchors, for the parts of a result."""

    mean_posterior: float | None = None
    standard_error: float | None = None
    stated_posterior: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The question: which test of which rows and anchors, against what."""

    method: str
    settings: dict[str, str]
    alternative: Alternative
    rows: Rows
    anchors: Anchors | None
    audit: Audit | None = None


def outcome(
    asked: Asked,
    null: Direction,
    best: NoisyFit,
    profile: Profile,
    reference: Reference,
    *,
    bounds: RateBounds,
    withheld: str | None,
    endless_z: tuple[float, ...] = (),
    at_anchors: AtAnchors,
    checks: Iterable[Diagnostic | None],
    sketch: Sketch,
) -> AsymmetryTestResult:
    """Return the result of a test from its statistic, its best fit and its profile."""
    rows, anchors = asked.rows, asked.anchors
    if withheld is not None:
        # Where no asymmetry fits only because curves turn into steps, the null fit is sound: the
        # test stands, and its size is not known.
        if not null.usable or profile.estimate in bounds.limits(WIDEST):
            null = replace(null, z=math.nan)
        profile = Profile.unknown()
        endless_z, at_anchors = (), AtAnchors(stated_posterior=at_anchors.stated_posterior)
        checks = [check for check in checks if check is not None and check.name in KEPT]
        sketch = Sketch(n_rows_seen=sketch.n_rows_seen, anchors=(), bins=())
    rate = bounds.rate_within(best.point.rate, profile.estimate)
    return AsymmetryTestResult(
        statistic=null.z,
        pvalue=math.nan if math.isnan(null.z) else reference.pvalue(null.z, asked.alternative),
        asymmetry=None if withheld else profile.estimate,
        # tau sits on its bound up to rounding, which must not make a rate negative.
        alpha=None if withheld else max(rate - profile.estimate / 2, 0.0),
        beta=None if withheld else max(rate + profile.estimate / 2, 0.0),
        withheld=withheld,
        mean_posterior=at_anchors.mean_posterior,
        standard_error=at_anchors.standard_error,
        stated_posterior=at_anchors.stated_posterior,
        method=asked.method,
        alternative=asked.alternative,
        settings=asked.settings,
        positive=rows.positive,
        negative=rows.negative,
        n_rows=round(rows.total_weight),
        n_features=rows.n_features,
        n_anchors=0 if anchors is None else len(anchors),
        n_audited=0 if asked.audit is None else len(asked.audit),
        tolerance=(0.0, 0.0) if anchors is None else anchors.tolerance_range(),
        shared_tolerance=0.0 if anchors is None else anchors.shared_tolerance,
        shared_is_default=anchors is not None and anchors.shared_is_default,
        diagnostics=(*(check for check in checks if check is not None), *data_notes(rows)),
        profile=profile,
        endless_z=endless_z,
        reference=reference,
        sketch=sketch,
    )


def reason_to_withhold(
    null: NoisyFit, estimate: float, z_there: float, limits: tuple[float, float]
) -> str | None:
    """Say why no number can be read off a test, as the end of a sentence; None if all can.

    `estimate` is where z is zero, or as close to that as could be reached.
    """
    if null.is_step:
        return (
            f"the fitted curve is a step, with about {null.here.transition:.0f} rows on its slope: "
            "too few rows for so many columns and so much noise"
        )
    left = abs(z_there)
    if left < ROOT:
        return None
    if estimate not in limits:
        return (
            "no asymmetry fits: before one does, the fitted curve turns into a step; there are too "
            "few rows, or an anchor is wrong"
        )
    if left < CONTRADICTION:
        return None
    return (
        f"labels and anchors contradict each other: asymmetries from {limits[0]:+.2f} to "
        f"{limits[1]:+.2f} are all that these labels allow, and none of them fits; an anchor is "
        "wrong, or the curve is not logistic"
    )


def bound_check(
    profile: Profile, rate: float, bounds: RateBounds, limits: tuple[float, float]
) -> Diagnostic | None:
    """Say so where an estimate sits on the largest flip rate that the labels allow."""
    asymmetry = profile.estimate
    within = bounds.rate_within(rate, asymmetry)
    if asymmetry not in limits and within >= rate:
        return None
    alpha, beta = within - asymmetry / 2, within + asymmetry / 2
    name, labels, largest = "alpha", "negative", bounds.alpha
    if bounds.beta - beta < bounds.alpha - alpha:
        name, labels, largest = "beta", "positive", bounds.beta
    return Diagnostic(
        name="largest rate",
        message=(
            f"The estimate sits on a bound: {name} cannot exceed {largest:.3f}, the share of "
            f"{labels} labels where these are rarest."
        ),
        concern=False,
        statistic=largest,
    )


def ignored_check(ignored: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Name columns of anchors that an expert may have judged by and the test does not use."""
    names = tuple(dict.fromkeys(ignored))
    if not names:
        return ()
    them = "them" if len(names) > 1 else "it"
    message = (
        f"The anchors have {join_quoted(names)}, which the test does not use: an expert who judged "
        f"by {them} called other cases toss-ups than these features do. Test with the columns that "
        "the expert saw, or have cases judged by those of the test alone."
    )
    return (Diagnostic(name="columns", message=message, concern=True),)


def data_notes(rows: Rows) -> tuple[Diagnostic, ...]:
    """Return what a reader should know of how the rows were read."""
    return tuple(Diagnostic(name="data", message=note, concern=False) for note in rows.notices)
