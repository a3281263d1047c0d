import numpy as np
import pytest

import evenodds as eo
from evenodds.validation import (
    check_between,
    check_choice,
    check_number,
    check_tolerances,
    check_vector,
    check_whole,
    check_workers,
    counted,
    join_quoted,
    kind_of_value,
    near_misses,
    signed,
)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int8(2)])
def test_any_real_number_is_a_number(value):
    assert check_number(value, "size") == 2.0


@pytest.mark.parametrize("value", ["2", None, True, np.True_, 2j, [2]])
def test_what_is_no_number_is_shown_as_it_came(refused, value):
    with refused(f"size is {value!r} but must be a number."):
        check_number(value, "size")


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_numbers_must_be_finite(refused, value):
    with refused(f"size is {value} but must be finite."):
        check_number(value, "size")


@pytest.mark.parametrize(
    ("value", "closed", "message"),
    [
        (-0.5, "both", "size is -0.5 but must be at least 0 and at most 1."),
        (1, "left", "size is 1 but must be at least 0 and below 1."),
        (0, "neither", "size is 0 but must be above 0 and below 1."),
    ],
)
def test_numbers_outside_the_interval_are_refused(refused, value, closed, message):
    with refused(message):
        check_between(value, "size", 0, 1, closed=closed)


@pytest.mark.parametrize(("value", "closed"), [(0, "both"), (1, "both"), (0, "left")])
def test_closed_ends_belong_to_the_interval(value, closed):
    assert check_between(value, "size", 0, 1, closed=closed) == value


def test_a_reason_ends_the_sentence(refused):
    with refused("size is 2 but must be at least 0 and at most 1: it is a share."):
        check_between(2, "size", 0, 1, why="it is a share")


@pytest.mark.parametrize("value", [1.5, 0, -3])
def test_counts_must_be_whole_and_large_enough(refused, value):
    with refused(f"size is {value!r} but must be a whole number of at least 1."):
        check_whole(value, "size", at_least=1)


def test_a_whole_float_is_a_count():
    assert check_whole(3.0, "size") == 3


def test_a_wrong_choice_is_answered_with_all_choices(refused):
    with refused("kind is an ndarray but must be one of 'x' or 'y'."):
        check_choice(np.eye(3), "kind", ("x", "y"))
    with refused("kind is 'z' but must be one of 'x' or 'y'."):
        check_choice("z", "kind", ("x", "y"))


def test_one_value_is_repeated():
    assert check_vector(0.5, "sizes", 3, "anchor").tolist() == [0.5, 0.5, 0.5]


def test_a_vector_of_another_length_is_refused(refused):
    with refused(
        "sizes has shape (2,) but there are 3 anchors: give one value, or one value for each"
    ):
        check_vector([1, 2], "sizes", 3, "anchor")


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "None"), (3, "an int"), ("a", "a str"), (np.zeros(2), "an ndarray"), ({}, "a dict")],
)
def test_what_a_value_is_has_its_article(value, said):
    assert kind_of_value(value) == said


def test_a_vector_of_text_is_refused(refused):
    with refused("sizes must hold numbers: give one value, or one value for each anchor."):
        check_vector(["a", "b"], "sizes", 2, "anchor")


def test_a_vector_with_a_hole_names_the_place(refused):
    with refused("sizes is nan at anchor 2 of 2: give finite numbers."):
        check_vector([1, np.nan], "sizes", 2, "anchor")


def test_vectors_for_rows_read_as_english(refused):
    with refused("give one value, or one value for each row."):
        check_vector([1, 2], "sizes", 3, "row")


@pytest.mark.parametrize(
    ("names", "written"),
    [
        ([], ""),
        (["a"], "'a'"),
        (["a", "b"], "'a' and 'b'"),
        (["a", "b", 3], "'a', 'b' and 3"),
        (list("abcdefgh"), "'a', 'b', 'c', 'd', 'e', 'f' and 2 more"),
    ],
)
def test_names_are_joined_and_cut(names, written):
    assert join_quoted(names) == written


def test_near_misses_ignore_case_and_blanks():
    assert near_misses("age", [" AGE", "weight"]) == "did you mean ' AGE' (note the blank)?"


def test_without_a_near_miss_all_columns_are_listed():
    assert near_misses("colour", ["age", "weight"]) == "the columns are 'age' and 'weight'."


def test_near_misses_of_nothing_say_so():
    assert near_misses("age", []) == "there are no columns."


def test_tolerances_are_returned_as_floats():
    assert check_tolerances(0, 0.25) == (0.0, 0.25)


@pytest.mark.parametrize(
    ("own", "shared", "message"),
    [
        (0.5, 0, "tolerance is 0.5 but must be at least 0 and below 0.5."),
        (0, -0.1, "shared_tolerance is -0.1 but must be at least 0 and below 0.5."),
        (
            0.25,
            0.25,
            "tolerance + shared_tolerance is 0.5 but must be below 0.5: it is a distance from 1/2.",
        ),
    ],
)
def test_tolerances_that_reach_certainty_are_refused(refused, own, shared, message):
    with refused(message):
        check_tolerances(own, shared)


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_without_end_are_refused_in_a_sentence(refused, sign, digits):
    with refused("size is a number of more than 30 digits but must be "):
        check_whole(sign * 10**digits, "size")


def test_a_whole_number_keeps_every_digit():
    assert check_whole(2**53 + 1, "size") == 2**53 + 1


def test_too_large_a_number_is_refused(refused):
    with refused("runs is 11 but must be at most 10."):
        check_whole(11, "runs", at_most=10)


def test_a_number_beyond_all_floats_is_not_finite(refused):
    with refused("size is inf but must be finite."):
        check_number(10**400, "size")


def test_long_names_share_the_room():
    assert len(join_quoted(["x" * 5000] * 9)) < 300


def test_a_tolerance_without_bounds_is_refused_and_does_not_overflow():
    with pytest.raises(eo.InputError, match="tolerance is 1e\\+308 but must be at least 0"):
        eo.Anchors(np.zeros((4, 2)), tolerance=1e308)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-0.2051, "−0.205"), (0.2, "+0.200"), (-0.0001, "+0.000"), (None, "unknown")],
)
def test_a_number_has_its_sign_and_nothing_is_never_negative(value, shown):
    assert signed(value) == shown


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1234, "1,234 rows")]
)
def test_one_is_counted_in_the_singular(number, shown):
    assert counted(number, "row") == shown


def test_more_processes_than_a_machine_can_hold_are_refused(refused, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert check_workers(16) == 16
    with refused("--workers is 1,000 but this machine has 2 cores: give at most 16, more would"):
        check_workers(1_000, "--workers")
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    assert check_workers(256) == 256
