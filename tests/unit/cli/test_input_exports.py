"""Label Studio and Prodigy on the command line: tasks out, answers in, audits of annotators."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from tests.exports import annotation, line, task

import evenodds as eo

CLASSES = np.array(["healthy", "ill"])


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Return a folder with 2,000 rows and their scores, the chance of each and the truth."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(2000, 3))
    chance = 1 / (1 + np.exp(-(2 * X[:, 0] + X[:, 1] - 0.5)))
    true = (rng.random(2000) < chance).astype(int)
    given = eo.ClassConditionalNoise(0.05, 0.3).flip(true, rng)
    folder = tmp_path_factory.mktemp("exports")
    rows = pd.DataFrame(X.round(2), columns=["size", "age", "dose"])
    rows.assign(scan=CLASSES[given]).to_csv(folder / "rows.csv", index=False)
    scores = eo.out_of_fold_scores(X, given)
    pd.DataFrame({"score": scores}).to_parquet(folder / "s.parquet")
    return folder, chance, true, given, scores


def draw(command, folder, tool, out, *more):
    """Draw cases of the rows in a folder for a tool."""
    arguments = ["cases", folder / "rows.csv", "--label scan --scores", folder / "s.parquet"]
    return command(*arguments, "--format", tool, "--out", out, *more)


@pytest.fixture
def cases(command, world, tmp_path):
    """Return a function that draws cases for a tool."""

    def run(tool, *more, out="tasks.json"):
        return draw(command, world[0], tool, tmp_path / out, *more)

    return run


@pytest.fixture(scope="module")
def tasks_for_label_studio(command, world, tmp_path_factory):
    """Return a folder with tasks whose answers are looked up."""
    folder = tmp_path_factory.mktemp("tasks")
    draw(command, world[0], "label-studio", folder / "tasks.json", "--kind looked-up")
    return folder


@pytest.fixture
def judge(command, world, tmp_path):
    """Return a function that tests an export."""

    def run(answers, *more):
        arguments = ["line", world[0] / "rows.csv", "--label scan --scores", world[0] / "s.parquet"]
        return command(*arguments, "--answers", answers, "--format json", *more)

    return run


def save(path, records):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(one) + "\n" for one in records))
    else:
        path.write_text(json.dumps(records))
    return path


def label_studio(folder, say, who=7):
    """Return an export of the tasks in a folder."""
    tasks = [one["data"] for one in json.loads((folder / "tasks.json").read_text())]
    made = [task(n, [annotation(who, say(one["row"]))], **one) for n, one in enumerate(tasks, 1)]
    return save(folder / "export.json", made)


def test_label_studio_from_tasks_to_an_audit(cases, judge, world, tmp_path):
    _, _, true, given, scores = world
    said = cases("label-studio", "--kind looked-up --show size,age --cases 80")
    assert said.exit_code == 0
    assert "Import" in said.stdout
    assert f"--cases {tmp_path}/tasks.cases.json --kind looked-up" in said.stdout
    assert '<Choice value="ill"/>' in (tmp_path / "tasks.xml").read_text()
    shown = (tmp_path / "tasks.json").read_text()
    assert "healthy" not in shown
    assert "dose" not in shown
    export = label_studio(tmp_path, lambda row: CLASSES[true[row]])
    found = judge(export, "--cases", tmp_path / "tasks.cases.json", "--kind looked-up")
    drawn = eo.Cases.read(tmp_path / "tasks.cases.json")
    expected = eo.audit_test(CLASSES[true[drawn.rows]], CLASSES[given], strata=drawn, scores=scores)
    assert json.loads(found.stdout)["pvalue"] == expected.pvalue


def test_label_studio_from_tasks_to_a_line(cases, judge, world, tmp_path):
    _, chance, _, given, scores = world
    assert cases("label-studio", "--kind probability").exit_code == 0
    assert '<Choice value="5%" alias="0.05"/>' in (tmp_path / "tasks.xml").read_text()
    export = label_studio(tmp_path, lambda row: round(float(chance[row]), 2))
    found = judge(export, "--cases", tmp_path / "tasks.cases.json", "--kind probability")
    drawn = eo.Cases.read(tmp_path / "tasks.cases.json")
    stated = chance[drawn.rows].round(2)
    expected = eo.line_test(scores, given, drawn, stated, answers="probability")
    assert json.loads(found.stdout)["pvalue"] == expected.pvalue


@pytest.mark.parametrize("kind", ["looked-up", "probability"])
def test_prodigy_from_tasks_to_a_verdict(cases, judge, world, tmp_path, kind):
    _, chance, true, _, _ = world
    said = cases("prodigy", "--kind", kind, out="tasks.jsonl")
    view = "choice" if kind == "probability" else "classification"
    assert f"tasks.jsonl --view-id {view}" in said.stdout
    lines = []
    for number, text in enumerate((tmp_path / "tasks.jsonl").read_text().splitlines()):
        one = json.loads(text)
        if kind == "looked-up":
            lines.append(line(number, "accept" if true[one["row"]] else "reject", **one))
        else:
            steps = [option["id"] for option in one["options"]]
            near = min(steps, key=lambda step, row=one["row"]: abs(float(step) - chance[row]))
            lines.append(line(number, "accept", **one, accept=[near]))
    export = save(tmp_path / "export.jsonl", lines)
    found = judge(export, "--cases", tmp_path / "tasks.cases.json", "--kind", kind)
    assert json.loads(found.stdout)["reject"]


def test_an_expert_of_an_export_may_be_left_out(cases, judge, world, tmp_path):
    true = world[2]
    cases("label-studio", "--kind looked-up")
    export = label_studio(tmp_path, lambda row: CLASSES[true[row]])
    tasks = json.loads(export.read_text())
    for number, one in enumerate(tasks):
        one["annotations"].append(annotation(8, CLASSES[number % 2]))
    save(export, tasks)
    named = ("--cases", tmp_path / "tasks.cases.json", "--kind looked-up")
    found = json.loads(judge(export, *named, "--expert 7").stdout)
    assert (found["method"], found["n_rows"]) == ("stratified", 60)
    both = judge(export, *named)
    assert both.exit_code == 2
    divided = [n for n, one in enumerate(tasks, 1) if true[one["data"]["row"]] != (n - 1) % 2]
    assert f"raters are divided evenly over case {divided[0]}:" in both.stderr
    save(
        export,
        [{**one, "annotations": one["annotations"][: 2 - n % 2]} for n, one in enumerate(tasks)],
    )
    assert "'8' has no answer for row" in judge(export, *named).stderr
    assert json.loads(judge(export, *named, "--expert 7").stdout)["pvalue"] == found["pvalue"]


@pytest.mark.parametrize(
    ("tool", "more", "out", "message"),
    [
        ("label-studio", "", "t.json", "--kind goes with --format label-studio or prodigy"),
        ("csv", "--kind looked-up", "t.csv", "--kind goes with --format label-studio or prodigy"),
        ("label-studio", "--kind looked-up", "t.csv", "must end in '.json': Label Studio reads it"),
        ("prodigy", "--kind looked-up", "t.json", "must end in '.jsonl': Prodigy reads it"),
        ("word", "", "t.doc", "'word' is not one of"),
    ],
)
def test_tasks_that_cannot_be_written_leave_no_file(cases, tmp_path, tool, more, out, message):
    found = cases(tool, more, out=out)
    assert (found.exit_code, [*tmp_path.iterdir()]) == (2, [])
    assert message in " ".join((found.stderr + str(found.exception)).split())


def test_a_class_with_a_dollar_sign_leaves_no_file(command, tmp_path):
    wages = pd.DataFrame({"pay": ["$5", "$10"] * 100, "job": "x", "score": np.linspace(0, 1, 200)})
    wages.to_csv(tmp_path / "wages.csv", index=False)
    found = command(
        "cases", tmp_path / "wages.csv", "--label pay --scores score --format label-studio",
        "--kind looked-up --out", tmp_path / "tasks.json",
    )  # fmt: skip
    assert (found.exit_code, len([*tmp_path.iterdir()])) == (2, 1)
    assert "the class '$10' has a '$'" in found.stderr


def test_tasks_that_may_be_in_use_are_not_overwritten(cases):
    assert cases("label-studio", "--kind looked-up").exit_code == 0
    found = cases("label-studio", "--kind looked-up")
    assert (found.exit_code, "exists and may hold answers" in found.stderr) == (2, True)


@pytest.mark.parametrize(
    ("spoil", "more", "message"),
    [
        (None, "--kind looked-up", "--cases is missing: name the draw"),
        (None, "--cases tasks.cases.json", "--kind is missing"),
        (
            lambda one: one["data"].pop("row"),
            "",
            "has no field 'row'; tasks that evenodds cases wrote",
        ),
        (lambda one: one["data"].update(row=1999), "", "row 1999, which was not drawn"),
        (lambda one: one["data"].update(draw="x"), "", "was drawn from other scores"),
        (
            lambda one: one.pop("annotations"),
            "",
            "task 1 of export.json has no field",
        ),
        (
            lambda one: one["annotations"].clear(),
            "",
            "for later ones: cases may be left out at the",
        ),
        (
            lambda one: one["annotations"][0].update(was_cancelled=True),
            "",
            "has some for later ones: cases may be left out at the end only",
        ),
    ],
)
def test_exports_that_cannot_be_used_are_refused(
    tasks_for_label_studio, judge, world, tmp_path, monkeypatch, spoil, more, message
):
    true = world[2]
    shutil.copytree(tasks_for_label_studio, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    export = label_studio(tmp_path, lambda row: CLASSES[true[row]])
    if spoil is not None:
        tasks = json.loads(export.read_text())
        spoil(tasks[0])
        save(export, tasks)
    found = judge("export.json", more or "--cases tasks.cases.json --kind looked-up")
    assert found.exit_code == 2
    assert message in " ".join(found.stderr.split())


def test_a_draw_of_other_scores_is_refused(cases, judge, world, tmp_path):
    _, _, true, _, scores = world
    cases("label-studio", "--kind looked-up")
    export = label_studio(tmp_path, lambda row: CLASSES[true[row]])
    eo.choose_cases(scores[::-1]).save(tmp_path / "other.json")
    found = judge(export, "--cases", tmp_path / "other.json", "--kind looked-up")
    assert (found.exit_code, "other scores than these cases" in found.stderr) == (2, True)


@pytest.fixture(scope="module")
def annotated():
    """Return labels of 600 items by two annotators, one of whom leans, and the truth of 300."""
    rng = np.random.default_rng(2)
    true = rng.integers(0, 2, 600)
    ada = eo.ClassConditionalNoise(0.1, 0.1).flip(true, rng)
    bob = eo.ClassConditionalNoise(0.4, 0.05).flip(true, rng)
    return true, ada, bob


def test_an_export_of_label_studio_is_an_audit_of_its_annotators(command, annotated, tmp_path):
    true, ada, bob = annotated
    tasks = []
    for number in range(600):
        told = [annotation(1, CLASSES[ada[number]]), annotation(2, CLASSES[bob[number]])]
        if number < 300:
            told.append(annotation(3, CLASSES[true[number]], ground_truth=True))
        tasks.append(task(number, told, judge=CLASSES[bob[number]]))
    tasks[0]["annotations"][0] = annotation(1, None)
    path = save(tmp_path / "export.json", tasks)
    found = json.loads(command("audit", path, "--annotator annotator --format json").stdout)
    given = np.concatenate([ada[1:300], bob[:300]])
    expected = eo.annotator_audit(
        CLASSES[np.concatenate([true[1:300], true[:300]])],
        CLASSES[given],
        np.repeat(["1", "2"], [299, 300]),
    )
    assert found["pvalue"] == expected.pvalue
    assert {one["name"] for one in found["diagnostics"]} == {"skipped", "data"}
    named = json.loads(command("audit", path, "--given judge --format json").stdout)
    assert named["n_rows"] == 300
    assert named["asymmetry"] == eo.audit_test(true[:300], bob[:300]).asymmetry
    plain = json.loads(command("audit", path, "--format json").stdout)
    doubt = next(one for one in plain["diagnostics"] if one["name"] == "undeclared groups")
    assert "--group item --group annotator" in doubt["message"]
    both = command("audit", path, "--group item --group annotator --format json")
    assert json.loads(both.stdout)["pvalue"] > plain["pvalue"]


def test_an_export_of_prodigy_is_an_audit_by_a_session_with_the_truth(command, annotated, tmp_path):
    true, _, bob = annotated
    lines = [line(n, "accept" if bob[n] else "reject", "d-bob", label="ill") for n in range(600)]
    lines += [line(n, "accept" if true[n] else "reject", "d-gold", label="ill") for n in range(300)]
    path = save(tmp_path / "export.jsonl", lines)
    found = json.loads(command("audit", path, "--true d-gold --positive ill --format json").stdout)
    assert found["asymmetry"] == eo.audit_test(true[:300], bob[:300]).asymmetry
    missed = command("audit", path)
    assert (missed.exit_code, "answers are by 'd-bob' and 'd-gold'" in missed.stderr) == (2, True)
