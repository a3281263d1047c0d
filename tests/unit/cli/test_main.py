"""The command as a shell sees it: exit codes, streams, and the documented JSON."""

import json
import os
import re
import subprocess
import sys

import pytest

import evenodds as eo

DOCUMENTED = {
    "schema_version",
    "method",
    "alternative",
    "positive",
    "n_rows",
    "n_features",
    "n_anchors",
    "statistic",
    "pvalue",
    "asymmetry",
    "alpha",
    "beta",
    "confidence_interval",
    "significance",
    "reject",
    "verdict",
    "diagnostics",
}


@pytest.fixture(scope="module")
def as_text(shell, basic):
    return shell(basic, "lost")


@pytest.fixture(scope="module")
def as_json(shell, basic):
    return shell(basic, "lost", "--format", "json")


def test_a_rejection_is_no_failure(as_text):
    assert as_text.returncode == 0


def test_nothing_is_written_to_stderr_when_all_is_well(as_text, as_json):
    assert as_text.stderr + as_json.stderr == ""


def test_the_text_begins_with_the_verdict(as_text):
    assert as_text.stdout.startswith("Uniform noise ")


def test_text_for_a_file_carries_no_colour(as_text):
    assert "\x1b" not in as_text.stdout


def test_the_json_has_every_documented_key(as_json):
    assert json.loads(as_json.stdout).keys() >= DOCUMENTED


def test_the_interval_in_json_has_ends_and_a_level(as_json):
    assert json.loads(as_json.stdout)["confidence_interval"].keys() >= {"low", "high", "level"}


def test_the_json_can_be_read_back_as_a_result(as_json, labelled, table, wald, toss_ups):
    result = eo.AsymmetryTestResult.from_dict(json.loads(as_json.stdout))
    expected = wald(table[["age", "dose"]], table["lost"].to_numpy(), toss_ups)
    assert result.statistic == pytest.approx(expected.statistic, rel=1e-9)


def test_a_failed_gate_exits_with_one_and_says_why(shell, basic):
    done = shell(basic, "lost", "--gate", "reject")
    said = (
        "evenodds: --gate reject failed: the null hypothesis is rejected (p < 0.0001, below 0.05)."
    )
    assert (done.returncode, done.stderr) == (1, f"{said}\n")


def test_a_failed_gate_still_prints_the_result(command, basic):
    output = command(basic, "lost", "--gate", "reject", "--format", "json").stdout
    assert json.loads(output)["reject"] is True


BAD_INPUT = {
    "a label that is not there": ["--label", "diagnoses"],
    "a tolerance out of range": ["--label", "diagnosis", "--tolerance", "0.6"],
    "a gate without its margin": ["--label", "diagnosis", "--gate", "equivalence"],
    "a gate that no rows could pass": [
        "--label",
        "diagnosis",
        "--gate",
        "equivalence",
        "--margin",
        "0.001",
    ],
    "an unknown option": ["--label", "diagnosis", "--tolerence", "0.1"],
    "an unknown method": ["--label", "diagnosis", "--method", "magic"],
}


@pytest.fixture(scope="module", params=BAD_INPUT)
def refusal(request, shell, files):
    arguments = ["test", files / "plain.csv", "--anchors", files / "toss_ups.csv"]
    return shell(*arguments, *BAD_INPUT[request.param])


def test_bad_input_exits_with_two(refusal):
    assert refusal.returncode == 2


def test_bad_input_leaves_stdout_empty(refusal):
    assert refusal.stdout == ""


def test_bad_input_gives_a_message(refusal):
    assert refusal.stderr.strip()


def test_bad_input_gives_no_traceback(refusal):
    assert "Traceback" not in refusal.stderr


def test_a_file_that_is_not_there_is_one_line_on_stderr(shell, anchors, files):
    missing = files / "nowhere.csv"
    message = f"evenodds: there is no file {missing}.\n"
    assert shell("test", missing, "--label y", anchors).stderr == message


@pytest.mark.parametrize("arguments", [["prior", "60", "100", "0.4"], ["--version"], ["demo"]])
def test_the_other_commands_run(shell, arguments):
    assert shell(*arguments).returncode == 0


