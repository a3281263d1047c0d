"""A session along a score: what is asked, kept, exported and refused."""

import html
import json
import re
import stat

import numpy as np
import pytest
from tests.unit.elicit.asking import HERE, TOKEN, Client

import evenodds as eo
from evenodds.elicit.answers import Verdict
from evenodds.elicit.judging import Scored, open_judging, prospect_line
from evenodds.elicit.session import open_session
from evenodds.inference.cases.judged import JudgedCases


@pytest.fixture(scope="module")
def scored(patients):
    X = np.column_stack([patients["age"].to_numpy(), patients["dose"].to_numpy()])
    scores = eo.out_of_fold_scores(X, patients["diagnosis"].to_numpy())
    return Scored(scores=scores, name="s.parquet")


@pytest.fixture
def opened(patients, wishes, scored, folder):
    """Return a function that opens a session along a score, or goes on with it."""
    stores = []

    def start(kind=None, *, along=scored, **changed):
        wished = wishes(**{"out": folder / "said.json", "n_repeats": 4, **changed})
        session = open_judging(patients, wished, along, kind)
        stores.append(session.store)
        return session

    yield start
    for store in stores:
        store.close()


@pytest.fixture
def visit(opened):
    """Return a session, and a function that asks its page: a form is sent, no form is read."""

    def begin(kind=None, **changed):
        session = opened(kind, **changed)
        client = Client(session, origin=HERE)

        def ask(path, **form):
            method = "POST" if form else "GET"
            return client.ask(method, f"/{TOKEN}/{path}", data=form or None)

        return session, ask

    return begin


def say(session, values, expert="Ada"):
    """Answer an expert's next questions."""
    for value in values:
        question = session.question(expert, session.store.answers(expert))
        looked_up = session.plan.kind == "looked-up"
        verdict = ("negative", "positive")[value] if looked_up else "stated"
        assert session.answer(
            expert,
            number=question.number,
            case=question.case,
            verdict=Verdict(verdict),
            chance=None if looked_up else value,
        )


def test_the_first_page_asks_once_how_answers_are_given(visit):
    session, ask = visit()
    assert ask("").text.count('type="radio"') == 2
    assert "There are about 28 questions." in ask("").text
    reply = ask("start", expert="Ada")
    assert (reply.status_code, "Please choose how you will answer." in reply.text) == (400, True)
    assert ask("sit/Ada").status_code == 400
    assert ask("start", expert="Ada", kind="probability").status_code == 303
    say(session, [0.3])
    assert 'type="radio"' not in ask("").text
    assert ask("start", expert="Bob").status_code == 303


def test_a_choice_may_be_changed_until_somebody_has_answered(visit):
    session, ask = visit()
    ask("start", expert="Ada", kind="probability")
    ask("start", expert="Ada", kind="looked-up")
    assert session.plan.kind == "looked-up"
    say(session, [1])
    reply = ask("start", expert="Bob", kind="probability")
    assert (reply.status_code, session.plan.kind) == (400, "looked-up")
    assert ask("start", expert="Bob", kind="guess").status_code == 400


def test_a_kind_that_was_set_beforehand_is_not_asked_for(visit):
    session, ask = visit("looked-up")
    assert 'type="radio"' not in ask("").text
    assert "There are 24 questions." in ask("").text
    told = re.search(r"differed by (\d+) in 100", " ".join(ask("").text.split()))
    plan = eo.line_plan(
        session.scored.scores,
        session.table["diagnosis"].to_numpy(),
        n_cases=24,
        power=0.8,
        answers="looked-up",
    )
    assert int(told.group(1)) == round(100 * abs(plan.noise.asymmetry))
    assert ask("start", expert="Ada", kind="probability").status_code == 400
    assert session.plan.kind == "looked-up"


@pytest.mark.parametrize("kind", [None, "probability", "looked-up"])
def test_sentences_of_the_first_page_stand_apart(visit, kind):
    """The newline after the end of a condition is not part of the page."""
    _, ask = visit(kind)
    told = html.unescape(re.sub(r"<[^>]*>", "", ask("").text))
    assert re.findall(r"\w+[.;:,?][A-Za-z]\w*", told) == []


def test_whoever_prepares_is_told_what_could_be_found(opened):
    (said,) = opened().prospects()
    assert re.fullmatch(
        r"24 cases would probably reveal no difference with stated probabilities and a difference "
        r"of \d+ in 100 or more with looked-up truth, if the better class is flipped in 5% "
        r"\(power 0.8\).",
        said,
    )
    assert "reveal no difference with looked-up truth, if" in prospect_line(12, {"looked-up": None})


def test_the_slider_has_no_resting_answer(visit):
    _, ask = visit("probability")
    page = ask("sit/Ada").text
    assert "How likely is this case to be truly ill?" in page
    (field,) = re.findall(r'<input id="stating"[^>]*>', page)
    assert " value=" not in field
    assert "required" in field
    (slider,) = re.findall(r'<input id="slider"[^>]*>', page)
    assert 'aria-valuetext="not set"' in slider
    assert "name=" not in slider


