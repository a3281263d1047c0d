"""Results in a real notebook: run by nbconvert, and looked at in a browser with both themes."""

import os

import pytest

from tests.browser.test_report import CONTRAST

CELLS = {
    "anchors": "import evenodds as eo\n"
    "from evenodds.simulation import worlds\n"
    "anchors = eo.Anchors(worlds.TOSS_UPS)\n"
    "anchors",
    "result": "result = eo.asymmetry_test(worlds.PATIENTS, worlds.LABEL, anchors)\nresult",
    "figure": "result.plot()",
    "prior": "eo.prior_test(300, 1000, 0.25)",
    "plan": "eo.audit_size(eo.ClassConditionalNoise(0.05, 0.15), prior=0.3)",
}
# Where VS Code puts a cell's output, as far as styles reach it.
WORKBENCH = (
    "<!doctype html><meta charset=utf-8><body class='vscode-{0}' data-vscode-theme-kind="
    "'vscode-{0}' style='background: {1}; color: {2}'><div class='output'>{3}</div>"
)
# How far to the right any word of a view reaches.
RIGHTMOST = """() => Math.max(...[...document.querySelectorAll(".evenodds *")]
    .map(part => part.getBoundingClientRect().right))"""
THEMES = {"light": ("#ffffff", "#333333"), "dark": ("#1e1e1e", "#cccccc")}


@pytest.fixture(scope="module")
def ran():
    """Return the notebook with its outputs; without nbconvert skip, or fail where it must run."""
    if not os.environ.get("EVENODDS_BROWSER_REQUIRED"):
        pytest.importorskip("nbconvert", reason="needs nbconvert")
        pytest.importorskip("ipykernel", reason="needs ipykernel")
    import nbformat
    from nbconvert.preprocessors import ExecutePreprocessor

    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS.values()]
    ExecutePreprocessor(timeout=120).preprocess(notebook, {})
    return notebook


@pytest.fixture(params=["light", "dark"])
def opened(request, ran, page, tmp_path):
    """Return the notebook as a page of JupyterLab, in either theme."""
    from nbconvert import HTMLExporter

    path = tmp_path / "notebook.html"
    path.write_text(HTMLExporter(theme=request.param).from_notebook_node(ran)[0], encoding="utf-8")
    # A system that prefers the other must not win over the notebook.
    page.emulate_media(color_scheme="dark" if request.param == "light" else "light")
    page.goto(path.as_uri())
    return page


def output_of(ran, name):
    """Return what a cell gave, by kind."""
    return ran.cells[[*CELLS].index(name)].outputs[-1]["data"]


def test_anchors_are_told_in_a_line(ran):
    said = "<Anchors: 12 toss-ups of 2 features, tolerance ±0.05, shared ±0.05 (by default)>"
    assert output_of(ran, "anchors")["text/plain"] == said


def test_a_figure_shows_without_magic(ran):
    assert "image/png" in output_of(ran, "figure")


@pytest.mark.parametrize("name", ["result", "prior", "plan"])
def test_results_have_a_view_and_a_line(ran, name):
    assert {"text/html", "text/plain"} <= output_of(ran, name).keys()
    assert "\n" not in output_of(ran, name)["text/plain"]


def test_the_notebook_leaves_the_numbers_below_their_names(opened):
    """JupyterLab floats the terms of a list and gives them a fifth of the width."""
    apart = opened.evaluate(
        """() => [...document.querySelectorAll(".evenodds .keys > div")].map(key => {
            const [name, value] = [key.querySelector("dt"), key.querySelector("dd")]
                .map(part => part.getBoundingClientRect());
            return value.top >= name.bottom - 1 && Math.abs(value.left - name.left) < 1;
        })"""
    )
    assert len(apart) == 6
    assert all(apart)


def test_every_word_fits_and_stands_out_in_the_theme_of_the_notebook(opened):
    within = CONTRAST.replace('"body *"', '".evenodds *"')
    ratio, words = opened.evaluate(within)
    assert ratio >= 4.5, words
    for width in (1280, 390):
        opened.set_viewport_size({"width": width, "height": 844})
        assert opened.evaluate(RIGHTMOST) <= width


@pytest.mark.parametrize("theme", THEMES)
def test_vs_code_gives_its_theme_too(ran, page, tmp_path, theme):
    view = output_of(ran, "result")["text/html"]
    path = tmp_path / "cell.html"
    path.write_text(WORKBENCH.format(theme, *THEMES[theme], view), encoding="utf-8")
    page.emulate_media(color_scheme="dark" if theme == "light" else "light")
    page.goto(path.as_uri())
    ground = page.evaluate("getComputedStyle(document.querySelector('.evenodds')).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 26)"}[theme]
