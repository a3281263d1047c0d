"""Copies that weights stand for are rows in a likelihood, but show no new place."""

import numpy as np
import pytest
from tests.local_posteriors import local_posteriors

import evenodds as eo
from evenodds.model.local_fit import LocalRows
from evenodds.model.neighbours import distinct_counts


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 2))
    y = (rng.random(900) < 1 / (1 + np.exp(-2 * X.sum(axis=1)))).astype(float)
    return X, y


@pytest.mark.parametrize("weight", [100.0, 1e6])
def test_a_constant_weight_narrows_no_bandwidth(noisy, weight):
    X, y = noisy
    plain = LocalRows.of(X, y).bandwidth("gaussian")
    assert LocalRows.of(X, y, np.full(900, weight)).bandwidth("gaussian") == plain


def test_large_weights_leave_the_asymmetry_in_place(noisy):
    X, y = noisy
    anchors = eo.Anchors(np.array([[0.0, 0.0], [0.6, -0.6], [-0.5, 0.4]]))
    plain, weighted = (
        eo.asymmetry_test(X, y, anchors, method="local", sample_weight=weight)
        for weight in (None, np.full(900, 1e6))
    )
    assert weighted.asymmetry == pytest.approx(plain.asymmetry, abs=0.01)


def test_rows_of_both_labels_in_one_place_count_in_full():
    places = np.array([[0.1, 2.0], [0.1, 2.0], [0.3, 1.0], [0.3, 1.0], [0.4, 1.0]])
    counts = distinct_counts(
        places, np.array([0.0, 1, 1, 1, 0]), np.array([500.0, 30.0, 70.0, 20.0, 0.5])
    )
    assert counts.tolist() == [500, 30, 1, 1, 0.5]


def test_a_table_of_counts_gets_the_bandwidth_of_its_rows():
    rng = np.random.default_rng(4)
    X = np.round(rng.normal(size=(4000, 1)), 1)
    y = (rng.random(4000) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    cells, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    table = LocalRows.of(cells[:, :1], cells[:, 1], counts.astype(float))
    assert table.bandwidth("gaussian") < 1.1 * LocalRows.of(X, y).bandwidth("gaussian")


def test_without_weights_every_row_is_distinct(noisy):
    found = local_posteriors(*noisy, np.zeros((1, 2)), bandwidth=0.5)
    assert found.distinct_rows is found.effective_rows


def test_an_anchor_on_few_rows_of_large_weight_is_doubted(noisy):
    X, y = noisy
    anchors = eo.Anchors(np.array([[0.0, 0.0], [0.6, -0.6]]))
    narrow = eo.Local(bandwidth=0.1)
    found = eo.asymmetry_test(X, y, anchors, method=narrow, sample_weight=np.full(900, 1000.0))
    check = next(each for each in found.diagnostics if each.name == "rows per parameter")
    assert check.concern
    assert check.statistic < 30
    assert " distinct ones: the rest is weight, and single rows of large weight decide." in (
        check.message
    )


@pytest.mark.parametrize("grouped", [False, True])
def test_rows_given_several_times_are_rows_of_that_weight(noisy, grouped):
    X, y = noisy
    groups = np.arange(900) // 3 if grouped else None
    copied = None if groups is None else np.repeat(groups, 5)
    weighted = LocalRows.of(X, y, np.full(900, 5.0), groups)
    repeated = LocalRows.of(np.repeat(X, 5, axis=0), np.repeat(y, 5), None, copied)
    assert repeated.bandwidth("gaussian") == weighted.bandwidth("gaussian")
    point = np.zeros((1, 2))
    one, other = (each.posteriors(point, 0.3, "gaussian") for each in (weighted, repeated))
    assert other.distinct_rows == pytest.approx(one.distinct_rows)
    assert other.covariance == pytest.approx(one.covariance)


def test_copies_of_other_groups_are_rows_of_their_own(noisy):
    X, y = noisy
    groups = np.tile([0, 1], 450)
    twice = LocalRows.of(np.repeat(X, 2, axis=0), np.repeat(y, 2), None, np.tile([0, 1], 900))
    assert len(twice.around) == 1800
    assert len(LocalRows.of(X, y, None, groups).around) == 900
