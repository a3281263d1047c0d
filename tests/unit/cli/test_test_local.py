"""`evenodds test --method local` on files."""

import json

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.simulation.worlds import two_bells

NAMED = "test {0}/rows.csv --label y --anchors {0}/anchors.csv --method local"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """1,500 rows with 30% of positives lost, toss-ups, and cases that are sure."""
    where = tmp_path_factory.mktemp("local")
    rng = np.random.default_rng(5)
    X, true = two_bells().draw_rows(1500, rng)
    y = eo.ClassConditionalNoise(0.3, 0.0).flip(true, rng)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_csv(where / "rows.csv", index=False)
    anchors = pd.DataFrame({"a": [0, 0.8, -0.8, 1.5, -1.5], "b": [0, -0.8, 0.8, 1.5, -1.5]})
    anchors["posterior"] = [0.5, 0.5, 0.5, 1.0, 0.0]
    anchors.to_csv(where / "anchors.csv", index=False)
    return where


def test_the_command_gives_the_test_of_python(command, folder):
    found = command(NAMED.format(folder), "--format json --set bandwidth=0.4 --set kernel=tricube")
    rows = pd.read_csv(folder / "rows.csv")
    expected = eo.asymmetry_test(
        rows[["a", "b"]],
        rows["y"],
        eo.Anchors(folder / "anchors.csv"),
        method=eo.Local(bandwidth=0.4, kernel="tricube"),
    )
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document["statistic"] == pytest.approx(expected.statistic, rel=1e-9)
    assert document["settings"] == {"kernel": "tricube", "bandwidth": "0.4"}
    assert [rate["name"] for rate in document["flip_rates"]] == ["alpha", "beta"]


def test_the_report_is_written(command, folder, tmp_path):
    found = command(NAMED.format(folder), "--report", tmp_path / "report.html")
    assert found.exit_code == 0, found.output
    assert "method &#39;local&#39; fits no curve to all rows" in (
        tmp_path / "report.html"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--set weights=optimal", "--method local has 'bandwidth' and 'kernel'"),
        ("--set calibration=bootstrap", "--method local has 'bandwidth' and 'kernel'"),
        ("--set bandwidth=-1", "bandwidth is -1 but must be positive"),
        ("--set kernel=box", "kernel is 'box' but must be one of 'gaussian' or 'tricube'"),
        ("--flips x.csv", "--flips needs a curve through all rows, which --method local does not"),
        ("--set bandwidth=1e-300", "bandwidth is 1e-300 but must lie between"),
        ("--set bandwidth=0.01", "effective rows nearby"),
    ],
)
def test_bad_options_get_a_sentence(command, folder, options, text):
    found = command(NAMED.format(folder), options)
    assert found.exit_code == 2
    assert text in " ".join(found.stderr.split())


@pytest.mark.parametrize("options", ["--set bandwidth=0.4", "--set kernel=tricube"])
def test_other_methods_have_no_bandwidth(command, folder, options):
    found = command(NAMED.format(folder).replace("--method local", "--method boundary"), options)
    assert found.exit_code == 2
    text = " is for --method local. --method boundary has 'weights' and 'calibration'."
    assert text in " ".join(found.stderr.split())