def test_a_case_is_shown_without_label_score_or_script(visit, scored):
    session, ask = visit("probability")
    page = ask("sit/Ada").text
    case = session.question("Ada", []).case
    assert "diagnosis" not in page
    assert f"{scored.scores[case]:.2f}"[1:] not in page
    assert html.escape("<script>alert(1)</script>") in page
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page + ask("").text)


def post(session, ask, expert="Ada", **form):
    question = session.question(expert, session.store.answers(expert))
    return ask(f"sit/{expert}/answer", number=question.number, case=question.case, **form)


def test_a_stated_number_is_kept_and_can_be_taken_back(visit):
    session, ask = visit("probability")
    first = session.question("Ada", []).case
    assert post(session, ask, verdict="stated", chance="0").status_code == 303
    assert post(session, ask, verdict="stated", chance="100").status_code == 303
    assert [answer.chance for answer in session.store.answers()] == [0.0, 1.0]
    ask("sit/Ada/undo", number=2)
    ask("sit/Ada/undo", number=1)
    assert session.question("Ada", session.store.answers("Ada")).case == first


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("probability", {"verdict": "stated"}),
        ("probability", {"verdict": "stated", "chance": ""}),
        ("probability", {"verdict": "stated", "chance": "101"}),
        ("probability", {"verdict": "stated", "chance": "7.5"}),
        ("probability", {"verdict": "skip"}),
        ("probability", {"verdict": "positive"}),
        ("probability", {"verdict": "toss-up", "chance": "50"}),
        ("looked-up", {"verdict": "stated", "chance": "50"}),
        ("looked-up", {"verdict": "positive", "chance": "50"}),
        ("looked-up", {"verdict": "skip"}),
    ],
)
def test_what_is_no_answer_is_refused(visit, kind, form):
    session, ask = visit(kind)
    reply = post(session, ask, **form)
    assert reply.status_code == 400
    assert ("a whole number from 0 to 100" in reply.text) == (form.get("chance") in ("101", "7.5"))
    assert session.store.answers() == []


def test_a_number_is_no_answer_where_toss_ups_are_sought(session):
    assert session.refusal("stated", 0.5) is not None
    assert session.refusal("toss-up", None) is None


def test_everybody_gets_the_cases_in_the_order_of_the_draw(opened):
    session = opened("probability")
    for expert in ("Ada", "Bob"):
        say(session, np.linspace(0, 1, 28), expert)
        firsts = [one.case for one in session.store.answers(expert) if one.occasion == 1]
        assert firsts == session.along.draw["rows"]
        assert session.question(expert, session.store.answers(expert)) is None


def test_repeats_are_exported_apart_and_never_counted(opened, folder):
    session = opened("probability")
    say(session, np.linspace(0.02, 0.97, 28))
    (path,) = session.export()
    found = JudgedCases.read(path)
    given = session.store.answers()
    again = [one for one in given if one.occasion == 2]
    assert len(found.repeats) == len(again) == 4
    assert [one.stated for one in found.repeats] == [one.chance for one in again]
    firsts = [one.chance for one in given if one.occasion == 1]
    assert found.stated[:, 0].tolist() == firsts
    assert any("Shown twice: 4 cases. The two" in line for line in session.closing().lines)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_looked_up_does_not_come_back(opened):
    session = opened("looked-up")
    say(session, [0, 1] * 12)
    assert session.question("Ada", session.store.answers("Ada")) is None
    assert session.judged().stated[:3, 0].tolist() == [0.0, 1.0, 0.0]


LOOKS = (12, 20, 24)


def test_the_page_tells_of_the_next_look_and_never_of_a_verdict(visit):
    session, ask = visit("looked-up", looks=LOOKS, n_cases=None)
    assert "0 of 24 cases; the first look is at 12." in ask("sit/Ada").text
    say(session, [0, 1] * 5)
    assert "10 of 24 cases; the first look is at 12." in ask("sit/Ada").text
    assert "evenodds line" not in ask("sit/Ada/rest").text
    assert session.closing().missing == "No look is due yet, so there is nothing to test."
    say(session, [0, 1])
    assert "12 of 24 cases: the first look is due." in ask("sit/Ada").text
    resting = ask("sit/Ada/rest").text
    assert "evenodds line" in resting
    assert not re.search("flipped|rejected|p-value|asymmetry", resting)
    say(session, [0])
    assert "13 of 24 cases; the second look is at 20." in ask("sit/Ada").text
    assert "evenodds line" not in ask("sit/Ada/rest").text
    say(session, [0, 1] * 5)
    assert "23 of 24 cases; the last look is at 24." in ask("sit/Ada").text


