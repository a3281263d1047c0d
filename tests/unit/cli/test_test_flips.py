"""`evenodds test --flips`, with the bundled data whose truth is known."""

import csv

import pytest

from evenodds.simulation import worlds

INPUTS = ["test", worlds.PATIENTS, "--label", worlds.LABEL, "--anchors", worlds.TOSS_UPS]


@pytest.fixture(scope="module")
def written(tmp_path_factory, shell):
    path = tmp_path_factory.mktemp("flips") / "flips.csv"
    assert shell(*INPUTS, "--flips", path).returncode == 0
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_is_listed_once(written):
    assert sorted(int(row["row"]) for row in written) == list(range(1, worlds.N_ROWS + 1))


def test_the_likeliest_flips_come_first(written):
    chances = [float(row["flip_probability"]) for row in written]
    assert chances == sorted(chances, reverse=True)


def test_the_class_that_loses_labels_heads_the_list(written):
    lost = [row["label"] == "healthy" for row in written[:200]]
    assert sum(lost) > 150


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--flips", worlds.PATIENTS], "patients.csv: name another file."),
        (["--flips", "/no/such/folder/x.csv"], "name a file in a folder that exists"),
        (["--flips", "x.parquet"], "--flips x.parquet must end in '.csv'."),
        (["--flips", "x.csv", "--method", "wald"], "which --method wald does not estimate"),
    ],
)
def test_a_file_that_must_not_be_written_is_refused(command, options, message):
    done = command(*INPUTS, *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_label_that_a_spreadsheet_would_run_is_escaped(command, tmp_path):
    rows = worlds.PATIENTS.read_text().replace("healthy", "=well").replace("ill", "-1")
    (tmp_path / "rows.csv").write_text(rows)
    line = ["test", tmp_path / "rows.csv", "--label", worlds.LABEL, "--positive", "-1"]
    outputs = ["--anchors", worlds.TOSS_UPS, "--flips", tmp_path / "flips.csv"]
    done = command(*line, *outputs)
    with (tmp_path / "flips.csv").open(newline="") as file:
        labels = {row["label"] for row in csv.DictReader(file)}
    assert (done.exit_code, labels) == (0, {"'=well", "-1"})
