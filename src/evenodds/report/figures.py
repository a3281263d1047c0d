"""The figures of an asymmetry test by name, each the answer to one question."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from matplotlib.figure import Figure

from evenodds.inference.results import AsymmetryTestResult
from evenodds.report.anchors_figure import anchors_figure
from evenodds.report.captions import caption
from evenodds.report.evidence_figure import evidence_figure
from evenodds.report.fit_figure import fit_figure
from evenodds.report.plane_figure import plane_figure
from evenodds.report.power_curve_figure import power_curve_figure
from evenodds.report.sheet import SheetPicture
from evenodds.report.view import View


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, the question it answers, and why a result may not have it."""

    question: str
    draw: Callable[[AsymmetryTestResult, View], Figure]
    why_not: Callable[[AsymmetryTestResult], str]


WITHHELD: Final = "these data cannot tell"
NO_CURVE: Final = "method 'local' fits no curve to all rows, only the labels around each anchor"


def _no_curve(result: AsymmetryTestResult) -> str:
    return NO_CURVE if result.method == "local" else ""


def _no_anchors(result: AsymmetryTestResult) -> str:
    return "" if result.n_anchors else "there are no anchors to draw"


def _no_plane(result: AsymmetryTestResult) -> str:
    if result.method == "local":
        return NO_CURVE
    if result.alpha is None:
        return f"method {result.method!r} estimates no flip rates, so it knows no clean boundary"
    return "" if result.sketch.plane is not None else "fewer than two features matter"


def _no_reach(result: AsymmetryTestResult) -> str:
    if result.method == "wald":
        return f"method {result.method!r} overstates asymmetries, and what it could have found"
    return ""


PICTURES: Final = {
    "anchors": Picture("Where do the toss-ups fall?", anchors_figure, _no_anchors),
    "evidence": Picture(
        "How strong is the evidence for each asymmetry?", evidence_figure, lambda result: ""
    ),
    "power": Picture("What could this data have found?", power_curve_figure, _no_reach),
    "fit": Picture("Does the curve fit?", fit_figure, _no_curve),
    "boundary": Picture("What would the noise do?", plane_figure, _no_plane),
}


def pictures(result: AsymmetryTestResult, view: View) -> dict[str, SheetPicture]:
    """Return the figures of a result, the one for a reader in a hurry first."""
    lead = "anchors" if result.mean_posterior is not None else "evidence"
    return {
        kind: SheetPicture(
            question=PICTURES[kind].question,
            draw=partial(PICTURES[kind].draw, result, view),
            caption=partial(caption, result, kind, view),
            why_not=WITHHELD if result.withheld else PICTURES[kind].why_not(result),
        )
        for kind in (lead, *(kind for kind in PICTURES if kind != lead))
    }
