"""The default test: does the curve's boundary run through the anchors?"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, get_args

from scipy.special import expit, logit

from evenodds.errors import AnchorError
from evenodds.inference.audit.as_evidence import check_stands_alone
from evenodds.inference.bootstrap import Bootstrap, Calibration
from evenodds.inference.diagnostics import companion_check, leave_one_out, tipping_point
from evenodds.inference.method import Known
from evenodds.inference.noise_aware import (
    BoundaryStatistic,
    FittedRows,
    JointStatistic,
    nuisance_inverse,
)
from evenodds.inference.noise_aware_test import NoiseAware, Tested
from evenodds.inference.null_fits import (
    AnchorEquations,
    Weights,
    check_weights,
    equal_weights,
    optimal_weights,
)
from evenodds.inference.profile import pvalue_of
from evenodds.inference.results import Diagnostic
from evenodds.validation import check_choice


@dataclass(frozen=True, slots=True)
class Boundary(NoiseAware[BoundaryStatistic]):
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

    name: ClassVar[str] = "boundary"

    weights: Weights = "equal"
    calibration: Calibration = "asymptotic"
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    def __post_init__(self) -> None:
        check_choice(self.weights, "weights", get_args(Weights))
        check_choice(self.calibration, "calibration", get_args(Calibration))

    def written(self) -> dict[str, str]:
        return {"weights": self.weights, **NoiseAware.written(self)}

    def check(self, known: Known) -> None:
        if known.anchors is None and known.audit is not None:
            check_stands_alone(known.audit)
        else:
            check_weights(self.weights, self.anchors_of(known))

    def statistic(self, fitted: FittedRows, equations: AnchorEquations) -> BoundaryStatistic:
        """Return the statistic; optimal weights are fixed once, at the equal-weight null fit."""
        n_anchors, n_parameters = equations.design.shape
        if n_anchors == 0:
            return BoundaryStatistic(fitted, equations)
        equal = BoundaryStatistic(fitted, equations.averaged(equal_weights(n_anchors)))
        if self.weights == "equal":
            return equal
        covariance = nuisance_inverse(equal.fits.at(0.0))[:n_parameters, :n_parameters]
        weights = optimal_weights(covariance, equations.design)
        return BoundaryStatistic(fitted, equations.averaged(weights))

    def first_checks(self, tested: Tested[BoundaryStatistic]) -> Sequence[Diagnostic | None]:
        if tested.known.anchors is None:
            return ()
        companion = _companion(tested)
        if not tested.null.by_anchors:
            return (companion,)
        stated = float(tested.statistic.equations.stated[0])
        return (
            tipping_point(
                tested.null.z,
                lambda fall: float(expit(logit(stated) + fall * tested.null.standard_error)),
                stated,
                tested.alternative,
                reference=tested.reference,
                declared=tested.known.anchors.declared_error,
            ),
            companion,
            leave_one_out(tested.statistic, tested.equations, tested.alternative, tested.reference),
        )


def _companion(tested: Tested[BoundaryStatistic]) -> Diagnostic:
    """Set the joint test, against the normal law, beside the boundary test as it was asked."""
    try:
        joint = JointStatistic(tested.fitted, tested.equations, near=tested.statistic.fits.at(0.0))
    except AnchorError as error:
        return companion_check(tested.pvalue, None, str(error))
    beside = pvalue_of(joint.at(0.0).z, tested.alternative)
    return companion_check(tested.pvalue, beside, why_not="")
