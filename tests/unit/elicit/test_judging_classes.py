"""A session about three classes and more: what is asked, kept, exported and refused."""

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.elicit.asking import HERE, TOKEN, Client

import evenodds as eo
from evenodds.elicit.answers import read_verdict
from evenodds.elicit.judging import Scored, open_judging
from evenodds.inference.cases.judged import JudgedCases

NAMES = ("cat", "dog", "fox", "owl")


@pytest.fixture(scope="module")
def animals():
    rng = np.random.default_rng(3)
    chances = rng.dirichlet([0.3] * 4, size=800)
    true = (rng.random(800)[:, None] > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
    table = pa.table({"size": rng.random(800).round(2), "kind": np.array(NAMES)[true]})
    return table, Scored(scores=chances, name="p.csv")


@pytest.fixture
def visit(animals, wishes, folder):
    """Return a function that opens a session, and one that sends a form to its page."""
    stores = []

    def begin(kind=None, *, table=None, along=animals[1], **changed):
        made = {"out": folder / "said.json", "label": "kind", "features": None, "show": None}
        wished = wishes(**{**made, "n_cases": 40, "n_repeats": 2, **changed})
        session = open_judging(table or animals[0], wished, along, kind)
        stores.append(session.store)
        client = Client(session, origin=HERE)

        def answer(**form):
            if session.plan.kind is None:
                return client.ask("POST", f"/{TOKEN}/start", data={"expert": "Ada", **form})
            question = session.question("Ada", session.store.answers("Ada"))
            form |= {"number": question.number, "case": question.case}
            return client.ask("POST", f"/{TOKEN}/sit/Ada/answer", data=form)

        return session, answer

    yield begin
    for store in stores:
        store.close()


def kept(session):
    return [answer.verdict for answer in session.store.answers()]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"class_0": "1", "chance_0": "100"}, "0,100,0,0"),
        ({"class_0": "1", "chance_0": "70"}, "10,70,10,10"),
        ({"class_0": "1", "chance_0": "70", "class_1": "3", "chance_1": "20"}, "5,70,5,20"),
        ({"class_2": "3", "chance_2": "0"}, "33.3333,33.3333,33.3333,0"),
        ({"class_0": "1", "class_1": "2", "chance_1": "100"}, "0,0,100,0"),
    ],
)
def test_what_is_left_of_100_is_shared_among_the_others(visit, form, expected):
    session, answer = visit("probability")
    assert answer(**form).status_code == 303
    assert kept(session) == [expected]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"class_0": "1"}, "at least one class"),
        ({"chance_0": "70"}, "another class for each number"),
        ({"class_0": "4", "chance_0": "70"}, "another class for each number"),
        (
            {"class_0": "1", "chance_0": "7", "class_1": "1", "chance_1": "7"},
            "another class for each number",
        ),
        (
            {"class_0": "1", "chance_0": "70", "class_1": "2", "chance_1": "40"},
            "numbers that add up to 100",
        ),
        ({"class_0": "1", "chance_0": "101"}, "whole numbers from 0 to 100"),
        ({"class_0": "1", "chance_0": "7.5"}, "whole numbers from 0 to 100"),
        ({"verdict": "25,25,25,25"}, "at least one class"),
        ({"class_0": "1", "chance_0": "70", "chance": "50"}, "not an answer the page could"),
    ],
)
def test_what_is_no_answer_is_refused(visit, form, message):
    session, answer = visit("probability")
    said = answer(**form)
    assert said.status_code == 400
    assert message in said.text
    assert kept(session) == []


def test_a_looked_up_class_is_one_of_the_classes(visit):
    session, answer = visit("looked-up")
    assert answer(verdict="4").status_code == 400
    assert answer(verdict="positive").status_code == 400
    assert answer(verdict="2").status_code == 303
    assert kept(session) == ["0,0,100,0"]
    judged = session.judged()
    assert judged.kind == "looked-up"
    assert judged.cases.given_hash is not None


def test_the_kind_is_asked_once_and_kept(visit):
    session, answer = visit()
    assert answer().status_code == 400
    assert answer(kind="probability").status_code == 303
    assert session.plan.kind == "probability"
    assert session.plan.classes == NAMES


def _say_all(session, chances):
    for _ in range(42):
        question = session.question("Ada", session.store.answers("Ada"))
        said = ",".join(f"{100 * chance:g}" for chance in chances[question.case])
        assert session.answer(
            "Ada",
            number=question.number,
            case=question.case,
            verdict=read_verdict(said),
            chance=None,
        )


def test_answers_are_exported_and_read_back(visit, animals):
    session, _ = visit("probability")
    chances = animals[1].scores
    _say_all(session, chances)
    found = JudgedCases.read(session.export()[0])
    assert found.about.classes == NAMES
    assert (found.about.negative, found.about.positive) == ("", "")
    assert found.stated.shape == (40, 4, 1)
    np.testing.assert_allclose(found.stated[:, :, 0], chances[found.cases.rows], atol=1e-5)
    assert len(found.repeats) == 2
    assert found.repeat_difference == pytest.approx(0, abs=1e-5)
    given = animals[0]["kind"].to_numpy()
    result = eo.line_test(chances, given, found.cases, found.stated, answers=found.kind)
    assert result.n_cases == 40
    assert session.closing().found == "40 cases judged."


def test_whoever_is_always_sure_is_asked_for_more(visit):
    session, answer = visit("probability")
    for _ in range(8):
        assert session.running_line("Ada") == ("", False)
        answer(class_0="1", chance_0="100")
    assert "100 for one class" in session.running_line("Ada")[0]


def test_a_session_goes_on_without_its_scores_and_only_as_it_was_started(visit, animals, refused):
    session, answer = visit("probability")
    answer(class_0="1", chance_0="100")
    again, _ = visit(along=None)
    assert kept(again) == kept(session)
    table = animals[0]
    labels = np.where(table["kind"].to_numpy() == "owl", "elk", table["kind"].to_numpy())
    other = table.set_column(1, "kind", pa.array(labels))
    with refused("holds answers about 'cat', 'dog', 'fox' and 'owl' but the labels now are"):
        visit(table=other)
    with refused("--looks is for looked-up answers of two classes"):
        visit("looked-up", looks=(20, 40), out=session.outputs.answers.with_name("two.json"))


def test_cases_drawn_for_what_is_looked_up_are_not_judged(visit, refused):
    visit("looked-up")
    with refused("has cases drawn for answers that are looked up"):
        visit("probability")


def test_the_usual_number_of_cases_is_forty_a_class(visit):
    session, _ = visit("probability", n_cases=None)
    assert len(session.plan.cases) == 160


@pytest.mark.parametrize("text", ["1,2", "a,b", "50,50,"])
def test_a_damaged_answer_is_told(text):
    with pytest.raises(ValueError, match=r"."):
        read_verdict(text)
