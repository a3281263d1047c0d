"""Options of `evenodds test` against the same call from Python."""

import math

import numpy as np
import pytest

import evenodds as eo


def close(value):
    """Allow for rounding: the command reads numbers printed to 17 digits."""
    return pytest.approx(value, rel=1e-9)


def test_the_command_gives_the_test_of_python(document, basic, table, wald, toss_ups):
    found = document(basic, "diagnosis")
    expected = wald(table[["age", "dose"]], table["diagnosis"].to_numpy(), toss_ups)
    assert found["statistic"] == close(expected.statistic)


def test_the_default_features_are_all_other_columns(document, files, basic, anchors):
    found = document(f"test {files}/plain.csv --label diagnosis --method wald", anchors)
    assert found["statistic"] == close(document(basic, "diagnosis")["statistic"])


@pytest.mark.parametrize("name", ["rows.tsv", "rows.parquet"])
def test_every_kind_of_file_gives_the_same_test(document, files, basic, name):
    found = document(basic.replace(f"{files}/rows.csv", f"{files}/{name}"), "diagnosis")
    assert found["statistic"] == close(document(basic, "diagnosis")["statistic"])


def test_features_choose_columns(document, basic, table, wald):
    found = document(basic.replace("age,dose", "' dose '"), "code")
    expected = wald(table[["dose"]], table["code"].to_numpy(), eo.Anchors([[0.0], [-1.0], [2.0]]))
    assert found["statistic"] == close(expected.statistic)


@pytest.mark.parametrize("column", ["flag", "mark", "stated"])
def test_anchors_are_marked_in_a_column_and_left_out_of_the_fit(
    document, unanchored, table, wald, column
):
    found = document(unanchored, "diagnosis --anchor-column", column)
    features = table[["age", "dose"]]
    anchors = eo.Anchors(features[:5])
    expected = wald(features[5:], table["diagnosis"][5:].to_numpy(), anchors)
    assert found["statistic"] == close(expected.statistic)


def test_rows_left_out_as_anchors_are_mentioned(command, unanchored):
    assert "5 rows are anchors" in command(unanchored, "diagnosis --anchor-column flag").stdout


def test_columns_that_play_another_part_are_no_features(document, tmp_path, table):
    named = ["age", "dose", "code", "flag", "times", "patient"]
    table[named].to_csv(tmp_path / "rows.csv", index=False)
    parts = "--label code --anchor-column flag --weight times --group patient"
    found = document(f"test {tmp_path}/rows.csv --method wald", parts)
    assert found["n_features"] == 2


def test_weights_are_read_from_a_column(document, basic, table, wald, toss_ups):
    found = document(basic, "code", "--weight", "times")
    expected = wald(
        table[["age", "dose"]],
        table["code"].to_numpy(),
        toss_ups,
        sample_weight=table["times"].to_numpy(),
    )
    assert (found["n_rows"], found["statistic"]) == (expected.n_rows, close(expected.statistic))


def test_groups_are_read_from_a_column(document, basic, table, wald, toss_ups):
    found = document(basic, "code", "--group", "patient")
    expected = wald(
        table[["age", "dose"]], table["code"].to_numpy(), toss_ups, groups=np.arange(300) // 2
    )
    assert found["statistic"] == close(expected.statistic)


@pytest.mark.parametrize(("label", "positive"), [("diagnosis", "healthy"), ("code", "0")])
def test_positive_turns_the_test_round(document, basic, label, positive):
    found, default = document(basic, label, "--positive", positive), document(basic, label)
    assert found["statistic"] == close(-default["statistic"])


def test_true_and_false_in_a_file_can_be_named_as_they_stand(command, anchors, tmp_path, table):
    labels = np.where(table["code"], "true", "false")
    table[["age", "dose"]].assign(y=labels).to_csv(tmp_path / "words.csv", index=False)
    line = f"test {tmp_path}/words.csv --label y --positive true --method wald"
    assert command(line, anchors).exit_code == 0


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_alternative_is_passed_on(document, basic, alternative):
    assert document(basic, "lost", "--alternative", alternative)["alternative"] == alternative


@pytest.mark.parametrize(("tolerance", "shared"), [("0", "0"), ("0.1", "0.05")])
def test_tolerances_are_passed_on(document, basic, tolerance, shared):
    found = document(basic, "lost", "--tolerance", tolerance, "--shared-tolerance", shared)
    assert (found["tolerance"][0], found["shared_tolerance"]) == (float(tolerance), float(shared))


def test_settings_of_the_method_are_passed_on(document, basic):
    found = document(basic, "lost --tolerance 0 --set weights=optimal --set covariance=sandwich")
    assert found["settings"] == {"weights": "optimal", "covariance": "sandwich"}


def test_the_significance_decides(document, basic):
    strict, lenient = (document(basic, "diagnosis", "--significance", s) for s in ("1e-9", "0.999"))
    assert (strict["reject"], lenient["reject"]) == (False, True)


def test_the_interval_follows_the_significance(document, basic):
    found = document(basic, "lost", "--significance", "0.1")
    assert found["confidence_interval"]["level"] == pytest.approx(0.9)


def test_the_equivalence_test_goes_by_the_margin(document, basic):
    assert document(basic, "lost", "--margin", "0.2")["equivalence"]["margin"] == 0.2


@pytest.mark.parametrize(
    ("label", "options", "code"),
    [
        ("lost", "--gate reject", 1),
        ("diagnosis", "--gate reject", 0),
        ("lost", "--gate reject --significance 1e-12", 0),
        ("diagnosis", "--gate equivalence --margin 0.9", 0),
        ("diagnosis", "--gate equivalence --margin 0.01 --tolerance 0", 1),
        ("diagnosis", "--gate equivalence --margin 0.01 --method joint", 1),
        ("lost", "", 0),
    ],
)
def test_gates_open_and_close(command, basic, label, options, code):
    assert command(basic, label, options).exit_code == code


def test_a_gate_that_no_rows_could_pass_is_refused(command, document, basic):
    smallest = document(basic, "diagnosis")["equivalence"]["smallest_margin"]
    done = command(basic, "diagnosis", "--gate equivalence --margin 0.01")
    assert done.exit_code == 2
    assert done.stdout == ""
    said = " ".join(done.stderr.split())
    assert "anchors known to ±0.05 each and ±0.05 together cannot show that, however many" in said
    assert f"give a margin above {math.ceil(1000 * smallest) / 1000:g}, or state surer" in said


def test_a_refused_gate_writes_no_report(command, basic, tmp_path):
    page = tmp_path / "report.html"
    command(basic, "diagnosis", "--gate equivalence --margin 0.01 --report", page)
    assert not page.exists()


@pytest.mark.parametrize(
    ("options", "used", "by_default"),
    [
        ("", 0.05, True),
        ("--tolerance 0.1", 0.1, True),
        ("--tolerance 0", 0.0, True),
        ("--shared-tolerance 0", 0.0, False),
    ],
)
def test_the_shared_tolerance_is_as_wide_as_the_tolerance(
    document, basic, options, used, by_default
):
    found = document(basic, "diagnosis", options)
    assert (found["shared_tolerance"], found["shared_is_default"]) == (used, by_default)
