"""The statistic of a test alone, without interval and diagnostics: what simulations need."""

import math

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError
from evenodds.inference.asymmetry import Method
from evenodds.inference.boundary import Boundary, boundary_reference, boundary_statistic
from evenodds.inference.equations import AnchorEquations
from evenodds.inference.joint import Joint, joint_reference
from evenodds.inference.label_bounds import rate_bounds_of
from evenodds.inference.local.method import Local, local_line
from evenodds.inference.noise_aware import (
    BoundaryStatistic,
    FittedRows,
    JointStatistic,
)
from evenodds.inference.outcome import reason_to_withhold
from evenodds.inference.profile import Reference
from evenodds.inference.tracing import WIDEST, find_root
from evenodds.inference.wald import anchored_curve, check_anchors
from evenodds.inference.weights import check_weights
from evenodds.model.logistic import fit_rows
from evenodds.rows.base import Rows

# A z this small rejects at no level in use.
UNLIKELY_TO_REJECT = 1.2


def null_statistic(
    rows: Rows, anchors: Anchors | None, method: Method, fitted: FittedRows | None = None
) -> tuple[float, Reference]:
    """Return z(0) and what it is compared with; nan where the test would withhold it.

    `fitted` are the rows with their plain curve, where several sets of anchors share them.
    """
    if isinstance(method, Joint):
        fitted = fitted or FittedRows.of(rows)
        equations = AnchorEquations.none(rows.n_features + 1)
        if anchors is not None:
            equations = _equations(rows, anchors, fitted)
        joint = JointStatistic(fitted, equations.evidence())
        return _shown(joint, fitted), joint_reference(joint, equations, method)
    if anchors is None:
        raise AnchorError("anchors is None but only method 'joint' runs without.")
    if isinstance(method, Boundary):
        check_weights(method.weights, anchors)
        fitted = fitted or FittedRows.of(rows)
        boundary = boundary_statistic(fitted, _equations(rows, anchors, fitted), method)
        return _shown(boundary, fitted), boundary_reference(boundary, method)
    if isinstance(method, Local):
        return local_line(rows, anchors, method).z(0.0), Reference()
    check_anchors(anchors, method)
    points = anchors.points_for(rows.feature_names, rows.n_features)
    fit = fit_rows(rows, covariance=method.covariance)
    return anchored_curve(fit, anchors, points, method).z(0.0), Reference()


def _shown(statistic: BoundaryStatistic | JointStatistic, fitted: FittedRows) -> float:
    """Return z(0), or nan where no number can be read off the test.

    Whether z has a root is asked only where it might reject.
    """
    z, null = statistic.at(0.0).z, statistic.fits.at(0.0)
    if abs(z) < UNLIKELY_TO_REJECT and not null.is_step:
        return z
    limits = rate_bounds_of(fitted.problem, fitted.plain_coefficients).limits(WIDEST)
    root = (0.0, 0.0) if null.is_step else find_root(statistic.at, limits)
    sound = not null.is_step and root[0] not in limits
    return z if sound or reason_to_withhold(null, *root, limits) is None else math.nan


def _equations(rows: Rows, anchors: Anchors, fitted: FittedRows) -> AnchorEquations:
    """Return what the anchors say, on the solver's scale."""
    points = anchors.points_for(rows.feature_names, rows.n_features)
    return AnchorEquations.of(anchors, points, fitted.problem)
