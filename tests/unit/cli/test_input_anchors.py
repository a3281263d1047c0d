"""Files that are given as anchors and should not be, or only with a doubt."""

import numpy as np
import pandas as pd
import pytest

N_ROWS = 400
DATA = "rows of the data, so it is the data and not a choice of cases: give the toss-ups alone"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with data, and with files that a hasty user takes for anchors."""
    folder = tmp_path_factory.mktemp("hasty")
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 3)), columns=["age", "dose", "mood"])
    chance = 1 / (1 + np.exp(-X.sum(axis=1)))
    signs = np.where(rng.random(N_ROWS) < chance, 1, -1)
    kinds = np.array(["cat", "dog", "fox"])[rng.binomial(2, chance)]
    rows = X.assign(y=signs, row_id=np.arange(N_ROWS))
    rows.to_csv(folder / "rows.csv", index=False)
    rows.to_parquet(folder / "rows.parquet")
    rows.to_csv(folder / "numbered.csv")
    X.to_csv(folder / "features.csv", index=False)
    X[::-1].to_csv(folder / "backwards.csv", index=False, float_format="%.3f")
    rows[:6].to_csv(folder / "labelled_few.csv", index=False)
    few = rows.drop(columns="y")[:6].assign(posterior=0.5, tolerance=0.1, shared_tolerance=0.02)
    few.to_csv(folder / "few.csv", index=False)
    X.assign(kind=kinds).to_csv(folder / "kinds.csv", index=False)
    X.assign(kind=kinds, between="cat | dog").to_csv(folder / "kinds_between.csv", index=False)
    X.assign(between="cat | dog").to_csv(folder / "all_between.csv", index=False)
    X[:6].assign(between="cat | dog").to_csv(folder / "few_between.csv", index=False)
    return folder


@pytest.fixture
def says(command, folder):
    """Return a function that wants exit code 2 and one sentence with this text."""

    def check(text, line):
        result = command(line.replace("@", f"{folder}/"))
        assert (result.exit_code, result.stdout) == (2, "")
        assert text in " ".join(result.stderr.split())
        assert result.stderr.count("\n") == 1

    return check


@pytest.mark.parametrize(
    "anchors", ["rows.csv", "rows.parquet", "numbered.csv", "labelled_few.csv"]
)
@pytest.mark.parametrize(
    "how",
    [
        "test @rows.csv --label y --features age,dose,mood",
        "test @rows.parquet --label y",
        "test @rows.csv --formula 'y ~ age + dose'",
        "contour @rows.csv --label y --features age,dose",
    ],
)
def test_labelled_data_are_no_anchors(says, how, anchors):
    text = f"{anchors} has the label column 'y': anchors are cases that an expert judged without"
    says(text, f"{how} --anchors @{anchors}")


@pytest.mark.parametrize("anchors", ["features.csv", "backwards.csv"])
@pytest.mark.parametrize("method", ["boundary", "joint", "local", "wald"])
def test_the_data_are_no_anchors(says, method, anchors):
    line = f"test @rows.csv --label y --features age,dose,mood --method {method}"
    says(DATA, f"{line} --anchors @{anchors}")


def test_rows_that_a_column_marks_may_be_many(command, folder):
    """They are left out of the fit, and so cannot be the rows that it rests on."""
    rows = pd.read_csv(folder / "rows.csv")[["age", "y"]].round(0)
    rows.assign(judged=np.arange(N_ROWS) % 2 == 0).to_csv(folder / "marked.csv", index=False)
    line = f"test {folder}/marked.csv --label y --anchor-column judged --method wald"
    assert command(line).exit_code == 0


def test_columns_that_the_test_ignores_are_doubted(command, document, folder):
    line = f"test {folder}/rows.csv --label y --features age --anchors {folder}/few.csv"
    first = document(line, "--method wald")["diagnostics"][0]
    assert (first["name"], first["concern"]) == ("columns", True)
    assert "The anchors have 'dose' and 'mood', which the test does not use" in first["message"]
    assert "'dose' and 'mood'" in " ".join(command(line, "--method wald").stdout.split())


def test_columns_that_are_used_are_not_doubted(document, folder):
    line = f"test {folder}/rows.csv --label y --features age,dose,mood"
    found = document(line, f"--anchors {folder}/few.csv --method wald")["diagnostics"]
    assert "columns" not in [check["name"] for check in found]


@pytest.mark.parametrize("method", ["boundary", "joint", "local", "wald"])
@pytest.mark.parametrize("anchors", ["--anchors @few.csv", "--anchor-column mood"])
def test_a_score_takes_no_anchors(says, method, anchors):
    text = "--probabilities cannot be used with anchors: a score is drawn towards the base rate"
    says(text, f"test @rows.csv --label y --probabilities age --method {method} {anchors}")


def test_several_classes_refuse_labels_in_anchors(says):
    text = "kinds_between.csv has the label column 'kind': anchors are cases that an expert judged"
    says(text, "multiclass @kinds.csv --label kind --anchors @kinds_between.csv")


def test_several_classes_refuse_the_data(says):
    text = f"split 'cat | dog': anchors holds 400 of the 400 {DATA}"
    says(text, "multiclass @kinds.csv --label kind --anchors @all_between.csv")


def test_several_classes_doubt_ignored_columns(document, folder):
    line = f"multiclass {folder}/kinds.csv --label kind --features age,dose"
    found = document(line, f"--anchors {folder}/few_between.csv")["diagnostics"]
    doubted = [check["message"] for check in found if check["name"] == "columns"]
    assert "The anchors have 'mood', which the test does not use" in doubted[0]
