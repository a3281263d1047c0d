import dataclasses

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds import AnchorError, Anchors

POINTS = [[0.0, 1.0], [2.0, -1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"posterior": 1.2}, "posterior is 1.2 but must be at least 0 and at most 1"),
        ({"posterior": [0.5, -0.1, 0.5]}, "posterior is -0.1 but must be at least 0"),
        ({"tolerance": 0.6}, "tolerance is 0.6 but must be at least 0 and below 0.5: it is a dis"),
        ({"tolerance": 0.5}, "tolerance is 0.5 but must be at least 0 and below 0.5"),
        ({"tolerance": -0.1}, "tolerance is -0.1 but must not be negative."),
        (
            {"posterior": 0.9, "tolerance": 0.2},
            "tolerance is 0.2 but must be at least 0 and below 0.1: it is a distance from 0.9.",
        ),
        (
            {"tolerance": [0, 0.3, 0], "shared_tolerance": 0.25},
            "tolerance + shared_tolerance is 0.55 but must be at least 0 and below 0.5",
        ),
        (
            {"source_covariance": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]},
            "source_covariance must be finite and symmetric: it is a covariance.",
        ),
        (
            {"source_covariance": np.full((3, 3), np.nan)},
            "source_covariance must be finite and symmetric",
        ),
        (
            {"source_covariance": np.eye(2)},
            "source_covariance has shape (2, 2), for 3 anchors: give a square matrix",
        ),
        (
            {"source_covariance": np.diag([1, 1, -0.5])},
            "source_covariance has a negative eigenvalue (-0.5): it is not a covariance.",
        ),
    ],
)
def test_impossible_statements_are_refused(refused, settings, message):
    with refused(message, AnchorError):
        Anchors(POINTS, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tolerance": [0.1, 0.2]}, "tolerance has shape (2,) but there are 3 anchors"),
        (
            {"posterior": "half"},
            "posterior must hold numbers: give one value, or one value for each anchor.",
        ),
        ({"tolerance": [0, np.nan, 0]}, "tolerance is nan at anchor 2 of 3: give finite numbers."),
        ({"shared_tolerance": 0.5}, "shared_tolerance is 0.5 but must be at least 0 and below 0.5"),
        ({"shared_tolerance": [0.1]}, "shared_tolerance is [0.1] but must be a number."),
    ],
)
def test_statements_of_the_wrong_form_are_refused(refused, settings, message):
    with refused(message):
        Anchors(POINTS, **settings)


@pytest.mark.parametrize("points", [np.empty((0, 2)), pd.DataFrame({"a": []}), pd.DataFrame()])
def test_no_anchors_are_refused(refused, points):
    with refused("anchors is empty: give at least one point.", AnchorError):
        Anchors(points)


def test_a_single_point_must_still_be_a_row(refused):
    with refused("anchors has 1 dimension but must have 2"):
        Anchors([0.0, 1.0])


def test_text_in_the_points_is_refused(refused):
    with refused("anchors holds <U1 values that are not numbers: encode text as numbers"):
        Anchors([["a", "b"]])


def test_a_missing_value_in_an_array_is_placed_by_number(refused):
    with refused("anchors has 1 missing or infinite value, the first at anchor 2, column 0"):
        Anchors([[0, 1], [np.nan, 1]])


def test_a_missing_value_in_a_frame_is_placed_by_name(refused):
    with refused("2 missing or infinite values, the first at anchor 1, column 'b': an anchor"):
        Anchors(pd.DataFrame({"a": [0, 1], "b": [np.inf, np.nan]}))


def test_one_value_speaks_for_all_anchors():
    assert Anchors(POINTS, tolerance=0.1).tolerance.tolist() == [0.1, 0.1, 0.1]


def test_anchors_are_toss_ups_within_five_percent_by_default():
    anchors = Anchors(POINTS)
    assert (anchors.posterior[0], anchors.tolerance[0]) == (0.5, 0.05)


