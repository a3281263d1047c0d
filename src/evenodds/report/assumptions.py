"""What a test takes for granted, and what speaks to it in a result."""

from dataclasses import dataclass

from evenodds.inference.results import AsymmetryTestResult

UNSEEN = "The data cannot tell."


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something taken for granted, and what was seen of it."""

    statement: str
    seen: str
    concern: bool


def assumptions(result: AsymmetryTestResult) -> list[Assumption]:
    """Return the assumptions of a test, those it rests on most first."""
    known = [
        _assumption(
            result,
            "A flip depends on the true class alone, not on the features. Noise that depends on "
            "them can balance just at the anchors.",
        )
    ]
    if result.n_anchors:
        known += [
            _assumption(
                result,
                "The expert's posteriors are right, within their tolerance.",
                "anchors and curve",
                "tipping point",
            ),
            _assumption(
                result,
                "Anchors were chosen without a look at the labels, or at a model of them.",
            ),
        ]
    if result.n_audited:
        known.append(
            _assumption(
                result,
                "The looked-up labels are right, and audited rows are flipped as often as others.",
                "audit",
                "audit size",
            )
        )
    known.append(_shape(result))
    known += [
        _assumption(
            result,
            "Rows are independent of each other, or groups of them are named.",
            "groups",
        ),
        _assumption(
            result,
            "There are far more rows than parameters, also on the slope of the curve.",
            "rows per parameter",
            "step",
        ),
    ]
    return known


def _shape(result: AsymmetryTestResult) -> Assumption:
    """Return what a method needs of the curve."""
    if result.method == "wald":
        return _assumption(
            result,
            "Labels are nearly clean, or rows lie evenly about the boundary; else the plain "
            "logistic curve of this test moves under equal flips too.",
            "curve",
        )
    if result.method == "local":
        return _assumption(
            result,
            "The log-odds of a label are nearly straight within a bandwidth of each anchor.",
            "bandwidth",
        )
    statement = "The true posterior is logistic in the columns given."
    statement += " Where it levels off, that is flips and nothing else; no check can tell."
    return _assumption(result, statement, "link")


def _assumption(result: AsymmetryTestResult, statement: str, *names: str) -> Assumption:
    """Set an assumption beside the diagnostics that speak to it."""
    found = [check for check in result.diagnostics if check.name in names]
    return Assumption(
        statement=statement,
        seen=" ".join(check.message for check in found) or UNSEEN,
        concern=any(check.concern for check in found),
    )
