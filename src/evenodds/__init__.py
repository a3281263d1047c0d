"""Is one class flipped more often than the other? A test for class-conditional label noise.

The public names, loaded when first used: importing the package costs nothing.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "AnchorError": "errors",
    "AnchorVariance": "planning.expected_data",
    "Anchors": "anchors",
    "AnnotatorAuditResult": "inference.audit.annotators",
    "AsymmetryTestResult": "inference.results",
    "Audit": "inference.audit.as_evidence",
    "AuditTestResult": "inference.audit.result",
    "Bootstrap": "inference.bootstrap",
    "Boundary": "inference.boundary",
    "Cases": "inference.cases.record",
    "ClassConditionalNoise": "noise",
    "ClassLineResult": "inference.line.class_line",
    "ConfusionTestResult": "inference.multiclass.confusion",
    "ContourTestResult": "inference.contour.result",
    "CorrectedShareResult": "inference.audit.share",
    "EvenoddsError": "errors",
    "EvenoddsWarning": "errors",
    "GroupSharesResult": "inference.audit.share",
    "ImprecisionWarning": "errors",
    "InputError": "errors",
    "Joint": "inference.boundary",
    "Local": "inference.local",
    "LineTestResult": "inference.line.result",
    "MissingExtraError": "errors",
    "MulticlassTestResult": "inference.multiclass.result",
    "NoiseAwareLogisticRegression": "model.classifier",
    "PriorTestResult": "inference.prior",
    "StratifiedConfusionResult": "inference.multiclass.confusion_strata",
    "UniformNoise": "noise",
    "Wald": "inference.wald",
    "World": "simulation.world",
    "anchors_needed": "planning.power",
    "annotator_audit": "inference.audit.annotators",
    "asymmetry_test": "inference.asymmetry",
    "audit_size": "planning.audit_size",
    "audit_test": "inference.audit.audit_test",
    "build_codes": "inference.multiclass.splits",
    "choose_cases": "inference.cases.choose",
    "confusion_test": "inference.multiclass.confusion",
    "contour_test": "inference.contour.contour_test",
    "corrected_loss": "model.risk",
    "corrected_share": "inference.audit.share",
    "data_world": "simulation.own_data",
    "detectable_asymmetry": "planning.power",
    "fit_logistic": "model.logistic",
    "line_plan": "planning.line_plan",
    "line_test": "inference.line.line_test",
    "margin_losses": "model.losses",
    "minimise_risk": "model.risk",
    "multiclass_test": "inference.multiclass.multiclass_test",
    "out_of_fold_scores": "model.scores",
    "power": "planning.power",
    "prior_test": "inference.prior",
    "rejection_rate": "simulation.rejection",
    "sample_size": "planning.power",
    "sample_size_range": "planning.plan",
    "show_versions": "versions",
}

__all__ = list(_HOME)
__all__ += ["__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'evenodds' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"evenodds.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
