"""Links between pages lead somewhere, on the web page of a repository as on the site."""

import re

import pytest

from tests.pages.run import DOCS

WRITTEN = [
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("t*/*.md")),  # theory, tutorials
    *sorted(DOCS.parent.glob("*.md")),
]
LINK = re.compile(r"(?:\]\(|src=\")([^)\s\"]+)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def words_of(page):
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors_of(page):
    """Return the names of a page's headings, made as GitHub makes them."""
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(words_of(page)))
    return {title.strip().replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    lost = []
    for link in LINK.findall(words_of(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            lost.append(link)
    assert not lost
