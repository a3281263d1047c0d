"""The same data in every form a user has it in: the same statistic."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenodds as eo
from evenodds.rows import open_table, table_rows

N_ROWS = 3000
NAMES = ["age", "dose"]
METHODS = ["boundary", "joint", "wald"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    true = rng.integers(0, 2, N_ROWS)
    X = rng.normal(size=(N_ROWS, 2)) + (2 * true - 1)[:, None]
    given = eo.ClassConditionalNoise(0.25, 0.05).flip(true, rng)
    return pd.DataFrame(X, columns=NAMES).assign(y=np.where(given == 1, "ill", "well"))


@pytest.fixture(scope="module")
def forms(data, tmp_path_factory):
    """Return X and y in every form."""
    folder = tmp_path_factory.mktemp("forms")
    data.to_csv(folder / "rows.csv", index=False)
    data.to_csv(folder / "rows.tsv", index=False, sep="\t")
    data.to_parquet(folder / "rows.parquet")
    data.to_feather(folder / "rows.feather")
    parts = folder / "parts"
    parts.mkdir()
    halves = data[:1000], data[1000:][["y", "dose", "age"]]
    for number, half in enumerate(halves):
        half.to_parquet(parts / f"{number}.parquet")
    X, y = data[NAMES].to_numpy(), data["y"].to_numpy()
    cut = dd.from_pandas(data, npartitions=4)
    np.save(folder / "x.npy", X)
    np.savez(folder / "x.npz", X=X, y=y.astype(str))
    return {
        "array": (X, y),
        "single precision": (X.astype(np.float32).astype(np.float64), y),
        "pandas": (data[NAMES], data["y"]),
        "pandas, label by name": (data, "y"),
        "polars": (pl.from_pandas(data), "y"),
        "arrow": (pa.Table.from_pandas(data), "y"),
        "csv": (folder / "rows.csv", "y"),
        "tsv": (str(folder / "rows.tsv"), "y"),
        "parquet": (folder / "rows.parquet", "y"),
        "feather": (folder / "rows.feather", "y"),
        "folder": (parts, "y"),
        "glob": (f"{parts}/*.parquet", "y"),
        "list": ([parts / "0.parquet", parts / "1.parquet"], "y"),
        "npy": (folder / "x.npy", y),
        "npz": (folder / "x.npz", "y"),
        "dask array": (da.from_array(X, chunks=(700, 1)), da.from_array(y.astype(str), chunks=800)),
        "dask frame": (dd.from_pandas(data[NAMES], npartitions=4), cut["y"]),
        "dask frame, label by name": (cut, "y"),
    }


ANCHORS = [[0.0, 0.0], [1.0, -1.0], [-2.0, 2.0]]
FORMS = [
    "pandas",
    "pandas, label by name",
    "polars",
    "arrow",
    "csv",
    "tsv",
    "parquet",
    "feather",
    "folder",
    "glob",
    "list",
    "npy",
    "npz",
    "dask array",
    "dask frame",
    "dask frame, label by name",
]


@pytest.fixture(scope="module")
def reference(forms):
    tests = {m: eo.asymmetry_test(*forms["array"], eo.Anchors(ANCHORS), method=m) for m in METHODS}
    return {method: test.statistic for method, test in tests.items()}


@pytest.mark.parametrize(
    ("form", "method"),
    # A sum takes Dask longer than the rest: one form of it for each way to test.
    [
        (form, method)
        for form in FORMS
        for method in METHODS
        if method == "wald" or form == "dask array" or "dask" not in form
    ],
)
def test_every_form_gives_the_same_statistic(forms, reference, form, method):
    result = eo.asymmetry_test(*forms[form], eo.Anchors(ANCHORS), method=method)
    assert result.statistic == pytest.approx(reference[method], rel=1e-10)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", ["csv", "parquet", "feather", "folder"])
def test_a_table_too_large_for_memory_gives_the_same_statistic(
    forms, reference, form, method, monkeypatch
):
    monkeypatch.setattr(table_rows, "HELD_BYTES", 0)
    monkeypatch.setattr(open_table, "HELD_BYTES", 0)
    result = eo.asymmetry_test(*forms[form], eo.Anchors(ANCHORS), method=method)
    assert result.statistic == pytest.approx(reference[method], rel=1e-10)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """150,000 rows: enough for the climbs that start from samples."""
    rng = np.random.default_rng(9)
    true = rng.random(150_000) < 0.4
    X = rng.normal(size=(len(true), 3)) + np.outer(true, [1.0, -0.5, 0.3])
    y = eo.ClassConditionalNoise(0.2, 0.1).flip(true.astype(int), rng)
    path = tmp_path_factory.mktemp("many") / "rows.parquet"
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    frame.to_parquet(path, row_group_size=9_000)
    return path, X, y


@pytest.mark.parametrize("method", METHODS)
def test_many_rows_stream_to_the_same_statistic(many, monkeypatch, method):
    path, X, y = many
    anchors = eo.Anchors([[0.5, 0.0, 0.0], [0.0, -1.0, 0.5]])
    expected = eo.asymmetry_test(X, y, anchors, method=method)
    monkeypatch.setattr(table_rows, "HELD_BYTES", 0)
    found = eo.asymmetry_test(path, "y", anchors, method=method)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-10)


def test_many_rows_stream_to_the_same_covariance(many, monkeypatch):
    path, X, y = many
    expected = eo.fit_logistic(X, y, covariance="sandwich")
    monkeypatch.setattr(table_rows, "HELD_BYTES", 0)
    found = eo.fit_logistic(path, "y", covariance="sandwich")
    assert found.covariance == pytest.approx(expected.covariance, rel=1e-10)


@pytest.mark.parametrize("form", ["array", "pandas", "csv"])
def test_rows_that_lack_a_value_are_dropped_when_asked(data, tmp_path, form):
    holes = data.copy()
    holes.loc[[4, 9], "dose"] = np.nan
    holes.loc[20, "y"] = None
    holes.to_csv(tmp_path / "rows.csv", index=False)
    forms = {
        "array": (holes[NAMES].to_numpy(), holes["y"].to_numpy()),
        "pandas": (holes, "y"),
        "csv": (tmp_path / "rows.csv", "y"),
    }
    fit = eo.fit_logistic(*forms[form], missing="drop")
    complete = holes.dropna()
    expected = eo.fit_logistic(complete[NAMES].to_numpy(), complete["y"].to_numpy())
    assert fit.coefficients == pytest.approx(expected.coefficients, rel=1e-10)
    assert fit.notices == ("3 of 3,000 rows lack a value and were dropped.",)


def test_what_was_dropped_is_said_in_the_result(data):
    holes = data.copy()
    holes.loc[4, "dose"] = np.nan
    result = eo.asymmetry_test(holes, "y", eo.Anchors(ANCHORS), missing="drop", method="wald")
    assert "1 of 3,000 rows lacks a value and was dropped." in str(result).replace("\n", " ")


def test_weights_and_groups_may_be_columns(data):
    frame = data.assign(times=1 + np.arange(N_ROWS) % 3, who=np.arange(N_ROWS) // 4)
    named = eo.fit_logistic(frame, "y", sample_weight="times", groups="who")
    expected = eo.fit_logistic(
        frame[NAMES].to_numpy(),
        frame["y"].to_numpy(),
        sample_weight=frame["times"].to_numpy(),
        groups=frame["who"].to_numpy(),
    )
    assert named.covariance == pytest.approx(expected.covariance, rel=1e-10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"y": [0, 1]},
            "X is the path of a table, so y must be the name of one of its columns; it",
        ),
        ({"y": "z"}, "has no column 'z'; the columns are 'age', 'dose' and 'y'."),
        ({"sample_weight": [1.0]}, "so sample_weight must be the name of one of its columns"),
        ({"groups": "ages"}, "has no column 'ages'; did you mean 'age'?"),
        ({"missing": "fill"}, "missing is 'fill' but must be one of 'refuse' or 'drop'."),
        ({"formula": "age", "probabilities": "dose"}, "a formula or probabilities, but only one"),
        ({"formula": "y ~ age", "y": "dose"}, "the label is 'dose' but the formula has 'y' on its"),
    ],
)
def test_what_a_path_cannot_go_with_is_refused(refused, forms, changes, message):
    arguments = {"X": forms["csv"][0], "y": "y", **changes}
    with refused(message):
        eo.fit_logistic(**arguments)


@pytest.mark.parametrize("way", ["formula", "probabilities"])
def test_columns_without_names_cannot_be_encoded_by_name(refused, forms, way):
    with refused(f"{way} needs columns with names: pass a data frame or a file as X."):
        eo.fit_logistic(*forms["array"], **{way: "age"})


def test_labels_of_another_length_than_the_frame_are_refused(refused, data):
    with refused("X has 3,000 rows but y has 2: give one value a row."):
        eo.fit_logistic(data[NAMES], [0, 1], formula="age")


def test_labels_are_needed_beside_a_frame(refused, data):
    with refused("y is None: give labels, or the name of their column."):
        eo.fit_logistic(data, None, formula="age + dose")
