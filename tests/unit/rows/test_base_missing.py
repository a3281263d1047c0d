"""Missing and infinite values are counted and placed, in arrays and in frames."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenodds as eo

NAMES = ["age", "dose"]


def with_holes(labelled, holes):
    X = labelled.X.copy()
    for place, value in holes.items():
        X[place] = value
    return X


HOLES = [
    ({(40, 1): np.nan}, "X has 1 missing value, the first in row 40, column {1}: drop or fill"),
    (
        {(200, 0): np.nan, (40, 1): np.nan, (41, 0): np.nan},
        "X has 3 missing values, the first in row 40, column {1}",
    ),
    ({(7, 0): np.inf}, "X has 1 infinite value, the first in row 7, column {0}"),
    ({(7, 0): -np.inf, (8, 0): np.inf}, "X has 2 infinite values, the first in row 7, column {0}"),
    (
        {(9, 1): np.inf, (9, 0): np.nan},
        "X has 1 missing and 1 infinite values, the first in row 9, column {0}",
    ),
]


@pytest.mark.parametrize(("holes", "message"), HOLES)
def test_holes_in_an_array_are_placed_by_number(refused, labelled, holes, message):
    with refused(message.format(0, 1)):
        eo.fit_logistic(with_holes(labelled, holes), labelled.y)


@pytest.mark.parametrize(("holes", "message"), HOLES)
@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_holes_in_a_frame_are_placed_by_name(refused, labelled, holes, message, library):
    X = with_holes(labelled, holes)
    frame = {
        "pandas": pd.DataFrame(X, columns=NAMES),
        "polars": pl.DataFrame(X, schema=NAMES),
        "arrow": pa.table(list(X.T), names=NAMES),
    }[library]
    with refused(message.format("'age'", "'dose'")):
        eo.fit_logistic(frame, labelled.y)


NULLS = {
    "polars int": pl.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "b": [1, None, 3, 7]}),
    "polars bool": pl.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "b": [True, None, False, False]}),
    "arrow int": pa.table({"a": [1.0, 2.0, 3.0, 5.0], "b": [1, None, 3, 7]}),
    "arrow bool": pa.table({"a": [1.0, 2.0, 3.0, 5.0], "b": [True, None, False, False]}),
    "pandas Int64": pd.DataFrame(
        {"a": [1.0, 2.0, 3.0, 5.0], "b": pd.array([1, None, 3, 7], dtype="Int64")}
    ),
    "pandas Float64": pd.DataFrame(
        {"a": [1.0, 2.0, 3.0, 5.0], "b": pd.array([1.5, None, 3, 7], dtype="Float64")}
    ),
    "pandas boolean": pd.DataFrame(
        {"a": [1.0, 2.0, 3.0, 5.0], "b": pd.array([True, None, False, False], dtype="boolean")}
    ),
}


@pytest.mark.parametrize("kind", NULLS)
def test_the_null_of_every_library_is_missing(refused, kind):
    with refused("X has 1 missing value, the first in row 1, column 'b'"):
        eo.fit_logistic(NULLS[kind], [0, 1, 0, 1])


def test_none_in_an_array_of_objects_is_missing(refused):
    X = np.array([[1.0, 2.0], [3.0, None], [1.0, 0.0], [2.0, 5.0]], dtype=object)
    with refused("X has 1 missing value, the first in row 1, column 1"):
        eo.fit_logistic(X, [0, 1, 0, 1])


def test_a_hole_among_many_rows_is_found_too(refused):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150_000, 1))
    X[123_456, 0] = np.nan
    with refused("X has 1 missing value, the first in row 123456, column 0"):
        eo.fit_logistic(X, rng.integers(0, 2, len(X)))


@pytest.mark.parametrize("run", [eo.fit_logistic, eo.out_of_fold_scores])
@pytest.mark.parametrize("scale", [1e154, 1e160, 1e200, [[1e307]] + [[1.0]] * 299])
def test_values_whose_squares_overflow_are_told_to_be_rescaled(refused, labelled, run, scale):
    with refused("X has values so large that their squares overflow: rescale its columns."):
        run(labelled.X * np.array(scale), labelled.y)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_a_column_of_a_formula_that_is_infinite_everywhere_is_refused(refused, value):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "b": value, "y": [0, 1, 0, 1]})
    with refused("X has 4 infinite values, the first in row 0, column 'b'"):
        eo.fit_logistic(frame, "y", formula="a + b")
