"""Labels, weights and groups as columns: every type they come in, and what is refused."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenodds as eo

N_ROWS = 900


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=N_ROWS), "s": rng.choice(["u", "v", "w"], N_ROWS)})
    chance = 1 / (1 + np.exp(-frame["a"]))
    return frame.assign(y=(rng.random(N_ROWS) < chance).astype(int))


@pytest.fixture(scope="module")
def expected(frame):
    return eo.fit_logistic(frame, "y").coefficients


def words(y, low, high):
    return np.where(y == 1, high, low)


LABELS = {
    "bool": lambda y: y == 1,
    "float": lambda y: y * 1.0,
    "minus and plus one": lambda y: 2 * y - 1,
    "text": lambda y: words(y, "a", "b"),
    "category": lambda y: pd.Categorical(words(y, "a", "b")),
    "date": lambda y: pd.to_datetime(words(y, "2021-01-01", "2021-01-02")),
    "decimal": lambda y: [decimal.Decimal(int(value)) for value in y],
    "nullable": lambda y: y.astype("Int64"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_two_labels_of_any_type_are_read(frame, expected, kind):
    labelled = frame.assign(y=LABELS[kind](frame["y"]))
    assert eo.fit_logistic(labelled, "y").coefficients == pytest.approx(expected, rel=1e-12)


STORED = {
    "pandas categories": lambda f, path: f.astype({"s": "category"}).to_parquet(
        path, row_group_size=100
    ),
    "polars": lambda f, path: pl.from_pandas(f).write_parquet(path),
    "polars categories": lambda f, path: (
        pl.from_pandas(f).with_columns(pl.col("s").cast(pl.Categorical)).write_parquet(path)
    ),
}


@pytest.mark.parametrize("kind", STORED)
@pytest.mark.parametrize("formula", [None, "a + C(s)"])
def test_text_is_read_however_it_is_stored(frame, expected, tmp_path, kind, formula):
    STORED[kind](frame, tmp_path / "rows.parquet")
    found = eo.fit_logistic(tmp_path / "rows.parquet", "y", formula=formula)
    assert found.coefficients == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 2, 3] * 300, "column 'y' has 3 distinct labels (1, 2 and 3) but this test needs 2"),
        (1, "column 'y' has one label only (1) but this test needs two"),
        (np.inf, "column 'y' holds an infinite value: labels must be two ordinary values."),
        ([None, *"ab" * 449, "a"], "column 'y' has 1 missing value, the first in row 0: drop the"),
        (range(N_ROWS), "column 'y' has 900 distinct labels (0, 1, 2, 3, 4 and 895 more)"),
        (["Yes", "yes ", "no"] * 300, "column 'y' has labels 'Yes' and 'yes ', which differ only"),
    ],
)
def test_labels_that_are_not_two_are_refused(refused, frame, labels, message):
    with refused(message):
        eo.fit_logistic(frame.assign(y=labels), "y")


def test_spellings_are_refused_in_an_array_too(refused):
    with refused("y has labels 'Yes' and 'yes ', which differ only in case or blanks: write each"):
        eo.fit_logistic(np.arange(4.0)[:, None], ["Yes", "yes ", "Yes", "yes "])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-1, "column 'w' is -1 in row 0 but must not be negative: it is how many rows this row"),
        (np.inf, "column 'w' is inf in row 0 but must be finite"),
        (0, "column 'w' is zero everywhere: no rows are left."),
        (1e-9, "column 'w' adds up to 9e-07 rows: it is how many rows each row stands for, so"),
        (np.nan, "column 'w' has 900 missing values, the first in row 0: give every row its weigh"),
        ("many", "column 'w' of X holds string values but weights must be numbers"),
    ],
)
def test_weights_that_count_nothing_are_refused(refused, frame, weights, message):
    table = pa.Table.from_pandas(frame.assign(w=weights))
    with refused(message):
        eo.fit_logistic(table.cast(as_plain_text(table.schema)), "y", sample_weight="w")


def as_plain_text(schema):
    """Return the schema with text in its usual type."""
    fields = [pa.field(f.name, pa.string()) if "string" in str(f.type) else f for f in schema]
    return pa.schema(fields)


def test_weights_that_leave_one_class_are_refused(refused, frame):
    with refused("column 'w' is zero for every row labelled 0: one class only is left."):
        eo.fit_logistic(frame.assign(w=frame["y"]), "y", sample_weight="w")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([{"x": 1}] * N_ROWS, "holds struct<x: int64> values, neither numbers nor text: encode it"),
        (pd.Timestamp("2020"), "holds dates or times: turn it into a number first, such as days"),
        ([1, "a", None] * 300, "holds values of different kinds (Could not convert 'a' with type"),
        (["1", "2", "3+"] * 300, "holds text such as '3+' among numbers: leave the cell empty if"),
    ],
)
def test_columns_that_are_no_features_are_refused(refused, frame, column, message):
    with refused(f"column 'more' of X {message}"):
        eo.fit_logistic(frame.assign(more=column), "y")


def test_a_category_with_numbers_among_its_levels_is_read_by_a_formula(frame):
    coded = frame.assign(more=["1", "2", "3+"] * 300)
    assert eo.fit_logistic(coded, "y", formula="a + C(more)").n_features == 3


def test_anchors_of_text_may_be_a_dictionary(frame):
    named = eo.Anchors({"a": [0.0, 0.1], "s": ["u", "v"]})
    expected = eo.Anchors(pd.DataFrame({"a": [0.0, 0.1], "s": ["u", "v"]}))
    found = [eo.asymmetry_test(frame, "y", a, method="wald").statistic for a in (named, expected)]
    assert found[0] == found[1]
