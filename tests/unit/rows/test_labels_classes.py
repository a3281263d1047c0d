import datetime as dt

import numpy as np
import pytest

from evenodds.errors import InputError
from evenodds.rows.labels import plain, read_classes

DAYS = [dt.date(2024, 3, day) for day in (1, 2, 3)]


@pytest.mark.parametrize(
    "names",
    [
        np.array(["cat", "dog", "fox"]),
        np.array([-1, 0, 7], dtype=np.int8),
        np.array([0.5, 1.0, 2.25], dtype=np.float32),
        np.array([1.0, 2.5, "dog"], dtype=object),
        np.array([b"cat", b"dog", b"fox"]),
        np.array(DAYS, dtype=object),
    ],
    ids=["text", "ints", "floats", "mixed", "bytes", "dates"],
)
def test_labels_of_any_kind_become_places_in_sort_order(names):
    codes = np.array([2, 0, 1, 1, 0, 2, 2])
    classes = read_classes(names[codes])
    assert classes.names == tuple(map(plain, names))
    np.testing.assert_array_equal(classes.codes, codes)


def test_labels_that_are_equal_are_one_class():
    classes = read_classes(np.array([1, 1.0, True, "a", "a", "b", "b"], dtype=object))
    assert classes.codes.tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_places_are_those_of_the_known_classes():
    classes = read_classes(np.array([3.0, 1.0, 3.0]), known=(1, 2, 3))
    assert (classes.codes.tolist(), classes.names) == ([2, 0, 2], (1, 2, 3))


def test_the_first_class_in_sort_order_that_is_seen_once_is_named_with_its_row():
    with pytest.raises(InputError, match=r"label 2 is seen once in y: merge it"):
        read_classes([9, 1, 7, 1, 2, 7])
