"""Values of a sheet against those of the data: what a spreadsheet does, and what sorting does."""

from datetime import date

import pyarrow as pa
import pytest

import evenodds as eo
from evenodds.inference.cases.shown import refuse_other_rows

LONG = "a note that says a thing or two of case 12"


def compare(told, values):
    rows = pa.array(range(1, len(told) + 1))
    shown = pa.table({"row": rows, "what": pa.array(told)})
    refuse_other_rows("sheet.csv", shown, pa.table({"what": pa.array(values)}), "data.csv")


@pytest.mark.parametrize(
    ("told", "value"),
    [
        (0.12, 0.1234567),
        (1.23457e15, 1234567890123456),
        ("1.23%", 0.0123),
        ("TRUE", True),
        (1, True),
        ("03/01/2020", date(2020, 1, 3)),
        ("04-Mar", "3-4"),
        ("North  side", "north side"),
        ("'=1+1", "=1+1"),
        (None, 3.0),
        ("x", None),
        (7, "007"),
    ],
)
def test_a_spreadsheet_may_write_values_its_own_way(told, value):
    compare([told], [value])


@pytest.mark.parametrize(
    ("told", "value"),
    [(12, 13), (0.12, 0.13), ("FALSE", True), ("north", "south"), (LONG[:-1] + "3", LONG)],
)
def test_other_values_are_refused_with_both(told, value):
    with pytest.raises(eo.InputError, match=r"shows 'what' of row 1 as .* but data\.csv has"):
        compare([told], [value])


def test_one_text_in_ten_may_be_corrected_and_no_number():
    compare(["nrth", *["south"] * 9], ["north", *["south"] * 9])
    with pytest.raises(eo.InputError):
        compare(["nrth", "nrth", *["south"] * 8], ["north", "north", *["south"] * 8])
    with pytest.raises(eo.InputError):
        compare([1, *[2] * 19], [3, *[2] * 19])
