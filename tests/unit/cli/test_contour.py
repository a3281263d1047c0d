"""`evenodds contour`: text, JSON, a report, a gate, and a sentence for bad input."""

import json

import numpy as np
import pandas as pd
import pytest

import evenodds as eo


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with rows under two labellings, and anchors at five posteriors."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(2500, 2))
    true = (rng.random(2500) < 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))).astype(int)
    folder = tmp_path_factory.mktemp("contours")
    rows = pd.DataFrame(X, columns=["size", "age"]).assign(
        even=eo.UniformNoise(0.15).flip(true, rng),
        lost=eo.ClassConditionalNoise(0.3, 0.02).flip(true, rng),
    )
    rows.to_csv(folder / "rows.csv", index=False)
    stated = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 3)
    age = rng.uniform(-1, 1, size=15)
    points = {"size": (np.log(stated / (1 - stated)) - age) / 2, "age": age}
    pd.DataFrame({**points, "posterior": stated}).to_csv(folder / "anchors.csv", index=False)
    one_place = {"size": [0.0, 0.0], "age": [0.0, 0.0], "posterior": [0.2, 0.6]}
    pd.DataFrame(one_place).to_csv(folder / "one_place.csv", index=False)
    two = np.isin(stated, [0.1, 0.9])
    pd.DataFrame({**points, "posterior": stated})[two].to_csv(folder / "two.csv", index=False)
    pd.DataFrame({**points, "posterior": 0.5}).to_csv(folder / "toss_ups.csv", index=False)
    return folder


@pytest.fixture
def contour(command, folder):
    """Return a function that runs the command on the rows, with or without anchors."""

    def run(label, *more, anchors="anchors.csv"):
        named = [] if anchors is None else ["--anchors", folder / anchors]
        arguments = ["contour", folder / "rows.csv", "--features", "size,age", "--label", label]
        return command(*arguments, *named, *more)

    return run


def test_the_text_names_the_noise(contour):
    found = contour("lost")
    assert found.exit_code == 0
    assert "Clean labels" in found.stdout
    assert "The ladder" in found.stdout


def test_the_json_says_where_the_ladder_stops(contour):
    found = json.loads(contour("even", "--format", "json").stdout)
    assert found["reached"] == "cannot tell"
    assert found["not_rejected"] == "uniform"
    assert "hard cases" in [wider["noise"] for wider in found["not_ruled_out"]]
    assert found["reject"] is False
    assert [rung["hypothesis"] for rung in found["rungs"]] == [
        "clean",
        "uniform",
        "class-conditional",
    ]
    for name in ("confidence_interval", "alpha_interval", "beta_interval"):
        assert found[name]["level"] == 0.95
    assert found["method"] == "contour"
    assert found["statistic"] == found["rungs"][1]["statistic"]


def test_the_json_gives_the_result_back(contour):
    found = json.loads(contour("lost", "--format", "json").stdout)
    assert eo.ContourTestResult.from_dict(found).reached() == found["reached"]


@pytest.mark.parametrize(
    ("label", "gate", "code"),
    [("even", "clean", 1), ("even", "uniform", 0), ("lost", "uniform", 1)],
)
def test_a_gate_fails_past_its_rung(contour, label, gate, code):
    assert contour(label, "--gate", gate).exit_code == code


def test_the_report_holds_the_ladder_and_the_picture(contour, tmp_path):
    contour("lost", "--report", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for part in ("Which noise do these labels have?", "The ladder", "The contours", "<svg"):
        assert part in page


@pytest.mark.parametrize(
    ("arguments", "anchors", "message"),
    [
        ((), None, "a contour test needs cases of stated posterior: give --anchors FILE"),
        ((), "toss_ups.csv", "all 15 anchors state a posterior of 0.5, as where none is given"),
        (
            ("--probabilities", "size"),
            "anchors.csv",
            "--probabilities is 'size', but a contour test takes no model's score",
        ),
        (("--significance", "2"), "anchors.csv", "--significance is 2 but must be above 0"),
    ],
)
def test_bad_input_gets_one_sentence(contour, arguments, anchors, message):
    found = contour("even", *arguments, anchors=anchors)
    assert found.exit_code == 2
    assert message in " ".join(found.stderr.split())


def test_a_gate_that_was_not_tested_is_refused(contour):
    found = contour("lost", "--gate", "class-conditional", anchors="two.csv")
    assert found.exit_code == 2
    assert (
        "--gate class-conditional cannot be held: two contours always lie on a line, so "
        "class-conditional noise was not tested. Name cases at more posteriors." in found.stderr
    )
    assert contour("lost", "--gate", "uniform", anchors="two.csv").exit_code == 1


@pytest.mark.parametrize("gate", ["uniform", "class-conditional"])
def test_a_gate_above_what_was_tested_is_refused(contour, gate):
    found = contour("even", "--gate", gate, anchors="one_place.csv")
    assert found.exit_code == 2
    assert "too few of the contours are told apart, so uniform noise was not" in found.stderr