@pytest.mark.parametrize(
    ("settings", "shared"),
    [
        ({}, 0.05),
        ({"tolerance": 0}, 0.0),
        ({"tolerance": [0.02, 0.1, 0.04]}, 0.04),
        ({"tolerance": [0, 0, 0.1]}, 0.0),  # most of them are strict
        ({"tolerance": 0.3}, 0.99 * 0.2),
        ({"posterior": 0.08}, 0.99 * 0.03),
        ({"posterior": [0.5, 0.5, 0.92]}, 0.99 * 0.03),
        ({"posterior": [0, 1, 1]}, 0.0),
        # The sure ones are exact: only the toss-up can be off.
        ({"posterior": [0, 1, 0.5], "tolerance": [0.3, 0.3, 0.1]}, 0.1),
        ({"source_covariance": np.eye(3) / 1e4}, 0.05),
    ],
)
def test_all_anchors_may_lean_by_the_median_tolerance_if_nothing_is_stated(settings, shared):
    anchors = Anchors(POINTS, **settings)
    assert anchors.shared_tolerance == pytest.approx(shared, rel=1e-9)
    assert anchors.shared_is_default


@pytest.mark.parametrize("stated", [0, 0.02])
def test_a_stated_shared_tolerance_is_kept(stated):
    anchors = Anchors(POINTS, shared_tolerance=stated)
    assert (anchors.shared_tolerance, anchors.shared_is_default) == (stated, False)


@pytest.mark.parametrize(("column", "shared"), [("", 0.1), (",shared_tolerance", 0.02)])
def test_the_column_of_a_file_wins_over_the_default(tmp_path, column, shared):
    value = column and ",0.02"
    path = tmp_path / "anchors.csv"
    path.write_text(f"a,tolerance{column}\n0,0.1{value}\n1,0.1{value}\n")
    anchors = Anchors(path)
    assert (anchors.shared_tolerance, anchors.shared_is_default) == (shared, not column)


def test_posteriors_of_zero_and_one_are_taken_with_the_default_tolerance():
    assert Anchors([[0.0], [1.0]], posterior=[0, 1]).posterior.tolist() == [0, 1]


def test_their_number_is_their_length():
    assert len(Anchors(POINTS)) == 3


def test_anchors_do_not_follow_a_later_change_of_the_points():
    points = np.array(POINTS)
    anchors = Anchors(points)
    points[:] = 9
    assert anchors.points.tolist() == POINTS


@pytest.mark.parametrize("name", ["posterior", "tolerance", "source_covariance"])
def test_the_callers_arrays_stay_writeable(name):
    values = {
        "posterior": np.full(3, 0.5),
        "tolerance": np.zeros(3),
        "source_covariance": np.eye(3),
    }
    Anchors(POINTS, **{"tolerance": 0, name: values[name]})
    assert values[name].flags.writeable


def test_anchor_points_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        Anchors(POINTS).points[0, 0] = 9


def test_anchors_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Anchors(POINTS).shared_tolerance = 0.1


@pytest.mark.parametrize(
    ("settings", "strict"),
    [
        ({"tolerance": 0}, True),
        ({"tolerance": [0, 0, 0.1]}, False),
        ({"tolerance": 0, "shared_tolerance": 0.1}, False),
        ({"tolerance": 0, "source_covariance": np.eye(3) / 100}, False),
    ],
)
def test_anchors_are_strict_without_any_error(settings, strict):
    assert Anchors(POINTS, **settings).strict is strict


def test_error_covariance_adds_own_shared_and_source():
    anchors = Anchors(
        POINTS[:2], tolerance=[0.3, 0.15], shared_tolerance=0.03, source_covariance=np.eye(2)
    )
    expected = [[0.03 + 0.0003 + 1, 0.0003], [0.0003, 0.0075 + 0.0003 + 1]]
    assert anchors.error_covariance() == pytest.approx(np.array(expected), rel=1e-14)


