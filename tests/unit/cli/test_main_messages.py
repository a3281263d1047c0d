"""Everything the command line itself refuses: exit code 2 and a sentence on stderr."""

import subprocess

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def says(command):
    """Return a function that wants exit code 2 and this text in the message."""

    def check(text, *arguments):
        result = command(*arguments)
        assert (result.exit_code, result.stdout, text in result.stderr) == (2, "", True), (
            result.stderr
        )

    return check


@pytest.fixture
def other_table(tmp_path, files):
    """Return a function that writes a frame and gives the arguments to test it."""

    def write(frame, name="other.csv", label="diagnosis"):
        frame.to_csv(tmp_path / name, index=False)
        return ["test", tmp_path / name, "--label", label, "--anchors", files / "toss_ups.csv"]

    return write


@pytest.fixture
def plain(table):
    return table[["age", "dose", "diagnosis"]].copy()


def test_a_spreadsheet(says, anchors, tmp_path):
    text = "rows.xlsx is a spreadsheet: save its sheet as .csv, or give one of '.csv', '.tsv', '.t"
    says(text, "test", tmp_path / "rows.xlsx", "--label y", anchors)


def test_a_file_of_no_table(says, anchors, tmp_path):
    text = "rows.sav is not a table: give one of '.csv', '.tsv', '.txt', '.parquet', '.pq', '.fea"
    says(text, "test", tmp_path / "rows.sav", "--label y", anchors)


def test_a_compressed_file(says, anchors, tmp_path):
    text = "rows.csv.gz is compressed: unpack it first."
    says(text, "test", tmp_path / "rows.csv.gz", "--label y", anchors)


def test_a_header_in_another_encoding(says, anchors, tmp_path):
    (tmp_path / "rows.csv").write_bytes("märker,y\n1,0\n2,1\n".encode("latin-1"))
    text = "the header of {}/rows.csv holds text that is not UTF-8: save the file with that encod"
    says(text.format(tmp_path), "test", tmp_path / "rows.csv", "--label y", anchors)


def test_a_file_that_is_not_there(says, anchors, tmp_path):
    says("there is no file ", "test", tmp_path / "rows.csv", "--label y", anchors)


def test_a_folder_in_place_of_a_file(says, anchors, tmp_path):
    (tmp_path / "rows.csv").mkdir()
    text = "rows.csv is a folder without tables: give one of '.csv'"
    says(text, "test", tmp_path / "rows.csv", "--label y", anchors)


def test_an_empty_file(says, anchors, tmp_path):
    (tmp_path / "rows.csv").touch()
    text = "rows.csv is empty: give a table with a header and rows."
    says(text, "test", tmp_path / "rows.csv", "--label y", anchors)


def test_a_header_without_rows(says, anchors, tmp_path):
    (tmp_path / "rows.csv").write_text("age,y\n")
    text = "rows.csv has no rows: give a table with a header and data."
    says(text, "test", tmp_path / "rows.csv", "--label y", anchors)


def test_a_file_that_is_no_parquet(says, anchors, tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"age,y\n1,0\n2,1\n")
    text = "rows.parquet cannot be read as parquet: "
    says(text, "test", tmp_path / "rows.parquet", "--label y", anchors)


def test_a_csv_with_a_torn_row(says, anchors, tmp_path):
    (tmp_path / "rows.csv").write_text("age,y\n1,0\n2\n")
    says("rows.csv cannot be read as csv: ", "test", tmp_path / "rows.csv", "--label y", anchors)


def test_a_label_that_is_not_there(says, other_table, plain):
    text = "other.csv has no column 'Diagnoses'; did you mean 'diagnosis'"
    says(text, *other_table(plain, label="Diagnoses"))


def test_a_label_like_no_column(says, other_table, plain):
    text = "has no column 'y'; the columns are 'age', 'dose' and 'diagnosis'."
    says(text, *other_table(plain, label="y"))


@pytest.mark.parametrize("option", ["--weight", "--group", "--features"])
def test_another_column_that_is_not_there(says, other_table, plain, option):
    says("has no column 'doses'; did you mean 'dose'?", *other_table(plain), option, "doses")


