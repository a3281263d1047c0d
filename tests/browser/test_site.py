"""The site: built without a warning, and its front page on a screen and on a phone."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.pages.run import DOCS

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("sphinx", "myst_parser", "numpydoc", "pydata_sphinx_theme"))),
    reason="the site needs the extra 'docs'",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as `make docs` does; a warning is a failure."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", DOCS, folder]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    return folder


@pytest.fixture(params=[(1280, 900), (390, 844)], ids=["screen", "phone"])
def front(request, page, site):
    """Return the front page, and what it complained of."""
    width, height = request.param
    page.set_viewport_size({"width": width, "height": height})
    page.complaints = []
    page.on("requestfailed", lambda asked: page.complaints.append(asked.url))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto((site / "index.html").as_uri())
    return page


def test_the_front_page_asks_the_question_and_fits(front):
    assert front.get_by_role("heading", level=1).inner_text() == "evenodds"
    assert front.get_by_text("Is one class flipped more often than the other?").is_visible()
    spare = "document.documentElement.clientWidth - document.documentElement.scrollWidth"
    assert front.evaluate(spare) >= 0
    assert front.complaints == []


def test_its_pictures_are_there_and_large_enough_to_read(front):
    for picture in front.locator("article img").all():
        assert picture.evaluate("img => img.complete && img.naturalWidth > 0")
        assert picture.bounding_box()["width"] >= 330


def test_every_part_of_the_site_is_one_step_away(front):
    for part in ("Start", "Which test?", "Tutorials", "How-to", "Explanation", "Reference"):
        link = front.locator("article").get_by_role("link", name=part, exact=True)
        assert Path(link.get_attribute("href")).suffix == ".html"


def test_search_finds_the_default_test(page, site):
    page.goto((site / "search.html").as_uri() + "?q=asymmetry_test")
    page.locator("#search-results li").first.wait_for()
    found = page.locator("#search-results li a").all_inner_texts()
    assert any("asymmetry_test" in name for name in found)


def test_formulas_are_drawn_without_a_script(page, site):
    page.goto((site / "theory" / "03_wald.html").as_uri())
    assert page.locator("math").count() > 50
    assert page.locator("math").first.bounding_box()["width"] > 0
