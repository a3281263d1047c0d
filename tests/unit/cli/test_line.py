"""`evenodds cases` and `evenodds line`: from a sheet to a verdict, and what is refused."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenodds as eo


@dataclass(frozen=True)
class World:
    folder: Path
    chance: np.ndarray
    true: np.ndarray
    scores: np.ndarray
    given: np.ndarray

    def __truediv__(self, name):
        return self.folder / name

    def __str__(self):
        return str(self.folder)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Return a folder with 2,000 rows, their scores in every form, and the chance of each row."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(2000, 3))
    chance = 1 / (1 + np.exp(-(2 * X[:, 0] + X[:, 1] - 0.5)))
    true = (rng.random(2000) < chance).astype(int)
    given = eo.ClassConditionalNoise(0.05, 0.3).flip(true, rng)
    folder = tmp_path_factory.mktemp("line")
    rows = pd.DataFrame(X, columns=["size", "age", "dose"])
    rows["scan"] = np.where(given, "ill", "healthy")
    rows["patient"], rows["times"] = np.arange(2000) // 2, 1 + np.arange(2000) % 2
    scores = eo.out_of_fold_scores(X, given)
    rows["model"], rows["site"] = scores, "north"
    rows.to_csv(folder / "rows.csv", index=False)
    pd.DataFrame({"score": scores}).to_parquet(folder / "s.parquet")
    pd.DataFrame({"score": scores}).to_csv(folder / "s.csv", index=False)
    pd.DataFrame({"a": scores, "b": scores}).to_csv(folder / "two.csv", index=False)
    np.save(folder / "s.npy", scores[:, None])
    np.save(folder / "short.npy", scores[:-1])
    np.save(folder / "logits.npy", np.log(scores / (1 - scores)))
    return World(folder, chance, true, scores, given)


def stated(world, rows):
    """Return what an expert with a blur of 0.07 says of these rows, counted from 1."""
    blur = np.random.default_rng(3).normal(0, 0.07, len(rows))
    return np.clip(world.chance[rows - 1] + blur, 0.01, 0.99).round(2)


@pytest.fixture(scope="module")
def sheet(world, command):
    """Return a sheet as it was drawn, and the draw."""
    said = command(
        f"cases {world}/rows.csv --label scan --scores {world}/s.parquet --out {world}/cases.csv",
        "--show size,age",
    )
    assert said.exit_code == 0
    return pd.read_csv(world / "cases.csv"), eo.Cases.read(world / "cases.json"), said


@pytest.fixture
def filled(world, sheet, tmp_path):
    """Return a function that writes the sheet with some answers, beside a copy of the draw."""

    def write(answers=None, name="filled.csv", **more):
        table, draw, _ = sheet
        draw.save(tmp_path / "filled.json")
        said = stated(world, table["row"]) if answers is None else answers
        made = table.assign(stated=said, **more)
        made.to_csv(tmp_path / name, index=False)
        return tmp_path / name

    return write


@pytest.fixture
def line(command, world):
    """Return a function that runs the test."""

    def run(answers, *more, scores="s.parquet", label="scan", kind="probability"):
        named = [] if kind is None else ["--kind", kind]
        scores = world / scores if "." in scores else scores
        arguments = ["line", world / "rows.csv", "--label", label, "--scores", scores]
        return command(*arguments, "--answers", answers, *named, *more)

    return run


def test_the_sheet_shows_what_was_asked_for_and_hides_label_and_score(sheet):
    table, draw, said = sheet
    assert [*table] == ["row", "size", "age", "stated"]
    assert table["row"].tolist() == (draw.rows + 1).tolist()
    assert table["stated"].isna().all()
    assert f"60 rows drawn in {draw.n_strata} strata of the score." in said.stdout
    *_, following, other = said.stdout.splitlines()
    assert following.startswith("Next: evenodds line ")
    assert following.endswith("/cases.csv --kind probability")
    assert other == "Where the truth was looked up, say --kind looked-up there."


def test_the_command_line_gives_the_result_of_python(world, sheet, filled, line):
    found = json.loads(line(filled(), "--format", "json").stdout)
    table, draw, _ = sheet
    labels = np.where(world.given, "ill", "healthy")
    said = stated(world, table["row"])
    expected = eo.line_test(world.scores, labels, draw, said, answers="probability")
    assert (found["pvalue"], found["asymmetry"]) == (expected.pvalue, expected.asymmetry)
    assert found["confidence_interval"]["low"] < 0.25 < found["confidence_interval"]["high"]
    assert (found["positive"], found["reject"], found["significance"]) == ("ill", True, 0.05)
    assert eo.LineTestResult.from_dict(found).pvalue == expected.pvalue


@pytest.mark.parametrize("scores", ["s.csv", "s.npy", "model"])
def test_scores_may_be_a_column_or_a_file_of_any_kind(filled, line, scores):
    found = [line(filled(), "--format", "json", scores=one).stdout for one in (scores, "s.parquet")]
    assert found[0] == found[1]


def test_rows_of_the_sheet_may_be_in_any_order(filled, line, tmp_path):
    path = filled()
    before = line(path).stdout
    pd.read_csv(path).sort_values("row").to_csv(path, index=False)
    assert line(path).stdout == before


def test_weights_and_groups_are_read_from_the_data(world, filled, line, command, tmp_path):
    options = ("--weight", "times", "--group", "patient")
    drawn = command(
        f"cases {world}/rows.csv --label scan --scores {world}/s.parquet --out {tmp_path}/own.csv",
        " ".join(options),
    )
    assert drawn.exit_code == 0
    table, draw = pd.read_csv(tmp_path / "own.csv"), eo.Cases.read(tmp_path / "own.json")
    said = stated(world, table["row"])
    table.assign(stated=said).to_csv(tmp_path / "own.csv", index=False)
    found = json.loads(line(tmp_path / "own.csv", *options, "--format", "json").stdout)
    expected = eo.line_test(
        world.scores,
        world.given,
        draw,
        said,
        answers="probability",
        sample_weight=1 + np.arange(2000) % 2,
        groups=np.arange(2000) // 2,
    )
    assert found["statistic"] == expected.statistic
    plain = json.loads(line(filled(), "--format", "json").stdout)
    assert found["statistic"] != plain["statistic"]


def test_weights_that_the_cases_were_not_drawn_with_are_refused(filled, line):
    said = line(filled(), "--weight", "times")
    assert said.exit_code == 2
    assert "drawn without weights: draw and test with the same --weight" in said.stderr


def test_what_cannot_be_told_is_null_in_json(filled, line):
    """Chances of 'ill' read as those of 'healthy' lie on no line, and the answer is withheld."""
    told = line(filled(), "--positive", "healthy", "--format", "json").stdout
    assert json.loads(told, parse_constant=pytest.fail)["equivalence"]["pvalue"] is None


def test_a_report_and_gates(filled, line, tmp_path):
    found = line(filled(), "--report", tmp_path / "r.html", "--gate", "reject")
    assert found.exit_code == 1
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Strata of the score" in page
    assert line(filled(), "--gate", "equivalence", "--margin", 0.9).exit_code == 0


def test_a_report_cannot_take_the_place_of_the_draw(filled, line, tmp_path):
    filled()
    before = (tmp_path / "filled.json").read_bytes()
    said = line(tmp_path / "filled.csv", "--report", tmp_path / "filled.json")
    assert (said.exit_code, "would overwrite" in said.stderr) == (2, True)
    assert (tmp_path / "filled.json").read_bytes() == before


def test_looked_up_answers_may_be_the_labels_themselves(world, sheet, filled, line):
    truth = world.true[sheet[0]["row"] - 1]
    names = filled(np.where(truth, "ill", "healthy"))
    by_name = line(names, "--format", "json", kind="looked-up").stdout
    by_number = line(filled(truth), "--format", "json", kind="looked-up").stdout
    assert by_name == by_number
    assert json.loads(by_name)["method"] == "stratified"  # right whatever flips depend on


def test_looked_up_answers_are_read_as_an_audit_of_the_same_cases(world, sheet, filled, line):
    truth = world.true[sheet[0]["row"] - 1]
    said = json.loads(line(filled(truth), "--format", "json", kind="looked-up").stdout)
    expected = eo.audit_test(truth, world.given, strata=sheet[1], scores=world.scores)
    assert said["asymmetry"] == pytest.approx(expected.asymmetry, abs=1e-12)
    refused = line(filled(truth), "--shared-tolerance", 0.05, kind="looked-up")
    assert refused.exit_code == 2
    assert "what was looked up does not lean" in refused.stderr


def test_rows_without_anything_at_the_end_are_left_out(filled, line):
    path = filled()
    expected = line(path).stdout
    with path.open("a") as file:
        file.write(",,,\n" * 3)
    assert line(path).stdout == expected
    path.write_text(path.read_text() + ",,,0.5\n")
    assert "has an answer for row None, which was not drawn" in line(path).stderr


def test_two_experts_are_two_columns_and_one_may_be_left_out(world, sheet, filled, line):
    said = stated(world, sheet[0]["row"])
    path = filled(said, stated_bob=np.where(np.arange(60) < 30, said, np.nan))
    both = json.loads(line(path, "--format", "json", "--expert", "stated,bob").stdout)
    assert (both["n_experts"], both["n_cases"]) == (2, 30)
    notes = [one["message"] for one in both["diagnostics"] if one["name"] == "unused answers"]
    assert notes == [
        "'bob' answered 30 cases and others up to 60: only cases that all experts answered count. "
        "--expert leaves somebody out."
    ]
    alone = json.loads(line(path, "--format", "json", "--expert", "stated").stdout)
    assert (alone["n_experts"], alone["n_cases"]) == (1, 60)
    gaps = filled(said, stated_bob=np.where(np.arange(60) % 2, said, np.nan))
    assert "'bob' has no answer for row" in line(gaps, "--expert", "stated,bob").stderr
    assert json.loads(line(gaps, "--format", "json", "--expert", "stated").stdout) == alone
    assert "no answers are by 'eve'" in line(gaps, "--expert", "eve").stderr


def test_several_who_looked_up_are_read_by_their_majority(world, sheet, filled, line):
    truth = world.true[sheet[0]["row"] - 1]
    wrong = [np.where(np.arange(60) % 20 == k, 1 - truth, truth) for k in range(3)]
    path = filled(wrong[0], stated_bob=wrong[1], stated_cleo=wrong[2])
    whose = ("--expert", "stated,bob,cleo")
    many = json.loads(line(path, "--format", "json", *whose, kind="looked-up").stdout)
    one = json.loads(line(filled(truth), "--format", "json", kind="looked-up").stdout)
    assert (many["method"], many["pvalue"]) == ("stratified", one["pvalue"])
    assert "Two raters agree on 90% of the cases; 9 of 60" in many["diagnostics"][-1]["message"]
    two = filled(wrong[0], stated_bob=wrong[1])
    tied = line(two, "--expert", "stated,bob", kind="looked-up")
    assert (tied.exit_code, "divided evenly over case 1:" in tied.stderr) == (2, True)


def test_an_unanswered_tail_is_left_out(world, sheet, filled, line):
    said = np.where(np.arange(60) < 40, stated(world, sheet[0]["row"]), np.nan)
    assert json.loads(line(filled(said), "--format", "json").stdout)["n_cases"] == 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scores": "modle"}, "has no column 'modle'; did you mean 'model'? Or name a file of"),
        ({"scores": "nowhere.csv"}, "there is no file of scores"),
        ({"scores": "two.csv"}, "has columns 'a' and 'b' but none called 'score'"),
        ({"scores": "short.npy"}, "has 1,999 scores but"),
        ({"scores": "logits.npy"}, "scores must lie between 0 and 1 but score "),
        ({"scores": "site"}, "column 'site' of"),
        ({"scores": "dose"}, "scores must lie between 0 and 1"),
        ({"label": "scam"}, "has no column 'scam'; did you mean 'scan'?"),
        ({"label": "patient"}, "distinct labels"),
        ({"kind": None}, "--kind is missing: say 'probability' where"),
        ({"kind": "looked-up"}, "but looked-up answers are 0 or 1"),
        ({"kind": "guess"}, "'probability', 'looked-up'"),
    ],
)
def test_careless_options_get_one_sentence(filled, line, options, message):
    found = line(filled(), **options)
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())


def test_other_scores_than_the_cases_were_drawn_from_are_refused(filled, line, tmp_path, world):
    np.save(tmp_path / "other.npy", world.scores[::-1])
    found = line(filled(), scores=str(tmp_path / "other.npy"))
    assert (found.exit_code, "these are not the scores" in found.stderr) == (2, True)


def gap(said):
    said[3] = np.nan
    return said


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (gap, "'stated' has no answer for row"),
        (lambda said: (said > 0.5).astype(int), "all answers are 0 and 1"),
        (lambda said: np.round(2 * said) / 2, "all answers are 0, 1/2 and 1"),
        (lambda said: 100 * said, "must lie between 0 and 1"),
        (lambda said: said * np.nan, "holds no answers yet: fill in its column 'stated'."),
        (lambda said: np.where(said > 0.5, "yes", "no"), " but needs 0 to 1, and nothing where"),
        (lambda said: np.where(np.arange(60) < 5, said, np.nan), "answer some more."),
    ],
)
def test_answers_that_cannot_be_used_are_refused(world, sheet, filled, line, spoil, message):
    found = line(filled(spoil(stated(world, sheet[0]["row"]))))
    assert found.exit_code == 2
    assert message in " ".join(found.stderr.split())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.assign(row=table["row"] + 1), "which was not drawn"),
        (lambda table: table.assign(row="x"), "an answer for row 'x', which was not drawn"),
        (lambda table: table.assign(row=table["row"][0]), "twice: give one answer"),
        (lambda table: table.drop(columns="row"), "has no column 'row' to say which row"),
        (lambda table: table.rename(columns={"stated": "said"}), "has no column 'stated' of"),
        (
            lambda table: table.assign(stated_ada=table["stated"]),
            "has columns 'stated' and 'stated_ada', which would count as two experts",
        ),
    ],
)
def test_sheets_of_other_rows_are_refused(filled, line, change, message):
    path = filled()
    change(pd.read_csv(path)).to_csv(path, index=False)
    found = line(path)
    assert found.exit_code == 2
    assert message in " ".join(found.stderr.split())


def test_a_draw_that_is_not_beside_the_sheet_must_be_named(filled, line, world, tmp_path):
    path = filled(name="elsewhere.csv")
    assert "--cases is missing: name the draw" in line(path).stderr
    assert line(path, "--cases", world / "cases.json").exit_code == 0
    assert "cannot be read as cases" in line(path, "--cases", world / "rows.csv").stderr


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"rows": ' + "9" * 5000 + "}", "a number of thousands of digits"),
        ("rows", "odd.json cannot be read as cases: it is no JSON from line 1, column 1 on."),
        ("rows".encode("utf-16"), "odd.json cannot be read as cases: it is no text in UTF-8."),
    ],
)
def test_json_that_python_cannot_read_gets_one_sentence(filled, line, tmp_path, content, what):
    path = tmp_path / "odd.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = line(filled(), "--cases", path)
    assert (found.exit_code, what in " ".join(found.stderr.split())) == (2, True)
    assert line(path).exit_code == 2


def test_a_draw_that_an_editor_gave_a_mark_of_its_encoding_is_read(filled, line, tmp_path):
    expected = line(filled()).stdout
    (tmp_path / "filled.json").write_text((tmp_path / "filled.json").read_text(), "utf-8-sig")
    assert line(tmp_path / "filled.csv").stdout == expected


def test_the_draw_is_no_file_of_answers(line, world, sheet):
    assert "holds cases and no answers" in line(world / "cases.json").stderr


def test_a_margin_that_could_never_be_shown_is_refused(filled, line):
    found = line(filled(), "--gate", "equivalence", "--margin", 0.01)
    assert (found.exit_code, "cannot show that, however many cases" in found.stderr) == (2, True)


@pytest.fixture
def cases(command, world, tmp_path):
    """Return a function that draws cases."""

    def run(*more, out="c.csv", scores="s.parquet"):
        scores = world / scores if "." in scores else scores
        arguments = ["cases", world / "rows.csv", "--label", "scan", "--scores", scores]
        return command(*arguments, "--out", tmp_path / out, *more)

    return run


def test_cases_are_those_of_python(cases, world, tmp_path):
    cases("--cases", 30, "--strata", 3, "--seed", 5, "--group", "patient", "--weight", "times")
    expected = eo.choose_cases(
        world.scores,
        n_cases=30,
        n_strata=3,
        seed=5,
        groups=np.arange(2000) // 2,
        sample_weight=1 + np.arange(2000) % 2,
    )
    assert eo.Cases.read(tmp_path / "c.json").rows.tolist() == expected.rows.tolist()
    assert [*pd.read_csv(tmp_path / "c.csv")][1:-1] == ["size", "age", "dose", "model", "site"]


@pytest.mark.parametrize(
    ("options", "more", "message"),
    [
        ({"out": "c.xlsx"}, (), "must end in '.csv': a spreadsheet reads it."),
        ({}, ("--cases", 5), "--cases is 5 but must be a whole number of at least 12."),
        ({}, ("--strata", 1), "--strata is 1 but must be a whole number of at least 2."),
        ({}, ("--cases", 1500), "ask for fewer cases"),
        ({}, ("--show", "scan"), "--show names 'scan', the label"),
        ({}, ("--show", "sizes"), "has no column 'sizes'; did you mean 'size', 'site' or 'times'?"),
        ({"scores": "model"}, ("--show", "model"), "--show names 'model', which holds scores"),
    ],
)
def test_cases_that_cannot_be_drawn_leave_no_file(cases, tmp_path, options, more, message):
    found = cases(*more, **options)
    assert (found.exit_code, [*tmp_path.iterdir()]) == (2, [])
    assert message.lower() in " ".join(found.stderr.split()).lower()


def test_a_sheet_that_may_hold_answers_is_not_overwritten(cases):
    assert cases().exit_code == 0
    found = cases()
    assert (found.exit_code, "exists and may hold answers" in found.stderr) == (2, True)


@pytest.mark.parametrize("name", ["size", "age"])
def test_a_sheet_with_one_column_sorted_alone_is_refused(filled, line, name):
    path = filled()
    table = pd.read_csv(path)
    table[name] = np.sort(table[name])
    table.to_csv(path, index=False)
    found = line(path)
    assert (found.exit_code, found.stdout) == (2, "")
    assert f"shows {name!r} of row" in found.stderr
    assert "give the data in the order they were drawn from" in " ".join(found.stderr.split())


def test_data_sorted_since_the_draw_are_refused(world, filled, command, tmp_path):
    pd.read_csv(world / "rows.csv").sort_values("size").to_csv(tmp_path / "rows.csv", index=False)
    found = command(
        f"line {tmp_path}/rows.csv --label scan --scores {world}/s.parquet --kind probability",
        *("--answers", filled()),
    )
    assert (found.exit_code, "filled.csv shows 'size' of row" in found.stderr) == (2, True)


def test_what_a_spreadsheet_does_to_values_is_not_refused(filled, line):
    path = filled()
    table = pd.read_csv(path)
    table["size"] = [f"{value:.6g}" for value in table["size"]]
    table["age"] = table["age"].round(2)
    table.sort_values("age").to_csv(path, index=False)
    assert line(path).exit_code == 0