def test_an_anchor_column_that_is_not_there(says, files):
    arguments = ["test", files / "rows.csv", "--label", "code", "--anchor-column", "flags"]
    says("has no column 'flags'; did you mean 'flag'?", *arguments)


def test_a_column_name_used_twice(says, anchors, tmp_path):
    (tmp_path / "rows.csv").write_text("age,age,y\n1,2,0\n3,4,1\n")
    text = "rows.csv has more than one column named 'age'."
    says(text, "test", tmp_path / "rows.csv", "--label y", anchors)


def test_a_feature_named_twice(says, other_table, plain):
    says("'age'", *other_table(plain), "--features", "age,age")


def test_the_label_as_a_feature(says, other_table, plain):
    text = "column 'diagnosis' is named as a feature and for another part too."
    says(text, *other_table(plain), "--features", "age,diagnosis")


@pytest.mark.parametrize("features", [",", "''"])
def test_no_features(says, other_table, plain, features):
    says("feature", *other_table(plain), "--features", features)


def test_only_a_label(says, other_table, plain):
    says("has no feature columns beside 'diagnosis'.", *other_table(plain[["diagnosis"]]))


def test_two_sources_of_anchors(says, other_table, plain):
    text = "give --anchors or --anchor-column, not both."
    says(text, *other_table(plain), "--anchor-column", "age")


def test_no_anchors(says, files):
    arguments = ["test", files / "plain.csv", "--label", "diagnosis", "--method", "wald"]
    text = "--method wald needs toss-up cases: give --anchors FILE or --anchor-column COL; evenodds"
    says(text, *arguments)


def test_an_anchor_file_that_is_not_there(says, files, tmp_path):
    arguments = ["test", files / "plain.csv", "--label", "diagnosis"]
    says("there is no file ", *arguments, "--anchors", tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (
            ["Age", "dose"],
            "anchors.csv has no column 'age', which the data has; did you mean 'Age'?",
        ),
        (["age", "dose", "does"], "anchors.csv has a column 'does' that the data has not; did you"),
    ],
)
def test_anchors_with_other_columns(says, files, tmp_path, columns, text):
    anchors = tmp_path / "anchors.csv"
    pd.DataFrame(np.eye(len(columns)), columns=columns).to_csv(anchors, index=False)
    says(text, "test", files / "plain.csv", "--label", "diagnosis", "--anchors", anchors)


def test_a_text_column_of_anchors(says, files):
    arguments = ["test", files / "rows.csv", "--label", "code", "--features", "age,dose"]
    text = "column 'diagnosis' holds string values: mark anchors by true and false, or by the stat"
    says(text, *arguments, "--anchor-column", "diagnosis")


def test_a_column_that_marks_no_anchors(says, table, tmp_path):
    table[["age", "dose", "code"]].assign(mark=0).to_csv(tmp_path / "rows.csv", index=False)
    arguments = ["test", tmp_path / "rows.csv", "--label", "code", "--anchor-column", "mark"]
    says("column 'mark' marks no row as an anchor.", *arguments)


def test_stated_posteriors_that_the_method_cannot_use(says, table, tmp_path):
    stated = table[["age", "dose", "code"]].assign(stated=table["stated"] + 0.2)
    stated.to_csv(tmp_path / "rows.csv", index=False)
    arguments = ["test", tmp_path / "rows.csv", "--label", "code", "--anchor-column", "stated"]
    says("posterior is 0.7 but method 'wald' needs 0.5 everywhere", *arguments, "--method", "wald")


def test_a_label_left_empty(says, other_table, plain):
    plain["diagnosis"] = plain["diagnosis"].where(plain["diagnosis"] == "ill")
    count = int(plain["diagnosis"].isna().sum())
    says(f"column 'diagnosis' has {count} missing values", *other_table(plain))


def test_a_numeric_label_left_empty(says, other_table, table):
    frame = table[["age", "dose", "code"]].astype(object)
    frame.loc[7, "code"] = None
    text = "column 'code' has 1 missing value, the first in row 8 of "
    says(text, *other_table(frame, label="code"))


