"""The model-based companion: anchors and the whole shape of the curve together."""

from dataclasses import dataclass, field
from typing import get_args

import numpy as np

from evenodds.anchors import Anchors
from evenodds.inference.bootstrap import (
    Bootstrap,
    Calibration,
    null_distribution,
)
from evenodds.inference.diagnostics import (
    anchor_check,
    companion_check,
    curve_shape_check,
    groups_check,
    range_check,
    root_check,
    rows_check,
    shape_alone,
    step_check,
)
from evenodds.inference.equations import AnchorEquations
from evenodds.inference.noise_aware import (
    LIMITS,
    BoundaryStatistic,
    JointStatistic,
    grouped_scores,
    joint_direction,
)
from evenodds.inference.profile import Alternative, Reference, pvalue_of
from evenodds.inference.results import AsymmetryTestResult, Diagnostic
from evenodds.inference.tracing import walk
from evenodds.inference.weights import equal_weights
from evenodds.model.evidence import Evidence
from evenodds.model.logistic import climb
from evenodds.model.noisy_problem import NoisyProblem
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray, check_choice


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
    rows: Rows, anchors: Anchors | None, settings: Joint, alternative: Alternative
) -> AsymmetryTestResult:
    """Run the joint test on checked rows; see `asymmetry_test`."""
    points = None if anchors is None else anchors.points_for(rows.feature_names, rows.n_features)
    plain, optimum = climb(rows)
    problem = NoisyProblem.of(rows, plain.scaling)
    equations, evidence = None, Evidence.none(rows.n_features + 1)
    if anchors is not None and points is not None:
        equations = AnchorEquations.of(anchors, points, problem)
        evidence = equations.evidence()
    statistic = JointStatistic(problem, evidence, optimum.coefficients)
    null, null_fit = statistic.at(0.0), statistic.fits.at(0.0)
    profile = walk(statistic.at, LIMITS, sparing=bool(problem.samples))
    reference = _reference(statistic, equations, settings)
    pvalue = reference.pvalue(null.z, alternative)
    best = statistic.fits.at(profile.estimate)
    checks: list[Diagnostic] = []
    if equations is None or points is None:
        checks.append(shape_alone())
    else:
        boundary = _boundary_pvalue(problem, equations, optimum.coefficients, alternative)
        checks += [
            companion_check(boundary, pvalue, why_not=""),
            anchor_check(best, equations, grouped_scores(problem, best)),
            range_check(problem.small.rows, points),
        ]
    checks += [curve_shape_check(problem, best), step_check(null_fit), rows_check(rows)]
    checks += [check for check in (root_check(profile), groups_check(rows)) if check is not None]
    return AsymmetryTestResult(
        statistic=null.z,
        pvalue=pvalue,
        asymmetry=profile.estimate,
        alpha=max(best.point.rate - profile.estimate / 2, 0.0),
        beta=max(best.point.rate + profile.estimate / 2, 0.0),
        mean_posterior=None,
        standard_error=None,
        stated_posterior=None if equations is None else float(np.mean(equations.stated)),
        method="joint",
        alternative=alternative,
        settings={"calibration": settings.calibration},
        positive=rows.positive,
        negative=rows.negative,
        n_rows=round(rows.total_weight),
        n_features=rows.n_features,
        n_anchors=0 if anchors is None else len(anchors),
        tolerance=(0.0, 0.0) if anchors is None else anchors.tolerance_range(),
        shared_tolerance=0.0 if anchors is None else anchors.shared_tolerance,
        diagnostics=tuple(checks),
        profile=profile,
        reference=reference,
    )


def _reference(
    statistic: JointStatistic, equations: AnchorEquations | None, settings: Joint
) -> Reference:
    """Return what z is compared with."""
    if settings.calibration == "asymptotic":
        return Reference()
    draws = null_distribution(
        statistic.fits.problem,
        equations or AnchorEquations.none(len(statistic.evidence.origin)),
        statistic.fits.at(0.0),
        lambda fit, equation: joint_direction(fit, equation.evidence()).z,
        settings.bootstrap,
    )
    return Reference(draws)


def _boundary_pvalue(
    problem: NoisyProblem, equations: AnchorEquations, plain: FloatArray, alternative: Alternative
) -> float:
    """Return the p-value of the boundary test with equal weights."""
    one = equations.averaged(equal_weights(len(equations.targets)))
    return pvalue_of(BoundaryStatistic(problem, one, plain).at(0.0).z, alternative)
