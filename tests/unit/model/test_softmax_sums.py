"""The likelihood of K-class labels."""

import numpy as np
import pytest

from evenodds.model.noisy_likelihood import NoisyPoint, NoisySums
from evenodds.model.softmax import (
    ClassData,
    ClassPoint,
    evaluate,
    influences,
    pairs_family,
    posteriors,
    split_leaning,
    uniform_family,
)
from evenodds.rows.memory import read_rows

FAMILY = pairs_family(4, [(0, 1), (2, 1)])
POINT = ClassPoint(
    np.array([[0.3, 1.0, -0.5], [-0.2, 0.4, 0.8], [0.1, -0.7, 0.2]]),
    np.array([0.06, 0.04, 0.03]),
    np.array([0.03, -0.02]),
)


def make_data(n=400, weights=None, seed=0):
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    return ClassData(design, rng.integers(0, 4, n), weights, 4)


def moved(step):
    theta, rates = POINT.coefficients.size, len(POINT.rates)
    return ClassPoint(
        POINT.coefficients + step[:theta].reshape(POINT.coefficients.shape),
        POINT.rates + step[theta : theta + rates],
        POINT.asymmetries + step[theta + rates :],
    )


def test_the_score_is_the_slope_of_the_likelihood():
    data = make_data()
    score = evaluate(data, FAMILY, POINT).score
    h = 1e-5
    slopes = [
        (
            evaluate(data, FAMILY, moved(h * axis)).log_likelihood
            - evaluate(data, FAMILY, moved(-h * axis)).log_likelihood
        )
        / (2 * h)
        for axis in np.eye(len(score))
    ]
    assert score == pytest.approx(slopes, rel=1e-5, abs=1e-5)


def test_the_information_is_what_the_score_varies_by():
    """Sum over all labels a row could have, each with its chance."""
    data = make_data(60)
    flips = FAMILY.matrix(POINT.rates, POINT.asymmetries)
    chances = posteriors(data.design, POINT.coefficients) @ flips
    total = 0.0
    for row in range(60):
        for label in range(4):
            one = ClassData(data.design[[row]], np.array([label]), None, 4)
            score = evaluate(one, FAMILY, POINT).score
            total = total + chances[row, label] * np.outer(score, score)
    assert np.allclose(evaluate(data, FAMILY, POINT).information, total, rtol=1e-9, atol=1e-9)


def test_weights_are_repeated_rows():
    data = make_data(50)
    counts = np.arange(50) % 3
    weighted = ClassData(data.design, data.labels, counts.astype(float), 4)
    rows = np.repeat(np.arange(50), counts)
    repeated = ClassData(data.design[rows], data.labels[rows], None, 4)
    one, other = (evaluate(d, FAMILY, POINT) for d in (weighted, repeated))
    assert one.log_likelihood == pytest.approx(other.log_likelihood)
    assert np.allclose(one.score, other.score)
    assert np.allclose(one.information, other.information)


def test_rows_in_blocks_are_rows_at_once(monkeypatch):
    data = make_data(500)
    whole = evaluate(data, FAMILY, POINT)
    monkeypatch.setattr("evenodds.model.softmax.BLOCK_NUMBERS", 1)
    pieces = evaluate(data, FAMILY, POINT)
    assert np.allclose(whole.information, pieces.information)
    assert whole.log_likelihood == pytest.approx(pieces.log_likelihood)


def test_many_columns_take_another_way_to_the_same_sums(monkeypatch):
    data = make_data(300)
    products = evaluate(data, FAMILY, POINT).information
    monkeypatch.setattr("evenodds.model.softmax.FEW_COLUMNS", 1)
    assert np.allclose(evaluate(data, FAMILY, POINT).information, products)


def test_with_two_classes_it_is_the_noisy_logistic_curve():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    theta, rate, asymmetry = np.array([0.2, 1.0, -0.4]), 0.1, 0.06
    two = read_rows(X, y).sum_over_rows(NoisySums(NoisyPoint(theta, rate, asymmetry)))
    family = uniform_family(2, np.array([split_leaning(2, (0,), (1,))]))
    data = ClassData(np.column_stack([np.ones(300), X]), 1 - y, None, 2)
    several = evaluate(
        data, family, ClassPoint(theta[None], np.array([rate]), np.array([asymmetry]))
    )
    assert several.log_likelihood == pytest.approx(two.log_likelihood)
    assert several.score == pytest.approx(two.score)
    assert np.allclose(several.information, two.information)


def test_influences_add_up_to_the_score_and_groups_add_rows():
    data = make_data(80)
    grouped = ClassData(data.design, data.labels, None, 4, np.arange(80) // 2)
    levers = np.random.default_rng(1).normal(size=(2, 14))
    by_row = influences(data, FAMILY, POINT, levers)
    assert by_row.sum(axis=0) == pytest.approx(levers @ evaluate(data, FAMILY, POINT).score)
    assert np.allclose(influences(grouped, FAMILY, POINT, levers), by_row[::2] + by_row[1::2])
