"""The report: one HTML file that needs nothing else, a minute's reading first."""

import hashlib
import io
import re
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import matplotlib as mpl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from evenodds.errors import InputError
from evenodds.files import whole_file
from evenodds.report.sheet import Caption, Sheet
from evenodds.report.style import NO_GLYPH, PALETTE, in_house_style, keep_inside
from evenodds.validation import check_choice


def draw_titled(sheet: Sheet, kind: str | None = None) -> Figure:
    """Return one figure of a result under its question: the leading one unless named."""
    pictures = sheet.pictures
    if not pictures:
        raise InputError("this result has no figures: print it, or write its report.")
    wanted = next(iter(drawable(sheet)), next(iter(pictures))) if kind is None else kind
    picture = pictures[check_choice(wanted, "kind", pictures)]
    if picture.why_not:
        raise InputError(f"kind {wanted!r} cannot be drawn: {picture.why_not}.")
    figure = sheet.draw(wanted)
    _add_title(figure, picture.question)
    return figure


def drawable(sheet: Sheet) -> list[str]:
    """Return the kinds of figures that a result has."""
    return [kind for kind, picture in sheet.pictures.items() if not picture.why_not]


@in_house_style
def _add_title(figure: Figure, title: str) -> None:
    keep_inside(figure, figure.axes[0].set_title(title, loc="left", pad=6))


_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"
# A hundredth of a point is finer than any screen.
_COORDINATES: Final = {"d", "x", "y", "width", "height", "transform"}
_LONG_NUMBER: Final = re.compile(r"-?\d+\.\d{3,}")
# A page gives these names values, for light and for dark; a colour it does not know stays.
_VARIABLES: Final = {color.lower(): f"var(--{name}, {color})" for name, color in PALETTE.items()}


@in_house_style
def inline_svg(figure: Figure, *, name: str, title: str, description: str) -> str:
    """Return a figure as an SVG element to put into HTML.

    Parameters
    ----------
    figure : Figure
        Any figure of this package.
    name : str
        Prefix of every id inside, so that several figures share a page.
    title, description : str
        What a screen reader says of it.
    """
    ET.register_namespace("", _SVG)
    root = ET.fromstring(_as_svg(figure))
    for parent in list(root.iter()):
        for child in list(parent):
            # Headers and a style sheet that would reach out into the page.
            if child.tag in {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}:
                parent.remove(child)
    for element in root.iter():
        _adapt(element, name)
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    root.attrib |= {
        "role": "img",
        "aria-labelledby": f"{name}-title",
        "aria-describedby": f"{name}-description",
    }
    for tag, called, words in (("desc", "description", description), ("title", "title", title)):
        spoken = ET.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{called}"})
        spoken.text = words
        root.insert(0, spoken)
    return ET.tostring(root, encoding="unicode")


def _as_svg(figure: Figure) -> bytes:
    """Return the SVG as matplotlib writes it, with text as text."""
    file = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=NO_GLYPH)
        figure.savefig(
            file, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    return file.getvalue()


def _adapt(element: ET.Element, name: str) -> None:
    """Make ids and references the figure's own, and colours the page's."""
    for key, value in list(element.attrib.items()):
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif key == _LINK:
            del element.attrib[key]
            element.set("href", value.replace("#", f"#{name}-", 1))
        elif "url(#" in value:
            element.set(key, value.replace("url(#", f"url(#{name}-"))
        elif key == "style":
            element.set(key, _with_variables(value))
        elif key in _COORDINATES:
            element.set(key, _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", value))


def _with_variables(style: str) -> str:
    """Replace the colours of the house by names that a page gives values to."""
    parts = [part.strip() for part in style.split(";") if part.strip()]
    return "; ".join(
        f"{what}: {_VARIABLES.get(value.strip(), value.strip())}"
        for what, _, value in (part.partition(":") for part in parts)
    )


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure on the page: its question, its picture, its words."""

    question: str
    svg: Markup
    caption: Caption


def write_report(
    sheet: Sheet, path: str | Path, name: str | None = None, command: str | None = None
) -> Path:
    """Write the report of a result; the file appears whole or not at all.

    The name of the data and the command that made the result are told where they are given.
    """
    page = render_report(sheet, name, command)
    target = Path(path)
    with whole_file(target) as file:
        file.write(page)
    return target


def render_report(sheet: Sheet, name: str | None = None, command: str | None = None) -> str:
    """Return the report as one HTML page."""
    drawn = [_drawn(sheet, kind) for kind in drawable(sheet)]
    template = _templates().get_template("report.html")
    return template.render(
        result=sheet.result,
        sheet=sheet,
        lead=drawn[0] if drawn else None,
        name=name,
        command=command,
        figures=drawn[1:],
        not_drawn=[
            f"{picture.question} Not drawn: {picture.why_not}."
            for picture in sheet.pictures.values()
            if picture.why_not
        ],
        numbers=_gathered([*sheet.facts, *sheet.page_facts]),
    )


def first_section(sheet: Sheet) -> str:
    """Return the minute's reading alone, for a notebook."""
    # Ids of several results in one notebook must differ.
    mark = hashlib.sha256(f"{sheet.facts}{sheet.settings}".encode()).hexdigest()[:8]
    leading = drawable(sheet)[:1]
    lead = _drawn(sheet, leading[0], f"r{mark}-") if leading else None
    return _templates().get_template("notebook.html").render(sheet=sheet, lead=lead)


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


def _drawn(sheet: Sheet, kind: str, prefix: str = "") -> Drawn:
    """Draw one figure for the page."""
    caption, title = sheet.caption(kind), sheet.pictures[kind].question
    name = f"{prefix}{kind}"
    svg = inline_svg(sheet.draw(kind), name=name, title=title, description=caption.finding)
    return Drawn(title, Markup(svg), caption)


def _gathered(facts: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Return facts with those of one name together."""
    gathered: list[tuple[str, list[str]]] = []
    for name, value in facts:
        if name:
            gathered.append((name, [value]))
        else:
            gathered[-1][1].append(value)
    return gathered
