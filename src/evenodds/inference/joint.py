"""The model-based companion: anchors and the whole shape of the curve together."""

from dataclasses import dataclass, field
from typing import get_args

import numpy as np

from evenodds.anchors import Anchors
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
    range_check,
    rows_check,
    shape_alone,
    step_check,
)
from evenodds.inference.figure_data import sketch_noise_aware
from evenodds.inference.noise_aware import (
    Asked,
    AtAnchors,
    BoundaryStatistic,
    FittedRows,
    JointStatistic,
    bound_check,
    grouped_scores,
    joint_direction,
    outcome,
    rate_bounds_of,
    reason_to_withhold,
)
from evenodds.inference.null_fits import AnchorEquations, equal_weights
from evenodds.inference.profile import WIDEST, Alternative, Reference, pvalue_of, walk
from evenodds.inference.results import AsymmetryTestResult, Diagnostic
from evenodds.model.bent_curve import fit_free_rates
from evenodds.rows.base import Rows
from evenodds.validation import check_choice


@dataclass(frozen=True, slots=True)
class Joint:
    """Settings of the joint test.

    Parameters
    ----------
    calibration : {"asymptotic", "bootstrap"}
        What z is compared with: a standard normal, or its own distribution in labels drawn
        from the null fit, for small samples.
    bootstrap : Bootstrap
        Number of draws, seed and progress of the bootstrap.
    """

    calibration: Calibration = "asymptotic"
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    def __post_init__(self) -> None:
        check_choice(self.calibration, "calibration", get_args(Calibration))


def joint_test(
    rows: Rows,
    anchors: Anchors | None,
    settings: Joint,
    alternative: Alternative,
    audit: Audit | None = None,
) -> AsymmetryTestResult:
    """Run the joint test on checked rows; see `asymmetry_test`."""
    points = None if anchors is None else anchors.points_for(rows.feature_names, rows.n_features)
    refuse_bootstrap(settings.calibration, audit)
    fitted = FittedRows.of(rows).with_audit(audit)
    problem = fitted.problem
    equations = AnchorEquations.none(rows.n_features + 1)
    if anchors is not None and points is not None:
        equations = AnchorEquations.of(anchors, points, problem)
    statistic = JointStatistic(fitted, equations.evidence())
    null, null_fit = statistic.at(0.0), statistic.fits.at(0.0)
    bounds = rate_bounds_of(problem, fitted.plain_coefficients)
    limits = bounds.limits(WIDEST)
    profile = walk(statistic.at, limits, sparing=bool(problem.samples))
    reference = joint_reference(statistic, equations, settings)
    best = statistic.fits.at(profile.estimate)
    free = fit_free_rates(problem.small, fitted.plain_coefficients)
    about_anchors: list[Diagnostic | None] = [shape_alone()] if audit is None else []
    if points is not None:
        boundary = _boundary_pvalue(fitted, equations, alternative)
        about_anchors = [
            companion_check(boundary, reference.pvalue(null.z, alternative), why_not=""),
            anchor_check(problem, free, fitted.plain_coefficients, equations),
            range_check(problem.rows, points),
        ]
    return outcome(
        Asked(
            method="joint",
            settings=calibration_settings(settings.calibration, settings.bootstrap),
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
        at_anchors=AtAnchors(
            stated_posterior=None if points is None else float(np.mean(equations.stated))
        ),
        checks=(
            *about_anchors,
            audit_check(best, statistic.evidence, problem.audit),
            audit_size_check(null_fit, problem.audit),
            curve_shape_check(problem, free),
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
            group_scores=grouped_scores(problem, null_fit.point),
        ),
    )


def joint_reference(
    statistic: JointStatistic, equations: AnchorEquations, settings: Joint
) -> Reference:
    """Return what z is compared with, under the calibration asked for."""
    return reference_for(
        settings.calibration,
        settings.bootstrap,
        statistic.fits,
        equations,
        lambda fit, equation: joint_direction(fit, equation.evidence()).z,
    )


def _boundary_pvalue(
    fitted: FittedRows, equations: AnchorEquations, alternative: Alternative
) -> float:
    """Return the p-value of the boundary test with equal weights."""
    one = equations.averaged(equal_weights(len(equations.targets)))
    return pvalue_of(BoundaryStatistic(fitted, one).at(0.0).z, alternative)
