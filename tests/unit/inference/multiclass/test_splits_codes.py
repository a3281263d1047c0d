"""Output codes, given and built."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.inference.multiclass.splits import OutputCodes


@pytest.mark.parametrize(("n_classes", "columns"), [(3, 3), (4, 7), (6, 31)])
def test_an_exhaustive_code_has_every_split_once(n_classes, columns):
    assert len(set(eo.build_codes(n_classes).columns())) == columns


@pytest.mark.parametrize(("kind", "bits"), [("dense", 10), ("sparse", 15)])
def test_random_codes_have_the_usual_length_and_no_split_twice(kind, bits):
    codes = eo.build_codes(12, kind=kind, seed=4)
    assert len(codes.columns()) == int(np.ceil(bits * np.log2(12)))
    assert (kind == "sparse") == (np.array(codes.matrix) == 0).any()


def test_random_codes_are_seeded():
    one, same, other = (eo.build_codes(9, seed=seed) for seed in (1, 1, 2))
    assert one == same != other


def test_few_classes_have_no_more_dense_columns_than_splits():
    assert len(eo.build_codes(4, kind="dense").columns()) == 7


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1, 1], [1, 1], [-1, -1]], "columns 0 and 1 of codes make the same split: drop one"),
        ([[1, -1], [1, -1], [-1, 1]], "columns 0 and 1 of codes make the same split"),
        ([[1, 1], [1, 1], [1, -1]], "column 0 of codes has all its classes on one side"),
        ([[1], [0], [0]], "column 0 of codes has all its classes on one side"),
        ([[1], [2], [-1]], "codes holds 2 but only"),
        ([1, -1, 1], r"codes has shape \(3,\) but must be a matrix"),
        ([["a"], ["b"]], "codes must hold the numbers"),
    ],
)
def test_what_is_no_code_is_refused(matrix, message):
    with pytest.raises(eo.InputError, match=message):
        OutputCodes(matrix)


def test_an_exhaustive_code_of_many_classes_is_refused():
    with pytest.raises(eo.InputError, match="has 4,095 columns: use kind='dense'"):
        eo.build_codes(13, kind="exhaustive")


def test_codes_need_a_row_a_class(animals, pairs):
    with pytest.raises(eo.InputError, match="codes has 3 rows but there are 4 classes"):
        eo.multiclass_test(*animals, pairs, scheme="output-codes", codes=[[1], [1], [-1]])


@pytest.mark.parametrize(
    ("n_classes", "settings", "message"),
    [
        (8, {"seed": -1}, "seed is -1 but must be a whole number"),
        (4, {"seed": "a"}, "seed is 'a' but must be a number"),
        (4, {"kind": "foo"}, "kind is 'foo' but must be one of 'exhaustive', 'dense' or 'sparse'"),
        (4, {"kind": ""}, "kind is '' but must be one of"),
        (2, {}, "n_classes is 2 but must be a whole number of at least 3"),
    ],
)
def test_settings_that_build_no_code_are_refused(n_classes, settings, message):
    with pytest.raises(eo.InputError, match=message):
        eo.build_codes(n_classes, **settings)


def test_a_whole_float_is_a_number_of_classes():
    assert eo.build_codes(4.0) == eo.build_codes(4)
