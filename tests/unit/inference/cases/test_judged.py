"""Answers kept with their draw: what comes back, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

import evenodds as eo
from evenodds.inference.cases.judged import About, JudgedCases, Repeat

ABOUT = About(label="y", negative="no", positive="yes", weight=None, shown=("a",), digest="0")


@pytest.fixture(scope="module")
def cases():
    return eo.choose_cases(np.linspace(0.01, 0.99, 400), n_cases=12)


@pytest.fixture
def judged(cases):
    stated = np.tile(np.linspace(0.1, 0.9, 12)[:, None], 2)
    stated[7:, 1] = np.nan
    repeats = (Repeat("Ada", int(cases.rows[0]), 0.3), Repeat("Bob", int(cases.rows[1]), 0.1))
    return JudgedCases(
        cases=cases,
        kind="probability",
        experts=("Ada", "Bob"),
        stated=stated,
        repeats=repeats,
        about=ABOUT,
    )


def test_answers_come_back_as_they_were_saved(judged, tmp_path):
    found = JudgedCases.read(judged.save(tmp_path / "a.json"))
    kept = (found.experts, found.kind, found.repeats, found.about)
    assert kept == (
        judged.experts,
        judged.kind,
        judged.repeats,
        ABOUT,
    )
    np.testing.assert_array_equal(found.stated, judged.stated)
    assert found.cases.to_dict() == judged.cases.to_dict()


def test_answers_of_a_sheet_are_not_saved_without_what_they_are_about(judged, refused, tmp_path):
    with refused("answers from a sheet are kept in the sheet."):
        replace(judged, about=None).save(tmp_path / "a.json")


def test_repeats_are_compared_with_the_first_answer_of_their_expert(judged):
    second = judged.stated[1, 1]
    assert judged.repeat_difference == pytest.approx((0.2 + abs(0.1 - second)) / 2)
    assert judged.of(["Ada"]).repeat_difference == pytest.approx(0.2)


def test_each_expert_is_counted(judged):
    assert judged.n_answers == {"Ada": 12, "Bob": 7}


def test_an_expert_who_did_not_answer_is_named_with_near_misses(judged, refused):
    with refused("no answers are by 'Bop'; did you mean 'Bob'?"):
        judged.of(["Bop"])
    with refused("no answers are by 'Zoe'; answers are by 'Ada' and 'Bob'."):
        judged.of(["Zoe"])


def test_an_answer_left_out_in_the_middle_is_refused(judged, refused, cases):
    stated = judged.stated.copy()
    stated[2, 0] = np.nan
    with refused(f"'Ada' has no answer for row {cases.rows[2] + 1}, case 3 of 12, but has some"):
        JudgedCases(cases=cases, kind="probability", experts=("Ada", "Bob"), stated=stated)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.pop("digest"), "is no file of answers: evenodds elicit with"),
        (lambda record: record.update(schema_version=9), "is of schema version 9 but"),
        (lambda record: record.update(kind="guess"), "the kind of answers in"),
        (lambda record: record.update(answers={}), "holds no answers yet."),
        (lambda record: record.update(answers=[1]), "is damaged: its answers cannot be read."),
        (lambda record: record.update(answers={"Ada": ["x"] * 12}), "its answers cannot be read."),
        (lambda record: record.update(answers={"Ada": [0.5]}), "do not fit its cases."),
        (lambda record: record["repeats"][0].update(row=399), "do not fit its cases."),
        (lambda record: record["repeats"][0].pop("row"), "its answers cannot be read."),
        (
            lambda record: record["repeats"][0].update(stated=1e999),
            "came back is inf, not from 0 to 1",
        ),
        (
            lambda record: record["repeats"][0].update(stated=-1e6),
            "came back is -1000000.0, not from",
        ),
        (
            lambda record: record["repeats"][0].update(stated=None),
            "came back is nan, not from 0 to 1",
        ),
        (lambda record: record["cases"].pop("edges"), "the draw in"),
        (lambda record: record.update(shown=3), "its answers cannot be read."),
        (lambda record: record.update(positive={}), "its answers cannot be read."),
        (lambda record: record["repeats"][0].update(row=1e999), "its answers cannot be read."),
    ],
)
def test_a_file_that_was_changed_is_refused(judged, tmp_path, refused, cases, change, message):
    path = judged.save(tmp_path / "a.json")
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    with refused(message):
        JudgedCases.read(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "\x00"])
def test_what_is_no_json_of_ours_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(eo.InputError, match="answers"):
        JudgedCases.read(tmp_path / "a.json")
