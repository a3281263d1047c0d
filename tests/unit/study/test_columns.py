import numpy as np
import pyarrow as pa
import pytest

from evenodds.study.tables import in_order, only_where, read_columns

TABLE = {
    "method": np.array(["wald", "boundary", "wald"]),
    "n_rows": np.array([2000, 500, 500]),
    "tolerance": np.array([0.05, 0.05, 0.05]),
}


def test_an_arrow_table_reads_like_a_dict():
    from_arrow = read_columns(pa.table(TABLE), TABLE)
    assert {name: column.tolist() for name, column in from_arrow.items()} == {
        name: column.tolist() for name, column in TABLE.items()
    }


def test_only_the_columns_asked_for_are_read():
    assert list(read_columns(TABLE, ["n_rows"])) == ["n_rows"]


def test_a_missing_column_is_named_with_its_near_misses(refused):
    with refused("the table has no column 'n_row'; did you mean 'n_rows'?"):
        read_columns(TABLE, ["n_row"])


def test_columns_of_different_lengths_are_refused(refused):
    with refused("column 'short' has 2 values but 'n_rows' has 3: give one value a row in each."):
        read_columns({**TABLE, "short": [1, 2]}, ["n_rows", "short"])


def test_rows_are_chosen_by_value():
    assert only_where(TABLE, n_rows=500)["method"].tolist() == ["boundary", "wald"]


def test_choices_are_made_one_after_the_other():
    assert only_where(TABLE, n_rows=500, method="wald")["n_rows"].tolist() == [500]


def test_the_only_value_needs_no_choice():
    assert len(only_where(TABLE, tolerance=None)["n_rows"]) == 3


def test_several_values_need_a_choice(refused):
    with refused("n_rows takes 2 values (500 and 2000): say which one to draw."):
        only_where(TABLE, n_rows=None)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"n_rows": 700}, "no row has n_rows 700: there are 500 and 2000."),
        ({"method": "joint"}, "no row has method 'joint': there are 'wald' and 'boundary'."),
    ],
)
def test_a_value_that_does_not_occur_is_refused(refused, choice, message):
    with refused(message):
        only_where(TABLE, **choice)


def test_numbers_are_sorted_and_words_keep_their_order():
    assert in_order(TABLE["n_rows"]) == [500, 2000]
    assert in_order(TABLE["method"]) == ["wald", "boundary"]
