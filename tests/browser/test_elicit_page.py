"""The page itself in a real browser: the slider, and room to see the case on any screen."""

import pytest

from tests.browser.sessions import begin, number, press, write_patients


def test_the_slider_moves_by_keys_without_answering(server, page):
    begin(page, server.start(), "Ada")
    page.locator("#slider").focus()
    page.keyboard.press("ArrowRight")
    assert (number(page), page.locator("#put").inner_text()) == (1, "55 of 100")
    page.get_by_role("button", name="Toss-up").click()
    page.wait_for_function("() => document.title.startsWith('2 of')")
    assert len(server.answers()) == 1


def put_slider(page, share):
    """Put the slider with the mouse."""
    box = page.locator("#slider").bounding_box()
    page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)


@pytest.mark.parametrize("where", ["slider", "label"])
def test_after_the_mouse_put_the_slider_keys_answer(server, page, where):
    begin(page, server.start(), "Ada")
    put_slider(page, 0.6)
    put = page.locator("#chance").input_value()
    if where == "label":
        page.locator("label[for=slider]").click()
    press(page, "ArrowDown", 2)
    assert [verdict for _, _, verdict in server.answers()] == ["toss-up"]
    assert server.chances() == [int(put) / 100]


def test_keys_move_the_slider_again_for_who_comes_to_it_by_tab(server, page):
    begin(page, server.start(), "Ada")
    put_slider(page, 0.5)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert (number(page), page.locator("#put").inner_text()) == (1, "55 of 100")


def test_a_slider_can_be_unset(server, page):
    begin(page, server.start(), "Ada")
    assert not page.get_by_role("button", name="Unset").is_visible()
    put_slider(page, 0.6)
    page.get_by_role("button", name="Unset").click()
    assert page.locator("#put").inner_text() == "not set"
    press(page, "ArrowDown", 2)
    assert server.chances() == [None]


WIDTHS = {"desktop": (1280, 800), "phone": (390, 844)}
CONTRAST = """() => {
    const parse = (c) => c.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
        .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (e) => {
        for (; e; e = e.parentElement) {
            const c = parse(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] > 0) return c;
        }
        return [255, 255, 255];
    };
    const text = [...document.querySelectorAll("body *")]
        .filter((e) => !e.matches(":disabled, :disabled *"))
        .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()));
    return Math.min(...text.map((e) => {
        const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    }));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_the_screen_and_can_be_read(server, chromium, scheme):
    """No sideways scrolling, fingers hit the buttons, text stands out (WCAG AA, 4.5)."""
    address = server.start()
    for width, height in WIDTHS.values():
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        page = context.new_page()
        page.goto(address)
        start = page.evaluate(CONTRAST)
        begin(page, address, f"Ada {scheme} {width}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for button in page.locator(".verdicts button").all():
            assert button.bounding_box()["height"] >= 44
        assert min(start, page.evaluate(CONTRAST)) >= 4.5
        context.close()


LONG = (
    "adenocarcinoma of the lung with lymph node involvement, stage II",
    "adenocarcinoma of the lung with lymph node involvement, stage III",
)
COVERED = """() => {
    const panel = document.querySelector(".answers").getBoundingClientRect();
    const sticky = getComputedStyle(document.querySelector(".answers")).position === "sticky";
    return sticky ? panel.height / innerHeight : 0;
}"""


# Words on the buttons that stand on more than one line.
BROKEN = """() => {
    const broken = [];
    for (const text of document.querySelectorAll(".verdicts span, .verdicts b")) {
        for (const node of text.childNodes) {
            if (node.nodeType !== 3) continue;
            for (const word of node.textContent.matchAll(/[^\\s-]+/g)) {
                const range = document.createRange();
                range.setStart(node, word.index);
                range.setEnd(node, word.index + word[0].length);
                if (range.getClientRects().length > 1) broken.push(word[0]);
            }
        }
    }
    return broken;
}"""


@pytest.mark.parametrize("classes", [("healthy", "ill"), LONG], ids=["short", "long"])
def test_the_panel_leaves_room_for_the_case(server, chromium, classes):
    write_patients(server.folder, classes=classes)
    context = chromium.new_context(viewport={"width": 320, "height": 568}, has_touch=True)
    page = context.new_page()
    begin(page, server.start(), "Annabelle-Christina von und zu Hohenstein")
    for width, height in ((320, 568), (390, 844), (1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate(COVERED) <= 0.45
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(BROKEN) == []
    context.close()


def test_a_case_that_goes_on_below_the_panel_is_said_to(server, chromium):
    context = chromium.new_context(viewport={"width": 1000, "height": 560})
    page = context.new_page()
    write_patients(server.folder, note="word " * 400)
    begin(page, server.start(), "Ada")
    said = page.get_by_text("More of this case below")
    before = said.is_visible()
    page.mouse.wheel(0, 5000)
    said.wait_for(state="hidden")
    assert before
    context.close()


def test_everything_has_a_name_and_a_visible_focus(server, page):
    begin(page, server.start(), "Ada")
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, a, input:not([type=hidden])")]
            .filter((e) => !(e.labels?.length || e.textContent.trim())).length"""
    )
    assert unnamed == 0
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
