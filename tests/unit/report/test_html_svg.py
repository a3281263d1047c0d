"""A figure inside a page: it speaks, follows the page's colours, and keeps to itself."""

import re
from xml.etree import ElementTree as ET

import pytest

from evenodds.report.html import inline_svg

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def text(rejecting):
    figure = rejecting.plot("boundary")
    return inline_svg(figure, name="one", title="What <would>?", description="5% & more")


@pytest.fixture(scope="module")
def root(text):
    return ET.fromstring(text)


def test_it_says_what_it_is(root):
    assert (root[0].tag, root[0].text) == (f"{SVG}title", "What <would>?")
    assert (root[1].tag, root[1].text) == (f"{SVG}desc", "5% & more")
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == root[0].get("id") == "one-title"
    assert root.get("aria-describedby") == root[1].get("id") == "one-description"


def test_it_scales_with_the_page(root):
    assert root.get("viewBox")
    assert root.get("width") is None


def test_every_id_is_its_own_and_every_reference_is_met(root, text):
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert all(name.startswith("one-") for name in ids)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", text)) <= set(ids)


def test_its_colours_are_the_pages(text):
    assert "var(--red, #CC3311)" in text
    assert re.findall(r"(?:fill|stroke): #", text) == []


def test_no_style_or_header_reaches_out(root):
    tags = {element.tag for element in root.iter()}
    assert not tags & {f"{SVG}style", f"{SVG}metadata", f"{SVG}script"}


def test_text_is_text(root):
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert "clean boundary" in words


def test_letters_that_the_font_has_not_are_left_to_the_browser(hostile):
    drawn = inline_svg(hostile.plot("boundary"), name="two", title="", description="")
    assert "病" in drawn


def test_the_same_figure_gives_the_same_text(rejecting, text):
    again = inline_svg(
        rejecting.plot("boundary"), name="one", title="What <would>?", description="5% & more"
    )
    assert again == text
