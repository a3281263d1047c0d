"""The site: built without a warning, and its front page on a screen and on a phone."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.pages.run import DOCS

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("sphinx", "myst_parser", "numpydoc", "pydata_sphinx_theme"))),
    reason="the site needs the extra 'docs'",
)
PARTS = ("Start", "Which test?", "Tutorials", "How-to", "Explanation", "Reference")
SPARE = "document.documentElement.clientWidth - document.documentElement.scrollWidth"


# One test: a build takes half a minute, and tests of one file may be shared out among processes.
def test_the_site_is_built_and_can_be_read(page, tmp_path):
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", DOCS, tmp_path]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    complaints = []
    page.on("requestfailed", lambda asked: complaints.append(asked.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for width, height in ((1280, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto((tmp_path / "index.html").as_uri())
        check_front_page(page)
    check_formulas(page, tmp_path)
    assert complaints == []
    check_search(page, tmp_path)  # which cannot fetch excerpts from files, and complains of it


def check_front_page(page):
    """Look for the question, pictures that can be read, a page that fits, a link to every part."""
    assert page.get_by_role("heading", level=1).inner_text() == "evenodds"
    assert page.get_by_text("Is one class flipped more often than the other?").is_visible()
    assert page.evaluate(SPARE) >= 0
    pictures = page.locator("article img").all()
    assert len(pictures) == 2
    for picture in pictures:
        assert picture.evaluate("img => img.complete && img.naturalWidth > 0")
        assert picture.bounding_box()["width"] >= 330
    for part in PARTS:
        link = page.locator("article").get_by_role("link", name=part, exact=True)
        assert link.get_attribute("href").endswith(".html")


def check_search(page, site):
    """Look for the default test by its name."""
    page.goto((site / "search.html").as_uri() + "?q=asymmetry_test")
    page.locator("#search-results li").first.wait_for()
    found = page.locator("#search-results li a").all_inner_texts()
    assert any("asymmetry_test" in name for name in found)


def check_formulas(page, site):
    """Look for formulas, drawn without a script."""
    page.goto((site / "theory" / "03_wald.html").as_uri())
    assert page.locator("math").count() > 50
    assert page.locator("math").first.bounding_box()["width"] > 0
