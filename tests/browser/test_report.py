"""The report in a real browser: it opens without a network, and can be read by anyone."""

import re

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.simulation import worlds
from tests.snapshots.results import MAKERS

SIZES = {"desktop": (1280, 900), "phone": (390, 844), "small phone": (320, 640)}
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"
LONG = "a_column_name_without_any_space_that_is_longer_than_the_screen_of_a_phone"


@pytest.fixture(scope="module")
def results():
    """Return a plain rejection, and one whose names are hostile and long."""
    rows, points = pd.read_csv(worlds.PATIENTS), pd.read_csv(worlds.TOSS_UPS)
    features = rows.drop(columns=worlds.LABEL)
    plain = eo.asymmetry_test(
        features, rows[worlds.LABEL], eo.Anchors(points, tolerance=worlds.TOLERANCE)
    )
    odd = dict(zip(features.columns, (HOSTILE, LONG), strict=True))
    odd_labels = np.where(rows[worlds.LABEL] == "ill", HOSTILE, LONG)
    anchors = eo.Anchors(points.rename(columns=odd), tolerance=[0.01] * 6 + [0.3] * 6)
    return {
        "plain": plain,
        "odd": eo.asymmetry_test(features.rename(columns=odd), odd_labels, anchors),
        "anchorless": eo.asymmetry_test(features, rows[worlds.LABEL], method="joint"),
    }


@pytest.fixture(scope="module")
def files(results, tmp_path_factory):
    """Return the reports as files, by name."""
    folder = tmp_path_factory.mktemp("reports")
    return {
        name: result.report(folder / f"{name}.html", name=HOSTILE if name == "odd" else None)
        for name, result in results.items()
    }


@pytest.fixture
def visit(page, files):
    """Return a function that opens a report with the network off."""
    page.heard = []  # whatever a quiet page never does
    page.on("console", lambda message: page.heard.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: page.heard.append(f"error: {error}"))
    page.on("dialog", lambda dialog: page.heard.append(f"dialog: {dialog.message}"))
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.context.set_offline(True)

    def opened(name, size="desktop", scheme="light"):
        width, height = SIZES[size]
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.goto(files[name].as_uri())
        return page

    return opened


every_report = pytest.mark.parametrize("name", ["plain", "odd", "anchorless"])


@every_report
def test_a_report_opens_quietly_and_asks_for_nothing(visit, files, name):
    page = visit(name)
    page.wait_for_load_state("networkidle")
    assert page.heard == []
    assert page.asked == [files[name].as_uri()]


def test_hostile_names_are_shown_and_not_obeyed(visit):
    page = visit("odd")
    assert page.title().endswith(HOSTILE)
    assert page.locator("script, img, iframe, object").count() == 0
    assert HOSTILE in page.locator("main").inner_text()


