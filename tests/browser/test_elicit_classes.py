"""Three classes and more in a real browser: classes with their chances, or the true class."""

import json
import subprocess

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from tests.browser.sessions import Server, begin, number, press, ready
from tests.browser.test_elicit_page import CONTRAST, COVERED

NAMES = np.array(["angina", "bronchitis", "cold", "flu", "pneumonia"])


def write_patients(folder, n_classes):
    """Write rows of several classes, and a file with the probability of each class."""
    rng = np.random.default_rng(8)
    chances = rng.dirichlet([0.3] * n_classes, size=900)
    true = (rng.random(900)[:, None] > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
    patients = {
        "age": rng.integers(20, 90, 900),
        "dose": rng.random(900).round(2),
        "note": ["<b>coughs at night</b>"] * 900,
        "scan": ["none"] * 900,
        "diagnosis": NAMES[true],
    }
    csv.write_csv(pa.table(patients), folder / "patients.csv")
    names = NAMES[:n_classes]
    csv.write_csv(
        pa.table({name: chances[:, place] for place, name in enumerate(names)}), folder / "p.csv"
    )


def serving(folder, n_classes, *more, **settings):
    write_patients(folder, n_classes)
    return Server(folder, out="said.json", more=("--scores", "p.csv", *more), **settings)


@pytest.fixture(scope="module")
def stating(tmp_path_factory):
    """Return the address of a page that asks for chances of five classes, and its server."""
    one = serving(tmp_path_factory.mktemp("classes"), 5, cases=30, repeats=2)
    yield one.start(), one
    one.kill()


def open_as(page, address, expert):
    """Choose to state chances where that is still asked, and begin."""
    page.goto(address)
    choice = page.get_by_role("radio", name="I judge.")
    if choice.count():
        choice.check()
    page.get_by_label("Your name").fill(expert)
    page.get_by_role("button", name="Begin").click()
    page.locator("#chance_0").wait_for()
    ready(page)


def given(server, expert):
    """Return the chances that an expert has stated, as they are kept."""
    return [verdict for name, _, verdict in server.answers() if name == expert]


def test_classes_and_chances_by_keys_alone(stating, page):
    address, server = stating
    problems = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    open_as(page, address, "Ada")
    page.keyboard.press("Enter")  # nothing is an answer yet
    assert (number(page), given(server, "Ada")) == (1, [])
    page.locator("h1").focus()
    page.keyboard.press("Tab")
    page.keyboard.type("bron")
    page.keyboard.press("Tab")
    page.keyboard.type("70")
    assert "30 left, shared evenly among 4 other classes" in page.inner_text("#left")
    page.keyboard.press("Tab")
    page.keyboard.type("flu")
    page.keyboard.press("Tab")
    page.keyboard.type("155")
    page.keyboard.press("Backspace")  # corrects the number, and takes no answer back
    assert "15 left, shared evenly among 3 other classes" in page.inner_text("#left")
    press(page, "Enter", 2)
    assert given(server, "Ada") == ["5,70,5,15,5"]
    assert page.locator("#chance_0").input_value() == ""
    page.locator("select").first.select_option("cold")
    page.locator("#chance_0").fill("100")
    press(page, "Enter", 3)
    page.locator("h1").click()
    press(page, "Backspace", 2)
    assert given(server, "Ada") == ["5,70,5,15,5"]
    assert problems == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ([("cold", "80"), ("flu", "30")], "110 in all: more than 100"),
        ([("cold", "80"), ("cold", "10")], "A class is named twice."),
        ([("", "80")], "Choose the class of each number."),
    ],
)
def test_chances_that_cannot_be_are_not_sent(stating, page, said, told):
    address, server = stating
    open_as(page, address, "Bob")
    for place, (name, chance) in enumerate(said):
        if name:
            page.locator("select").nth(place).select_option(name)
        page.locator(f"#chance_{place}").fill(chance)
    page.keyboard.press("Enter")
    assert told in page.inner_text("#left")
    assert (number(page), given(server, "Bob")) == (1, [])


def test_without_script_a_class_is_chosen_and_a_wrong_answer_is_told(stating, chromium):
    address, server = stating
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    page.get_by_label("Your name").fill("Cleo")
    page.get_by_role("button", name="Begin").click()
    page.locator("#chance_0").fill("60")
    page.get_by_role("button", name="Next").click()
    assert "Please choose another class for each number." in page.inner_text("main")
    page.go_back()
    page.locator("select").first.select_option("angina")
    page.locator("#chance_0").fill("60")
    page.get_by_role("button", name="Next").click()
    assert page.locator("#count").inner_text() == "2 of 32"
    context.close()
    assert given(server, "Cleo") == ["60,10,10,10,10"]


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
    contrasts.append(page.evaluate(CONTRAST))
    assert min(contrasts) >= 4.5
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(COVERED) <= 0.45
    for part in ("select >> nth=0", "#chance_0", "button.main"):
        assert page.locator(part).bounding_box()["height"] >= 44
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, a, select, input:not([type=hidden])")]
            .filter((e) => !(e.labels?.length || e.ariaLabel || e.textContent.trim())).length"""
    )
    assert unnamed == 0
    context.close()


def test_three_classes_are_three_numbers_and_a_session_goes_on(tmp_path, page):
    server = serving(tmp_path, 3, "--kind", "probability", cases=18, repeats=0)
    address = server.start()
    try:
        begin(page, address, "Ada")
        rng = np.random.default_rng(1)
        for place in range(18):
            if place == 9:  # killed in the middle, and started again
                server.kill()
                begin(page, server.start(), "Ada")
            assert number(page) == place + 1
            first = int(rng.integers(10, 60))
            page.locator("#chance_0").fill(str(first))
            page.locator("#chance_1").fill("30")
            if place < 17:
                press(page, "Enter", place + 2)
            else:
                page.keyboard.press("Enter")
        page.get_by_role("heading", name="That was the last one.").wait_for()
        record = json.loads((tmp_path / "said.json").read_text(encoding="utf-8"))
        assert record["classes"] == NAMES[:3].tolist()
        answers = np.array(record["answers"]["Ada"])
        assert answers.shape == (18, 3)
        np.testing.assert_allclose(answers.sum(axis=1), 1)
    finally:
        server.kill()
    line = ["line", "patients.csv", "--label", "diagnosis", "--scores", "p.csv"]
    result = server.run(*line, "--answers", "said.json")
    assert result["n_cases"] == 18
    assert len(result["pairs"]) == 3


def test_a_class_that_is_looked_up_is_one_key(tmp_path, page):
    server = serving(tmp_path, 5, "--kind", "looked-up", cases=60)
    address = server.start()
    try:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(address)
        assert "how likely" not in page.inner_text("main").lower()
        begin(page, address, "Ada")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        press(page, "4", 2)
        page.get_by_role("button", name="cold").click()
        page.wait_for_function("() => document.getElementById('count')?.innerText.startsWith('3')")
        ready(page)
        assert given(server, "Ada") == ["0,0,0,100,0", "0,0,100,0,0"]
        press(page, "Backspace", 2)
        assert given(server, "Ada") == ["0,0,0,100,0"]
    finally:
        server.kill()
    refused = subprocess.run(
        [*server.arguments[:-1], "probability"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert "has cases drawn for answers that are looked up" in " ".join(refused.stderr.split())