def test_the_prior_test_in_json_has_its_own_keys(command):
    output = json.loads(command("prior", 60, 100, 0.4, "--format", "json").stdout)
    assert output.keys() >= {"schema_version", "pvalue", "null", "reject", "verdict", "noise_rate"}


def closed_pipe():
    """Return the writing end of a pipe nobody reads from."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


READERLESS = {
    "text": ["--format", "text"],
    "json": ["--format", "json"],
}


@pytest.fixture(scope="module", params=READERLESS)
def unread(request, shell, basic):
    pipe = closed_pipe()
    try:
        arguments = [basic, "diagnosis", *READERLESS[request.param]]
        return shell(*arguments, stdout=pipe, stderr=subprocess.PIPE)
    finally:
        os.close(pipe)


def test_a_reader_that_goes_away_is_no_complaint(unread):
    assert unread.stderr == ""


def test_a_reader_that_goes_away_is_no_failed_gate(unread):
    assert unread.returncode == 0


def test_a_gate_fails_though_nobody_reads(shell, basic):
    pipe = closed_pipe()
    try:
        gate = ["--gate", "equivalence", "--margin", "0.001", "--tolerance", "0"]
        done = shell(basic, "diagnosis", *gate, stdout=pipe, stderr=subprocess.PIPE)
    finally:
        os.close(pipe)
    assert done.stderr.startswith("evenodds: --gate equivalence failed: an asymmetry below 0.001 ")
    assert done.returncode == 1


@pytest.mark.parametrize("arguments", ["demo", "prior 60 100 0.4 --format json", "--help"])
def test_head_is_quiet(script, arguments):
    line = f"'{script}' {arguments} | head -1"
    done = subprocess.run(line, shell=True, capture_output=True, check=False)
    assert done.stderr == b""


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "evenodds", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"evenodds {eo.__version__}\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("tset", "no such command 'tset'"),
        ("test", "missing argument"),
        ("test rows.csv --lable y", "no such option: --lable"),
        ("contour rows.csv --engine foo", "'--engine': 'foo' is not one of 'spline', 'local'"),
        ("plan --rows many", "'--rows'"),
    ],
)
def test_a_slip_in_the_options_gets_one_line(shell, line, said):
    done = shell(line)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.startswith("evenodds: ")
    assert done.stderr.endswith("--help).\n")
    assert done.stderr.count("\n") == 1


def test_no_command_at_all_shows_what_there_is(shell):
    done = shell("")
    assert done.returncode == 2
    assert "contour" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("diagnosis", ""),
        ("diagnosis --alternative less --positive ill", ""),
        ("code --alternative less", ""),
        (
            "diagnosis --alternative less",
            "evenodds: 'ill' is taken as the positive label, the later in alphabetical order; "
            "if it is 'healthy', add --positive healthy.\n",
        ),
    ],
)
def test_a_guessed_positive_label_is_told_where_it_matters(command, basic, options, said):
    assert command(basic, options).stderr == said


def test_stated_chances_make_the_positive_label_matter(command, files, tmp_path):
    stated = tmp_path / "stated.csv"
    stated.write_text("age,dose,posterior\n0,0,0.5\n1,-1,0.5\n1,1,0.9\n-1,-1,0.1\n")
    done = command(f"test {files}/plain.csv --label diagnosis --anchors {stated}")
    told = "stated chances are read as the chance of 'ill'; if they mean 'healthy', add"
    assert told in done.stderr


@pytest.mark.parametrize(("option", "shown"), [("", False), ("--margin 0.3", True)])
def test_a_margin_shows_its_equivalence(command, basic, option, shown):
    words = command(basic, "diagnosis", option).stdout
    assert ("equivalence     size below 0.3: p" in words) is shown


def test_progress_has_a_percentage_and_the_time_left(script, files, anchors):
    """On a terminal of its own, which a pseudo-terminal is."""
    line = f"test {files}/plain.csv --label diagnosis {anchors} --set calibration=bootstrap"
    reading, writing = os.openpty()
    arguments = [str(script), *line.split(), "--set", "draws=800"]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=writing) as process:
        os.close(writing)
        shown = b""
        try:
            while part := os.read(reading, 4096):
                shown += part
        except OSError:  # the other end is closed
            pass
    os.close(reading)
    assert process.returncode == 0
    assert re.search(rb"Bootstrap.*\d+%.*\d:\d\d:\d\d", shown)
