"""The reference leaves nothing out."""

import re

import evenodds as eo
from tests.pages.run import DOCS


def test_every_public_name_is_in_the_reference_once():
    named = re.findall(r"^   (\w+)$", (DOCS / "api.rst").read_text("utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(set(eo.__all__) - {"__version__"})


def test_the_glossary_is_in_order():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = [term.lower() for term in re.findall(r"^\*\*([^,.*]+)", text, re.MULTILINE)]
    assert terms == sorted(terms)
    assert {"posterior", "alpha", "beta", "asymmetry", "anchor", "tolerance", "line"} <= {*terms}
