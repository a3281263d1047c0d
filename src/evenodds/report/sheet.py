"""What there is to say about a result: one record, read by the text, the page and the terminal.

A test writes its sheet once; nothing that shows it knows which test it was.
"""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from evenodds.inference.results import Diagnostic, Result, versions_in_use
from evenodds.validation import check_between

if TYPE_CHECKING:
    from matplotlib.figure import Figure


UNSEEN = "The data cannot tell."


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something taken for granted, and what was seen of it."""

    statement: str
    seen: str = UNSEEN
    concern: bool = False


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


def row_each(
    title: str, items: Iterable[Any], columns: Mapping[str, Callable[[Any], str]]
) -> SheetTable:
    """Return a table with a row for each item: its columns by name, and what each says of it."""
    rows = tuple(tuple(cell(item) for cell in columns.values()) for item in items)
    return SheetTable(title, tuple(columns), rows)


@dataclass(frozen=True, slots=True)
class Caption:
    """How a figure is read, and its finding; together they stand below it."""

    reading: str
    finding: str


@dataclass(frozen=True, slots=True)
class SheetPicture:
    """The question that a figure answers, and its words; or why it cannot be drawn."""

    question: str
    caption: Callable[[Any, "View"], Caption]
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """At which level a result is read, and how large an asymmetry would be harmless."""

    significance: float = 0.05
    margin: float = 0.05

    def __post_init__(self) -> None:
        check_between(self.significance, "significance", 0, 1, closed="neither")
        check_between(self.margin, "margin", 0, 1, closed="neither")

    @property
    def level(self) -> float:
        """Confidence of the intervals."""
        return 1 - self.significance

    @property
    def percent(self) -> str:
        """The level in words, as ``5%``."""
        return f"{100 * self.significance:g}%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A result in words, numbers and pictures.

    Attributes
    ----------
    result : Result
        What is told of.
    view : View
        How it is read.
    question : str
        What was asked.
    headline, verdict : str
        The answer in a line, and in two or three sentences.
    keys : tuple of Key
        The numbers to take home.
    facts : list of (name, value)
        The numbers in full; an empty name goes on with the one above.
    tables : tuple of SheetTable
        Numbers that need columns.
    trust : list of str
        How far to trust a plan.
    next_steps : list of str
        What to do now, most useful first.
    takes : list
        What is taken for granted: statements, each alone, with the names of checks that speak to
        it, or with what was seen of it.
    made_with : list of (name, value)
        What the result was made with, beside what every result tells.
    formulas : str
        Template with the mathematics; it may use `result`.
    python : str
        The call that makes the result again.
    words : list of (term, meaning)
        Terms a reader may not know.
    holds : str
        What the page holds of the data, for who may see it.
    pictures : dict
        The figures by kind, the leading one first.
    page_facts : list of (name, value)
        Numbers for the page alone.
    answers : dict
        What JSON adds to the result itself: numbers that depend on the level and the margin.
    """

    result: Result
    view: View
    question: str
    headline: str
    verdict: str
    keys: tuple[Key, ...] = ()
    facts: list[tuple[str, str]] = field(default_factory=list)
    tables: tuple[SheetTable, ...] = ()
    trust: list[str] = field(default_factory=list)
    next_steps: list[str] = field(default_factory=list)
    takes: Sequence[str | tuple[str, ...] | Assumption] = ()
    made_with: list[tuple[str, str]]
    formulas: str = ""
    python: str = ""
    words: list[tuple[str, str]] = field(default_factory=list)
    holds: str
    pictures: dict[str, SheetPicture] = field(default_factory=dict)
    page_facts: tuple[tuple[str, str], ...] = ()
    answers: dict[str, Any] = field(default_factory=dict)

    @property
    def rejected(self) -> bool:
        """Whether the null hypothesis is rejected; a plan has none."""
        pvalue = getattr(self.result, "pvalue", None)
        return pvalue is not None and pvalue < self.view.significance

    @property
    def checks(self) -> tuple[Diagnostic, ...]:
        """What was checked, and what to doubt."""
        return getattr(self.result, "diagnostics", ())

    @property
    def assumptions(self) -> list[Assumption]:
        """What is taken for granted, beside the checks that speak to it."""
        found = []
        for one in self.takes:
            if isinstance(one, Assumption):
                found.append(one)
                continue
            statement, *names = [one] if isinstance(one, str) else one
            about = [check for check in self.checks if check.name in names]
            seen = " ".join(check.message for check in about) or UNSEEN
            found.append(Assumption(statement, seen, any(check.concern for check in about)))
        return found

    @property
    def doubts(self) -> list[str]:
        """What gives reason to doubt the result."""
        return [check.message for check in self.checks if check.concern]

    @property
    def passed(self) -> list[str]:
        """What was checked and found in order."""
        return [check.message for check in self.checks if not check.concern]

    @property
    def versions(self) -> dict[str, str]:
        """Of the libraries that the numbers depend on."""
        return getattr(self.result, "versions", None) or versions_in_use()

    @property
    def settings(self) -> list[tuple[str, str]]:
        """What the result was made and read with, for the page."""
        lines = [*self.made_with, ("significance", f"{self.view.significance:g}")]
        if hasattr(self.result, "equivalence"):
            lines.append(("margin", f"{self.view.margin:g}"))
        lines += [
            (f"{label} label", repr(getattr(self.result, label)))
            for label in ("positive", "negative")
            if hasattr(self.result, label)
        ]
        return lines + [(f"version of {name}", one) for name, one in self.versions.items()]

    def draw(self, kind: str) -> "Figure":
        """Draw one of the pictures."""
        figure: Figure = _load(f"figures.{kind}_figure")(self.result, self.view)
        return figure

    def caption(self, kind: str) -> Caption:
        """Return the words below one of the pictures."""
        return self.pictures[kind].caption(self.result, self.view)


