"""The report: one HTML file that needs nothing else, a minute's reading first."""

import hashlib
import io
import re
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import matplotlib as mpl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from evenodds.errors import InputError
from evenodds.files import whole_file
from evenodds.report.sheet import Caption, Sheet, SheetPicture, View, sheet_of
from evenodds.report.style import (
    BAND,
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALE,
    RED,
    SKY,
    in_house_style,
)
from evenodds.validation import check_choice


def draw_titled(sheet: Sheet, kind: str) -> Figure:
    """Return one figure of a result under its question."""
    pictures = sheet.pictures()
    picture = pictures[check_choice(kind, "kind", pictures)]
    if picture.why_not:
        raise InputError(f"kind {kind!r} cannot be drawn: {picture.why_not}.")
    figure = picture.draw()
    _add_title(figure, picture.question)
    return figure


def drawable(pictures: dict[str, SheetPicture]) -> dict[str, SheetPicture]:
    """Return the figures that a result has."""
    return {kind: picture for kind, picture in pictures.items() if not picture.why_not}


@in_house_style
def _add_title(figure: Figure, title: str) -> None:
    figure.axes[0].set_title(title, loc="left", pad=6)


_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"
# A page gives these names values, for light and for dark; a colour it does not know stays.
_NAMES: Final = {
    BLACK: "ink",
    GREY: "grey",
    PALE: "pale",
    BAND: "band",
    BLUE: "blue",
    SKY: "sky",
    GREEN: "green",
    ORANGE: "orange",
    RED: "red",
    "#FFFFFF": "paper",
}
# A hundredth of a point is finer than any screen.
_COORDINATES: Final = {"d", "x", "y", "width", "height", "transform"}
_LONG_NUMBER: Final = re.compile(r"-?\d+\.\d{3,}")
_VARIABLES: Final = {color.lower(): f"var(--{name}, {color})" for color, name in _NAMES.items()}


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
    for place, (tag, words) in enumerate((("title", title), ("desc", description))):
        long_name = "description" if tag == "desc" else tag
        spoken = ET.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{long_name}"})
        spoken.text = words
        root.insert(place, spoken)
    return ET.tostring(root, encoding="unicode")


def _as_svg(figure: Figure) -> bytes:
    """Return the SVG as matplotlib writes it, with text as text."""
    file = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        # The reader's browser has the letters that the font of the figures has not.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
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
