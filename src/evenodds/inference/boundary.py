"""The default test: does the curve's boundary run through the anchors?"""

from dataclasses import dataclass, field
from typing import get_args

from scipy.special import expit

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError
from evenodds.inference.audit.as_evidence import Audit
from evenodds.inference.bootstrap import (
    Bootstrap,
    Calibration,
    calibration_settings,
    reference_for,
    refuse_bootstrap,
)
from evenodds.inference.diagnostics import (
    anchor_check,
    audit_check,
    audit_size_check,
    companion_check,
    curve_shape_check,
    groups_check,
    leave_one_out,
    range_check,
    rows_check,
    step_check,
    tipping_point,
)
from evenodds.inference.figure_data import sketch_noise_aware
from evenodds.inference.noise_aware import (
    Asked,
    AtAnchors,
    BoundaryStatistic,
    Direction,
    FittedRows,
    JointStatistic,
    Remembered,
    bound_check,
    boundary_direction,
    grouped_scores,
    nuisance_inverse,
    outcome,
    rate_bounds_of,
    reason_to_withhold,
    shape_blind,
)
from evenodds.inference.null_fits import (
    AnchorEquations,
    Weights,
    check_weights,
    equal_weights,
    optimal_weights,
)
from evenodds.inference.profile import WIDEST, Alternative, Reference, pvalue_of, walk
from evenodds.inference.results import AsymmetryTestResult, Diagnostic
from evenodds.model.bent_curve import fit_free_rates
from evenodds.model.noisy_fit import NoisyFit
from evenodds.model.noisy_likelihood import NoisyProblem
from evenodds.rows.base import Rows
from evenodds.validation import check_choice


@dataclass(frozen=True, slots=True)
class Boundary:
    """Settings of the boundary test.

    Parameters
    ----------
    weights : {"equal", "optimal"}
        How anchors are averaged. "optimal" minimises the variance over non-negative
        weights, for strict anchors only.
    calibration : {"asymptotic", "bootstrap"}
        What z is compared with: a standard normal, or its own distribution in labels drawn
        from the null fit, for small samples.
    bootstrap : Bootstrap
        Number of draws, seed and progress of the bootstrap.
    """

    weights: Weights = "equal"
    calibration: Calibration = "asymptotic"
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    def __post_init__(self) -> None:
        check_choice(self.weights, "weights", get_args(Weights))
        check_choice(self.calibration, "calibration", get_args(Calibration))


def boundary_test(
    rows: Rows,
    anchors: Anchors | None,
    settings: Boundary,
    alternative: Alternative,
    audit: Audit | None = None,
) -> AsymmetryTestResult:
    """Run the boundary test on checked rows; see `asymmetry_test`.

    Anchors may be missing where there is an audit.
    """
    points = None if anchors is None else anchors.points_for(rows.feature_names, rows.n_features)
    if anchors is not None:
        check_weights(settings.weights, anchors)
    refuse_bootstrap(settings.calibration, audit)
    fitted = FittedRows.of(rows).with_audit(audit)
    problem = fitted.problem
    equations = AnchorEquations.none(rows.n_features + 1)
    if anchors is not None and points is not None:
        equations = AnchorEquations.of(anchors, points, problem)
    statistic = boundary_statistic(fitted, equations, settings)
    null, null_fit = statistic.at(0.0), statistic.fits.at(0.0)
    walked = Remembered(statistic.at)
    bounds = rate_bounds_of(problem, fitted.plain_coefficients)
    limits = bounds.limits(WIDEST)
    profile = walk(walked, limits, sparing=bool(problem.samples))
    reference = boundary_reference(statistic, settings)
    best = statistic.fits.at(profile.estimate)
    free = fit_free_rates(problem.small, fitted.plain_coefficients)
    null_scores = grouped_scores(problem, null_fit.point)
    # Checks that look at the anchors alone hold where these alone decide.
    alone = points is not None and audit is None
    return outcome(
        Asked(
            method="boundary",
            settings={
                "weights": settings.weights,
                **calibration_settings(settings.calibration, settings.bootstrap),
            },
            alternative=alternative,
            rows=rows,
            anchors=anchors,
            audit=audit,
        ),
        null,
        best,
        profile,
        reference,
        bounds=bounds,
        withheld=reason_to_withhold(null_fit, profile.estimate, profile.at_estimate, limits),
        endless_z=tuple(walked(place).endless_z for place in profile.asymmetries)
        if null.anchor_error > 0
        else (),
        at_anchors=_at_anchors(null, statistic.equation, audit),
        checks=(
            tipping_point(
                null, _stated(statistic.equation), alternative, reference, anchors.declared_error
            )
            if anchors is not None and alone
            else None,
            _companion(fitted, statistic, equations, alternative, reference)
            if points is not None
            else None,
            leave_one_out(statistic, equations, alternative, reference) if alone else None,
            anchor_check(problem, free, fitted.plain_coefficients, equations)
            if points is not None
            else None,
            audit_check(_blind(best, problem), statistic.fits.evidence, problem.audit),
            audit_size_check(null_fit, problem.audit),
            curve_shape_check(problem, free),
            range_check(problem.rows, points) if points is not None else None,
            bound_check(profile, best.point.rate, bounds, limits),
            step_check(null_fit),
            rows_check(rows),
            groups_check(rows),
        ),
        sketch=sketch_noise_aware(
            problem,
            null_fit,
            best,
            equations=equations,
            points=points,
            group_scores=null_scores,
        ),
    )


