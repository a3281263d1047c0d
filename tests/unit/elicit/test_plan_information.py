"""Experts who see other columns than the test goes by are warned about, before and after."""

import pytest

from evenodds.elicit.plan import hidden_lines, information_lines
from evenodds.elicit.session import closing_lines, open_session, opening_lines


@pytest.fixture
def desk_with(patients, wishes):
    """Return a function that opens a session with some wishes changed."""
    opened = []

    def make(**changed):
        opened.append(open_session(patients, wishes(**changed)))
        return opened[-1]

    yield make
    for session in opened:
        session.store.close()


def test_features_alone_need_no_warning(desk_with):
    assert information_lines(desk_with(show=None).plan) == []


def test_columns_that_are_no_features_are_named_with_what_they_do(desk_with):
    (line,) = information_lines(desk_with(show=("age", "dose", "note", "scan")).plan)
    assert line.startswith(
        "Warning: experts are shown 'note' and 'scan', which the test does not use. A toss-up to "
        "them need not be one given 'age' and 'dose' alone, and the test then rejects too often: "
        "in 23% of simulated sessions instead of 5%"
    )


def test_features_that_are_not_shown_are_named_with_what_they_do(desk_with):
    (line,) = information_lines(desk_with(show=("age",)).plan)
    assert line.startswith("Warning: experts are not shown 'dose', which the test uses.")
    assert "rejects too often: in 14% of simulated sessions instead of 5%" in line


def test_the_warning_comes_before_and_after(desk_with):
    session = desk_with(show=("age", "dose", "note"))
    (warning,) = information_lines(session.plan)
    assert warning in opening_lines(session)
    assert warning in closing_lines(session.plan, session.judgement())


def test_columns_nobody_sees_are_named_at_the_start(desk_with, patients):
    assert hidden_lines(desk_with(show=None).plan, patients.column_names) == [
        "Experts are shown 'age' and 'dose', and not 'note' and 'scan'; --show names what to show."
    ]


def test_nothing_is_said_where_all_is_shown(session, patients):
    assert hidden_lines(session.plan, patients.column_names) == []
