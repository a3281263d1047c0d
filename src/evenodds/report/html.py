"""The report: one HTML file that needs nothing else, a minute's reading first."""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evenodds.files import whole_file
from evenodds.report.pictures import drawable
from evenodds.report.sheet import Caption, Sheet, SheetPicture
from evenodds.report.sheets import sheet_of
from evenodds.report.svg import inline_svg
from evenodds.report.view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a result comes from, as far as its user wants that told.

    Attributes
    ----------
    name : str or None
        Of the data.
    command : str or None
        Command line that made it.
    """

    name: str | None = None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure on the page: its question, its picture, its words."""

    question: str
    svg: Markup
    caption: Caption


def write_report(result: Any, path: str | Path, view: View, source: Source | None = None) -> Path:
    """Write the report of a result; the file appears whole or not at all."""
    page = render_report(result, view, source or Source())
    target = Path(path)
    with whole_file(target) as file:
        file.write(page)
    return target


def render_report(result: Any, view: View, source: Source) -> str:
    """Return the report as one HTML page."""
    sheet = sheet_of(result, view)
    pictures = sheet.pictures()
    drawn = [_drawn(kind, picture) for kind, picture in drawable(pictures).items()]
    return (
        _templates()
        .get_template("report.html")
        .render(
            result=result,
            view=view,
            sheet=sheet,
            lead=drawn[0] if drawn else None,
            source=source,
            figures=drawn[1:],
            not_drawn=[
                f"{picture.question} Not drawn: {picture.why_not}."
                for picture in pictures.values()
                if picture.why_not
            ],
            numbers=_gathered([*sheet.facts, *sheet.page_facts]),
        )
    )


def first_section(result: Any, view: View) -> str:
    """Return the minute's reading alone, for a notebook."""
    sheet = sheet_of(result, view)
    # Ids of several results in one notebook must differ.
    prefix = f"r{_mark(sheet)}-"
    first = [_drawn(kind, picture, prefix) for kind, picture in drawable(sheet.pictures()).items()][
        :1
    ]
    return (
        _templates()
        .get_template("notebook.html")
        .render(sheet=sheet, lead=first[0] if first else None)
    )


@cache
def _templates() -> Environment:
    """Return the templates; whatever they are given is escaped."""
    return Environment(
        loader=PackageLoader("evenodds.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _mark(sheet: Sheet) -> str:
    """Return a few letters that go with one result, the same in every run."""
    return hashlib.sha256(f"{sheet.facts}{sheet.settings}".encode()).hexdigest()[:8]


def _drawn(kind: str, picture: SheetPicture, prefix: str = "") -> Drawn:
    """Draw one figure for the page."""
    caption = picture.caption()
    svg = inline_svg(
        picture.draw(),
        name=f"{prefix}{kind}",
        title=picture.question,
        description=caption.finding,
    )
    return Drawn(picture.question, Markup(svg), caption)


def _gathered(facts: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Return facts with those of one name together."""
    gathered: list[tuple[str, list[str]]] = []
    for name, value in facts:
        if name:
            gathered.append((name, [value]))
        else:
            gathered[-1][1].append(value)
    return gathered
