"""Which sheet goes with which result."""

from importlib import import_module
from typing import Any, Final

from evenodds.report.sheet import Sheet
from evenodds.report.view import View

# Module and function by one name, loaded when asked: one test needs not the words of all.
_WRITERS: Final = {
    "AnnotatorAuditResult": "annotator_sheet",
    "AsymmetryTestResult": "asymmetry_sheet",
    "AuditTestResult": "audit_sheet",
    "ContourTestResult": "contour_sheet",
    "ConfusionTestResult": "confusion_sheet",
    "MulticlassTestResult": "multiclass_sheet",
}


def sheet_of(result: Any, view: View) -> Sheet:
    """Return what there is to say about a result."""
    name = _WRITERS[type(result).__name__]
    sheet: Sheet = getattr(import_module(f"evenodds.report.{name}"), name)(result, view)
    return sheet
