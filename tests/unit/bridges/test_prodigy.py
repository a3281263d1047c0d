"""Exports of Prodigy, whole and broken, and tasks that it shows."""

import json

import pytest
from tests.exports import line

import evenodds as eo
from evenodds.bridges import prodigy


def read(write, lines):
    return prodigy.read(write(lines, "answers.jsonl"))


def test_an_export_is_read_with_who_said_what(write):
    lines = [
        line(1, "accept", label="SPAM"),
        line(1, "reject", "headlines-bob", label="SPAM"),
        line(2, "ignore", label="SPAM", row=17),
        line(3, "accept", None, label="SPAM"),
    ]
    found = read(write, lines)
    assert [(one.annotator, one.said) for one in found.answers] == [
        ("headlines-ada", "SPAM"),
        ("headlines-bob", "not SPAM"),
        ("headlines-ada", None),
        ("default", "SPAM"),
    ]
    assert found.toss_ups().tolist() == [17]


def test_of_options_the_chosen_one_is_the_label(write):
    options = [{"id": "SPAM", "text": "spam"}, {"id": 2, "text": "ham"}]
    lines = [
        line(1, "accept", options=options, accept=["SPAM"]),
        line(2, "accept", options=options, accept=[2]),
        line(3, "reject", options=options, accept=[]),
        line(4, "ignore", options=options),
    ]
    assert [one.said for one in read(write, lines).answers] == ["SPAM", "2", None, None]


def test_separators_within_a_text_end_no_line(write):
    text = json.dumps(line(1, "accept", label="A", text="one\u2028two"), ensure_ascii=False)
    assert len(prodigy.read(write(text, "a.jsonl")).answers) == 1


@pytest.mark.parametrize("kind", ["looked-up", "probability"])
def test_cases_go_out_and_their_answers_come_back(drawn, write, tmp_path, kind):
    _, chance, true, _, cases = drawn
    out = prodigy.write_tasks(
        tmp_path / "t.jsonl", cases, [{"note": "the same"}] * 40, kind=kind, positive="yes"
    )
    tasks = [json.loads(text) for text in out.read_text().splitlines()]
    assert len({one["text"] for one in tasks}) == 40  # else Prodigy would take some for others
    lines = []
    for number, one in enumerate(tasks):
        answer = "accept" if kind == "probability" or true[one["row"]] else "reject"
        steps = [option["id"] for option in one.get("options", [])]
        near = sorted(steps, key=lambda step: abs(float(step) - chance[one["row"]]))
        lines.append(line(number, answer, **one, **({"accept": near[:1]} if steps else {})))
    judged = read(write, lines).judged(cases, kind=kind, classes=("no", "yes"))
    if kind == "looked-up":
        assert judged.stated[:, 0].tolist() == true[cases.rows].tolist()
    else:
        assert abs(judged.stated[:, 0] - chance[cases.rows]).max() <= 0.05


def test_answers_about_the_negative_class_are_turned_round(drawn, write):
    *_, cases = drawn
    rows = cases.rows.tolist()
    lines = [
        line(n, ["accept", "reject"][n % 2], label="no", row=row) for n, row in enumerate(rows)
    ]
    judged = read(write, lines).judged(cases, kind="looked-up", classes=("no", "yes"))
    assert judged.stated[:, 0].tolist() == [0.0, 1.0] * 20


def test_tasks_hide_label_and_score(drawn, tmp_path):
    *_, cases = drawn
    out = prodigy.write_tasks(
        tmp_path / "t.jsonl", cases, [{"note": "x"}] * 40, kind="looked-up", positive="yes"
    )
    shown = [json.loads(text) for text in out.read_text().splitlines()]
    assert {one["label"] for one in shown} == {"yes"}  # the question, not the given label
    assert {name for one in shown for name in one} == {"text", "row", "draw", "label"}


def without(name, **more):
    record = line(1, "accept", label="A", **more)
    del record[name]
    return [record]


OPTIONS = [{"id": "A"}]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("{]", "line 1 of .* cannot be read as a record of JSON: "),
        (json.dumps(line(1, "accept", label="A")) + "\nnot json", "line 2 of .* cannot be read as"),
        ("[]", "line 1 of .* has no field 'answer': export answers by prodigy db-out"),
        ("7", "line 1 of .* has no field 'answer'"),
        ([{"text": "a task that nobody has seen"}], "line 1 of .* has no field 'answer'"),
        ([line(1, "maybe", label="A")], "has no field 'answer'"),
        ([line(1, ["accept"], label="A")], "has no field 'answer'"),
        (without("_input_hash"), "has no field '_input_hash'"),
        (without("label"), "has no field 'label', nor 'options'"),
        ([line(1, "accept", label=3)], "has no field 'label', nor 'options'"),
        ([line(1, "accept", options=OPTIONS)], "has no choices in 'accept' where"),
        ([line(1, "accept", options=OPTIONS, accept=[])], "has 0 choices in 'accept'"),
        ([line(1, "accept", options=OPTIONS, accept=["A", "B"])], "has 2 choices in 'accept'"),
        (
            [line(1, "accept", label="A"), line(2, "accept", label="B")],
            "asks about 'A' in line 1 and about 'B' in line 2: keep the lines of one 'label'",
        ),
        (
            [line(1, "accept", label="A"), line(1, "reject", label="A")],
            "line 2 of .* is one more answer by 'headlines-ada'",
        ),
        (
            [line(1, "accept", label="A", row=1), line(1, "accept", "bob", label="A", row=2)],
            "another 'row' than a line before it, with the same '_input_hash'",
        ),
    ],
)
def test_a_foreign_or_broken_file_is_refused_by_the_field_it_misses(write, lines, message):
    with pytest.raises(eo.InputError, match=message):
        read(write, lines)
