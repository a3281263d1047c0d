"""What there is to say about a result: one record, read by the text, the page and the terminal.

A test writes its sheet once; nothing that shows it knows which test it was.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from evenodds.inference.results import AsymmetryTestResult, Diagnostic
from evenodds.validation import check_between

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


_LOGISTIC: Final = (
    "The true posterior is logistic in the columns given. Where it levels off, that is flips and "
    "nothing else; no check can tell.",
    "link",
)
_SHAPES: Final = {
    "wald": (
        "Labels are nearly clean, or rows lie evenly about the boundary; else the plain logistic "
        "curve of this test moves under equal flips too.",
        "curve",
    ),
    "local": (
        "The log-odds of a label are nearly straight within a bandwidth of each anchor.",
        "bandwidth",
    ),
}


def _shape(result: AsymmetryTestResult) -> Assumption:
    """Return what a method needs of the curve."""
    return _assumption(result, *_SHAPES.get(result.method, _LOGISTIC))


def _assumption(result: AsymmetryTestResult, statement: str, *names: str) -> Assumption:
    """Set an assumption beside the diagnostics that speak to it."""
    found = [check for check in result.diagnostics if check.name in names]
    return Assumption(
        statement=statement,
        seen=" ".join(check.message for check in found) or UNSEEN,
        concern=any(check.concern for check in found),
    )


@dataclass(frozen=True, slots=True)
class Key:
    """One of the two or three numbers a reader in a hurry takes home."""

    name: str
    value: str
    more: str = ""


@dataclass(frozen=True, slots=True)
class SheetTable:
    """Numbers side by side, as written."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Caption:
    """How a figure is read, and its finding; together they stand below it."""

    reading: str
    finding: str


@dataclass(frozen=True, slots=True)
class SheetPicture:
    """A figure, the question it answers, its words; or why it cannot be drawn."""

    question: str
    draw: "Callable[[], Figure]"
    caption: Callable[[], Caption]
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A result in words, numbers and pictures.

    Attributes
    ----------
    question : str
        What was asked.
    headline, verdict : str
        The answer in a line, and in two or three sentences.
    rejected : bool
        Whether the null hypothesis is rejected.
    keys : tuple of Key
        The numbers to take home.
    facts : list of (name, value)
        The numbers in full; an empty name goes on with the one above.
    tables : tuple of SheetTable
        Numbers that need columns.
    checks : tuple of Diagnostic
        What was checked, and what to doubt.
    next_steps : list of str
        What to do now, most useful first.
    assumptions : list of Assumption
        What is taken for granted.
    settings : list of (name, value)
        What the result was made and read with, for the page.
    formulas : str
        Template with the mathematics; it may use `result`.
    python : str
        The call that makes the result again.
    words : list of (term, meaning)
        Terms a reader may not know.
    holds : str
        What the page holds of the data, for who may see it.
    version : str
        Of evenodds, that made the result.
    pictures : callable
        Returns the figures by kind, the leading one first; only pages and plots pay for them.
    page_facts : list of (name, value)
        Numbers for the page alone.
    answers : dict
        What JSON adds to the result itself: numbers that depend on the level and the margin.
    """

    question: str
    headline: str
    verdict: str
    rejected: bool
    keys: tuple[Key, ...]
    facts: list[tuple[str, str]]
    tables: tuple[SheetTable, ...] = ()
    checks: tuple[Diagnostic, ...] = ()
    next_steps: list[str]
    assumptions: list[Assumption]
    settings: list[tuple[str, str]]
    formulas: str
    python: str
    words: list[tuple[str, str]]
    holds: str
    version: str
    pictures: Callable[[], dict[str, SheetPicture]]
    page_facts: tuple[tuple[str, str], ...] = ()
    answers: dict[str, Any] = field(default_factory=dict)

    @property
    def doubts(self) -> list[str]:
        """What gives reason to doubt the result."""
        return [check.message for check in self.checks if check.concern]

    @property
    def passed(self) -> list[str]:
        """What was checked and found in order."""
        return [check.message for check in self.checks if not check.concern]


def versions(known: dict[str, str]) -> list[tuple[str, str]]:
    """Return versions as settings."""
    return [(f"version of {name}", version) for name, version in known.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """At which level a result is read, and how large an asymmetry would be harmless."""

    significance: float = 0.05
    margin: float = 0.05

    def __post_init__(self) -> None:
        check_between(self.significance, "significance", 0, 1, closed="neither")
        check_between(self.margin, "margin", 0, 1, closed="neither")

    @property
    def percent(self) -> str:
        """The level in words, as ``5 %``, which no line breaks."""
        return f"{100 * self.significance:g}\N{NO-BREAK SPACE}%"

    def settings(self) -> list[tuple[str, str]]:
        """Return the choices by name, for the page."""
        return [("significance", f"{self.significance:g}"), ("margin", f"{self.margin:g}")]


# Module and function by one name, loaded when asked: one test needs not the words of all.
_WRITERS: Final = {
    "AnnotatorAuditResult": "annotators.annotator_sheet",
    "AsymmetryTestResult": "asymmetry.asymmetry_sheet",
    "AuditTestResult": "audit.audit_sheet",
    "ContourTestResult": "contour.contour_sheet",
    "ConfusionTestResult": "confusion.confusion_sheet",
    "MulticlassTestResult": "multiclass.multiclass_sheet",
}


def sheet_of(result: Any, view: View) -> Sheet:
    """Return what there is to say about a result."""
    module, name = _WRITERS[type(result).__name__].split(".")
    sheet: Sheet = getattr(import_module(f"evenodds.report.{module}"), name)(result, view)
    return sheet
