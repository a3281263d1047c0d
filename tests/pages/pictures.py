"""The pictures that pages draw, and the report they lead to, as the docs show them."""

import html
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.image import imread, imsave
from numpy.typing import NDArray
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.pages.run import DOCS

FIGURES = DOCS / "figures"
# The report that the first page writes, and its photograph.
REPORT, PHOTOGRAPH = "verdict.html", FIGURES / "report.png"


def drawn(folder: Path) -> dict[str, NDArray[np.float32]]:
    """Return the pictures that a page left in its folder, by name."""
    return {path.name: imread(path) for path in sorted(folder.glob("*.png"))}


def keep(folder: Path, browser) -> None:
    """Write the pictures of a page into the docs."""
    for name, picture in drawn(folder).items():
        imsave(FIGURES / name, picture)
    if (folder / REPORT).exists():
        _photograph(folder / REPORT, browser)


def differing(folder: Path) -> list[str]:
    """Return which pictures of a page the docs show otherwise.

    Another version of matplotlib may put a letter elsewhere; there only sizes are compared. Of a
    photograph the numbers are.
    """
    wrong = []
    for name, picture in drawn(folder).items():
        with Image.open(FIGURES / name) as shown:
            same = mpl.__version__ in shown.info["Software"]
        kept = imread(FIGURES / name)
        if kept.shape != picture.shape or (same and not np.array_equal(kept, picture)):
            wrong.append(name)
    if (folder / REPORT).exists():
        with Image.open(PHOTOGRAPH) as shown:
            if shown.info["Description"] != _numbers(folder / REPORT):
                wrong.append(PHOTOGRAPH.name)
    return wrong


def _numbers(report: Path) -> str:
    """Return the numbers of a report's first section, in order."""
    text = report.read_text(encoding="utf-8")
    section = re.search(r'<section id="minute".*?</section>', text, re.DOTALL)[0]
    bare = re.sub(r"<svg.*?</svg>|<[^>]+>", " ", section, flags=re.DOTALL)
    return " ".join(re.findall(r"\d+(?:\.\d+)?", html.unescape(bare)))


def _photograph(report: Path, browser) -> None:
    """Take a picture of a report's first section, with its numbers inside the file."""
    context = browser.new_context(viewport={"width": 720, "height": 900})
    page = context.new_page()
    page.goto(report.as_uri())
    end = page.locator("#minute").bounding_box()
    clip = {"x": 0, "y": 0, "width": 720, "height": end["y"] + end["height"]}
    page.screenshot(path=PHOTOGRAPH, full_page=True, clip=clip)
    context.close()
    numbers = PngInfo()
    numbers.add_text("Description", _numbers(report))
    with Image.open(PHOTOGRAPH) as picture:
        picture.convert("P", palette=Image.Palette.ADAPTIVE).save(PHOTOGRAPH, pnginfo=numbers)
