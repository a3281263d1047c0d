"""What there is to say about a result: one record, read by the text, the page and the terminal.

A test writes its sheet once; nothing that shows it knows which test it was.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenodds.inference.results import Diagnostic
from evenodds.report.assumptions import Assumption

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
