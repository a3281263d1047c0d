"""The page, asked directly: what it shows, keeps and refuses."""

import html
import re

import pytest
from tests.unit.elicit.asking import TOKEN, answer


def test_a_name_leads_to_a_page_of_its_own(send):
    assert send("start", expert="  Dr  Ada ").headers["location"] == f"/{TOKEN}/sit/Dr%20Ada"


def test_a_known_name_is_spelled_as_before(send):
    answer(send, 0, expert="Ada")
    assert send("start", expert="ADA").headers["location"] == f"/{TOKEN}/sit/Ada"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "Please enter your name: at least one letter or number."),
        ("..", "Please enter your name: at least one letter or number."),
        ("a" * 61, "Please enter a name of at most 60 characters."),
        ("=cmd()", "Please enter your name without special characters."),
        ("a/b", "Please enter your name without special characters."),
        ("a\x07", "Please enter your name without special characters."),
    ],
)
def test_what_is_no_name_is_refused(send, name, text):
    reply = send("start", expert=name)
    assert (reply.status_code, text in reply.text) == (400, True)


def test_a_case_is_shown_without_its_label(at, session):
    page = at("sit/Ada").text
    assert "age" in page
    assert "diagnosis" not in page


def test_nothing_a_model_says_of_a_case_is_on_the_page(at, session):
    """Only the shown cells, the class names and the counters carry what differs by case."""
    page = at("sit/Ada").text
    numbers = set(re.findall(r"0\.\d{2,}", page))
    case = session.question("Ada", []).case
    shown = {cell.text for cell in session.showing.cells(session.table, case)}
    assert all(any(number in text for text in shown) for number in numbers)


def test_html_in_a_cell_is_shown_as_text(at):
    page = at("sit/Ada").text
    assert "<script>alert" not in page
    assert html.escape("<b>bold</b> & <script>alert(1)</script>") in page


def test_html_in_a_name_is_shown_as_text(send, at):
    answer(send, 0, expert="%3Cb%3EAda")
    assert "&lt;b&gt;Ada" in at().text


def test_there_is_no_inline_script_or_style(at, send):
    for page in (at().text, at("sit/Ada").text, at("sit/Ada/rest").text):
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)


def test_an_answer_is_kept_with_its_slider(send, session):
    assert answer(send, 0, chance="55").status_code == 303
    (kept,) = session.store.answers()
    assert (kept.expert, kept.verdict, kept.chance) == ("Ada", "toss-up", 0.55)


def test_an_untouched_slider_says_nothing(send, session):
    answer(send, 0, chance="")
    assert session.store.answers()[0].chance is None


def test_an_answer_sent_twice_is_kept_once(send, session):
    answer(send, 0)
    answer(send, 0)
    assert len(session.store.answers()) == 1


@pytest.mark.parametrize("changed", [{"verdict": "positive"}, {"chance": "45"}, {"chance": ""}])
def test_another_answer_to_the_same_case_is_not_passed_over(send, session, changed):
    """Given in a second window, or after the back button."""
    answer(send, 0, chance="55")
    reply = answer(send, 0, **{"chance": "55", **changed})
    assert (reply.status_code, "Your answer was NOT saved" in reply.text) == (409, True)
    (kept,) = session.store.answers()
    assert (kept.verdict, kept.chance) == ("toss-up", 0.55)


def test_the_same_answer_to_the_same_case_is_acknowledged_again(send):
    replies = [answer(send, 0, chance="55") for _ in range(2)]
    assert [reply.status_code for reply in replies] == [303, 303]


def test_undo_brings_the_case_back(send, at, session):
    first = session.question("Ada", []).case
    answer(send, 0)
    send("sit/Ada/undo", number=1)
    assert session.question("Ada", session.store.answers("Ada")).case == first


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"verdict": "maybe"}, 400),
        ({"number": "x"}, 400),
        ({"number": ""}, 400),
        ({"number": "9" * 5000}, 413),
        ({"case": ""}, 400),
        ({"case": "9" * 4000}, 400),
        ({"chance": "101"}, 400),
        ({"chance": "-1"}, 400),
        ({"chance": "9" * 4000}, 400),
        ({f"field{number}": "x" for number in range(50)}, 400),
        ({"x": "y" * 5000}, 413),
    ],
)
def test_what_the_page_cannot_have_sent_is_refused(send, session, form, status):
    assert answer(send, **{"number": 0, "verdict": "skip", **form}).status_code == status
    assert session.store.answers() == []


