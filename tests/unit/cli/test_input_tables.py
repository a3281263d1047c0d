"""Folders, globs, standard input, formulas and probabilities on the command line."""

import io
import json
import os
import shutil
import subprocess

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import evenodds as eo
from evenodds.cli.output import pass_progress
from evenodds.model.sums import Moments
from evenodds.rows import table_rows
from evenodds.rows.table_rows import Reading, read_table


def close(value):
    return pytest.approx(value, rel=1e-9)


@pytest.fixture(scope="module")
def folder(files, tmp_path_factory, table):
    """Return a folder with the plain table in three files, and nothing else."""
    folder = tmp_path_factory.mktemp("parts")
    plain = table[["age", "dose", "diagnosis"]]
    for number in range(3):
        plain[number * 100 : number * 100 + 100].to_csv(folder / f"{number}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def expected(document, basic):
    return document(basic, "diagnosis")["statistic"]


@pytest.mark.parametrize("form", ["{folder}", "'{folder}/?.csv'", "{folder}/0.csv {rest}"])
def test_several_files_are_one_table(document, folder, anchors, expected, form):
    rest = f"{folder}/1.csv {folder}/2.csv"
    source = form.format(folder=folder, rest=rest)
    found = document(f"test {source} --label diagnosis --method wald", anchors)
    assert found["statistic"] == close(expected)


def test_a_row_is_placed_in_its_own_file(command, folder, anchors, tmp_path):
    shutil.copytree(folder, tmp_path / "parts")
    second = tmp_path / "parts" / "1.csv"
    frame = pd.read_csv(second)
    frame.loc[4, "dose"] = np.nan
    frame.to_csv(second, index=False)
    done = command(f"test {tmp_path}/parts --label diagnosis", anchors)
    assert f"the first in row 5 of {second} (counted from 1 after the header)" in done.stderr


def test_files_with_other_columns_are_refused(command, folder, anchors, tmp_path):
    shutil.copytree(folder, tmp_path / "parts")
    second = tmp_path / "parts" / "1.csv"
    second.write_text(second.read_text().replace("dose", "Dose", 1))
    done = command(f"test {tmp_path}/parts --label diagnosis", anchors)
    text = f"1.csv has no column 'dose', which {tmp_path}/parts/0.csv has; did you mean 'Dose'?"
    assert (done.exit_code, text in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'{folder}/*.parquet'", "no file matches {folder}/*.parquet."),
        ("{folder}/0.csv {folder}/rows.parquet", "there is no file {folder}/rows.parquet."),
        ("{folder}/0.csv {files}/rows.parquet", "holds files of different kinds ('.csv' and '.pa"),
        ("{folder}/0.csv {folder}", "{folder}/0.csv is given twice, which would count its rows"),
    ],
)
def test_files_that_make_no_table_are_refused(command, folder, files, anchors, source, text):
    done = command(f"test {source.format(folder=folder, files=files)} --label diagnosis", anchors)
    assert (done.exit_code, text.format(folder=folder) in done.stderr) == (2, True), done.stderr


def test_standard_input_is_read(script, files, anchors, expected):
    line = f"{script} test - --label diagnosis --method wald {anchors} --format json"
    with (files / "plain.csv").open() as rows:
        done = subprocess.run(line.split(), stdin=rows, capture_output=True, text=True, check=True)
    result = eo.AsymmetryTestResult.from_dict(json.loads(done.stdout))
    assert result.statistic == close(expected)


def test_a_terminal_is_no_standard_input(monkeypatch, refused):
    from evenodds.rows.open_table import open_table

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    with refused("standard input is a terminal: pipe a CSV file into the command."):
        open_table("-")


def test_a_formula_names_label_and_features(document, files, anchors, table, wald):
    line = f"test {files}/rows.csv --formula 'diagnosis ~ age + I(dose ** 2)' --method wald"
    expected = wald(
        table[["age"]].assign(square=table["dose"] ** 2),
        table["diagnosis"].to_numpy(),
        eo.Anchors(pd.DataFrame({"age": [0.0, 1, -2], "square": [0.0, 1, 4]})),
    )
    assert document(line, anchors)["statistic"] == close(expected.statistic)


def test_probabilities_are_the_only_feature(document, tmp_path, table):
    frame = table[["code"]].assign(score=1 / (1 + np.exp(-table["age"])))
    frame.to_csv(tmp_path / "scores.csv", index=False)
    line = f"test {tmp_path}/scores.csv --label code --probabilities score --method joint"
    assert document(line)["n_features"] == 1


def test_rows_with_holes_are_dropped_when_asked(document, command, tmp_path, anchors, table):
    frame = table[["age", "dose", "diagnosis"]].copy()
    frame.loc[[3, 5], "dose"] = np.nan
    frame.to_csv(tmp_path / "rows.csv", index=False)
    line = f"test {tmp_path}/rows.csv --label diagnosis --method wald --missing drop"
    assert document(line, anchors)["n_rows"] == 298
    assert "2 of 300 rows lack a value and were dropped." in command(line, anchors).stdout


def test_every_row_with_a_hole_leaves_nothing(command, tmp_path, anchors, table):
    table[["age", "diagnosis"]].assign(dose=np.nan).to_csv(tmp_path / "rows.csv", index=False)
    done = command(f"test {tmp_path}/rows.csv --label diagnosis --missing drop", anchors)
    text = "rows.csv lacks a value: none are left to test."
    assert (done.exit_code, text in done.stderr) == (2, True)


def test_all_rows_as_anchors_leave_nothing(command, files):
    line = f"test {files}/rows.csv --label code --features age,dose --anchor-column times"
    assert command(line).exit_code == 2


def test_flips_of_a_table_with_anchors_keep_the_rows_of_the_file(command, files, tmp_path):
    line = f"test {files}/rows.csv --label lost --features age,dose --anchor-column flag"
    assert command(line, f"--flips {tmp_path}/flips.csv").exit_code == 0
    written = pd.read_csv(tmp_path / "flips.csv")
    assert sorted(written["row"]) == list(range(6, 301))


def test_a_truncated_parquet_file_is_refused(command, files, anchors, tmp_path):
    whole = (files / "rows.parquet").read_bytes()
    (tmp_path / "rows.parquet").write_bytes(whole[: len(whole) // 2])
    done = command(f"test {tmp_path}/rows.parquet --label code --features age,dose", anchors)
    assert (done.exit_code, done.stdout, "cannot be read as parquet" in done.stderr) == (
        2,
        "",
        True,
    )


def damage(path, name):
    """Overwrite a column of the second row group with zeros."""
    file = pq.ParquetFile(path)
    column = file.metadata.row_group(1).column(file.schema_arrow.names.index(name))
    data = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    data[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(bytes(data))


def test_columns_that_are_not_needed_are_not_read(command, tmp_path, anchors, table):
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    damage(tmp_path / "rows.parquet", "lost")
    line = f"test {tmp_path}/rows.parquet --label code --features age,dose --method wald"
    assert command(line, anchors).exit_code == 0


def test_a_damaged_row_group_is_refused(command, tmp_path, anchors, table):
    path = tmp_path / "rows.parquet"
    table.to_parquet(path, row_group_size=100)
    damage(path, "age")
    done = command(f"test {path} --label code --features age,dose", anchors)
    assert (done.exit_code, "rows.parquet cannot be read as parquet" in done.stderr) == (2, True)


def test_a_row_group_with_nan_is_placed(command, tmp_path, anchors, table):
    frame = table[["age", "dose", "code"]].copy()
    frame.loc[250, "age"] = np.nan
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    done = command(f"test {tmp_path}/rows.parquet --label code", anchors)
    place = f"row 251 of {tmp_path}/rows.parquet (counted from 1), column 'age'"
    assert (done.exit_code, place in done.stderr) == (2, True)


class Meddler:
    """A sum that writes to the file after the first block it sees."""

    def __init__(self, path):
        self.path = path
        self.done = False

    def add(self, block):
        if not self.done:
            with self.path.open("ab") as file:
                file.write(b"more")
            self.done = True


@pytest.fixture
def streaming(monkeypatch, tmp_path, table):
    """Return rows that stream from a Parquet file."""
    monkeypatch.setattr(table_rows, "HELD_BYTES", 0)
    path = tmp_path / "rows.parquet"
    table[["age", "dose", "code"]].to_parquet(path, row_group_size=100)
    reading = Reading(label="code")
    return path, read_table(reading.open(path), reading)


def test_a_file_that_changes_between_passes_is_refused(streaming, refused):
    path, rows = streaming
    stamp = path.stat()
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    with refused(f"{path} has changed while it was being read: the numbers would mix two versions"):
        rows.sum_over_rows(Moments(2))


def test_a_file_that_changes_within_a_pass_is_refused(streaming, refused):
    path, rows = streaming
    with refused(f"{path} has changed while it was being read"):
        rows.sum_over_rows(Meddler(path))


def test_a_file_that_goes_away_is_refused(streaming, refused):
    path, rows = streaming
    path.unlink()
    with refused(f"{path} cannot be read: No such file or directory."):
        rows.sum_over_rows(Moments(2))


def test_a_full_disk_leaves_nothing_half_written(script, files, anchors, tmp_path):
    line = f"test {files}/rows.csv --label lost --features age,dose {anchors}"
    limited = f"ulimit -f 1; exec {script} {line} --flips {tmp_path}/flips.csv"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{tmp_path}/flips.csv cannot be written: File too large." in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_full_standard_output_is_bad_input_and_no_bug(script, files, anchors):
    line = f"{script} test {files}/rows.csv --label lost --features age,dose {anchors} > /dev/full"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, "No space left on device" in done.stderr) == (2, True)


def test_passes_are_shown_on_a_terminal(streaming, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    _, rows = streaming
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with pass_progress(rows):
        for _ in range(2):
            rows.sum_over_rows(Moments(2))
    assert "Pass 2" in terminal.getvalue()


def test_nothing_is_shown_where_nobody_looks(streaming, capsys):
    _, rows = streaming
    with pass_progress(rows):
        rows.sum_over_rows(Moments(2))
    assert capsys.readouterr().err == ""
