"""Masks are missing values, complex numbers are refused, whole numbers are never rounded."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import evenodds as eo
from evenodds.rows.read import read_data

LONG = 2**53


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2))
    return X, (rng.random(400) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)


def masked(values, row=7):
    hidden = np.ma.array(values, copy=True)
    hidden[row] = np.ma.masked
    return hidden


def test_nothing_masked_changes_nothing(world):
    X, y = world
    found = eo.fit_logistic(np.ma.array(X), np.ma.array(y))
    assert (found.coefficients == eo.fit_logistic(X, y).coefficients).all()


@pytest.mark.parametrize("name", ["X", "y", "sample_weight", "groups"])
@pytest.mark.parametrize("kind", [float, int])
def test_masked_rows_are_dropped_like_missing_ones(world, name, kind):
    X, y = world
    parts = {"X": X if kind is float else np.round(9 * X).astype(int), "y": y.astype(kind)}
    parts |= {"sample_weight": np.ones(400, kind), "groups": np.arange(400).astype(kind) // 2}
    kept = {each: np.delete(values, 7, axis=0) for each, values in parts.items()}
    parts[name] = masked(parts[name])
    found = eo.fit_logistic(**parts, missing="drop")
    assert found.coefficients == pytest.approx(eo.fit_logistic(**kept).coefficients, rel=1e-12)
    assert found.notices == ("1 of 400 rows lacks a value and was dropped.",)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("X", "X has 2 missing values, the first in row 7, column 0"),
        ("y", "y has 1 missing value, the first in row 7"),
        ("sample_weight", "sample_weight is nan at row 8 of 400: give finite numbers."),
        ("groups", "groups has 1 missing value, the first in row 7"),
    ],
)
def test_masked_values_are_refused_like_missing_ones(refused, world, name, message):
    X, y = world
    parts = {"X": X, "y": y, "sample_weight": np.ones(400), "groups": np.arange(400) // 2}
    with refused(message):
        eo.fit_logistic(**parts | {name: masked(parts[name])})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"points": masked(np.ones((9, 2)))},
            "anchors has 2 missing or infinite values, the fir",
        ),
        ({"posterior": masked(np.full(9, 0.5))}, "posterior is nan at anchor 8"),
        ({"tolerance": masked(np.full(9, 0.1))}, "tolerance is nan at anchor 8"),
        ({"tolerance": np.full(9, 0.1j)}, "tolerance must hold numbers"),
        ({"posterior": 0.5j}, "posterior must hold numbers"),
        ({"source_covariance": np.eye(9) * 1j}, "source_covariance holds complex numbers"),
        ({"points": np.ones((9, 2)) * 1j}, "anchors holds complex numbers: give real ones."),
        ({"points": np.full((9, 2), LONG + 1)}, f"anchors holds the whole number {LONG + 1}, whic"),
    ],
)
def test_anchors_take_no_masked_complex_or_inexact_values(refused, settings, message):
    with refused(message):
        eo.Anchors(**{"points": np.ones((9, 2)), **settings})


@pytest.mark.parametrize(
    "labels", [np.array([0, 1j] * 200), [0, 1j] * 200, pd.Series([0, 1j] * 200)]
)
def test_complex_labels_are_refused(refused, world, labels):
    with refused("y holds complex128 values: give numbers, text or true and false"):
        eo.fit_logistic(world[0], labels)


def test_one_complex_label_among_objects_is_refused(refused, world):
    labels = np.array([0, 1] * 199 + [0, 1j], dtype=object)
    with refused("y holds the complex number 1j: give real numbers, or text."):
        eo.fit_logistic(world[0], labels)


def test_complex_features_are_refused(refused, world):
    with refused("X holds complex numbers: give real ones."):
        eo.fit_logistic(world[0] + 0j, world[1])


@pytest.mark.parametrize(
    "long",
    [
        lambda X: np.full(X.shape, LONG + 1),
        lambda X: np.full(X.shape, -LONG - 1),
        lambda X: np.full(X.shape, 2**64 - 1, dtype=np.uint64),
        lambda X: [[0.5, LONG + 1]] * len(X),
        lambda X: [[1, 2**70]] * len(X),
        lambda X: pd.DataFrame(X, columns=["a", "b"]).assign(b=LONG + 1),
        lambda X: pd.DataFrame(X, columns=["a", "b"]).assign(b=LONG + 1, s=["u", "v"] * 200),
        lambda X: pa.table({"a": X[:, 0], "b": np.full(len(X), LONG + 1)}),
    ],
)
def test_features_that_would_be_rounded_are_refused(world, long):
    with pytest.raises(eo.InputError, match=r"holds the whole number .*, which would be rounded"):
        eo.fit_logistic(long(world[0]), world[1])


def test_the_largest_exact_whole_number_is_a_feature(world):
    X, y = world
    found = eo.fit_logistic(np.where(X > 0, LONG, -LONG), y)
    assert np.isfinite(found.coefficients).all()


@pytest.mark.parametrize(
    "ids",
    [
        lambda y: (LONG + y).astype(np.int64),
        lambda y: (LONG + y).astype(np.uint64),
        lambda y: [LONG + int(each) for each in y],
        lambda y: [2**70 + int(each) for each in y],
        lambda y: np.array([2**70 + int(each) for each in y], dtype=object),
        lambda y: pd.Series(LONG + y, dtype="Int64"),
    ],
)
def test_two_labels_beside_each_other_stay_two(world, ids):
    X, y = world
    for X_as in (X, pd.DataFrame(X, columns=["a", "b"]).assign(s=["u", "v"] * 200)):
        found = eo.fit_logistic(X_as, ids(y))
        assert found.coefficients == pytest.approx(eo.fit_logistic(X_as, y).coefficients)


def test_groups_beside_each_other_stay_apart(world):
    X, y = world
    groups = LONG + np.arange(400) // 2
    for given in (groups, groups.astype(np.uint64), groups.tolist(), [*groups[:-1].tolist(), 0.5]):
        assert read_data(X, y, groups=given).n_groups in {200, 201}


@pytest.fixture(scope="module")
def written(world, tmp_path_factory):
    X, y = world
    folder = tmp_path_factory.mktemp("exact")
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame = frame.assign(id=LONG + np.arange(400), y=LONG + y)
    frame["group"] = [2**70 + number // 2 for number in range(400)]
    frame.to_csv(folder / "rows.csv", index=False)
    kept = frame.drop(columns="group").assign(group=LONG + np.arange(400) // 2)
    kept.to_parquet(folder / "rows.parquet")
    exact = pa.array(frame["y"].tolist(), pa.decimal128(38, 0))
    table = pa.Table.from_pandas(kept, preserve_index=False)
    table = table.set_column(table.column_names.index("y"), "y", exact)
    parquet.write_table(table, folder / "decimal.parquet")
    kept.to_feather(folder / "rows.feather")
    np.savez(folder / "rows.npz", X=X, y=LONG + y, group=kept["group"])
    return folder


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "decimal.parquet", "rows.feather"])
def test_files_keep_labels_and_groups_apart(written, world, name):
    rows = eo.fit_logistic(written / name, "y", groups="group", formula="a + b")
    assert rows.coefficients == pytest.approx(eo.fit_logistic(*world).coefficients, rel=1e-9)
    assert read_data(written / name, "y", groups="group", formula="a + b").n_groups == 200


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.feather"])
@pytest.mark.parametrize("formula", [None, "a + id"])
def test_files_give_no_rounded_features(refused, written, name, formula):
    with refused("column 'id' of"):
        eo.fit_logistic(written / name, "y", groups="group", formula=formula)


def test_late_long_numbers_of_a_text_file_are_refused(refused, tmp_path):
    rows = "".join(f"{i % 7}.5,{i % 2}\n" for i in range(50))
    (tmp_path / "rows.csv").write_text(f"x,y\n{rows}9007199254740993,1\n")
    with refused("column 'x' of"):
        eo.fit_logistic(tmp_path / "rows.csv", "y")


def test_large_measurements_of_a_text_file_are_welcome(tmp_path):
    rng = np.random.default_rng(1)
    rows = "".join(f"{x:e},{int(rng.random() < 0.5)}\n" for x in rng.normal(size=200) * 1e20)
    (tmp_path / "rows.csv").write_text(f"x,y\n{rows}")
    assert eo.fit_logistic(tmp_path / "rows.csv", "y").n_rows == 200
