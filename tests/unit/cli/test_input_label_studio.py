"""Exports that Label Studio 1.23.2 wrote, read the whole way.

Tasks and interfaces by ``evenodds cases`` were imported there. ``looked-up.json`` is the plain
export: ada answered all cases but one, which bob answered, and the last, which nobody did; one
answer was changed later, one case has a skip of bob's beside it, one a draft, one a prediction.
``probability.json`` is a snapshot with users in full, answered in the browser. ``audit.json`` has
labels by two annotators and a third's, marked as ground truth; bob skipped a task and answered it
later, and wrote a comment instead of a choice; eve sent in a task with nothing. Addresses were cut
at the "@", and nothing else was changed.
"""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.bridges import label_studio
from evenodds.bridges.annotations import STEPS

EXPORTS = Path(__file__).parent / "label_studio_1.23.2"
CASES = eo.Cases.read(EXPORTS / "cases.json")
CLASSES = np.array(["ham", "spam"])
ROWS = np.arange(200)
CHANCE = (ROWS + 0.5) / 200
TRUE = (ROWS * 37 % 100 / 100 < CHANCE).astype(int)
GIVEN = np.where((TRUE == 0) & (ROWS % 3 == 0), 1, TRUE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with the exports, and the data that cases were drawn from."""
    shutil.copytree(EXPORTS, tmp_path, dirs_exist_ok=True)
    mails = pd.DataFrame({"links": ROWS % 7, "verdict": CLASSES[GIVEN], "score": CHANCE})
    mails.to_csv(tmp_path / "mails.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def judge(command, folder):
    """Return a function that tests answers about the cases."""

    def run(answers, kind, *more):
        arguments = ("line mails.csv --label verdict --scores score --cases cases.json --answers",)
        return command(*arguments, answers, "--format json --kind", kind, *more)

    return run


def test_looked_up_cases_are_an_audit(judge):
    truth = CLASSES[TRUE[CASES.rows[:11]]]
    expected = eo.audit_test(truth, CLASSES[GIVEN], strata=CASES, scores=CHANCE)
    found = json.loads(judge("looked-up.json", "looked-up").stdout)
    assert (found["n_rows"], found["pvalue"]) == (11, expected.pvalue)


def test_probabilities_that_were_clicked_are_a_line(judge):
    read = label_studio.read(EXPORTS / "probability.json")
    judged = read.judged(CASES, kind="probability", classes=(*CLASSES,))
    nearest = [min(STEPS, key=lambda step, row=row: abs(step - CHANCE[row])) for row in CASES.rows]
    assert (judged.experts, judged.stated[:, 0].tolist()) == (("ada",), nearest)
    expected = eo.line_test(CHANCE, GIVEN, CASES, nearest, answers="probability")
    found = json.loads(judge("probability.json", "probability").stdout)
    assert found["pvalue"] == expected.pvalue


def test_annotators_are_audited_by_what_is_marked(command, folder):
    true = np.array(["pass"] * 3 + ["fail"] * 3)
    ada = ["pass", "pass", "fail", "fail", "fail", "fail"]
    bob = ["fail", "fail", "pass", "fail", "fail", "pass"]
    expected = eo.annotator_audit(np.tile(true, 2), [*ada, *bob], np.repeat(["1", "2"], 6))
    found = json.loads(command("audit audit.json --annotator annotator --format json").stdout)
    tests = {one["annotator"]: one["result"]["pvalue"] for one in found["tests"]}
    assert tests == {one.annotator: one.result.pvalue for one in expected.tests}
    skipped = next(one for one in found["diagnostics"] if one["name"] == "skipped")
    assert skipped["message"].startswith("3 of 22 answers were skipped, or chose nothing")


def test_a_field_of_the_tasks_is_audited_by_what_is_marked(command, folder):
    true = ["pass"] * 3 + ["fail"] * 3
    judge = ["pass", "fail", "pass", "fail", "pass", "fail"]
    found = json.loads(command("audit audit.json --given judge --format json").stdout)
    assert (found["n_rows"], found["pvalue"]) == (6, eo.audit_test(true, judge).pvalue)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("json-min.json", "task 1 of json-min.json has no field 'annotations': export the project"),
        ("export.csv", "export.csv is a CSV export of Label Studio: export the project as JSON."),
        (
            "audit.json",
            "item 295 of audit.json has no field 'row'; tasks that evenodds cases wrote",
        ),
        ("probability.json", "an answer is 0.3 but looked-up answers are 0 or 1: say --kind"),
        ("looked-up.json.gz", "looked-up.json.gz is compressed: unpack it first."),
        ("packed.json", "packed.json cannot be read: it is no text, or is compressed."),
        ("empty.json", "empty.json is empty."),
        ("none.json", "none.json cannot be read: No such file or directory."),
        ("tasks.json", "task 1 of tasks.json has no field 'annotations'"),
        ("looked-up.json --expert 3", "looked-up.json has no answers by '3'; answers are by '1'"),
    ],
)
def test_another_file_than_the_export_is_refused(judge, folder, answers, message):
    packed = gzip.compress((folder / "looked-up.json").read_bytes())
    (folder / "looked-up.json.gz").write_bytes(packed)
    (folder / "packed.json").write_bytes(packed)
    (folder / "empty.json").touch()
    label_studio.write_tasks(folder / "tasks.json", CASES, [{"note": "x"}] * 12)
    found = judge(answers, "looked-up")
    assert found.exit_code == 2
    assert message in " ".join(found.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("audit.json audit.json", "audit.json is an export, and exports are read one at a time."),
        ("audit.json.gz", "audit.json.gz is compressed: unpack it first."),
        ("looked-up.json", "looked-up.json marks no answer as the truth (ground_truth)"),
        (
            "audit.json --given jugde",
            "item 295 of audit.json has no field 'jugde'; did you mean 'judge'?",
        ),
        ("audit.json --given x", "has no field 'x'; its fields are 'text' and 'judge'."),
    ],
)
def test_exports_that_are_no_audit_are_refused(command, folder, arguments, message):
    found = command("audit", arguments)
    assert found.exit_code == 2
    assert message in " ".join(found.stderr.split())


def cut(record, *path):
    """Take a field out of a record, of all its parts where the path has a star."""
    name, *rest = path
    if name == "*":
        for one in record:
            cut(one, *rest)
    elif rest:
        cut(record[name], *rest)
    else:
        record.pop(name)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ((4, "id"), "task 5 of .* has no field 'id'"),
        ((4, "data"), "task 5 of .* has no field 'data'"),
        ((4, "annotations"), "task 5 of .* has no field 'annotations'"),
        (
            (4, "annotations", 0, "result"),
            r"task 5 \(id 275\) of .* no field 'annotations\[\].result'",
        ),
        (
            (4, "annotations", 0, "completed_by"),
            r"task 5 \(id 275\) .* no field 'annotations\[\].completed_by'",
        ),
        (
            ("*", "annotations", "*", "result", "*", "value"),
            r"task 1 \(id 271\) of .* has no field 'result\[\].value.choices', and no other",
        ),
    ],
)
def test_a_broken_export_is_refused_by_the_field_it_misses(tmp_path, path, message):
    tasks = json.loads((EXPORTS / "looked-up.json").read_text())
    cut(tasks, *path)
    (tmp_path / "broken.json").write_text(json.dumps(tasks))
    with pytest.raises(eo.InputError, match=message):
        label_studio.read(tmp_path / "broken.json")
