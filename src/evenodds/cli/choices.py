"""Choices that commands offer by name."""

from enum import StrEnum


class Method(StrEnum):
    """Tests by name."""

    boundary = "boundary"
    joint = "joint"
    local = "local"
    wald = "wald"


class CurveMethod(StrEnum):
    """Tests that fit one curve to all rows, by name."""

    boundary = "boundary"
    joint = "joint"
    wald = "wald"


class Side(StrEnum):
    """Alternative hypotheses by name."""

    two_sided = "two-sided"
    greater = "greater"
    less = "less"


class Calibration(StrEnum):
    """Ways to calibrate by name."""

    asymptotic = "asymptotic"
    bootstrap = "bootstrap"


class Format(StrEnum):
    """Output formats by name."""

    text = "text"
    json = "json"


class Missing(StrEnum):
    """What to do with rows that lack a value."""

    refuse = "refuse"
    drop = "drop"


class Gate(StrEnum):
    """Conditions that make the command fail, for pipelines."""

    reject = "reject"
    equivalence = "equivalence"


class Engine(StrEnum):
    """Fits that can bend, by name."""

    spline = "spline"
    local = "local"


class Rung(StrEnum):
    """Noise models that a pipeline may insist on."""

    clean = "clean"
    uniform = "uniform"
    class_conditional = "class-conditional"


class Drawn(StrEnum):
    """How audited rows were chosen."""

    random = "random"
    true = "true"
    given = "given"
