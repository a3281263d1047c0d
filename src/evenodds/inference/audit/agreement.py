"""Does an audit agree with what rows and anchors say of the flips, and is it large enough?"""

import numpy as np
from scipy.special import chdtrc

from evenodds.inference.diagnostics import DOUBT_BELOW
from evenodds.inference.results import Diagnostic
from evenodds.model.audit_terms import AuditTerms
from evenodds.model.evidence import Evidence
from evenodds.model.inverses import chi_squared, symmetric_inverse
from evenodds.model.noisy import NoisyFit

# Directions in which the rows know less than this share of what the audit knows cannot disagree.
SAYS_NOTHING = 1e-3
# Below this many flips expected in a class the audit's part of z is far from normal.
FEW_FLIPS = 2.0


def audit_check(fit: NoisyFit, evidence: Evidence, audit: AuditTerms | None) -> Diagnostic | None:
    """Test the audit's flip rates against those of the rows, with the asymmetry free.

    A score test of two more parameters, by which the rates of the audit differ.
    """
    if audit is None:
        return None
    score, precision = audit.rates_at(fit.point)
    n_parameters = len(fit.point.coefficients)
    n_free = evidence.basis.shape[1]
    # Free coefficients, tau and Delta; how alpha and beta move with them.
    basis = np.zeros((n_parameters + 2, n_free + 2))
    basis[:n_parameters, :n_free] = evidence.basis
    basis[n_parameters:, n_free:] = np.eye(2)
    moves = np.zeros((2, n_free + 2))
    moves[:, -2:] = [[1, -0.5], [1, 0.5]]
    prior = np.zeros_like(fit.here.information)
    prior[:n_parameters, :n_parameters] = evidence.precision
    total = basis.T @ (fit.here.information + prior) @ basis
    shared = precision @ moves
    covariance = precision - shared @ symmetric_inverse(total) @ shared.T
    scale = np.sqrt(np.maximum(precision.diagonal(), 1e-300))
    share = covariance / np.outer(scale, scale)
    statistic, rank = chi_squared(score / scale, share, zero=0.0, least=SAYS_NOTHING)
    if rank == 0:
        return None
    pvalue = float(chdtrc(rank, statistic))
    concern = pvalue < DOUBT_BELOW
    message = (
        f"The audit does not fit what rows and anchors say of the flips (p = {pvalue:.2g}): the "
        "audit, an anchor or the curve is wrong, or the audited rows are of another kind."
        if concern
        else f"The audit fits what rows and anchors say of the flips (p = {pvalue:.2g})."
    )
    return Diagnostic(
        name="audit", message=message, concern=concern, statistic=statistic, pvalue=pvalue
    )


def audit_size_check(null: NoisyFit, audit: AuditTerms | None) -> Diagnostic | None:
    """Check that enough flips are expected in the audit for the normal law."""
    if audit is None:
        return None
    expected = [
        n * min(rate, 1 - rate)
        for n, rate in (
            (audit.n_positive, null.point.alpha),
            (audit.n_negative, null.point.beta),
        )
        if n > 0
    ]
    fewest = max(min(expected), 0.0)
    few = fewest < FEW_FLIPS
    message = (
        f"Under uniform noise only {fewest:.1f} flips are expected among the audited rows of one "
        "class: one flip more or less may decide. Test the audit by itself too, with audit_test, "
        "which is exact."
        if few
        else f"Under uniform noise {fewest:.1f} flips or more are expected in each audited class."
    )
    return Diagnostic(name="audit size", message=message, concern=few, statistic=fewest)
