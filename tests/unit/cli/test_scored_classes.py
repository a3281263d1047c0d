"""Three classes and more from files: probabilities, a sheet, a verdict, and what is refused."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import evenodds as eo

NAMES = np.array(["cat", "dog", "fox"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with 3,000 animals, their probabilities in every form, and their chances."""
    rng = np.random.default_rng(4)
    odds = np.exp(3 * rng.normal(size=(3000, 3)))
    chances = odds / odds.sum(axis=1, keepdims=True)
    flips = np.full((3, 3), 0.03) + 0.91 * np.eye(3)
    flips[0, :2] += [-0.25, 0.25]
    true = (rng.random(3000)[:, None] > chances.cumsum(axis=1)[:, :2]).sum(axis=1)
    given = (rng.random(3000)[:, None] > flips[true].cumsum(axis=1)[:, :2]).sum(axis=1)
    scores = chances @ flips
    path = tmp_path_factory.mktemp("animals")
    rows = pd.DataFrame(
        {"weight": rng.random(3000).round(3), "kind": NAMES[given], "two": given > 0}
    )
    rows.to_csv(path / "animals.csv", index=False)
    frame = pd.DataFrame(scores, columns=NAMES)
    frame[["fox", "cat", "dog"]].to_parquet(path / "p.parquet")
    frame.rename(columns={"fox": "wolf"}).to_csv(path / "other.csv", index=False)
    frame.iloc[1:].to_csv(path / "short.csv", index=False)
    frame.astype({"fox": str}).assign(fox="x").to_csv(path / "words.csv", index=False)
    np.save(path / "p.npy", scores)
    np.save(path / "four.npy", np.full((3000, 4), 0.25))
    pd.DataFrame(chances).to_parquet(path / "chances.parquet")
    pd.Series(true).to_frame("true").to_parquet(path / "true.parquet")
    return path


def drawn(command, folder, tmp_path, *more, scores="p.parquet", label="kind"):
    return command(
        f"cases {folder}/animals.csv --label {label} --scores {folder}/{scores} --cases 120",
        *("--out", tmp_path / "sheet.csv", *more),
    )


@pytest.fixture
def sheet(command, folder, tmp_path):
    """Return the path of a sheet filled in with the chances."""
    assert drawn(command, folder, tmp_path).exit_code == 0
    path = tmp_path / "sheet.csv"
    table = pd.read_csv(path)
    chances = pd.read_parquet(folder / "chances.parquet").to_numpy()[table["row"] - 1]
    for place, name in enumerate(NAMES):
        table[f"stated_{name}"] = chances[:, place]
    table.to_csv(path, index=False)
    return path


def judge(command, folder, answers, *more, kind="probability", scores="p.parquet"):
    arguments = ["line", folder / "animals.csv", "--label", "kind", "--scores", folder / scores]
    return command(*arguments, "--answers", answers, "--kind", kind, *more)


def test_the_sheet_has_a_column_for_each_class(command, folder, tmp_path):
    said = drawn(command, folder, tmp_path)
    table = pd.read_csv(tmp_path / "sheet.csv")
    stated = ["stated_cat", "stated_dog", "stated_fox"]
    assert [*table] == ["row", "weight", "two", *stated]
    assert table[stated].isna().all(axis=None)
    assert "120 rows drawn in 9 strata" in said.stdout or "in 8 strata" in said.stdout
    assert "--kind probability" in said.stdout
    assert eo.Cases.read(tmp_path / "sheet.json").given_hash is None


@pytest.mark.parametrize("scores", ["p.parquet", "p.npy"])
def test_the_command_line_gives_the_result_of_python(command, folder, sheet, scores):
    found = json.loads(judge(command, folder, sheet, "--format", "json", scores=scores).stdout)
    values = np.load(folder / "p.npy")
    given = pd.read_csv(folder / "animals.csv")["kind"]
    cases = eo.Cases.read(sheet.with_suffix(".json"))
    said = pd.read_parquet(folder / "chances.parquet").to_numpy()[cases.rows]
    expected = eo.line_test(values, given, cases, said, answers="probability")
    assert found["pvalue"] == pytest.approx(expected.pvalue, rel=1e-6)
    assert found["reject"]
    assert found["intervals"][0]["high"] < 0
    assert "depends on the true class alone" in found["verdict"]


