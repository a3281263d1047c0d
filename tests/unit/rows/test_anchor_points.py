"""Anchors told from the data: labels, the rows themselves, columns that the test ignores."""

import pickle

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.rows.anchor_points import NUMBERING, refuse_the_data, shared_rows
from evenodds.rows.read import read_data

N_ROWS = 400
LABELS = "has the label column 'label': anchors are cases that an expert judged"
DATA = "rows of the data, so it is the data and not a choice of cases: give the toss-ups alone"


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    columns = {"age": 50 + 10 * rng.normal(size=N_ROWS), "dose": rng.exponential(size=N_ROWS)}
    data = pd.DataFrame(columns).assign(site=rng.choice(["east", "west"], N_ROWS))
    log_odds = (data["age"] - 50) / 5 + data["dose"] - 1
    return data.assign(label=np.where(rng.random(N_ROWS) < 1 / (1 + np.exp(-log_odds)), 1, -1))


@pytest.fixture
def tests_of_two(wald):
    """Return the tests of two classes that take anchors, as functions of data and anchors."""

    def contour(X, y, anchors, **settings):
        stated = np.resize([0.2, 0.5, 0.8], len(anchors))
        spread = eo.Anchors(anchors.as_given, posterior=stated)
        return eo.contour_test(X, y, spread, **settings)

    return {"wald": wald, "boundary": eo.asymmetry_test, "contour": contour}


@pytest.mark.parametrize("name", ["wald", "boundary", "contour"])
def test_labelled_data_are_no_anchors(refused, frame, tests_of_two, name):
    with refused(f"anchors {LABELS}", eo.AnchorError):
        tests_of_two[name](frame, "label", eo.Anchors(frame[:9]))


@pytest.mark.parametrize(
    ("y", "settings"),
    [("label", {}), (None, {"formula": "label ~ age + dose"}), ("label", {"formula": "age"})],
)
@pytest.mark.parametrize("columns", [["age", "dose", "label"], ["label", "site", "dose", "age"]])
def test_the_label_may_be_named_in_any_way(refused, wald, frame, y, settings, columns):
    anchors = eo.Anchors(frame[columns][:5])
    with refused(LABELS, eo.AnchorError):
        wald(frame[sorted(columns)], y, anchors, **settings)


def test_labels_apart_have_the_name_of_their_series(refused, wald, frame):
    numbers = frame[["age", "dose", "label"]]
    with refused(LABELS, eo.AnchorError):
        wald(numbers[["age", "dose"]], numbers["label"], eo.Anchors(numbers[:5]))


def test_a_feature_may_lend_the_labels_its_name(wald, frame):
    numbers = frame[["age", "dose"]]
    noisy = (numbers["age"] > 50) ^ (np.arange(N_ROWS) % 4 == 0)
    assert noisy.name == "age"
    assert wald(numbers, noisy, eo.Anchors(numbers[:5])).n_anchors == 5


@pytest.mark.parametrize("name", ["wald", "boundary", "contour"])
def test_the_data_are_no_anchors(refused, frame, tests_of_two, name):
    with refused(f"anchors holds 400 of the 400 {DATA}", eo.AnchorError):
        tests_of_two[name](frame, "label", eo.Anchors(frame.drop(columns="label")))


def test_more_than_half_of_the_rows_are_the_data(refused, wald, frame):
    X, y = frame.drop(columns="label"), frame["label"]
    with refused(f"anchors holds 201 of the 400 {DATA}", eo.AnchorError):
        wald(X, y, eo.Anchors.from_rows(X, np.arange(N_ROWS) < 201))
    assert wald(X, y, eo.Anchors.from_rows(X, np.arange(N_ROWS) < 200)).n_anchors == 200


@pytest.mark.parametrize("digits", [None, "%.6g", "%.2f"])
def test_rows_of_another_order_and_format_are_the_data(refused, wald, frame, tmp_path, digits):
    X = frame[["age", "dose"]]
    shuffled = X.sample(frac=1, random_state=0)[["dose", "age"]]
    shuffled.to_csv(tmp_path / "anchors.csv", index=False, float_format=digits)
    X.astype(np.float32).assign(label=frame["label"]).to_parquet(tmp_path / "rows.parquet")
    with refused(DATA, eo.AnchorError):
        wald(tmp_path / "rows.parquet", "label", eo.Anchors(tmp_path / "anchors.csv"))


