"""The statistic of a test alone, without interval and diagnostics: what simulations need."""

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError
from evenodds.inference.asymmetry import Method
from evenodds.inference.boundary import Boundary, boundary_reference, boundary_statistic
from evenodds.inference.equations import AnchorEquations
from evenodds.inference.joint import Joint, joint_reference
from evenodds.inference.local.method import Local, local_line
from evenodds.inference.noise_aware import FittedRows, JointStatistic
from evenodds.inference.profile import Reference
from evenodds.inference.wald import anchored_curve, check_anchors
from evenodds.inference.weights import check_weights
from evenodds.model.logistic import fit_rows
from evenodds.rows.base import Rows


def null_statistic(
    rows: Rows, anchors: Anchors | None, method: Method, fitted: FittedRows | None = None
) -> tuple[float, Reference]:
    """Return z(0) and what it is compared with.

    `fitted` are the rows with their plain curve, where several sets of anchors share them.
    """
    if isinstance(method, Joint):
        fitted = fitted or FittedRows.of(rows)
        equations = AnchorEquations.none(rows.n_features + 1)
        if anchors is not None:
            equations = _equations(rows, anchors, fitted)
        joint = JointStatistic(fitted, equations.evidence())
        return joint.at(0.0).z, joint_reference(joint, equations, method)
    if anchors is None:
        raise AnchorError("anchors is None but only method 'joint' runs without.")
    if isinstance(method, Boundary):
        check_weights(method.weights, anchors)
        fitted = fitted or FittedRows.of(rows)
        boundary = boundary_statistic(fitted, _equations(rows, anchors, fitted), method)
        return boundary.at(0.0).z, boundary_reference(boundary, method)
    if isinstance(method, Local):
        return local_line(rows, anchors, method).z(0.0), Reference()
    check_anchors(anchors, method)
    points = anchors.points_for(rows.feature_names, rows.n_features)
    fit = fit_rows(rows, covariance=method.covariance)
    return anchored_curve(fit, anchors, points, method).z(0.0), Reference()


def _equations(rows: Rows, anchors: Anchors, fitted: FittedRows) -> AnchorEquations:
    """Return what the anchors say, on the solver's scale."""
    points = anchors.points_for(rows.feature_names, rows.n_features)
    return AnchorEquations.of(anchors, points, fitted.problem)
