import pytest

import evenodds as eo
from evenodds.errors import ClusterError, ConvergenceError, RankError, SeparationError, StorageError


@pytest.mark.parametrize("kind", [eo.AnchorError, RankError, SeparationError])
def test_wrong_input_of_every_kind_is_an_input_error(kind):
    assert issubclass(kind, eo.InputError)


def test_wrong_input_is_also_a_value_error():
    assert issubclass(eo.InputError, ValueError)


def test_a_missing_extra_is_also_an_import_error():
    assert issubclass(eo.MissingExtraError, ImportError)


@pytest.mark.parametrize(
    "kind",
    [eo.InputError, ClusterError, ConvergenceError, StorageError, eo.MissingExtraError],
)
def test_every_error_has_one_base(kind):
    assert issubclass(kind, eo.EvenoddsError)


def test_every_warning_can_be_filtered_by_one_base():
    assert issubclass(eo.ImprecisionWarning, eo.EvenoddsWarning)


def test_warnings_are_user_warnings():
    assert issubclass(eo.EvenoddsWarning, UserWarning)


SPACED = "an expert's word " * 20


@pytest.mark.parametrize(
    ("quoted", "shown"),
    [
        (repr("x" * 201), f"'{'x' * 200}'... (201 characters)"),
        (repr(SPACED), f'"{SPACED[:200]}"... (340 characters)'),
        ("x" * 300, f"{'x' * 200}... (300 characters)"),
        (repr("x" * 200), repr("x" * 200)),
        (SPACED, SPACED),  # words of our own are not quoted
    ],
)
def test_a_message_quotes_no_more_than_can_be_read(quoted, shown):
    assert str(eo.InputError(f"y is {quoted} here.")) == f"y is {shown} here."