def test_columns_of_a_frame_are_matched_by_name():
    anchors = Anchors(pd.DataFrame({"b": [1.0], "a": [2.0]}))
    assert anchors.points_for(("a", "b"), 2).tolist() == [[2.0, 1.0]]


def test_several_files_are_read_as_one(tmp_path):
    files = [tmp_path / "mine.csv", tmp_path / "yours.csv"]
    for number, path in enumerate(files):
        path.write_text(f"a,b\n{number},2\n")
    assert Anchors(files).points.tolist() == [[0.0, 2.0], [1.0, 2.0]]


def test_array_anchors_keep_their_order():
    assert Anchors([[1.0, 2.0]]).points_for(("a", "b"), 2).tolist() == [[1.0, 2.0]]


def test_another_number_of_columns_is_refused(refused):
    text = "anchors has 2 columns but X has 4: give each anchor the same features as X, in the same"
    with refused(text, AnchorError):
        Anchors(POINTS).points_for(None, 4)


def test_a_column_anchors_lack_is_named_with_its_near_miss(refused):
    anchors = Anchors(pd.DataFrame({"Age": [1.0], "dose": [2.0]}))
    with refused("anchors has no column 'age', which X has; did you mean 'Age'?", AnchorError):
        anchors.points_for(("age", "dose"), 2)


def test_a_column_only_anchors_have_is_named_with_its_near_miss(refused):
    anchors = Anchors(pd.DataFrame({"age": [1.0], "dose": [2.0], "dosis": [0.0]}))
    with refused("a column 'dosis' that X has not; did you mean 'dose'?", AnchorError):
        anchors.points_for(("age", "dose"), 2)


def test_rows_of_the_data_become_anchors_by_number():
    X = np.arange(10.0).reshape(5, 2)
    assert Anchors.from_rows(X, [3, 0]).points.tolist() == [[6, 7], [0, 1]]


def test_rows_of_the_data_become_anchors_by_a_mask():
    X = np.arange(6.0).reshape(3, 2)
    assert Anchors.from_rows(X, [True, False, True]).points.tolist() == [[0, 1], [4, 5]]


def test_rows_of_a_frame_keep_their_names():
    anchors = Anchors.from_rows(pd.DataFrame({"b": [1.0, 3.0], "a": [2.0, 4.0]}), [1])
    assert anchors.points_for(("a", "b"), 2).tolist() == [[4.0, 3.0]]


def test_rows_take_the_settings_of_anchors():
    assert Anchors.from_rows(np.eye(2), [0], tolerance=0.1).tolerance.tolist() == [0.1]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([5], "rows names row 5 but X has rows 0 to 2."),
        ([0, -1], "rows names row -1 but X has rows 0 to 2."),
        ([True, False], "rows is a mask of 2 but X has 3 rows."),
        ([0.5], "rows must be a list of row numbers or a mask of True and False."),
        ([[0, 1]], "rows must be a list of row numbers or a mask of True and False."),
        ([False, False, False], "anchors is empty: give at least one point."),
        ([], "rows is empty: name at least one row."),
    ],
)
def test_rows_that_cannot_be_chosen_are_refused(refused, rows, message):
    with refused(message):
        Anchors.from_rows(np.eye(3), rows)


def test_a_hole_in_a_chosen_row_of_a_frame_is_placed_by_name(refused):
    X = pd.DataFrame({"a": [0.0, 1.0], "b": [2.0, np.nan]})
    with refused("the first at anchor 1, column 'b'", AnchorError):
        eo.Anchors.from_rows(X, [1])


def test_a_source_covariance_may_be_off_by_rounding():
    matrix = np.array([[0.01, 1e-18], [3e-18, 0.01]])
    anchors = eo.Anchors([[0.0], [1.0]], source_covariance=matrix)
    assert anchors.source_covariance == pytest.approx(np.diag([0.01, 0.01]))
