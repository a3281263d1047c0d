"""Is one class flipped more often than the other? A test for class-conditional label noise.

The public names, loaded when first used: importing the package costs nothing.
"""

import importlib
from typing import Any

_HOME = {
    "AnchorVariance": "planning.summary",
    "Anchors": "anchors",
    "AnchorError": "errors",
    "AsymmetryTestResult": "inference.results",
    "Bootstrap": "inference.bootstrap",
    "Boundary": "inference.boundary",
    "ClassConditionalNoise": "noise",
    "ClusterError": "errors",
    "ConvergenceError": "errors",
    "EvenoddsError": "errors",
    "EvenoddsWarning": "errors",
    "ImprecisionWarning": "errors",
    "InputError": "errors",
    "Joint": "inference.joint",
    "LogisticFit": "model.logistic",
    "MissingExtraError": "errors",
    "NoiseAwareLogisticRegression": "model.classifier",
    "PriorTestResult": "inference.prior",
    "RankError": "errors",
    "SeparationError": "errors",
    "StorageError": "errors",
    "RejectionRate": "simulation.rejection",
    "Trial": "simulation.world",
    "UniformNoise": "noise",
    "Wald": "inference.wald",
    "World": "simulation.world",
    "__version__": "version",
    "anchors_needed": "planning.solve",
    "asymmetry_test": "inference.asymmetry",
    "data_world": "simulation.own_data",
    "detectable_asymmetry": "planning.solve",
    "fit_logistic": "model.logistic",
    "power": "planning.power",
    "prior_test": "inference.prior",
    "rejection_rate": "simulation.rejection",
    "sample_size": "planning.solve",
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
