"""Is one class flipped more often than the other? A test for class-conditional label noise.

The public names, loaded when first used: importing the package costs nothing.
"""

import importlib
from typing import Any

_HOME = {
    "AnchorError": "errors",
    "AnchorVariance": "planning.summary",
    "Anchors": "anchors",
    "AnnotatorAuditResult": "inference.audit.annotators",
    "AsymmetryTestResult": "inference.results",
    "Audit": "inference.audit.sample",
    "AuditSize": "planning.audit_size",
    "AuditTestResult": "inference.audit.result",
    "Bootstrap": "inference.bootstrap",
    "Boundary": "inference.boundary",
    "ClassConditionalNoise": "noise",
    "ClusterError": "errors",
    "ConfusionTestResult": "inference.multiclass.confusion_result",
    "ContourTestResult": "inference.contour.results",
    "ConvergenceError": "errors",
    "EvenoddsError": "errors",
    "EvenoddsWarning": "errors",
    "ImprecisionWarning": "errors",
    "InputError": "errors",
    "Joint": "inference.joint",
    "Local": "inference.local.method",
    "LogisticFit": "model.logistic",
    "MarginLoss": "model.losses.margin",
    "MissingExtraError": "errors",
    "MulticlassTestResult": "inference.multiclass.results",
    "NoiseAwareLogisticRegression": "model.classifier",
    "OutputCodes": "inference.multiclass.codes",
    "PriorTestResult": "inference.prior",
    "RankError": "errors",
    "RejectionRate": "simulation.rejection",
    "SeparationError": "errors",
    "StorageError": "errors",
    "Trial": "simulation.world",
    "UniformNoise": "noise",
    "Wald": "inference.wald",
    "World": "simulation.world",
    "__version__": "version",
    "anchors_needed": "planning.solve",
    "annotator_audit": "inference.audit.annotators",
    "asymmetry_test": "inference.asymmetry",
    "audit_size": "planning.audit_size",
    "audit_test": "inference.audit.door",
    "build_codes": "inference.multiclass.codes",
    "confusion_test": "inference.multiclass.confusion",
    "contour_test": "inference.contour.climbing",
    "corrected_loss": "model.losses.corrected",
    "data_world": "simulation.own_data",
    "detectable_asymmetry": "planning.solve",
    "fit_logistic": "model.logistic",
    "margin_losses": "model.losses.catalogue",
    "minimise_risk": "model.losses.risk",
    "multiclass_test": "inference.multiclass.front_door",
    "power": "planning.power",
    "prior_test": "inference.prior",
    "rejection_rate": "simulation.rejection",
    "sample_size": "planning.solve",
    "sample_size_range": "planning.pilot_range",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'evenodds' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"evenodds.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
