"""Separated labels have no fit; the columns at fault are named."""

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.errors import SeparationError
from evenodds.model import logistic as separation
from evenodds.model.logistic import refuse_separation
from evenodds.rows.memory import read_rows


@pytest.fixture
def overlapping():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    return X, (rng.random(200) < 0.5).astype(int)


def alone(column):
    return (
        f"no maximum-likelihood fit exists: column {column} alone separates the labels. "
        "Remove it, or collect overlapping rows."
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_one_column_that_separates_is_named(refused, overlapping, sign):
    X, y = overlapping
    shifted = X[:, 0] + sign * 10 * y
    with refused(alone(2), SeparationError):
        eo.fit_logistic(np.column_stack([X, shifted]), y)


def test_the_label_itself_as_a_feature_is_named(refused, overlapping):
    X, y = overlapping
    frame = pd.DataFrame({"age": X[:, 0], "outcome": y})
    with refused(alone("'outcome'"), SeparationError):
        eo.fit_logistic(frame, y)


@pytest.mark.parametrize("label", [0, 1])
def test_a_dummy_that_is_set_in_one_class_only_is_named(refused, overlapping, label):
    X, y = overlapping
    dummy = (y == label) & (np.arange(200) % 4 == 0)
    with refused(alone(2), SeparationError):
        eo.fit_logistic(np.column_stack([X, dummy]), y)


def test_a_combination_that_separates_is_named(refused, overlapping):
    X, _ = overlapping
    text = "no maximum-likelihood fit exists: columns 0, 1 together separate the labels. Remove som"
    with refused(text, SeparationError):
        eo.fit_logistic(X, X @ [1, 2] > 0.3)


def test_a_combination_that_separates_is_named_by_its_columns(refused, overlapping):
    X, _ = overlapping
    with refused("columns 'age', 'dose' together separate the labels", SeparationError):
        eo.fit_logistic(pd.DataFrame(X, columns=["age", "dose"]), X @ [1, 2] > 0.3)


def test_a_combination_that_separates_up_to_ties_is_named(refused):
    grid = np.array([[i, j] for i in range(5) for j in range(5)] * 2, dtype=float)
    total = grid.sum(axis=1)
    y = np.where(total == 4, np.arange(50) < 25, total > 4)
    with refused("columns 0, 1 together separate the labels", SeparationError):
        eo.fit_logistic(grid, y)


def test_a_long_combination_is_cut(refused):
    X = np.random.default_rng(4).normal(size=(400, 8))
    with refused("columns 0, 1, 2, 3, 4, 5 and 2 more together separate", SeparationError):
        eo.fit_logistic(X, X.sum(axis=1) > 0)


def test_a_weight_that_outweighs_the_rest_is_not_called_separation(refused, labelled):
    weights = np.r_[1e12, np.ones(299)]
    text = (
        "one row has the weight 1e+12 and all others together 299, so that they count for nothing"
    )
    with refused(text):
        eo.fit_logistic(labelled.X, labelled.y, sample_weight=weights)


def test_rows_without_weight_do_not_hide_separation(refused, overlapping):
    X, y = overlapping
    column = X[:, 0] + 10 * y
    column[0] = 10 * (1 - y[0])
    weights = np.ones(200)
    weights[0] = 0
    with refused(alone(2), SeparationError):
        eo.fit_logistic(np.column_stack([X, column]), y, sample_weight=weights)


def test_separation_among_many_rows_is_named(refused):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(140_000, 2))
    with refused("columns 0, 1 together separate the labels", SeparationError):
        eo.fit_logistic(X, X @ [1, 2] > 0.3)


def test_overlap_by_a_single_row_is_fitted():
    x = np.append(np.linspace(-1, 1, 100), 0.9)
    y = np.append(np.linspace(-1, 1, 100) > 0, False)
    assert np.isfinite(eo.fit_logistic(x[:, None], y).coefficients).all()


def test_overlapping_rows_are_not_refused(overlapping):
    assert refuse_separation(read_rows(*overlapping)) is None


def test_separation_in_a_sample_only_is_not_separation(monkeypatch):
    X = np.random.default_rng(6).normal(size=(1000, 2))
    y = X @ [1, 2] > 0.3
    y[np.argsort(X @ [1, 2])[[5, -5]]] ^= True
    monkeypatch.setattr(separation, "LARGEST_PROGRAMME", 60)
    assert refuse_separation(read_rows(X, y)) is None


def test_separation_is_found_from_a_sample(refused, monkeypatch):
    X = np.random.default_rng(6).normal(size=(1000, 2))
    monkeypatch.setattr(separation, "LARGEST_PROGRAMME", 2000)
    signs = X @ [1, 2] > 0.3
    kept = np.abs(X @ [1, 2] - 0.3) > 0.3
    with refused("columns 0, 1 together separate the labels", SeparationError):
        refuse_separation(read_rows(X[kept], signs[kept]))
