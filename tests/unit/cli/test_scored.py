"""`evenodds scores`: the numbers of Python in a file, a summary, and a sentence for bad input."""

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.cli.scored import area_and_error
from evenodds.rows.read import read_data


@pytest.fixture
def scores(command, files, tmp_path):
    """Return a function that scores the rows, and the file that it writes."""

    def run(*more, name="s.parquet", label="diagnosis", features="age,dose", data="rows.csv"):
        arguments = ["scores", files / data, "--label", label, "--out", tmp_path / name]
        return command(*arguments, "--features", features, *more), tmp_path / name

    return run


@pytest.fixture(scope="module")
def expected(table):
    return eo.out_of_fold_scores(table[["age", "dose"]].to_numpy(), table["diagnosis"])


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("s.parquet", lambda path: pd.read_parquet(path)["score"].to_numpy()),
        ("s.csv", lambda path: np.array(path.read_text().split()[1:], dtype=float)),
        ("s.npy", np.load),
    ],
)
def test_every_kind_of_file_holds_the_scores_of_python_to_the_last_digit(
    scores, expected, name, read
):
    _, path = scores(name=name)
    assert (read(path) == expected).all()


def test_the_summary_says_what_was_scored_and_what_comes_next(scores, files):
    said, path = scores("--folds", 4)
    assert said.stdout.startswith("300 rows scored in 4 folds, each by a curve that has not seen")
    assert "(AUC)" in said.stdout
    assert "hardly" not in said.stdout
    assert (
        f"Next: evenodds elicit {files}/rows.csv --label diagnosis --scores {path}" in said.stdout
    )
    assert "from 'age' and 'dose'." in said.stdout
    assert said.stderr == f"wrote {path}\n"


def test_scores_that_know_nothing_are_called_so(scores):
    said, _ = scores(features="times")
    assert "These scores hardly tell the labels apart." in said.stdout


def test_a_formula_weights_groups_and_a_seed_are_heeded(command, files, tmp_path, scores):
    said = command(
        f"scores {files}/rows.csv --formula 'diagnosis ~ age + I(age**2)' --weight times",
        f"--group patient --seed 3 --out {tmp_path}/f.npy",
    )
    assert said.exit_code == 0
    assert not np.array_equal(np.load(tmp_path / "f.npy"), np.load(scores(name="s.npy")[1]))


def test_the_area_counts_pairs_and_ties_with_their_weights():
    labels, weights = np.array([1, 0, 1, 0, 1, 0]), np.array([1, 2, 1, 1, 3, 1])
    values = np.array([0.9, 0.9, 0.4, 0.3, 0.2, 0.8])
    rows = read_data(values[:, None], labels, sample_weight=weights)
    pairs = [
        (w * v, (a > b) + 0.5 * (a == b))
        for a, w in zip(values[labels == 1], weights[labels == 1], strict=True)
        for b, v in zip(values[labels == 0], weights[labels == 0], strict=True)
    ]
    by_hand = sum(w * above for w, above in pairs) / sum(w for w, _ in pairs)
    assert area_and_error(rows, values)[0] == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("changed", "more", "message"),
    [
        ({"label": "diagnosys"}, (), "has no column 'diagnosys'; did you mean 'diagnosis'?"),
        ({"features": "age,dos"}, (), "has no column 'dos'; did you mean 'dose'?"),
        ({"name": "s.xlsx"}, (), "must end in '.parquet', '.csv' or '.npy'."),
        ({"name": "no/s.csv"}, (), "name a file in a folder that exists."),
        ({}, ("--folds", 1), "--folds is 1 but must be a whole number of at least 3."),
        ({}, ("--folds", 90), "the rarer label has"),
        ({}, ("--seed", -1), "--seed is -1 but must be a whole number of at least 0."),
        ({"features": "stated"}, (), "missing values"),
    ],
)
def test_bad_input_gets_one_sentence_and_no_file(scores, changed, more, message):
    said, path = scores(*more, **changed)
    assert (said.exit_code, path.exists()) == (2, False)
    assert message in " ".join(said.stderr.split())


@pytest.mark.parametrize("formula", ["diagnosis", "C(diagnosis) + age"])
def test_the_label_is_no_feature(command, files, tmp_path, formula):
    said = command(
        f"scores {files}/rows.csv --label diagnosis --formula '{formula}' --out {tmp_path}/s.npy"
    )
    assert said.exit_code == 2
    assert "has the label 'diagnosis' among its features" in " ".join(said.stderr.split())


@pytest.mark.parametrize("copy", ["code", "diagnosis"])
def test_a_copy_of_the_label_is_doubted(scores, copy):
    label = {"code": "diagnosis", "diagnosis": "code"}[copy]
    said, _ = scores(label=label, features=f"age,{copy}")
    assert f"from 'age' and '{copy}'." in said.stdout
    assert said.exit_code == 0
    assert said.stderr.startswith("evenodds: the scores tell the given labels apart almost perfec")
    assert "Warning" not in said.stderr


def test_a_constant_column_is_told_in_a_sentence(command, table, tmp_path):
    table.assign(one=1.5).to_csv(tmp_path / "rows.csv", index=False)
    said = command(
        f"scores {tmp_path}/rows.csv --label diagnosis --features age,dose,one",
        f"--out {tmp_path}/s.npy",
    )
    told = f"evenodds: column 'one' of {tmp_path}/rows.csv is constant, so it tells nothing of the"
    assert (said.exit_code, said.stderr.startswith(told)) == (0, True), said.stderr
    assert "Warning" not in said.stderr


@pytest.mark.parametrize(
    ("hole", "what"), [("diagnosis", "drop the rows without a label."), ("age", "drop or fill")]
)
def test_missing_values_get_advice_that_can_be_followed(command, table, tmp_path, hole, what):
    """scores, cases and line have no --missing: scores go by the order of rows."""
    holed = table.astype({hole: object})
    holed.loc[3, hole] = None
    holed.assign(score=0.5).to_csv(tmp_path / "rows.csv", index=False)
    rows, ends = f"{tmp_path}/rows.csv --label diagnosis", f"--out {tmp_path}/out.csv"
    for line in (f"scores {rows} --features age,dose", f"cases {rows} --scores age"):
        said = command(line, ends)
        assert (said.exit_code, what in " ".join(said.stderr.split())) == (2, True)
        assert "missing=" not in said.stderr


def test_the_data_are_not_overwritten(command, files):
    before = (files / "rows.csv").read_bytes()
    said = command(f"scores {files}/rows.csv --label code --out {files}/rows.csv")
    assert "would overwrite" in said.stderr
    assert (files / "rows.csv").read_bytes() == before


def test_three_labels_are_told_how_to_make_probabilities(scores, files, table):
    table.assign(three=np.arange(len(table)) % 3).to_csv(files / "three.csv", index=False)
    done, path = scores(label="three", data="three.csv")
    assert (done.exit_code, path.exists()) == (2, False)
    said = " ".join(done.stderr.split())
    assert "column 'three' has 3 distinct labels (0, 1 and 2) but scores are made of 2: " in said
    assert "cross_val_predict(model, X, y, method='predict_proba')" in said
