"""Columns that add nothing are named before any fit."""

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.errors import RankError


def with_column(labelled, column, name=None):
    X = np.column_stack([labelled.X, column])
    return X if name is None else pd.DataFrame(X, columns=["age", "dose", name])


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1, "1"), (0, "0"), (0.1, "0.1"), (-1 / 3, "-0.333333"), (2024, "2024"), (1e9 + 0.1, "1e+09")],
)
def test_a_constant_column_is_refused(refused, labelled, value, shown):
    text = f"column 2 of X is constant (always {shown}): the intercept is added for you, so remove"
    with refused(text, RankError):
        eo.fit_logistic(with_column(labelled, np.full(300, value)), labelled.y)


def test_a_constant_column_of_a_frame_is_named(refused, labelled):
    with refused("column 'ones' of X is constant (always 1)", RankError):
        eo.fit_logistic(with_column(labelled, np.ones(300), "ones"), labelled.y)


def test_a_column_constant_where_rows_have_weight_is_refused(refused, labelled):
    flag = np.arange(300) < 50
    with refused("column 2 of X is constant", RankError):
        eo.fit_logistic(with_column(labelled, flag), labelled.y, sample_weight=~flag)


SMALL_SPREADS = {
    "from 1000000000000000.0 to 1000000000000000.2": 1e15 + 0.001 * np.arange(300),
    "from 0.0 to 2.99e-298": 1e-300 * np.arange(300),
    "from 0.0 to 2.99e-153": 1e-155 * np.arange(300),
}


@pytest.mark.parametrize("said", SMALL_SPREADS)
@pytest.mark.parametrize("run", [eo.fit_logistic, eo.out_of_fold_scores])
def test_a_column_that_hardly_varies_is_not_called_constant(refused, labelled, run, said):
    text = f"column 2 of X varies too little to compute with ({said}): subtract a constant, or res"
    with refused(text, RankError):
        run(with_column(labelled, SMALL_SPREADS[said]), labelled.y)


def test_a_repeated_column_is_refused(refused, labelled):
    text = "columns 0, 2 of X repeat each other (one is a combination of the rest): remove one of"
    with refused(text, RankError):
        eo.fit_logistic(with_column(labelled, labelled.X[:, 0]), labelled.y)


def test_a_repeated_column_of_a_frame_is_named(refused, labelled):
    with refused("columns 'dose', 'mg' of X repeat each other", RankError):
        eo.fit_logistic(with_column(labelled, labelled.X[:, 1], "mg"), labelled.y)


@pytest.mark.parametrize("scale", [1e-6, 1, 1e6])
def test_a_combination_of_columns_is_refused_on_any_scale(refused, labelled, scale):
    combined = scale * (3 * labelled.X[:, 0] - labelled.X[:, 1] + 5)
    with refused("columns 0, 1, 2 of X repeat each other", RankError):
        eo.fit_logistic(with_column(labelled, combined), labelled.y)


def test_dummies_for_every_category_are_refused(refused, labelled):
    dummies = np.eye(3)[np.arange(300) % 3]
    with refused("columns 2, 3, 4 of X repeat each other", RankError):
        eo.fit_logistic(np.column_stack([labelled.X, dummies]), labelled.y)


def test_a_long_combination_is_cut(refused, labelled):
    dummies = np.eye(8)[np.arange(300) % 8]
    with refused("columns 2, 3, 4, 5, 6, 7 and 2 more of X repeat each other", RankError):
        eo.fit_logistic(np.column_stack([labelled.X, dummies]), labelled.y)


def test_a_nearly_repeated_column_is_fitted(labelled):
    rng = np.random.default_rng(5)
    X = with_column(labelled, labelled.X[:, 0] + 1e-4 * rng.normal(size=300))
    assert np.isfinite(eo.fit_logistic(X, labelled.y).coefficients).all()


def test_a_column_that_varies_little_about_a_large_mean_is_fitted(labelled):
    fit = eo.fit_logistic(labelled.X * 1e-3 + 1e6, labelled.y)
    reference = eo.fit_logistic(labelled.X, labelled.y)
    assert fit.coefficients[1:] * 1e-3 == pytest.approx(reference.coefficients[1:], rel=1e-6)
