"""A session in a real browser: keys, undo, a killed server, two experts, strangers."""

import http.server
import threading

import pytest

from tests.browser.sessions import (
    begin,
    case,
    number,
    press,
    ready,
)
from tests.browser.test_elicit_page import WIDTHS

KEYS = ("ArrowLeft", "ArrowDown", "ArrowRight", "ArrowDown", "s")
VERDICTS = {
    "ArrowLeft": "negative",
    "ArrowDown": "toss-up",
    "ArrowRight": "positive",
    "s": "skip",
}


def answer(page, first, last):
    """Answer questions by keyboard; return the verdicts sent."""
    sent = []
    for question in range(first, last + 1):
        key = KEYS[question % len(KEYS)]
        press(page, key, question + 1)
        sent.append(VERDICTS[key])
    return sent


def test_thirty_cases_by_keyboard_with_a_crash_in_between(server, page):
    """Undo, reload, SIGKILL, go on, finish, and test what came out of it."""
    begin(page, server.start(), "Dr Ada")
    sent = answer(page, 1, 10)
    before = case(page)
    press(page, "ArrowDown", 12)
    press(page, "Backspace", 11)
    assert case(page) == before
    page.reload()
    ready(page)
    assert (number(page), case(page)) == (11, before)

    sent += answer(page, 11, 17)
    before = case(page)
    server.kill()
    assert [verdict for _, _, verdict in server.answers()] == sent

    page.goto(server.start())
    page.get_by_role("button", name="Dr Ada").click()
    ready(page)
    assert (number(page), case(page)) == (18, before)
    sent += answer(page, 18, 29)
    page.keyboard.press(KEYS[30 % len(KEYS)])
    page.get_by_role("heading", name="That was the last one. Thank you.").wait_for()
    page.wait_for_load_state()  # its style sheet too
    for width, height in WIDTHS.values():
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    sent.append(VERDICTS[KEYS[30 % len(KEYS)]])
    assert [verdict for _, _, verdict in server.answers()] == sent

    code, said = server.interrupt()
    assert (code, "toss-ups found." in said) == (0, True)
    result = server.run(
        "test", "patients.csv", "--label", "diagnosis", "--features", "age,dose",
        "--anchors", "anchors.parquet",
    )  # fmt: skip
    asked = {row for _, row, _ in server.answers()}
    assert len(asked) == 24
    assert result["n_anchors"] >= 8
    assert 0 <= result["pvalue"] <= 1


def test_two_experts_at_once(server, chromium):
    address = server.start()
    rooms = [chromium.new_context() for _ in range(2)]
    pages = [room.new_page() for room in rooms]
    for one, name in zip(pages, ("Ada", "Bob"), strict=True):
        begin(one, address, name)
    for question in range(1, 7):
        for one, key in zip(pages, ("ArrowDown", "ArrowRight"), strict=True):
            press(one, key, question + 1)
    for room in rooms:
        room.close()
    found = server.answers()
    said = {name: {v for expert, _, v in found if expert == name} for name in ("Ada", "Bob")}
    assert said == {"Ada": {"toss-up"}, "Bob": {"positive"}}
    assert len(found) == 12


def test_a_second_window_cannot_answer_otherwise_unnoticed(server, chromium):
    address, room = server.start(), chromium.new_context()
    first, second = room.new_page(), room.new_page()
    for one in (first, second):
        begin(one, address, "Ada")
    press(first, "ArrowDown", 2)
    second.keyboard.press("ArrowRight")
    second.get_by_role("heading", name="That did not work").wait_for()
    assert second.get_by_text("Your answer was NOT saved").is_visible()
    room.close()
    assert [verdict for _, _, verdict in server.answers()] == ["toss-up"]


def test_html_in_a_cell_is_shown_as_text_and_nothing_comes_from_elsewhere(server, page):
    problems, asked = [], []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    address = server.start()
    begin(page, address, "Ada")
    assert "<script>document.title='caught'</script>" in case(page)
    assert page.title() == "1 of 30"
    assert problems == []
    assert {url.startswith(address) for url in asked} == {True}


def test_a_picture_outside_the_folder_is_not_shown(server, page):
    begin(page, server.start(), "Ada")
    assert page.locator("img").count() == 0
    assert "picture not available" in case(page)
    assert "secret" not in page.content()


def test_holding_a_key_down_answers_once(server, page):
    begin(page, server.start(), "Ada")
    for _ in range(5):
        page.keyboard.down("ArrowDown")  # the first is a press, the others repeat it
    page.wait_for_function("() => document.title.startsWith('2 of')")
    ready(page)
    assert len(server.answers()) == 1


def test_without_script_the_buttons_still_answer(server, chromium):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(server.start())
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("button", name="Toss-up").click()
    assert page.locator("#count").inner_text() == "2 of 30"
    page.locator("#slider").wait_for(state="hidden")  # once the style sheet is there
    context.close()


@pytest.fixture
def stranger():
    """Return a function that serves a page from another origin."""
    pages = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(pages.get(self.path, "").encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()

        def serve(body):
            pages["/"] = body
            return f"http://127.0.0.1:{other.server_address[1]}/"

        yield serve
        other.shutdown()


FORM = """<form method=post action="{0}sit/Ada/answer">
<input name=number value=0><input name=case value=1>
<input name=verdict value=toss-up><button>send</button></form>"""


def test_another_sites_form_cannot_post_even_knowing_the_address(server, page, stranger):
    page.goto(stranger(FORM.format(server.start())))
    with page.expect_response(lambda reply: "/answer" in reply.url) as reply:
        page.click("button")
    assert reply.value.status == 403
    assert server.answers() == []


def test_another_sites_script_can_neither_post_nor_read(server, page, stranger):
    address = server.start()
    page.goto(stranger("hello"))
    tries = page.evaluate(
        """async (address) => {
            const body = new URLSearchParams({number: 0, case: 1, verdict: "skip"});
            const form = {method: "POST", body};
            const said = [];
            for (const [path, how] of [
                ["sit/Ada/answer", form],
                ["sit/Ada/answer", {...form, mode: "no-cors"}],
                ["sit/Ada", {}],
                ["sit/Ada", {mode: "no-cors"}],
            ]) {
                said.push(await fetch(address + path, how).then((r) => r.type, () => "refused"));
            }
            return said;
        }""",
        address,
    )
    # With no-cors a reply arrives that script may not look into; cross-origin policy bars that too.
    assert set(tries) == {"refused"}
    assert server.answers() == []


def test_a_wrong_token_gets_403_in_the_browser(server, page):
    address = server.start()
    wrong = address.replace(address.split("/")[3], "guess")
    assert page.goto(wrong).status == 403
