"""The model-based companion: anchors and the whole shape of the curve together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, get_args

from evenodds.inference.bootstrap import Bootstrap, Calibration
from evenodds.inference.diagnostics import companion_check, shape_alone
from evenodds.inference.method import Known
from evenodds.inference.noise_aware import BoundaryStatistic, FittedRows, JointStatistic
from evenodds.inference.noise_aware_test import NoiseAware, Tested
from evenodds.inference.null_fits import AnchorEquations, equal_weights
from evenodds.inference.profile import pvalue_of
from evenodds.inference.results import Diagnostic
from evenodds.validation import check_choice


@dataclass(frozen=True, slots=True)
class Joint(NoiseAware[JointStatistic]):
    """Settings of the joint test.

    Parameters
    ----------
    calibration : {"asymptotic", "bootstrap"}
        What z is compared with: a standard normal, or its own distribution in labels drawn
        from the null fit, for small samples.
    bootstrap : Bootstrap
        Number of draws, seed and progress of the bootstrap.
    """

    name: ClassVar[str] = "joint"
    reads_shape: ClassVar[bool] = True

    calibration: Calibration = "asymptotic"
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    def __post_init__(self) -> None:
        check_choice(self.calibration, "calibration", get_args(Calibration))

    def check(self, known: Known) -> None:
        """Take anything, or nothing: then the shape of the curve is all."""

    def statistic(self, fitted: FittedRows, equations: AnchorEquations) -> JointStatistic:
        return JointStatistic(fitted, equations)

    def first_checks(self, tested: Tested[JointStatistic]) -> Sequence[Diagnostic | None]:
        if tested.known.anchors is None:
            return (shape_alone(),) if tested.known.audit is None else ()
        mean = tested.equations.averaged(equal_weights(len(tested.known.anchors)))
        boundary = BoundaryStatistic(tested.fitted, mean).at(0.0)
        beside = pvalue_of(boundary.z, tested.alternative)
        return (companion_check(beside, tested.pvalue, why_not=""),)
