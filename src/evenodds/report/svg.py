"""A figure as part of a page: one SVG that follows the page's colours and speaks."""

import io
import re
import warnings
from typing import Final
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.figure import Figure

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
    root = ET.fromstring(_drawn(figure))
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


def _drawn(figure: Figure) -> bytes:
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
