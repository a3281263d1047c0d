"""`evenodds test --report`, with the bundled data whose truth is known."""

import json

import pytest

from evenodds.simulation import worlds

INPUTS = f"test {worlds.PATIENTS} --label {worlds.LABEL} --anchors {worlds.TOSS_UPS}"


@pytest.fixture(scope="module")
def written(tmp_path_factory, shell):
    path = tmp_path_factory.mktemp("report") / "out.html"
    done = shell(INPUTS, "--margin 0.2 --significance 0.01 --format json --report", path)
    assert done.returncode == 0, done.stderr
    return path.read_text(encoding="utf-8"), json.loads(done.stdout), path


def test_the_report_names_the_data_and_the_command(written):
    page, _, path = written
    assert "patients.csv: diagnosis</title>" in page
    assert f"--format json --report {path}</code>" in page


def test_the_report_is_read_at_the_level_and_margin_asked_for(written):
    page, document, _ = written
    assert "significance level of 1%" in page
    assert "size below 0.2" in page
    assert document["verdict"].split(":")[0] in page.replace("&lt;", "<")


def test_rows_left_out_are_noted(command, files, tmp_path):
    path = tmp_path / "out.html"
    done = command(
        f"test {files}/rows.csv --label diagnosis --features age,dose --anchor-column flag",
        f"--report {path}",
    )
    assert done.exit_code == 0, done.output
    assert "5 rows are anchors and were left out of the fit." in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (worlds.PATIENTS, "patients.csv: name another file."),
        (worlds.TOSS_UPS, "toss_ups.csv: name another file."),
        ("/no/such/folder/out.html", "name a file in a folder that exists"),
        ("/usr", "/usr cannot be written, it is a folder: name a file in it."),
        ("/", "--report '/' is no name of a file: name one."),
        ("''", "--report '.' is no name of a file: name one."),
        ("-", "--report '-' is no name of a file: name one."),
    ],
)
def test_a_file_that_must_not_be_written_is_refused_before_the_test(command, path, message):
    done = command(INPUTS, "--report", path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_report_cannot_take_the_place_of_the_flips(command, tmp_path):
    done = command(INPUTS, f"--flips {tmp_path}/a --report {tmp_path}/a")
    assert done.exit_code == 2
    assert "would overwrite" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_told_and_leaves_nothing(command, tmp_path):
    """A name too long passes the first look and fails when the file is made."""
    done = command(INPUTS, f"--report {tmp_path}/{'a' * 300}.html")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "cannot be written: File name too long." in done.stderr
    assert list(tmp_path.iterdir()) == []