def test_an_answer_to_another_case_than_the_open_one_is_refused(send, session):
    """Undone and answered in another window, the same number is another case."""
    for number in range(3):
        answer(send, number)
    other = next(case for case in session.plan.cases if case != session.store.answers()[2].case)
    for number in (2, 3, 9):
        reply = send("sit/Ada/answer", number=number, case=other, verdict="positive")
        assert reply.status_code == 409
        assert "Your answer was NOT saved: answers were given or taken back" in reply.text
    assert len(session.store.answers()) == 3


def test_an_answer_that_cannot_be_kept_is_said_to_be_lost(send, session):
    session.store.path.unlink()
    reply = answer(send, 0)
    assert reply.status_code == 503
    assert "What you sent was NOT saved." in reply.text
    assert "cannot be written: it was moved or removed. Go back and try again;" in reply.text


def test_answers_that_cannot_be_read_are_no_loss(at, session):
    session.store.path.write_bytes(b"x" * 20_000)
    reply = at("sit/Ada")
    assert (reply.status_code, "NOT saved" in reply.text) == (503, False)


def test_undo_of_nothing_in_particular_is_refused(send):
    assert send("sit/Ada/undo").status_code == 400


def test_the_end_names_the_files_and_what_to_run(send, at, session):
    for number in range(session.plan.queue().n_questions):
        answer(send, number)
    page = html.unescape(at("sit/Ada").text)
    assert "That was the last one. Thank you." in page
    assert str(session.outputs.anchors) in page
    assert session.test_command in page
    assert session.outputs.anchors.exists()


def test_an_end_without_toss_ups_says_so(send, at, session):
    for number in range(session.plan.queue().n_questions):
        answer(send, number, "positive")
    assert "Without a toss-up there are no anchors to write yet." in at("sit/Ada").text


def test_stopping_early_says_that_all_is_saved_and_not_that_cases_come_back(send, at, session):
    for number in range(20):
        answer(send, number)
    page = at("sit/Ada/rest").text
    assert "Everything is saved." in page
    assert "came back" not in page
    assert session.outputs.anchors.exists()


def test_the_running_line_is_never_waited_for(send, at, session):
    """Three toss-ups make it work out what they can show; the reply comes before it does."""
    for number in range(3):
        answer(send, number)
    assert at("sit/Ada/preview").json() == {
        "line": "3 toss-ups found so far. What they can show appears here after a few more.",
        "working": True,
    }


def test_an_expert_is_not_told_what_others_found(send, at):
    for number in range(2):
        answer(send, number)
    answer(send, 0, expert="Bob")
    assert "1 toss-up found so far." in at("sit/Bob").text
    assert "No toss-up found yet." in at("sit/Cleo").text
    assert "you have given 1 answer and named 1 toss-up." in at("sit/Bob/rest").text


def test_the_name_of_a_picture_is_not_on_the_page(at):
    page = at("sit/Ada").text
    assert 'alt="scan"' in page
    assert "scan.png" not in page


def test_a_picture_is_served_by_its_cell(at, session):
    case = session.plan.cases[0]
    reply = at(f"picture/{case}/3")
    assert (reply.status_code, reply.headers["content-type"]) == (200, "image/png")


@pytest.mark.parametrize(
    "place", ["{other}/3", "{case}/0", "{case}/9", "{case}/../3", "{case}/-1", "9" * 5000 + "/3"]
)
def test_no_other_address_gives_a_picture(at, session, place):
    case = session.plan.cases[0]
    other = next(row for row in range(600) if row not in session.plan.cases)
    assert at("picture/" + place.format(case=case, other=other)).status_code == 404


@pytest.mark.parametrize("path", ["static/../app.py", "static/%2e%2e/app.py", "static/app.py", "x"])
def test_nothing_else_is_served(at, path):
    assert at(path).status_code == 404
