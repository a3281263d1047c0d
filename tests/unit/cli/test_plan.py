"""`evenodds plan`: what it reads, says and refuses."""

import json

import numpy as np
import pytest

import evenodds as eo

QUICK = "--method wald --tolerance 0 --runs 0"


def test_a_plan_from_a_world(command):
    result = command(f"plan --world rare --anchors 8 --alpha .05 --beta .15 --power .8 {QUICK}")
    assert result.exit_code == 0
    assert result.stdout.startswith("You need about ")


def test_a_plan_from_pilot_data(command, files):
    result = command(
        f"plan {files}/plain.csv --label diagnosis --rows 4000 --anchors 8 --alpha .1 --beta .2",
        QUICK,
    )
    assert result.exit_code == 0
    assert result.stdout.startswith("The power is ")


def test_a_plan_from_the_papers_summary_numbers(command):
    result = command("plan --variance .1 --anchors 8 --alpha .1 --beta .4 --tolerance 0")
    assert result.stdout.startswith("The power is 0.25.")


def test_json_holds_the_whole_plan(command):
    result = command(
        f"plan --world paper --rows 1000 --anchors 4 --alpha .1 --beta .2 {QUICK} --format json"
    )
    document = json.loads(result.stdout)
    assert document["schema_version"] == 1
    assert document["noise"] == {"alpha": 0.1, "beta": 0.2}
    assert document["unknown"] == "power"
    assert document["verdict"].startswith("The power is ")


def test_a_picture_is_written_twice(command, tmp_path):
    result = command(
        f"plan --world paper --rows 1000 --anchors 4 --alpha .1 --beta .2 {QUICK}",
        f"--figure {tmp_path}/plan.png",
    )
    assert result.exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.png", "plan.svg"]


def test_the_simulated_check_is_shown(command):
    result = command(
        "plan --world paper --rows 500 --anchors 4 --alpha .1 --beta .2 --method wald --runs 50"
    )
    assert "Simulated power: " in result.stdout
    assert "Where both classes are flipped at 15.0% the test rejects" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--rows 10 --anchors 2 --alpha .1 --beta .2",
            "plan needs one of: pilot data (DATA ",
        ),
        ("--world rare --variance .1 --anchors 2 --alpha .1 --beta .2", "2 are given"),
        ("--world rare --rows 10 --anchors 2 --alpha .1", "give --alpha and --beta together"),
        ("--world rare --label y --rows 10", "--pilot-beta go with DATA, a pilot file"),
        ("--world rare --variance-floor .1", "--variance-floor and --variance-rows go with"),
        ("--world rara --rows 10 --anchors 2 --alpha .1 --beta .2", "world is 'rara' but must be"),
        ("--world rare --anchors 8", "leave out exactly one"),
        (
            "--variance .1 --method joint --anchors 2 --alpha .1 --beta .2",
            "describes method 'wald'",
        ),
    ],
)
def test_bad_plans_are_refused_in_a_sentence(command, arguments, message):
    result = command(f"plan {arguments}")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_pilot_data_need_their_label(command, files):
    result = command(f"plan {files}/plain.csv --rows 10 --anchors 1 --alpha .1 --beta .2")
    assert result.exit_code == 2
    assert "plain.csv needs --label: which column holds the labels?" in result.stderr


def pilot_file(path, n_positive):
    rng = np.random.default_rng(2)
    size = rng.normal(size=400) + np.where(np.arange(400) < n_positive, 2.0, 0.0)
    lines = [f"{x:.4f},{'ill' if i < n_positive else 'well'}" for i, x in enumerate(size)]
    path.write_text("size,state\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_pilot_gives_a_range_of_rows(command, tmp_path):
    pilot = pilot_file(tmp_path / "pilot.csv", 120)
    result = command(
        f"plan {pilot} --label state --positive ill --pilot-alpha 0 --pilot-beta 0 --anchors 8",
        f"--alpha .1 --beta .3 --power .8 {QUICK} --format json",
    )
    document = json.loads(result.stdout)
    found = document["rows_range"]
    assert found["low"] < document["n_rows"] == found["n_rows"] < found["high"]
    assert f"(90% interval from the pilot: {found['low']:,} to" in document["verdict"]


def test_a_pilot_with_hardly_a_positive_is_refused(command, tmp_path):
    pilot = pilot_file(tmp_path / "pilot.csv", 29)
    result = command(
        f"plan {pilot} --label state --pilot-alpha 0 --pilot-beta 0 --anchors 8",
        "--alpha .1 --beta .3 --power .8",
    )
    assert result.exit_code == 2
    assert "the pilot has 29 rows labelled 'ill' but a plan needs at least 30" in result.stderr


@pytest.fixture
def scored(files, tmp_path, table):
    """Return the options that plan a line test of the rows."""
    features = table[["age", "dose"]].to_numpy()
    scores = eo.out_of_fold_scores(features, table["diagnosis"])
    np.save(tmp_path / "scores.npy", scores)
    return f"{files}/rows.csv --label diagnosis --scores {tmp_path}/scores.npy"


def test_a_line_test_is_planned_as_in_python(command, scored, table, tmp_path):
    said = command(f"plan {scored} --alpha .05 --beta .3 --cases 30 --format json")
    document = json.loads(said.stdout)
    noise = eo.ClassConditionalNoise(0.05, 0.3)
    scores = np.load(tmp_path / "scores.npy")
    plan = eo.line_plan(scores, table["diagnosis"], n_cases=30, noise=noise)
    assert document["power"] == plan.power
    assert document["verdict"].startswith("The power is ")


def test_the_asymmetry_that_cases_find_is_at_a_power_of_four_in_five(command, scored):
    said = command(f"plan {scored} --cases 40 --power .8 --kind looked-up")
    assert said.exit_code == 0
    assert said.stdout.startswith("An asymmetry of ")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--cases 40 --anchors 3", "--anchors does not go with --scores: it plans a line test"),
        ("--cases 5 --alpha .1 --beta .2", "--cases is 5 but must be a whole number of at least"),
        ("--alpha .1", "give --alpha and --beta together"),
    ],
)
def test_a_line_plan_that_cannot_be_is_refused(command, scored, more, message):
    said = command(f"plan {scored} {more}")
    assert said.exit_code == 2
    assert message in said.stderr


def test_cases_without_scores_are_refused(command, files):
    said = command(f"plan {files}/plain.csv --label diagnosis --cases 60")
    assert said.exit_code == 2
    assert "--cases does not go with a plan without --scores" in said.stderr
