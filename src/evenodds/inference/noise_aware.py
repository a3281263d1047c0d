"""What the boundary and the joint test share: one null fit, and two directions from it.

For a hypothesised asymmetry the noisy-logistic curve is fitted with the anchors as
evidence. *Boundary* then asks whether the curve crosses 1/2 at the anchors; *joint* asks
whether the likelihood still rises with the asymmetry (theory page, "Noise-aware tests").
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from evenodds.inference.audit.as_evidence import Audit, audit_terms
from evenodds.inference.null_fits import AnchorEquations, NullFits
from evenodds.model.logistic import GroupedScores, climb, noisy_scores
from evenodds.model.noisy_fit import NoisyFit, asymmetry_direction
from evenodds.model.noisy_likelihood import AuditTerms, Evidence, NoisyPoint, NoisyProblem
from evenodds.model.sums import symmetric_inverse
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray

# Information below this share of all is what rounding leaves of none.
ROUNDING = 1e-9
# An efficient information is a sum of terms that cancel; rounding leaves this share of their size.
LEFT_BY_ROUNDING = 1e-12
# With this standard error either way tau may have any value there is.
UNTOLD_RATE = 0.25


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
    is False at a step, which fits anything and so is no evidence for its asymmetry. `determined`
    is False where rows lie in so few distinct places that another curve follows every move of
    the asymmetry: then z is 0, for nothing speaks against any.
    `anchor_error` is the part of the standard error that rows without end would leave;
    `by_anchors` is True where the distance is that of the anchors, which alone decide.
    """

    z: float
    slope: float
    distance: float
    standard_error: float
    usable: bool
    determined: bool = True
    anchor_error: float = 0.0
    by_anchors: bool = False

    @property
    def endless_z(self) -> float:
        """What z would be if rows without end showed the same distance."""
        return self.distance / self.anchor_error


class Statistic(ABC):
    """z as a function of the hypothesised asymmetry, each from a null fit of its own."""

    def __init__(
        self, fitted: FittedRows, equations: AnchorEquations, near: NoisyFit | None = None
    ) -> None:
        self.equations = equations
        self.fits = NullFits(fitted.problem, equations.evidence(), fitted.plain_coefficients, near)

    @abstractmethod
    def at(self, asymmetry: float) -> Direction:
        """Return the statistic at a hypothesised asymmetry."""

    @staticmethod
    @abstractmethod
    def z_of(fit: NoisyFit, equations: AnchorEquations) -> float:
        """Return z of a fit to labels and anchors that were drawn."""

    def seen(self, fit: NoisyFit) -> NoisyFit:
        """Return a fit as this statistic reads it."""
        return fit


class BoundaryStatistic(Statistic):
    """The boundary test's z; its equations are one, the weighted mean of all."""

    def at(self, asymmetry: float) -> Direction:
        fit, problem = self.fits.at(asymmetry), self.fits.problem
        if problem.audit is not None:
            return joint_direction(self.seen(fit), self.fits.evidence)
        return self._read(fit, self.equations, problem)

    @staticmethod
    def z_of(fit: NoisyFit, equations: AnchorEquations) -> float:
        return boundary_direction(fit, equations).z

    def seen(self, fit: NoisyFit) -> NoisyFit:
        audit = self.fits.problem.audit
        return fit if audit is None else shape_blind(fit, audit)

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
        before = self._read(fit, self.equations, sampled.problem)
        fit = sampled.refitted(evidence.scaled(sampled.share), fit)
        after = self._read(fit, rest, sampled.problem)
        error = float(rest.covariance[0, 0])
        variance = (after.standard_error**2 - error) * sampled.share + error
        return (self.at(0.0).distance + after.distance - before.distance) / float(variance**0.5)

    @staticmethod
    def _read(fit: NoisyFit, equations: AnchorEquations, problem: NoisyProblem) -> Direction:
        return boundary_direction(fit, equations, grouped_scores(problem, fit.point))


class JointStatistic(Statistic):
    """The joint test's z."""

    def at(self, asymmetry: float) -> Direction:
        fit = self.fits.at(asymmetry)
        scores = grouped_scores(self.fits.problem, fit.point)
        return joint_direction(fit, self.fits.evidence, scores)

    @staticmethod
    def z_of(fit: NoisyFit, equations: AnchorEquations) -> float:
        return joint_direction(fit, equations.evidence()).z


def boundary_direction(
    fit: NoisyFit, equation: AnchorEquations, group_scores: FloatArray | None = None
) -> Direction:
    """Return how far the curve's own crossing of the stated posterior is from the anchors.

    One scoring step from the null fit, without the evidence, estimates the log-odds at the
    weighted anchor; its variance is that of the curve plus that of the anchors.
    """
    levers, distances, errors = crossings(fit, equation, group_scores)
    distance, standard_error = float(distances[0]), float(errors[0])
    # A higher hypothesised asymmetry explains positive labels away and lowers the log-odds.
    pulled = (fit.here.information @ asymmetry_direction(fit))[: levers.shape[1]]
    slope = -float(levers[0] @ pulled)
    return Direction(
        z=distance / standard_error,
        slope=slope / standard_error,
        distance=distance,
        standard_error=standard_error,
        usable=not fit.is_step,
        anchor_error=float(np.sqrt(equation.covariance[0, 0])),
        by_anchors=True,
    )