def test_a_value_left_empty(says, other_table, plain):
    plain.loc[10, "dose"] = np.nan
    arguments = other_table(plain)
    place = f"row 11 of {arguments[1]} (counted from 1 after the header)"
    text = f"has 1 missing value, the first in {place}, column 'dose': drop or fill it"
    says(text, *arguments)


def test_a_value_left_empty_is_counted_in_the_rows_of_the_file(says, table, tmp_path):
    frame = table[["age", "dose", "code", "flag"]].copy()
    frame.loc[10, "dose"] = np.nan
    frame.to_csv(tmp_path / "rows.csv", index=False)
    arguments = ["test", tmp_path / "rows.csv", "--label", "code", "--anchor-column", "flag"]
    says(f"the first in row 11 of {tmp_path}/rows.csv (counted from 1 ", *arguments)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (["x"] * 300, "rows.csv holds one text only ('x'): leave it out."),
        (pd.date_range("2020", periods=300), "rows.csv holds dates or times: turn it into a"),
    ],
)
def test_a_column_that_is_no_number(says, plain, tmp_path, column, text):
    frame = plain.assign(more=column)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    arguments = ["test", tmp_path / "rows.csv", "--label", "diagnosis"]
    says(text, *arguments, "--anchors", tmp_path / "rows.csv")


def test_negative_weights(says, other_table, plain):
    arguments = other_table(plain.assign(times=-1))
    text = f"column 'times' is -1 in row 1 of {arguments[1]} (counted from 1 after the header) but"
    says(text, *arguments, "--weight", "times")


def test_weights_of_text(says, files):
    arguments = ["test", files / "rows.csv", "--label", "code", "--features", "age,dose"]
    anchors = ["--anchors", files / "toss_ups.csv"]
    text = "column 'diagnosis' of"
    says(text, *arguments, *anchors, "--weight", "diagnosis")


def test_one_group(says, other_table, plain):
    arguments = other_table(plain.assign(who="me"))
    says("column 'who' has one group only ('me')", *arguments, "--group", "who")


def test_a_group_left_empty(says, other_table, plain):
    arguments = other_table(plain.assign(who=[None, *("ab" * 149), "a"]))
    says("column 'who' has 1 missing value, the first in row 1 of", *arguments, "--group", "who")


def test_a_positive_that_is_no_label(says, basic):
    text = "positive is 'yes' but the labels are 'healthy' and 'ill': name one of these."
    says(text, basic, "diagnosis", "--positive", "yes")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--gate", "equivalence"], "--gate equivalence needs --margin: how large an asymmetry is"),
        (["--significance", "0"], "--significance is 0 but must be above 0 and below 1."),
        (["--margin", "1.5"], "--margin is 1.5 but must be above 0 and below 1."),
        (["--tolerance", "0.6"], "tolerance is 0.6 but must be at least 0 and below 0.5"),
        (["--tolerance", "nan"], "tolerance is nan"),
        (["--shared-tolerance", "-1"], "--shared-tolerance is -1 but must be at least 0 and below"),
        (["--set", "weights=best"], "weights is 'best' but must be one of 'equal' or 'optimal'."),
        (["--set", "weights=optimal"], "weights='optimal' needs strict anchors (tolerance 0)"),
        (
            ["--set", "covariance=x"],
            "covariance is 'x' but must be one of 'information' or",
        ),
        (
            ["--set", "weights"],
            "--set 'weights' must be name=value, such as weights=optimal",
        ),
        (
            ["--set", "size=3"],
            "--set names 'size', which no method has. --method wald has",
        ),
        (["--set", "draws=many"], "--set draws is 'many' but must be a whole number."),
        (["--set", "seed=1"], "--set seed goes with --set calibration=bootstrap."),
        (["--alternative", "more"], "--alternative"),
        (["--method", "magic"], "--method"),
        (["--format", "yaml"], "--format"),
        (["--gate", "maybe"], "--gate"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_options(says, basic, options, text):
    says(text, basic, "diagnosis", *options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            "boundary --set covariance=sandwich",
            "--set covariance is for --method wald; use --",
        ),
        (
            "joint --set weights=optimal",
            "--set weights is for --method boundary and wald: joint uses every",
        ),
    ],
)
def test_settings_of_another_method(says, basic, options, text):
    says(text, basic, "diagnosis --method", options)