def test_planned_looks_are_kept_with_the_answers(opened):
    session = opened("looked-up", looks=LOOKS)
    say(session, [0, 1])
    assert JudgedCases.read(session.export()[0]).looks == LOOKS
    session.store.close()
    again = opened()
    assert again.along.looks == LOOKS
    say(again, [1] * 12, "Bob")
    assert again.closing().lines[-1] == "2 of 24 cases; the first look is at 12."


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        (None, {"looks": (12, 24)}, "--looks is for looked-up answers of two classes"),
        ("probability", {"looks": (12, 24)}, "say --kind looked-up, without --weight and --group."),
        ("looked-up", {"looks": (12, 30)}, "--looks ends at 30 but --cases is 24: give the same."),
        ("looked-up", {"looks": (24,)}, "looks holds 24 but needs 2 to 5 rising numbers"),
    ],
)
def test_looks_that_cannot_be_planned_are_refused(opened, refused, kind, changed, message):
    with refused(message):
        opened(kind, **changed)


def test_looks_cannot_be_planned_once_a_session_has_begun(opened, refused):
    opened("looked-up").store.close()
    with refused("was started with other looks (none): they are planned before the first"):
        opened("looked-up", looks=(12, 24))


def test_an_export_tells_of_the_draw_and_of_who_stopped_early(opened, scored, patients):
    session = opened("probability")
    say(session, [0.2] * 9)
    say(session, [0.7] * 5, "Bob")
    record = json.loads(session.export()[0].read_text())
    draw = eo.choose_cases(scored.scores, n_cases=24)
    assert record["cases"] == draw.to_dict()
    assert (record["kind"], record["positive"], record["label"]) == (
        "probability",
        "ill",
        "diagnosis",
    )
    counts = {name: sum(v is not None for v in said) for name, said in record["answers"].items()}
    assert counts == {"Ada": 9, "Bob": 5}
    assert session.closing().found == "9 cases judged."


def test_nothing_is_written_before_the_first_answer(visit):
    session, ask = visit("probability")
    assert session.export() == []
    assert session.closing().missing == "Without an answer there is nothing to test."
    assert "you have given 0 answers and judged 0 of 24 cases." in ask("sit/Ada/rest").text


def test_whoever_rounds_everything_is_asked_for_more(opened):
    session = opened("probability")
    say(session, [0.0, 0.5, 1.0, 1.0, 0.0, 0.5, 1.0])
    assert session.running_line("Ada") == ("", False)
    say(session, [0.0])
    assert session.running_line("Ada")[0].startswith("So far every answer has been 0, 50 or 100.")
    say(session, [0.2])
    assert session.running_line("Ada") == ("", False)


def test_the_last_page_says_what_to_run(visit, folder):
    session, ask = visit("looked-up")
    say(session, [0, 1] * 12)
    page = html.unescape(ask("sit/Ada").text)
    assert "That was the last one. Thank you." in page
    assert (
        f"evenodds line {folder}/patients.csv --label diagnosis --scores s.parquet --answers "
        f"{folder}/said.json" in page
    )


def test_a_session_goes_on_without_naming_its_scores(opened):
    say(opened("probability"), [0.1, 0.2])
    again = opened(along=None)
    assert (again.plan.kind, len(again.store.answers())) == ("probability", 2)


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        (None, {"along": "reversed"}, "these are not the scores that the cases were drawn from"),
        (None, {"along": "weighted"}, "was started with --weight None, not dose"),
        ("looked-up", {}, "holds answers of the kind 'probability', not 'looked-up'"),
        (None, {"n_cases": 30}, "was started with --cases 24, not 30"),
        (None, {"show": ("age",)}, "was started with --show"),
        (None, {"positive": "healthy"}, "was started with --positive ill, not healthy"),
    ],
)
def test_a_session_goes_on_only_as_it_was_started(opened, scored, refused, kind, changed, message):
    say(opened("probability"), [0.1])
    others = {
        "reversed": Scored(scores=scored.scores[::-1], name="s.parquet"),
        "weighted": Scored(scores=scored.scores, name="s.parquet", weight="dose"),
    }
    if "along" in changed:
        changed = {"along": others[changed["along"]]}
    with refused(message):
        opened(kind, **changed)


def test_the_two_kinds_of_session_are_not_mixed_up(opened, wishes, patients, folder, refused):
    opened("probability").store.close()
    (folder / "said.db").rename(folder / "said_answers.db")
    with refused("holds answers of another kind of session: name another --out."):
        open_session(patients, wishes(out=folder / "said.csv"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"along": None}, "is for cases along a score: give --scores COL or FILE, or --score"),
        ({"n_cases": 5}, "--cases is 5 but must be a whole number of at least 12."),
        ({"n_cases": 400}, "scores has 600 rows but 400 cases need at least 800"),
        ({"show": ("diagnosis",)}, "--show names 'diagnosis', the label"),
        ({"show": ("agee",)}, "has no column 'agee'; did you mean 'age'?"),
        ({"label": "diagnose"}, "has no column 'diagnose'; did you mean 'diagnosis' or"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_kept(
    opened, folder, refused, changed, message
):
    with refused(message):
        opened(**changed)
    assert not (folder / "said.db").exists()


def test_all_columns_but_the_hidden_are_shown_unless_named(opened):
    assert opened(show=None).plan.shown == ("age", "dose", "note", "scan")