def test_rows_are_compared_by_the_columns_of_a_formula(refused, wald, frame):
    anchors = eo.Anchors(frame.drop(columns="label").assign(site="west"))
    with refused(DATA, eo.AnchorError):
        wald(frame, "label", anchors, formula="poly(age, 2) + dose")
    assert wald(frame, "label", anchors, formula="poly(age, 2) + dose + site").n_anchors == N_ROWS


def test_many_honest_anchors_are_not_the_data(frame):
    dose = np.random.default_rng(0).exponential(size=3 * N_ROWS)
    rows = read_data(frame[["age", "dose"]].to_numpy(), frame["label"])
    refuse_the_data(np.column_stack([55 - 5 * dose, dose]), rows)
    assert shared_rows(np.column_stack([55 - 5 * dose, dose]), rows) < N_ROWS / 10


def test_each_anchor_stands_for_one_row():
    """Rows of few values: four anchors are in every row's place, but no data set."""
    X = np.random.default_rng(1).integers(0, 2, size=(100, 2)).astype(float)
    places = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert shared_rows(places, read_data(X, np.arange(100) % 2)) == 4


def test_weighted_rows_count_as_often_as_they_weigh(refused):
    X = np.arange(12.0).reshape(6, 2)
    rows = read_data(X, [0, 1] * 3, sample_weight=[5] * 6)
    refuse_the_data(X, rows)
    with refused(f"anchors holds 30 of the 30 {DATA}", eo.AnchorError):
        refuse_the_data(np.repeat(X, 5, axis=0), rows)


def test_rows_with_holes_lie_nowhere():
    X = np.array([[0.0, 1.0], [np.nan, 1.0], [np.inf, 0.0], [2.0, 3.0]])
    rows = read_data(X, [0, 1, 0, 1])
    assert shared_rows(X[[0, 3]], rows) == 2


def test_points_beyond_all_numbers_are_in_no_row():
    X = np.arange(20.0).reshape(10, 2)
    rows = read_data(X, np.arange(10) % 2)
    assert shared_rows(np.tile([[1e300, 0.0], [-1e300, 1.0]], (4, 1)), rows) == 0


def test_workers_count_shared_rows_too(refused, frame):
    X = frame[["age", "dose"]].to_numpy()
    chunks = da.from_array(X, chunks=(150, 2))
    rows = read_data(chunks, da.from_array(frame["label"].to_numpy(), chunks=150))
    with refused(f"anchors holds 400 of the 400 {DATA}", eo.AnchorError):
        refuse_the_data(pickle.loads(pickle.dumps(X)), rows)


def test_columns_that_the_test_ignores_are_named(wald, frame):
    anchors = eo.Anchors(frame.drop(columns="label")[:5])
    result = wald(frame, "label", anchors, formula="age")
    assert result.diagnostics[0].name == "columns"
    assert result.diagnostics[0].concern
    assert result.diagnostics[0].message.startswith(
        "The anchors have 'dose' and 'site', which the test does not use: an expert who judged by "
        "them called other cases toss-ups"
    )


def test_columns_that_are_used_or_number_rows_are_not_doubted(wald, frame):
    data = frame.assign(patient=np.arange(N_ROWS) // 2, case_id=np.arange(N_ROWS), weight=1)
    settings = {"groups": "patient", "sample_weight": "weight", "formula": "age + dose + site"}
    result = wald(data, "label", eo.Anchors(data.drop(columns="label")[:5]), **settings)
    assert "columns" not in [check.name for check in result.diagnostics]


def test_groups_may_come_with_anchors_of_numbers(wald, frame):
    data = frame.drop(columns="site").assign(patient=np.arange(N_ROWS) // 2)
    anchors = eo.Anchors(data[["patient", "dose", "age"]][:5])
    alone = eo.Anchors(data[["age", "dose"]][:5])
    expected = wald(data, "label", alone, groups="patient")
    assert wald(data, "label", anchors, groups="patient").statistic == expected.statistic


@pytest.mark.parametrize(
    "name", ["", "id", "ID", "patient_id", "caseId", "Unnamed: 0", "row", "row number", "index"]
)
def test_names_that_number_rows(name):
    assert NUMBERING.search(name)


@pytest.mark.parametrize("name", ["age", "humid", "acid", "rowing", "keys", "Madrid", "COVID"])
def test_names_that_do_not_number_rows(name):
    assert not NUMBERING.search(name)
