"""Options of the command line as settings of a method."""

from evenodds.errors import InputError
from evenodds.inference.asymmetry import Method
from evenodds.inference.bootstrap import Bootstrap
from evenodds.inference.boundary import Boundary
from evenodds.inference.joint import Joint
from evenodds.inference.local.method import Local
from evenodds.inference.wald import Wald


def method_settings(
    method: str,
    *,
    weights: str,
    covariance: str,
    calibration: str,
    bootstrap: Bootstrap,
    bandwidth: float | None = None,
    kernel: str = "gaussian",
) -> Method:
    """Return the record of a method's settings; options that it has not are refused."""
    if method != "local" and (bandwidth is not None or kernel != "gaussian"):
        raise InputError("--bandwidth and --kernel are for --method local.")
    if method == "wald":
        if calibration != "asymptotic":
            raise InputError("--calibration bootstrap is for --method boundary and joint.")
        return Wald(weights=weights, covariance=covariance)  # type: ignore[arg-type]
    if method == "local":
        if (calibration, covariance, weights) != ("asymptotic", "information", "equal"):
            raise InputError(
                "--calibration, --covariance and --weights are for other methods: --method local "
                "has --bandwidth and --kernel."
            )
        return Local(bandwidth, kernel)  # type: ignore[arg-type]
    if covariance != "information":
        raise InputError("--covariance is for --method wald; use --group for rows that repeat.")
    if method == "boundary":
        return Boundary(weights, calibration, bootstrap)  # type: ignore[arg-type]
    if weights != "equal":
        raise InputError("--weights is for --method boundary and wald: joint uses every anchor.")
    return Joint(calibration, bootstrap)  # type: ignore[arg-type]
