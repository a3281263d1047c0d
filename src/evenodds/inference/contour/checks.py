"""What was checked beside the ladder, each as a number and a plain sentence."""

from evenodds.inference.contour.groups import Contours
from evenodds.inference.contour.ladder import NoiseFit
from evenodds.inference.results import Diagnostic

# A flip rate this many standard errors below zero is no chance.
FAR_BELOW = 2.0


def contours_check(contours: Contours) -> Diagnostic:
    """Say how anchors were grouped, and whether the line can be tested."""
    listed = ", ".join(f"{stated:.2g}" for stated in contours.stated)
    message = f"The anchors form {len(contours)} contours, at stated posteriors {listed}."
    if contours.widest > 0:
        message += f" Posteriors up to {contours.widest:.2g} apart share one."
    few = len(contours) < 3
    if few:
        message += (
            " A line runs through any two points: with a third, class-conditional noise could be "
            "told from noise that depends on the features."
        )
    return Diagnostic(name="contours", message=message, concern=few, statistic=float(len(contours)))


def direction_check(line: NoiseFit) -> Diagnostic:
    """Say whether the line asks for a flip rate below zero, which no noise has."""
    spreads = line.covariance.diagonal() ** 0.5
    distances = line.rates / spreads
    name, distance = min(zip(("alpha", "beta"), distances, strict=True), key=lambda x: x[1])
    below = float(distance) < -FAR_BELOW
    message = (
        f"The line puts {name} {-distance:.1f} standard errors below zero, which no noise does: "
        "labels are surer than the stated posteriors. The expert may be too timid, or the "
        "tolerance too small."
        if below
        else "No flip rate of the line is clearly below zero."
    )
    return Diagnostic(name="direction", message=message, concern=below, statistic=float(distance))


def impossible_check(outside: int, n_contours: int) -> Diagnostic | None:
    """Say so where the fit puts a share of labels beyond 0 or 1; None where it does not."""
    if outside == 0:
        return None
    return Diagnostic(
        name="share of labels",
        message=(
            f"At {outside} of {n_contours} contours the fit leaves 0 to 1, as a straight "
            "correction may by chance: hardly any label there is of the other class."
        ),
        concern=False,
        statistic=float(outside),
    )
