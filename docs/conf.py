"""The site: plain Markdown pages, with what only a program can write added as they are read.

A page's bullets that begin with a link to another page are its table of contents. The command
line's help, the figures and the changelog are put in from the package itself.
"""

import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))
sys.path.insert(0, str(DOCS.parent / "src"))

from docutils.nodes import SkipNode  # noqa: E402
from latex2mathml.converter import convert  # noqa: E402

import evenodds  # noqa: E402

project = "evenodds"
author = "The evenodds developers"
copyright = author  # noqa: A001
release = version = evenodds.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "html_image"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True
autosummary_generate = True
html_math_renderer = "mathml"
autodoc_typehints = "none"  # numpydoc's sections say them
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = "evenodds"
html_static_path = ["_static"]
html_css_files = ["evenodds.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "evenodds"},
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "which": []}

CONTENTS = re.compile(r"^- \[([^\]]+)\]\(([\w/]+)\.(?:md|rst)\)", re.MULTILINE)
# Doctests need an empty line at their end; readers do not.
EXAMPLE = re.compile(r"(^```python\n.*?)\n+```$", re.MULTILINE | re.DOTALL)


def add_what_programs_write(app, page, source):
    """Add the table of contents, and what is generated, to a page that is read."""
    text = source[0]
    if page == "changelog":
        text = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    if page in {"command_line", "gallery", "json"}:
        from site_parts import PARTS

        text += "\n" + PARTS[page]()
    if Path(DOCS / f"{page}.md").exists() and page != "changelog":
        folder = f"{Path(page).parent}/" if "/" in page else ""
        below = [f"{title} </{folder}{name}>" for title, name in CONTENTS.findall(text)]
        if below:
            text += "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(below) + "\n```\n"
    source[0] = EXAMPLE.sub(r"\1\n```", text)


def write_inline(translator, node):
    """Write a formula as MathML, which browsers draw by themselves."""
    translator.body.append(convert(node.astext(), display="inline"))
    raise SkipNode


def write_display(translator, node):
    """Write a formula on a line of its own; a wide one scrolls in its box."""
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula">{formula}</div>')
    raise SkipNode


def setup(app):
    """Connect to Sphinx."""
    sys.path.insert(0, str(DOCS))
    app.connect("source-read", add_what_programs_write)
    app.add_html_math_renderer("mathml", (write_inline, None), (write_display, None))
