"""What X may be, as arrays; data frames are in test_frames.py."""

import numpy as np
import pytest
from scipy import sparse

import evenodds as eo
from evenodds.rows.memory import read_rows


def forms(whole):
    """Return the same whole numbers in every form an array can have."""
    return {
        "C order": np.ascontiguousarray(whole, dtype=float),
        "F order": np.asfortranarray(whole, dtype=float),
        "reversed view": np.ascontiguousarray(whole[::-1, ::-1], dtype=float)[::-1, ::-1],
        "float32": whole.astype(np.float32),
        "float16": whole.astype(np.float16),
        "int64": whole,
        "int8": whole.astype(np.int8),
        "list": whole.tolist(),
        "objects": whole.astype(object),
        "big-endian": whole.astype(">f8"),
    }


@pytest.mark.parametrize("kind", forms(np.eye(2, dtype=np.int64)))
def test_arrays_of_every_type_and_order_give_the_same_fit(labelled, kind):
    X = forms(np.round(labelled.X).astype(np.int64))
    reference = eo.fit_logistic(X["C order"], labelled.y)
    fit = eo.fit_logistic(X[kind], labelled.y)
    assert fit.coefficients == pytest.approx(reference.coefficients, rel=1e-12)


def test_a_bool_array_gives_the_same_fit_as_zeros_and_ones(labelled):
    signs = labelled.X > 0.5
    fit = eo.fit_logistic(signs, labelled.y)
    reference = eo.fit_logistic(signs.astype(float), labelled.y)
    assert fit.coefficients == pytest.approx(reference.coefficients, rel=1e-12)


def test_single_precision_is_widened_before_it_is_summed(labelled):
    narrow = labelled.X.astype(np.float32)
    fit = eo.fit_logistic(narrow, labelled.y)
    reference = eo.fit_logistic(narrow.astype(float), labelled.y)
    assert fit.coefficients == pytest.approx(reference.coefficients, rel=1e-12)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], "X has 1 dimension but must have 2; for one feature use X.reshape(-1, 1)."),
        (np.zeros((2, 2, 2)), "X has 3 dimensions but must have 2."),
        (3.0, "X has 0 dimensions but must have 2."),
        ([[1.0], [1.0, 2.0]], "X has rows of different lengths: give a rectangle."),
        (sparse.csr_array(np.eye(2)), "X is a sparse matrix: pass X.toarray()."),
        (sparse.coo_matrix(np.eye(2)), "X is a sparse matrix: pass X.toarray()."),
        ([["a"], ["b"]], "X holds <U1 values that are not numbers: encode text as numbers, one"),
        (np.array([[1.0], ["b"]], dtype=object), "X holds object values that are not numbers"),
        (np.zeros((3, 2)), "X has 3 rows but y has 2: give one value a row."),
        (np.zeros((2, 0)), "X has no columns: give at least one feature."),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(refused, X, message):
    with refused(message):
        read_rows(X, [0, 1])


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[s]"])
def test_an_array_of_dates_is_not_read_as_numbers(refused, kind):
    with refused("X holds"):
        read_rows(np.arange(4).reshape(2, 2).astype(kind), [0, 1])


def test_an_array_of_complex_numbers_is_refused(refused):
    with refused("X holds complex numbers"):
        read_rows(np.array([[1 + 1j], [2.0]]), [0, 1])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2], "sample_weight is -2 in row 1 but must not be negative: it is how many rows"),
        ([0, 0], "sample_weight is zero everywhere: no rows are left."),
        ([1, 1, 1], "sample_weight has shape (3,) but there are 2 rows"),
        ([1, np.nan], "sample_weight is nan at row 2 of 2: give finite numbers."),
        ([1, None], "sample_weight is nan at row 2 of 2: give finite numbers."),
        (["a", "b"], "sample_weight must hold numbers: give one value for each row"),
    ],
)
def test_weights_that_count_no_rows_are_refused(refused, weights, message):
    with refused(message):
        read_rows([[1.0], [2.0]], [0, 1], sample_weight=weights)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"], "groups has shape (1,) but X has 3 rows: give one group a row."),
        (["a", "a", "a"], "groups has one group only ("),
        ([1, 1, 1], "): the variance needs at least two."),
        ([1.0, np.nan, 2.0], "groups has 1 missing value, the first in row 1: give every row"),
        (["a", None, None], "groups has 2 missing values, the first in row 1"),
        (["a", float("nan"), "b"], "groups has 1 missing value, the first in row 1"),
        (np.array(["2021", "NaT", "2020"], "datetime64[D]"), "groups has 1 missing value, the"),
    ],
)
def test_groups_that_leave_rows_out_are_refused(refused, groups, message):
    with refused(message):
        read_rows([[1.0], [2.0], [3.0]], [0, 1, 1], groups=groups)


def test_a_single_group_is_named_as_plain_text(refused):
    with refused("groups has one group only ('a')"):
        read_rows([[1.0], [2.0]], [0, 1], groups=["a", "a"])


@pytest.mark.parametrize(
    "groups",
    [[5, 7, 5], ["u", "v", "u"], np.array([1, "v", 1], dtype=object), [0.5, 0.7, 0.5]],
)
def test_groups_of_every_kind_are_numbered(groups):
    rows = read_rows([[1.0], [2.0], [3.0]], [0, 1, 1], groups=groups)
    assert rows.n_groups == 2


def test_weights_that_leave_one_class_are_refused_as_one_label(refused, labelled):
    with refused("sample_weight is zero for every row labelled 0: one class only is left."):
        eo.fit_logistic(labelled.X, labelled.y, sample_weight=labelled.y)


def test_rows_without_weight_do_not_count_as_rows(refused, labelled):
    weights = np.zeros(len(labelled.y))
    weights[np.argmax(labelled.y == 0)] = weights[np.argmax(labelled.y == 1)] = 1
    with refused("X has 2 rows and 2 columns: a fit needs more rows than its 3 parameters"):
        eo.fit_logistic(labelled.X, labelled.y, sample_weight=weights)
