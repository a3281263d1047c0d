"""Experts who see other columns than the test goes by are warned about, before and after."""

import pytest

from evenodds.elicit.information import hidden_line, information_lines
from evenodds.elicit.opening import open_desk
from evenodds.elicit.words import closing_lines, opening_lines


@pytest.fixture
def desk_with(patients, wishes):
    """Return a function that opens a desk with some wishes changed."""
    opened = []

    def make(**changed):
        opened.append(open_desk(patients, wishes(**changed)))
        return opened[-1]

    yield make
    for desk in opened:
        desk.store.close()


def test_features_alone_need_no_warning(desk_with):
    assert information_lines(desk_with(show=None).sitting) == []


def test_columns_that_are_no_features_are_named_with_what_they_do(desk_with):
    (line,) = information_lines(desk_with(show=("age", "dose", "note", "scan")).sitting)
    assert line.startswith(
        "Warning: experts are shown 'note' and 'scan', which the test does not go by. A toss-up "
        "to them need not be one given 'age' and 'dose', and the test then rejects too often: in "
        "23% of simulated sittings instead of 5%"
    )


def test_features_that_are_not_shown_are_named_with_what_they_do(desk_with):
    (line,) = information_lines(desk_with(show=("age",)).sitting)
    assert line.startswith("Warning: experts are not shown 'dose', which the test goes by.")
    assert "rejects too often: in 14% of simulated sittings instead of 5%" in line


def test_the_warning_comes_before_and_after(desk_with):
    desk = desk_with(show=("age", "dose", "note"))
    (warning,) = information_lines(desk.sitting)
    assert warning in opening_lines(desk)
    assert warning in closing_lines(desk.sitting, desk.findings())


def test_columns_nobody_sees_are_named_at_the_start(desk_with, patients):
    assert hidden_line(desk_with(show=None).sitting, patients.column_names) == (
        "Experts are shown 'age' and 'dose', and not 'note' and 'scan'; --show names what to show."
    )


def test_nothing_is_said_where_all_is_shown(desk, patients):
    assert hidden_line(desk.sitting, patients.column_names) is None
