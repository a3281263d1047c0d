"""What a result shows of itself in a notebook, and which labels it calls flipped."""

import inspect
from typing import get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.snapshots.results import TOSS_UPS

import evenodds as eo
from evenodds.inference.asymmetry import METHODS
from evenodds.inference.method import MethodName

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.fixture(scope="module")
def tested():
    """Return rows, true and given labels, and a test of them."""
    rng = np.random.default_rng(7)
    true = rng.integers(0, 2, size=2000)
    X = rng.normal(size=(2000, 2)) + (2 * true - 1)[:, None]
    given = eo.ClassConditionalNoise(alpha=0.3, beta=0.1).flip(true, rng)
    return X, true, given, eo.asymmetry_test(X, given, eo.Anchors(TOSS_UPS))


def test_a_result_in_a_line_is_its_headline(tested):
    assert repr(tested[-1]) == "<AsymmetryTestResult: Yes: 1 is flipped more often than 0.>"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "3 toss-ups of 2 features, tolerance ±0.05, shared ±0.05 (by default)"),
        ({"tolerance": 0}, "3 toss-ups of 2 features, taken as exact"),
        (
            {"posterior": [0.2, 0.5, 0.8], "tolerance": [0.1, 0.02, 0.1], "shared_tolerance": 0},
            "3 anchors of 2 features, stated from 0.2 to 0.8, tolerance ±0.02 to ±0.1, shared none "
            "(as stated)",
        ),
    ],
)
def test_anchors_in_a_line(settings, said):
    assert repr(eo.Anchors(TOSS_UPS, **settings)) == f"<Anchors: {said}>"


def test_one_anchor_of_one_feature_is_singular():
    assert repr(eo.Anchors([[0.5]])).startswith("<Anchors: 1 toss-up of 1 feature, ")


def test_the_likeliest_flips_are_flips(tested):
    X, true, given, result = tested
    chances = result.flip_probability(X, given)
    likely = np.argsort(-chances)[:100]
    assert np.mean(given[likely] != true[likely]) > 0.9
    # Calibrated: as many flips as they add up to, within three standard errors.
    error = np.sqrt((chances * (1 - chances)).sum())
    assert abs(chances.sum() - np.sum(given != true)) < 3 * error


def test_flips_are_those_of_the_command_line(tested, tmp_path):
    from typer.testing import CliRunner

    from evenodds.cli.main import app

    X, _, given, _ = tested
    rows = pd.DataFrame(X, columns=["a", "b"]).assign(y=given)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    pd.DataFrame(TOSS_UPS, columns=["a", "b"]).to_csv(tmp_path / "anchors.csv", index=False)
    line = f"test {tmp_path}/rows.csv --label y --anchors {tmp_path}/anchors.csv --flips"
    assert CliRunner().invoke(app, [*line.split(), f"{tmp_path}/flips.csv"]).exit_code == 0
    listed = pd.read_csv(tmp_path / "flips.csv").sort_values("row")["flip_probability"]
    result = eo.asymmetry_test(tmp_path / "rows.csv", "y", tmp_path / "anchors.csv")
    np.testing.assert_allclose(result.flip_probability(rows[["a", "b"]], given), listed, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "columns", "text"),
    [
        ("wald", 2, "flip_probability needs flip rates: method 'wald' estimates none."),
        ("boundary", 1, "X has 1 feature but the test had 2: give the data that were tested."),
    ],
)
def test_flips_that_cannot_be_told_are_refused(tested, refused, method, columns, text):
    X, _, given, _ = tested
    result = eo.asymmetry_test(X, given, eo.Anchors(TOSS_UPS), method=method)
    with refused(text):
        result.flip_probability(X[:, :columns], given)


@pytest.mark.parametrize("kind", FRAMES)
def test_anchors_may_be_a_frame_that_states_its_posteriors(tested, kind):
    X, _, given, _ = tested
    frame = FRAMES[kind]({"a": X[:, 0], "b": X[:, 1]})
    points = {"a": [1.0, 0.5, -1.5], "b": [-1.0, -0.5, 1.5]}
    stated = {**points, "posterior": [0.5, 0.4, 0.5], "tolerance": [0.05, 0.1, 0.05]}
    found = eo.asymmetry_test(frame, given, FRAMES[kind](stated))
    anchors = eo.Anchors(
        FRAMES[kind](points), posterior=stated["posterior"], tolerance=stated["tolerance"]
    )
    assert found.statistic == eo.asymmetry_test(frame, given, anchors).statistic


def test_anchors_may_be_a_path(tested, tmp_path):
    X, _, given, _ = tested
    frame = pd.DataFrame(X, columns=["a", "b"])
    pd.DataFrame(TOSS_UPS, columns=["a", "b"]).to_csv(tmp_path / "a.csv", index=False)
    found = eo.asymmetry_test(frame, given, tmp_path / "a.csv")
    assert found.statistic == pytest.approx(tested[-1].statistic, rel=1e-9)


def test_names_of_methods_are_those_there_are():
    assert get_args(MethodName) == tuple(METHODS)


CHOICES = {"method", "alternative", "sampled_by", "scheme", "engine", "null", "answers", "missing"}


FUNCTIONS = [name for name in eo.__all__ if inspect.isfunction(getattr(eo, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_choices_are_literal_types(name):
    hints = get_type_hints(getattr(eo, name))
    for choice in CHOICES & hints.keys():
        assert "Literal" in str(hints[choice]), (choice, get_origin(hints[choice]))
