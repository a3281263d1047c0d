"""How cells are shown, and which never are."""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from evenodds.elicit.session import opening_lines
from evenodds.elicit.show import NOT_RECORDED, Showing, as_words, choose_columns


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (63.0, ("number", "63")),
        (2014, ("number", "2014")),
        (0.123456, ("number", "0.1235")),
        (12.5, ("number", "12.5")),
        (98765.4321, ("number", "98765")),
        (123456.0, ("number", "123456")),
        (1.0e-7, ("number", "1e-07")),
        (2.5e8 + 0.5, ("number", "2.5e+08")),
        (float("inf"), ("number", "inf")),
        (Decimal("3.10"), ("number", "3.1")),
        (True, ("words", "yes")),
        (date(2024, 5, 1), ("words", "2024-05-01")),
        (datetime(2024, 5, 1), ("words", "2024-05-01")),
        (datetime(2024, 5, 1, 9, 30), ("words", "2024-05-01 09:30")),
        ("never", ("words", "never")),
        ("two\nlines", ("text", "two\nlines")),
        ("long " * 20, ("text", ("long " * 20).strip())),
        ("  ", ("missing", NOT_RECORDED)),
        (None, ("missing", NOT_RECORDED)),
        (float("nan"), ("missing", NOT_RECORDED)),
    ],
)
def test_a_value_is_shown_as_a_person_wants_it(value, shown):
    assert as_words(value) == shown


def test_named_columns_are_shown_in_that_order(patients):
    assert choose_columns(patients, "diagnosis", ("dose", "age"), "f") == ("dose", "age")


def test_the_label_is_never_shown(patients, refused):
    with refused("--show names 'diagnosis', the label: experts judge a case without knowing it."):
        choose_columns(patients, "diagnosis", ("age", "diagnosis"), "f")


def test_a_copy_of_the_label_is_never_shown(patients, refused):
    codes = pa.array([1 if value == "ill" else 0 for value in patients["diagnosis"].to_pylist()])
    with refused("'code' would give the label away: every value goes with one label only."):
        choose_columns(patients.append_column("code", codes), "diagnosis", ("code",), "f")


def test_a_copy_of_the_label_that_is_not_shown_does_no_harm(patients):
    with_code = patients.append_column("code", patients["diagnosis"])
    assert choose_columns(with_code, "diagnosis", ("age",), "f") == ("age",)


def test_a_column_that_is_not_there_is_named(patients, refused):
    with refused("f has no column 'agee'; did you mean 'age'?"):
        choose_columns(patients, "diagnosis", ("agee",), "f")


def test_lists_are_shown_as_text(patients):
    table = pa.table({"l": [[1, 2]] * 10, "y": [0, 1] * 5})
    assert choose_columns(table, "y", ("l",), "f") == ("l",)
    assert Showing(("l",), Path()).cells(table, 0)[0].text == "[1, 2]"


def test_a_picture_is_shown_where_there_is_one(patients, folder):
    cells = Showing(("age", "scan"), folder).cells(patients, 0)
    assert [cell.kind for cell in cells] == ["number", "picture"]


def test_neither_name_nor_path_of_a_picture_is_shown(patients, folder):
    """A folder or a file named after the label would give it away."""
    showing = Showing(("scan",), folder)
    (there,) = showing.cells(patients, 0)
    (folder / "pictures" / "scan.png").unlink()
    (gone,) = showing.cells(patients, 0)
    assert (there.text, gone.kind, gone.text) == ("", "missing", "picture not available")


def test_cases_whose_picture_cannot_be_shown_are_counted_at_the_start(session, folder):
    assert not any("picture" in line for line in opening_lines(session))
    (folder / "pictures" / "scan.png").unlink()
    assert opening_lines(session)[-1] == (
        "Warning: no picture can be shown for 24 of 24 cases: what they name is not in "
        f"{folder}, larger than 50 MB, or no picture."
    )