def crossings(
    fit: NoisyFit, equations: AnchorEquations, group_scores: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return, for each equation by itself, the lever of the score, the distance and its error."""
    n_parameters, inverse = len(fit.point.coefficients), nuisance_inverse(fit)
    levers = (inverse[:, :n_parameters] @ equations.design.T).T
    steps = levers @ fit.here.score[: len(inverse)]
    distances = equations.design @ fit.point.coefficients + steps - equations.targets
    if group_scores is None:
        variances = np.einsum("ij,ij->i", levers[:, :n_parameters], equations.design)
    else:
        variances = ((group_scores[:, : len(inverse)] @ levers.T) ** 2).sum(axis=0)
    return levers, distances, np.sqrt(variances + equations.covariance.diagonal())


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
    return replace(fit, here=blind + own)


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
        both = more_beta.determined and more_alpha.determined
        return replace(more_beta, z=0.0, determined=both)
    return more_beta if more_beta.z > -more_alpha.z else more_alpha


def free_directions(evidence: Evidence, n_rates: int) -> FloatArray:
    """Return the directions of (theta, tau, Delta) along free coefficients and leading rates."""
    n_parameters, n_free = evidence.basis.shape
    directions = np.zeros((n_parameters + 2, n_free + n_rates))
    directions[:n_parameters, :n_free] = evidence.basis
    directions[n_parameters : n_parameters + n_rates, n_free:] = np.eye(n_rates)
    return directions


@dataclass(frozen=True, slots=True, eq=False)
class Efficient:
    """A direction of (theta, tau, Delta), less what nuisance directions explain of it."""

    shares: FloatArray  # of the nuisance directions
    residual: FloatArray
    of_rows: float  # information left along the direction
    of_evidence: float
    rounding: float  # as much information is left by the rounding of its terms

    @property
    def determined(self) -> bool:
        """Whether any information is left along the direction."""
        return self.of_rows + self.of_evidence > self.rounding


def efficient(
    fit: NoisyFit, evidence: Evidence, target: FloatArray, nuisance: FloatArray
) -> Efficient:
    """Return what nuisance directions, the evidence's free ones first, leave of `target`."""
    information, n_free = fit.here.information, len(evidence.roots)
    prior = np.zeros((nuisance.shape[1], nuisance.shape[1]))
    prior[:n_free, :n_free] = evidence.free_information(fit.point.coefficients)
    inverse = symmetric_inverse(nuisance.T @ information @ nuisance + prior)
    shares = inverse @ (nuisance.T @ (information @ target))
    residual = target - nuisance @ shares
    terms = np.abs(residual) * np.sqrt(np.maximum(information.diagonal(), 0.0))
    return Efficient(
        shares,
        residual,
        of_rows=float(residual @ information @ residual),
        of_evidence=float(shares @ prior @ shares),
        rounding=LEFT_BY_ROUNDING * float(terms.sum()) ** 2,
    )


def rate_is_told(fit: NoisyFit, evidence: Evidence) -> bool:
    """Tell whether rows and evidence know tau at all where curve and asymmetry may move too."""
    directions = free_directions(evidence, 2)
    others = np.delete(directions, -2, axis=1)
    left = efficient(fit, evidence, directions[:, -2], others)
    return (left.of_rows + left.of_evidence) * UNTOLD_RATE**2 > 1


def _efficient_score(
    fit: NoisyFit, evidence: Evidence, target: FloatArray, group_scores: FloatArray | None
) -> Direction:
    """Return the score along `target`, less what the nuisance parameters explain of it."""
    nuisance = free_directions(evidence, int(fit.rate_is_free))
    left = efficient(fit, evidence, target, nuisance)
    of_rows = left.of_rows
    if group_scores is not None:
        of_rows = float(((group_scores @ left.residual) ** 2).sum())
    information = of_rows + left.of_evidence
    if not left.determined or information <= left.rounding:
        return Direction(0.0, 0.0, 0.0, np.inf, usable=not fit.is_step, determined=False)
    # The nuisance score is zero at the null fit, up to where the climb stopped.
    n_free = len(evidence.roots)
    nuisance_score = nuisance.T @ fit.here.score
    nuisance_score[:n_free] += evidence.free_score(fit.point.coefficients)
    score = float(fit.here.score @ target - left.shares @ nuisance_score)
    standard_error = float(np.sqrt(information))
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
    of = partial(noisy_scores, problem.outside(point), problem.scaling.shift)
    empty = GroupedScores(of, rows.n_groups, len(problem.factors))
    return rows.sum_over_rows(empty).scores * problem.factors
