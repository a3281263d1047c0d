"""Cases along a score in a real browser: nothing is an answer until somebody gave it."""

from itertools import pairwise

import pytest

from tests.browser.sessions import Server, begin, number, press, ready, write_patients
from tests.browser.test_elicit_page import CONTRAST, COVERED

ALONG = ("--score", "--features", "age,dose")


@pytest.fixture(scope="module")
def stating(tmp_path_factory):
    """Return the address of a page that asks for numbers, and its server."""
    folder = tmp_path_factory.mktemp("stating")
    write_patients(folder)
    one = Server(folder, cases=12, repeats=2, out="said.json", more=ALONG)
    yield one.start(), one
    one.kill()


def given(server, expert):
    """Return what an expert has stated, in hundredths."""
    found = server._read("expert, chance")
    return [round(100 * chance) for name, chance in found if name == expert]


def open_as(page, address, expert):
    """Choose to state numbers where that is still asked, and begin."""
    page.goto(address)
    choice = page.get_by_role("radio", name="I judge.")
    if choice.count():
        choice.check()
    page.get_by_label("Your name").fill(expert)
    page.get_by_role("button", name="Begin").click()
    page.locator("#stating").wait_for()


def middle(page):
    """Return where the middle of the slider is."""
    box = page.locator("#slider").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_numbers_by_keys_slider_and_typing(stating, page):
    address, server = stating
    problems = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    open_as(page, address, "Ada")
    ready(page)
    field, slider = page.locator("#stating"), page.locator("#slider")
    assert (field.input_value(), slider.get_attribute("aria-valuetext")) == ("", "not set")
    page.keyboard.press("ArrowRight")  # nothing to move yet
    page.keyboard.press("Enter")
    assert (number(page), field.input_value(), given(server, "Ada")) == (1, "", [])
    page.locator("h1").click()
    page.keyboard.press("7")
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "71 of 100"
    press(page, "Enter", 2)
    page.keyboard.press("a")
    press(page, "Enter", 3)
    page.keyboard.press("0")
    press(page, "Enter", 4)
    page.mouse.click(*middle(page))  # where the slider would rest: it did not move, yet was put
    assert field.input_value() == "50"
    press(page, "Enter", 5)
    field.fill("33")
    press(page, "Enter", 6)
    slider.focus()
    page.keyboard.press("Home")
    page.keyboard.press("PageUp")
    assert field.input_value() == "10"
    press(page, "Enter", 7)
    press(page, "Backspace", 6)
    field.fill("101")
    page.keyboard.press("Enter")
    assert number(page) == 6
    assert given(server, "Ada") == [71, 100, 0, 50, 33]
    assert problems == []


def test_a_key_after_an_empty_answer_means_what_it_meant(stating, page):
    address, server = stating
    open_as(page, address, "Eve")
    ready(page)
    page.keyboard.press("4")
    press(page, "Enter", 2)
    page.keyboard.press("Enter")  # as after a key that came too soon
    told = "No number yet: press a key, move the slider, or type one."
    assert page.locator("#line").inner_text() == told
    page.get_by_role("button", name="Next").click()
    press(page, "Backspace", 1)
    page.keyboard.press("Enter")
    page.keyboard.press("7")
    assert page.locator("#line").inner_text() == ""
    press(page, "Enter", 2)
    assert given(server, "Eve") == [70]


def test_backspace_in_the_number_corrects_the_number(stating, page):
    address, server = stating
    open_as(page, address, "Bob")
    ready(page)
    page.keyboard.press("4")
    press(page, "Enter", 2)
    page.locator("#stating").fill("75")
    page.keyboard.press("Backspace")
    assert (number(page), page.locator("#stating").input_value()) == (2, "7")
    assert given(server, "Bob") == [40]


def test_without_script_a_number_is_typed(stating, chromium):
    address, server = stating
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    open_as(page, address, "Cleo")
    page.locator("#slider").wait_for(state="hidden")
    page.get_by_label("Of 100 such cases").fill("85")
    page.get_by_role("button", name="Next").click()
    assert page.locator("#count").inner_text() == "2 of 14"
    context.close()
    assert given(server, "Cleo") == [85]


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_the_screen_and_can_be_read(stating, chromium, width, height, scheme):
    address, _ = stating
    context = chromium.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, has_touch=width < 500
    )
    page = context.new_page()
    page.goto(address)
    contrasts = [page.evaluate(CONTRAST)]
    open_as(page, address, f"Dana {scheme} {width}")
    ready(page)
    contrasts.append(page.evaluate(CONTRAST))
    assert min(contrasts) >= 4.5
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(COVERED) <= 0.45
    for part in ("#slider", "#stating", "button.main"):
        assert page.locator(part).bounding_box()["height"] >= 44
    if width < 500:
        across, down = middle(page)
        page.touchscreen.tap(across, down)
        assert page.locator("#stating").input_value() == "50"
        page.touchscreen.tap(across - page.locator("#slider").bounding_box()["width"] / 4, down)
        assert 20 <= int(page.locator("#stating").input_value()) <= 30
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, a, input:not([type=hidden])")]
            .filter((e) => !(e.labels?.length || e.ariaLabel || e.textContent.trim())).length"""
    )
    assert unnamed == 0
    context.close()


def test_keys_in_the_hint_stay_apart_on_a_narrow_screen(stating, page):
    address, _ = stating
    page.set_viewport_size({"width": 390, "height": 844})
    open_as(page, address, "Finn")
    boxes = [one.bounding_box() for one in page.locator("#keys kbd").all()]
    assert len(boxes) == 5
    for above, below in pairwise(boxes):
        gap_across = below["x"] - above["x"] - above["width"]
        gap_down = below["y"] - above["y"] - above["height"]
        assert max(gap_across, gap_down) >= 2


def test_a_long_name_of_a_class_stays_on_a_narrow_screen(tmp_path, page):
    write_patients(tmp_path, classes=("no_" * 25, "ill"))
    server = Server(tmp_path, cases=12, out="said.json", more=ALONG)
    try:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(address := server.start())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        open_as(page, address, "Gus")
        ready(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    finally:
        server.kill()


def test_looked_up_answers_are_two_buttons(tmp_path, page):
    write_patients(tmp_path)
    looks = ("--kind", "looked-up", "--looks", "2,12")
    server = Server(tmp_path, cases=12, out="said.json", more=(*ALONG, *looks))
    try:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(address := server.start())
        assert "how likely" not in page.inner_text("main").lower()
        begin(page, address, "Ada")
        assert page.get_by_role("heading", name="What is it really?").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.locator("#slider").count() == 0
        press(page, "ArrowRight", 2)
        line = page.locator("#line")
        assert line.inner_text() == "1 of 12 cases; the first look is at 2."
        press(page, "ArrowLeft", 3)
        assert line.inner_text() == "2 of 12 cases: the first look is due."
        page.keyboard.press("s")  # there is no skipping
        page.keyboard.press("ArrowDown")
        assert number(page) == 3
        assert [verdict for _, _, verdict in server.answers()] == ["positive", "negative"]
    finally:
        server.kill()