def test_a_gate_and_a_report_work(command, folder, sheet, tmp_path):
    page = tmp_path / "page.html"
    done = judge(command, folder, sheet, "--gate", "reject", "--report", page)
    assert done.exit_code == 1
    assert "gains from" in page.read_text(encoding="utf-8")


def test_looked_up_classes_are_drawn_by_label_and_read_without_a_model(command, folder, tmp_path):
    assert drawn(command, folder, tmp_path, "--kind", "looked-up").exit_code == 0
    path = tmp_path / "sheet.csv"
    table = pd.read_csv(path)
    assert eo.Cases.read(tmp_path / "sheet.json").given_hash is not None
    true = pd.read_parquet(folder / "true.parquet")["true"].to_numpy()[table["row"] - 1]
    for place, name in enumerate(NAMES):
        table[f"stated_{name}"] = np.where(true == place, 1, np.nan)  # nothing for 0
    table.to_csv(path, index=False)
    found = json.loads(judge(command, folder, path, "--format", "json", kind="looked-up").stdout)
    assert found["pairs"][0]["adjusted"] < 0.05
    assert "n_audited" in found
    refused = judge(command, folder, path, "--shared-tolerance", "0.1", kind="looked-up")
    assert "what was looked up does not lean" in refused.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--weight", "weight"), "--weight does not go with three classes and more"),
        (("--positive", "cat"), "--positive does not go with three classes and more"),
        (("--alternative", "less"), "every pair of classes is tested, both ways"),
        (("--margin", "0.2"), "--margin is for two classes, and there are three or more"),
        (("--margin", "0.2", "--gate", "equivalence"), "leave --margin and --gate equivalence out"),
    ],
)
def test_options_of_two_classes_are_refused(command, folder, sheet, options, message):
    done = judge(command, folder, sheet, *options)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (
            "other.csv",
            "has columns 'cat', 'dog' and 'wolf' but the classes are 'cat', 'dog' and 'fox'",
        ),
        ("four.npy", "has 4 columns but the classes are"),
        ("short.csv", "2,999 rows but"),
        ("words.csv", "column 'fox' of .* must hold a probability for every row"),
    ],
)
def test_probabilities_of_other_classes_or_rows_are_refused(
    command, folder, tmp_path, scores, message
):
    done = drawn(command, folder, tmp_path, scores=scores)
    assert done.exit_code == 2

    assert re.search(message, " ".join(done.stderr.split()))


def test_answers_that_are_no_truth_are_refused_as_looked_up(command, folder, sheet):
    done = judge(command, folder, sheet, kind="looked-up")
    assert done.exit_code == 2
    assert "has no single class with 1 and 0 for the others" in " ".join(done.stderr.split())


def test_a_sheet_without_answers_or_columns_is_refused(command, folder, tmp_path):
    drawn(command, folder, tmp_path)
    path = tmp_path / "sheet.csv"
    assert "holds no answers yet" in judge(command, folder, path).stderr
    pd.read_csv(path).drop(columns="stated_dog").to_csv(path, index=False)
    assert "no column 'stated_dog'" in judge(command, folder, path).stderr


def test_tools_for_two_classes_are_refused(command, folder, tmp_path):
    out = ("--out", tmp_path / "t.json", "--format", "label-studio", "--kind", "probability")
    done = drawn(command, folder, tmp_path, *out)
    assert "--format is csv for three classes and more" in done.stderr


def test_two_classes_with_a_file_of_many_columns_are_told_so(command, folder, tmp_path):
    done = drawn(command, folder, tmp_path, label="two")
    assert "none called 'score'" in done.stderr