@every_report
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_wider_than_the_screen(visit, name, size):
    page = visit(name, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_table_that_goes_on_beside_its_box_has_a_shaded_edge(page, tmp_path):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(MAKERS["line_leans"]().report(tmp_path / "line.html").as_uri())
    wide = page.locator(".wide").first
    assert wide.evaluate("box => box.scrollWidth > box.clientWidth + 20")
    look = wide.evaluate("box => getComputedStyle(box).backgroundAttachment")
    assert look == "local, local, scroll, scroll"


@every_report
def test_words_in_figures_stay_inside_and_apart(visit, name):
    """With the browser's own fonts, not with those that the figure was laid out for."""
    faults = visit(name).evaluate(
        """() => [...document.querySelectorAll("svg")].flatMap(svg => {
            const frame = svg.getBoundingClientRect();
            const texts = [...svg.querySelectorAll("text")].filter(t => t.textContent.trim());
            const boxes = texts.map(t => [t.textContent, t.getBoundingClientRect()]);
            const out = boxes.filter(([, b]) => b.left < frame.left - 1
                || b.right > frame.right + 1 || b.top < frame.top - 1
                || b.bottom > frame.bottom + 1).map(([words]) => "outside: " + words);
            const shrunk = b => [b.left + 1, b.right - 1, b.top + 2, b.bottom - 2];
            boxes.forEach(([words, box], i) => boxes.slice(i + 1).forEach(([other, next]) => {
                const [l, r, t, b] = shrunk(box), [l2, r2, t2, b2] = shrunk(next);
                if (l < r2 && l2 < r && t < b2 && t2 < b) out.push(words + " on " + other);
            }));
            return out;
        })"""
    )
    assert faults == []


def test_figures_can_be_read_on_a_phone(visit):
    heights = visit("plain", "phone").evaluate(
        """() => [...document.querySelectorAll("svg text")].map(text =>
            parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)
            .filter(size => size > 0)"""
    )
    assert min(heights) > 10


CONTRAST = """() => {
    const light = color => {
        const parts = color.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const behind = element => {
        for (let e = element; e; e = e.parentElement) {
            const color = getComputedStyle(e).backgroundColor;
            if (!/rgba\\(.*, 0\\)|transparent/.test(color)) return color;
        }
        return "rgb(255, 255, 255)";
    };
    const own = e => [...e.childNodes].some(n => n.nodeType == 3 && n.textContent.trim());
    return [...document.querySelectorAll("body *")].filter(own)
        .filter(e => !["TITLE", "DESC", "title", "desc", "STYLE"].includes(e.tagName))
        .map(e => {
            const style = getComputedStyle(e);
            const front = light(e.closest("svg") ? style.fill : style.color);
            const back = light(behind(e));
            const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
            return [ratio, e.textContent.trim().slice(0, 40)];
        }).sort((a, b) => a[0] - b[0])[0];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["plain", "anchorless"])
def test_every_word_stands_out_from_its_ground(visit, name, scheme):
    ratio, words = visit(name, scheme=scheme).evaluate(CONTRAST)
    assert ratio >= 4.5, words


def test_dark_is_dark_and_print_is_light(visit):
    page = visit("plain", scheme="dark")
    ground = "getComputedStyle(document.querySelector('.evenodds')).backgroundColor"
    assert page.evaluate(ground) == "rgb(20, 23, 26)"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert not page.get_by_role("navigation").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_follow_the_scheme(visit, scheme):
    page = visit("plain", scheme=scheme)
    color = page.evaluate("getComputedStyle(document.querySelector('svg text')).fill")
    assert color == {"light": "rgb(22, 25, 29)", "dark": "rgb(232, 234, 237)"}[scheme]


def test_a_printed_report_has_a_few_pages_and_its_answer_on_the_first(visit):
    page = visit("plain")
    printed = page.pdf(format="A4")
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 9
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 672, "height": 982})  # A4 less its margins, at 96 dpi
    minute = page.locator("#minute").bounding_box()
    assert minute["y"] + minute["height"] < 982


@pytest.mark.parametrize(
    "name", ["contour_leans", "joint_without_anchors", "line_uniform", "local"]
)
def test_the_longest_answers_fit_on_the_first_page(page, tmp_path, name):
    path = MAKERS[name]().report(tmp_path / "report.html")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 672, "height": 982})
    page.goto(path.as_uri())
    minute = page.locator("#minute").bounding_box()
    assert minute["y"] + minute["height"] < 982


def test_a_screen_reader_finds_its_way(visit):
    page = visit("plain")
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("heading", level=1).count() == 1
    pictures = [
        "Where do the toss-ups fall?",
        "How strong is the evidence for each asymmetry?",
        "What could this data have found?",
        "Does the curve fit?",
        "What would the noise do?",
    ]
    assert all(page.get_by_role("img", name=title).count() == 1 for title in pictures)
    assert page.get_by_role("table").count() == 4
    assert page.get_by_role("rowheader", name="tipping point").is_visible()


def test_a_keyboard_skips_to_the_details(visit):
    page = visit("plain")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the details")
    assert skip.bounding_box()["x"] >= 0
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Numbers"


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_picture_of_a_report_can_be_taken(visit, tmp_path, size, scheme):
    path = tmp_path / "report.png"
    visit("plain", size, scheme).screenshot(path=path, full_page=True)
    png = path.read_bytes()
    assert int.from_bytes(png[16:20]) == SIZES[size][0]
    assert int.from_bytes(png[20:24]) > 3000


def test_a_notebook_section_stands_on_its_own(page, results, tmp_path):
    path = tmp_path / "cell.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8>{results['plain']._repr_html_()}", encoding="utf-8"
    )
    page.goto(path.as_uri())
    assert page.get_by_text("Yes: 'ill' is flipped more often than 'healthy'.").is_visible()
    assert page.get_by_role("img", name="Where do the toss-ups fall?").is_visible()
