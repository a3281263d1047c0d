"""Products in single precision: what they cost is known before they are used."""

import pickle

import numpy as np
import pytest

from evenodds.model.sums import WeightedGram, error_in_single

N_ROWS, N_COLUMNS = 6_000, 60


def rows(kind):
    rng = np.random.default_rng(6)
    X, weights = rng.normal(size=(N_ROWS, N_COLUMNS)), np.full(N_ROWS, 0.25)
    if kind == "related":
        X[:, 1:] = 0.5 * X[:, :-1] + X[:, 1:]
    elif kind == "shifted":
        X += 0.5
    elif kind == "steep":
        chances = 1 / (1 + np.exp(-3 * X[:, :9].sum(axis=1)))
        weights = chances * (1 - chances)
    return X, weights


def gram(X, weights, *, single):
    made = WeightedGram(X.shape[1], single=single)
    for start in range(0, len(X), 500):
        made.add(X[start : start + 500], weights[start : start + 500])
    return made


@pytest.mark.parametrize("kind", ["unrelated", "related", "shifted", "steep"])
def test_the_error_of_the_inverse_is_no_larger_than_said(kind):
    exact, rough = (gram(*rows(kind), single=single).total() for single in (False, True))
    covariance = np.linalg.inv(exact)
    spread = np.sqrt(covariance.diagonal())
    gap = np.abs(np.linalg.inv(rough) - covariance) / np.outer(spread, spread)
    assert 0 < gap.max() < error_in_single(rough, 1.0)


def test_columns_that_repeat_each_other_are_not_for_single_precision():
    X, weights = rows("unrelated")
    X[:, 1] = X[:, 0]
    assert error_in_single(gram(X, weights, single=False).total(), 1.0) > 1


def test_squares_and_sums_stay_exact():
    exact, rough = (gram(*rows("steep"), single=single).total() for single in (False, True))
    np.testing.assert_allclose(rough.diagonal(), exact.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(rough[0], exact[0], rtol=1e-9, atol=1e-9)


def test_parts_that_have_travelled_are_added():
    X, weights = rows("shifted")
    first, second = (gram(X[part::2], weights[part::2], single=True) for part in (0, 1))
    first += pickle.loads(pickle.dumps(second))
    whole = gram(X, weights, single=False)
    np.testing.assert_allclose(first.total(), whole.total(), rtol=1e-5)