# Module and function, loaded when asked: one test needs not the words of all.
_WRITERS: Final = {
    "AnnotatorAuditResult": "audit.annotator_sheet",
    "AsymmetryTestResult": "asymmetry.asymmetry_sheet",
    "AuditSize": "plan.audit_size_sheet",
    "AuditTestResult": "audit.audit_sheet",
    "ClassLineResult": "confusion.class_line_sheet",
    "ContourTestResult": "contour.contour_sheet",
    "ConfusionTestResult": "confusion.confusion_sheet",
    "CorrectedShareResult": "share.share_sheet",
    "GroupSharesResult": "share.group_shares_sheet",
    "LinePlan": "line.line_plan_sheet",
    "LineTestResult": "line.line_sheet",
    "MulticlassTestResult": "multiclass.multiclass_sheet",
    "Plan": "plan.plan_sheet",
    "PriorTestResult": "share.prior_sheet",
    "StratifiedConfusionResult": "confusion.stratified_confusion_sheet",
}
_WAYS: Final = {
    "text": "sheet.describe",
    "headline": "sheet.headline_of",
    "figure": "html.draw_titled",
    "page": "html.write_report",
    "notebook": "html.first_section",
}


def sheet_of(result: Result, view: View) -> Sheet:
    """Return what there is to say about a result."""
    sheet: Sheet = _load(_WRITERS[type(result).__name__])(result, view)
    return sheet


def present(result: Result, view: View, way: str, *details: Any) -> Any:
    """Show a result as text, as a figure, as a page or in a notebook."""
    return _load(_WAYS[way])(sheet_of(result, view), *details)


def _load(name: str) -> Any:
    module, function = name.split(".")
    return getattr(import_module(f"evenodds.report.{module}"), function)


WIDTH = 88


def headline_of(sheet: Sheet) -> str:
    """Return the answer in a line."""
    return sheet.headline


def describe(sheet: Sheet) -> str:
    """Return a result as plain text."""
    tables = [line for table in sheet.tables for line in ("", *tabulated(table))]
    return "\n".join(
        [
            wrapped(sheet.verdict),
            *aligned(sheet.facts),
            *tables,
            *listed("How far to trust it", sheet.trust),
            *listed("What to doubt", sheet.doubts),
            *listed("What was checked", sheet.passed),
            *listed("What to do next", sheet.next_steps),
        ]
    )


def wrapped(text: str) -> str:
    """Break a paragraph into lines."""
    return textwrap.fill(text, WIDTH)


def aligned(pairs: list[tuple[str, str]]) -> list[str]:
    """Return names and values in two columns, or nothing where there are none."""
    width = max((len(name) for name, _ in pairs), default=0)
    whole = textwrap.TextWrapper(WIDTH, break_long_words=False, break_on_hyphens=False)
    whole.subsequent_indent = " " * (width + 4)
    lines = []
    for name, value in pairs:
        whole.initial_indent = f"  {name:<{width}}  "
        lines += whole.wrap(value)
    return ["", *lines] if lines else []


def tabulated(table: SheetTable) -> list[str]:
    """Return a titled table: names to the left, numbers to the right."""
    columns = list(zip(table.header, *table.rows, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns]
    lines = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (table.header, *table.rows)
    ]
    colon = "" if table.title.endswith("?") else ":"
    return [f"{table.title}{colon}", *(f"  {line}".rstrip() for line in lines)]


def listed(title: str, sentences: list[str]) -> list[str]:
    """Return a titled list, or nothing where there is nothing to list."""
    if not sentences:
        return []
    bullets = [
        textwrap.fill(sentence, WIDTH, initial_indent="  - ", subsequent_indent="    ")
        for sentence in sentences
    ]
    return ["", f"{title}:", *bullets]