def test_a_number_that_is_none(script, files):
    for option, needed in (("--tolerance", "number"), ("--folds", "whole number")):
        line = [
            script,
            "test" if needed == "number" else "scores",
            files / "rows.csv",
            option,
            "abc",
        ]
        said = subprocess.run(line, capture_output=True, text=True, check=False).stderr
        assert f"invalid value for '{option}': must be a {needed} (see evenodds" in said


def test_a_folder_of_different_tables(says, files, tmp_path):
    (tmp_path / "a.csv").write_text("size,y\n1,0\n")
    (tmp_path / "b.csv").write_text("diagnosis,y\n1,0\n")
    text = "b.csv has no column 'size', which {}/a.csv has; the columns are 'diagnosis' and 'y'."
    says(text.format(tmp_path), "test", tmp_path, "--label diagnosis --method joint")


def test_a_label_is_needed(says, files):
    says("--label", "test", files / "rows.csv")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["5", "4", "0.2"], "POSITIVE is 5 but ROWS is 4: it counts some of them."),
        (["5", "40", "1.2"], "prior is 1.2 but must be above 0 and below 1"),
        (["5", "40", "0.2", "--null", "none"], "'none' is not one of 'uniform'"),
        (["5", "40", "0.2", "--significance", "1"], "--significance is 1 but must be above 0 and"),
        (["five", "40", "0.2"], "POSITIVE"),
        (["5", "40"], "SHARE"),
    ],
)
def test_wrong_priors(says, arguments, text):
    says(text, "prior", *arguments)


def test_an_unknown_command(says):
    says("tset", "tset")


@pytest.mark.parametrize("option", ["--group", "--weight", "--anchor-column"])
def test_the_label_for_another_part(says, files, option):
    text = "column 'code' is named as the label and as the one that"
    says(text, "test", files / "rows.csv", "--label code --method joint", option, "code")


def test_the_label_of_many_classes_as_a_group(says, files):
    text = "column 'code' is named as the label and as the one that holds groups"
    arguments = ["multiclass", files / "rows.csv", "--label code --group code"]
    says(text, *arguments, "--anchors", files / "toss_ups.csv")


@pytest.mark.parametrize(
    "line",
    [
        "plan --variance 0.9 --anchors 9 --alpha 0.1 --beta 0.3 --runs {}",
        "plan --variance 0.9 --anchors 9 --alpha 0.1 --beta 0.3 --workers {}",
        "plan --variance 0.9 --anchors {} --alpha 0.1 --beta 0.3",
        "plan --variance 0.9 --variance-rows 9 --rows {} --anchors 9 --alpha 0.1 --beta 0.3",
        "audit plan --alpha 0.1 --beta 0.3 --prior 0.5 --runs {}",
        "study paper --out {{}} --runs {}",
        "study atlas --out {{}} --workers {}",
        "prior -- 30 {} 0.4",
    ],
)
@pytest.mark.parametrize("number", [10**30, -1])
def test_counts_beyond_reason(says, tmp_path, line, number):
    says(" but must be ", line.format(number).format(tmp_path))


@pytest.mark.parametrize("name", ["no/such/plan.png", "", "/", "folder"])
def test_a_picture_that_cannot_be_written_is_refused_before_the_work(says, tmp_path, name):
    (tmp_path / "folder.svg").mkdir()
    arguments = "plan --world paper --rows 999 --anchors 9 --alpha 0.1 --beta 0.3 --figure"
    says("name ", arguments, f"'{tmp_path / name if name[:1] != '/' and name else name}'")


def test_an_output_among_the_files_of_a_folder(says, files, tmp_path):
    (tmp_path / "part.csv").write_text((files / "plain.csv").read_text())
    for source in (tmp_path, f"'{tmp_path}/*.csv'"):
        arguments = ["test", source, "--label diagnosis --method joint --flips"]
        says("part.csv would overwrite ", *arguments, tmp_path / "part.csv")


def test_no_more_of_a_value_is_quoted_than_can_be_read(command, files):
    result = command("test", files / "rows.csv", "--method joint --label", "x" * 5000)
    assert f"no column '{'x' * 200}'... (5,000 characters); " in result.stderr