def _at_anchors(null: Direction, equation: AnchorEquations, audit: Audit | None) -> AtAnchors:
    """Return what the labels say of the posterior at the anchors, where these alone decide."""
    if len(equation.targets) == 0:
        return AtAnchors()
    stated = _stated(equation)
    if audit is not None:
        return AtAnchors(stated_posterior=stated)
    return AtAnchors(
        mean_posterior=float(expit(float(equation.targets[0]) + null.distance)),
        standard_error=stated * (1 - stated) * null.standard_error,
        stated_posterior=stated,
    )


def _stated(equation: AnchorEquations) -> float:
    """Return the weighted mean of the stated posteriors."""
    return float(equation.stated[0])


def _blind(fit: NoisyFit, problem: NoisyProblem) -> NoisyFit:
    """Return a fit as this test reads it."""
    return fit if problem.audit is None else shape_blind(fit, problem.audit)


def boundary_statistic(
    fitted: FittedRows, equations: AnchorEquations, settings: Boundary
) -> BoundaryStatistic:
    """Return the statistic; optimal weights are fixed once, at the equal-weight null fit."""
    n_anchors = len(equations.targets)
    if n_anchors == 0:
        return BoundaryStatistic(fitted, equations)
    equal = BoundaryStatistic(fitted, equations.averaged(equal_weights(n_anchors)))
    if settings.weights == "equal":
        return equal
    n_parameters = equations.design.shape[1]
    covariance = nuisance_inverse(equal.fits.at(0.0))[:n_parameters, :n_parameters]
    weights = optimal_weights(covariance, equations.design)
    return BoundaryStatistic(fitted, equations.averaged(weights))


def boundary_reference(statistic: BoundaryStatistic, settings: Boundary) -> Reference:
    """Return what z is compared with, under the calibration asked for."""
    return reference_for(
        settings.calibration,
        settings.bootstrap,
        statistic.fits,
        statistic.equation,
        lambda fit, equation: boundary_direction(fit, equation).z,
    )


def _companion(
    fitted: FittedRows,
    statistic: BoundaryStatistic,
    equations: AnchorEquations,
    alternative: Alternative,
    reference: Reference,
) -> Diagnostic:
    """Set the joint test, against the normal law, beside the boundary test as it was asked."""
    boundary = reference.pvalue(statistic.at(0.0).z, alternative)
    try:
        joint = JointStatistic(fitted, equations.evidence(), near=statistic.fits.at(0.0))
    except AnchorError as error:
        return companion_check(boundary, None, str(error))
    return companion_check(boundary, pvalue_of(joint.at(0.0).z, alternative), why_not="")
