import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenodds as eo
from evenodds.rows.labels import read_labels

EVERYTHING = slice(None)
WORDS = ["sick", "well", "well", "sick"]

TWO_LABELS = {
    "0/1": [1, 0, 0, 1],
    "-1/1": [1, -1, -1, 1],
    "floats": [1.0, 0.0, 0.0, 1.0],
    "float32": np.array([1, 0, 0, 1], dtype=np.float32),
    "unsigned": np.array([1, 0, 0, 1], dtype=np.uint8),
    "bool": [True, False, False, True],
    "strings": ["yes", "no", "no", "yes"],
    "objects": np.array(["yes", "no", "no", "yes"], dtype=object),
    "bytes": np.array([b"yes", b"no", b"no", b"yes"]),
    "pandas": pd.Series(["yes", "no", "no", "yes"], index=[7, 7, 8, 9]),
    "pandas string": pd.Series(["yes", "no", "no", "yes"], dtype="string"),
    "pandas categorical": pd.Categorical(["yes", "no", "no", "yes"]),
    "pandas Int64": pd.Series([1, 0, 0, 1], dtype="Int64"),
    "one-column frame": pd.DataFrame({"y": [1, 0, 0, 1]}),
    "column vector": np.array([[1], [0], [0], [1]]),
    "polars": pl.Series(["yes", "no", "no", "yes"]),
    "polars bool": pl.Series([True, False, False, True]),
    "arrow": pa.array(["yes", "no", "no", "yes"]),
    "arrow chunks": pa.chunked_array([[1, 0], [0, 1]]),
}


@pytest.mark.parametrize("kind", TWO_LABELS)
def test_labels_of_every_kind_become_zero_and_one(kind):
    assert read_labels(TWO_LABELS[kind]).block(EVERYTHING).tolist() == [1.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("unit", ["D", "ns"])
def test_two_dates_become_zero_and_one(unit):
    dates = np.array(["2021-01-01", "2020-01-01", "2020-01-01"], dtype=f"datetime64[{unit}]")
    assert read_labels(dates).block(EVERYTHING).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("labels", "positive", "negative"),
    [
        ([0, 1], 1, 0),
        ([-1.0, 1.0], 1, -1),
        ([False, True], True, False),
        (["a", "b"], "b", "a"),
        ([0.25, 0.5], 0.5, 0.25),
        ([10, 9], 10, 9),
        (["10", "9"], "9", "10"),
    ],
)
def test_the_larger_or_later_label_is_positive_by_default(labels, positive, negative):
    read = read_labels(labels)
    assert (read.positive, read.negative) == (positive, negative)


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 1.0], ["a", "b"], [False, True]])
def test_labels_are_reported_as_plain_python_values(labels):
    assert type(read_labels(np.array(labels)).positive) in {int, str, bool}


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        ([1, 0, 0], 0),
        ([1, 0, 0], "0"),
        ([1.0, 0.0, 0.0], "0"),
        ([1, -1, -1], "-1"),
        ([True, False, False], False),
        ([True, False, False], "False"),
        (["yes", "no", "no"], "no"),
    ],
)
def test_positive_names_a_label_by_value_or_by_how_it_prints(labels, positive):
    assert read_labels(labels, positive).block(EVERYTHING).tolist() == [0.0, 1.0, 1.0]


def test_labels_of_two_types_can_be_told_apart():
    mixed = np.array([1, "unknown", 1], dtype=object)
    assert read_labels(mixed, positive=1).block(EVERYTHING).tolist() == [1.0, 0.0, 1.0]


def test_a_block_of_labels_follows_chosen_rows():
    assert read_labels(WORDS).block(np.array([3, 1])).tolist() == [0.0, 1.0]


def test_float_zeros_and_ones_are_not_copied():
    y = np.array([0.0, 1.0, 1.0])
    assert np.shares_memory(read_labels(y).block(EVERYTHING), y)


def test_float_labels_with_zero_as_positive_are_turned_round():
    y = np.array([0.0, 1.0, 1.0])
    assert read_labels(y, positive=0).block(EVERYTHING).tolist() == [1.0, 0.0, 0.0]


def test_text_labels_are_kept_as_a_byte_a_row():
    assert read_labels(["a long label", "another long label"]).values.itemsize == 1


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "y is empty: give one label a row."),
        (np.zeros((2, 2)), "y has shape (2, 2) but must be one column of labels."),
        (None, "y has shape () but must be one column of labels."),
        ([1, 1], "y has one label only (1) but this test needs two: check the label column"),
        ([1.0, 1.0], "y has one label only (1)"),
        (["a", "a"], "y has one label only ('a')"),
        ([0, 1, 2], "y has 3 distinct labels (0, 1 and 2) but this test needs 2: keep the rows of"),
        (list("catfox"), "y has 6 distinct labels ('a', 'c', 'f', 'o', 't' and 1 more) but"),
        ([0.0, np.nan, 1.0], "y has 1 missing value, the first in row 1: drop the rows without"),
        ([np.nan, 0.0, np.nan, 1.0], "y has 2 missing values, the first in row 0"),
        (["a", None, "b"], "y has 1 missing value, the first in row 1"),
        ([True, None], "y has 1 missing value, the first in row 1"),
        (pd.Series(["a", pd.NA, "b"]), "y has 1 missing value, the first in row 1"),
        (pd.Series([1, None, 0], dtype="Int64"), "y has 1 missing value, the first in row 1"),
        (pd.Series(["a", None], dtype="category"), "y has 1 missing value, the first in row 1"),
        (pl.Series([True, None, False]), "y has 1 missing value, the first in row 1"),
        (pl.Series(["a", None, "b"]), "y has 1 missing value, the first in row 1"),
        (pa.array([1, 0, None]), "y has 1 missing value, the first in row 2"),
        (np.array(["2021", "NaT"], "datetime64[D]"), "y has 1 missing value, the first in row 1"),
        (np.array([1, "NaT"], "timedelta64[s]"), "y has 1 missing value, the first in row 1"),
        (pd.Series(pd.to_datetime(["2021-01-01", None])), "y has 1 missing value, the first in"),
        (np.array([np.datetime64("NaT")] * 2, object), "y has 2 missing values, the first in"),
    ],
)
def test_labels_that_are_not_two_are_refused(refused, labels, message):
    with refused(message):
        read_labels(labels)


def test_an_infinite_label_is_not_called_missing(refused):
    with refused("infinite"):
        read_labels([0.0, np.inf])


@pytest.mark.parametrize("labels", [["yes", float("nan"), "yes"], ["yes", float("nan"), "no"]])
def test_a_nan_in_a_list_of_text_is_missing_and_no_class_of_its_own(refused, labels):
    with refused("y has 1 missing value, the first in row 1"):
        read_labels(labels)


@pytest.mark.parametrize("labels", [[[0], [0, 1]], np.array([[0], [0, 1], 1], dtype=object)])
def test_rows_of_several_labels_are_refused(labels):
    with pytest.raises(eo.InputError, match=r"^y "):
        read_labels(labels)


@pytest.mark.parametrize("positive", [2, "yes", 0.5, "1.0"])
def test_a_positive_that_is_no_label_is_refused(refused, positive):
    with refused("but the labels are 0 and 1: name one of these."):
        read_labels([0, 1], positive)


@pytest.mark.parametrize("positive", [np.array([1, 0]), pd.Series([1, 0]), [1], pd.NA])
def test_a_positive_that_is_no_single_label_is_refused(refused, positive):
    with refused("but the labels are 0 and 1: name one of these."):
        read_labels([0, 1, 1], positive)
