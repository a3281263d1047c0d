"""Files of a session: whole, private, and taken as they are by a test."""

import csv
import json
import stat
from dataclasses import replace

import pyarrow as pa
import pytest
from pyarrow import parquet

from evenodds.anchors import Anchors
from evenodds.elicit.answers import Verdict, judge
from evenodds.elicit.store import Outputs, anchor_table, write_anchors, write_answers
from evenodds.rows.anchor_points import read_anchors


@pytest.fixture
def answered(session, answer_next):
    """Return a session at which Ada has called every third case a toss-up."""
    answers = []
    while (question := session.question("Ada", answers)) is not None:
        verdict = Verdict.toss_up if question.case % 3 == 0 else Verdict.negative
        answer_next(session, verdict)
        answers = session.store.answers("Ada")
    return session


def test_anchors_carry_features_and_what_the_expert_states(answered):
    answered.export()
    table = parquet.read_table(answered.outputs.anchors)
    assert table.column_names == ["age", "dose", "posterior", "tolerance", "shared_tolerance"]


def test_anchors_are_the_rows_of_the_toss_ups(answered, patients):
    answered.export()
    cases = [case for case in sorted(answered.plan.cases) if case % 3 == 0]
    table = parquet.read_table(answered.outputs.anchors)
    assert table["age"].to_pylist() == patients["age"].take(cases).to_pylist()


@pytest.mark.parametrize("name", ["anchors.parquet", "anchors.csv", "anchors.tsv"])
def test_files_are_private(answered, tmp_path, name):
    table = anchor_table(answered.table, ("age",), answered.judgement())
    write_anchors(tmp_path / name, table)
    answered.export()
    modes = {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / name, answered.outputs.answers)}
    assert modes == {0o600}


def test_raw_answers_say_who_when_and_which_case(answered):
    answered.export()
    with answered.outputs.answers.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == answered.plan.queue().n_questions
    assert list(rows[0]) == [
        "expert",
        "case",
        "occasion",
        "verdict",
        "chance",
        "time",
        "answer",
    ]
    assert {row["answer"] for row in rows} == {"healthy", "toss-up"}


def test_raw_answers_as_json_lines(answered, patients, wishes):
    path = wishes().out.with_name("raw.jsonl")
    write_answers(path, answered.store.answers(), answered.plan)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0]["expert"] == "Ada"
    assert lines[0]["chance"] is None


@pytest.mark.parametrize(
    ("name", "written"), [("=1+1", "'=1+1"), ("@cmd", "'@cmd"), ("-1", "-1"), ("+1", "+1")]
)
def test_a_class_name_is_no_formula_to_a_spreadsheet(answered, name, written):
    plan = replace(answered.plan, negative=name)
    write_answers(answered.outputs.answers, answered.store.answers(), plan)
    with answered.outputs.answers.open() as file:
        assert {row["answer"] for row in csv.DictReader(file)} == {written, "toss-up"}


def test_without_toss_ups_only_the_answers_are_written(session, answer_next):
    answer_next(session, "positive")
    assert session.export() == [session.outputs.answers]
    assert not session.outputs.anchors.exists()


def test_without_toss_ups_there_is_no_table_of_anchors(session, refused):
    with refused("no case was called a toss-up, so there are no anchors to write yet."):
        anchor_table(session.table, ("age",), judge([], breadth=session.plan.breadth))


@pytest.mark.parametrize(
    ("anchors", "answers", "text"),
    [
        ("a.xlsx", "b.csv", "a.xlsx must end in '.parquet', '.pq', '.csv' or '.tsv'."),
        ("a.csv", "b.parquet", "b.parquet must end in '.csv' or '.jsonl'."),
        ("a.csv", "x/../a.csv", "a.csv: name two files."),
        ("gone/a.csv", "b.csv", "a.csv cannot be written: name a file in a folder that exists."),
    ],
)
def test_files_that_cannot_be_written_are_named(tmp_path, refused, anchors, answers, text):
    (tmp_path / "x").mkdir()
    with refused(text):
        Outputs(tmp_path / anchors, tmp_path / answers)


def test_a_column_of_one_shared_tolerance_is_that_tolerance():
    assert Anchors([[0.0], [1.0]], shared_tolerance=[0.02, 0.02]).shared_tolerance == 0.02


def test_a_column_of_different_shared_tolerances_is_refused(refused):
    with refused("shared_tolerance runs from 0.01 to 0.02 but is what all anchors share"):
        Anchors([[0.0], [1.0]], shared_tolerance=[0.01, 0.02])


@pytest.mark.parametrize("name", ["anchors.csv", "anchors.tsv", "anchors.parquet"])
def test_cells_that_spreadsheets_would_run_come_back_as_they_were(tmp_path, name):
    columns = {"=dose": [1.0, 2.0], "site": ["-north", "@south"], "posterior": [0.5, 0.5]}
    write_anchors(tmp_path / name, pa.table(columns))
    points, stated = read_anchors(tmp_path / name)
    assert points.to_pydict() == {"=dose": [1.0, 2.0], "site": ["-north", "@south"]}
    assert stated["posterior"].tolist() == [0.5, 0.5]
