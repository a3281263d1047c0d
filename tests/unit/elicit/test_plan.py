"""Planning a session: quick with many features too."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.elicit.plan import MANY_FEATURES, fitted_posterior, spacing_posterior
from evenodds.rows.memory import read_rows


@pytest.fixture(scope="module")
def wide():
    """Return features, noisy labels and the true posterior of wide data."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(4000, MANY_FEATURES + 10))
    posterior = 1 / (1 + np.exp(-2 * X[:, :4].sum(axis=1) / 2))
    true = (rng.random(4000) < posterior).astype(int)
    return X, eo.ClassConditionalNoise(0.05, 0.2).flip(true, rng), posterior


def test_many_features_are_spaced_along_one_index_as_well_as_by_all(wide):
    """Both are off the truth by about as much; the index takes one plain fit."""
    X, labels, posterior = wide
    rows = read_rows(X, labels)
    along_index, by_all = spacing_posterior(rows, X, labels), fitted_posterior(rows, X)
    errors = [np.abs(found - posterior).mean() for found in (along_index, by_all)]
    assert errors[0] < 1.2 * errors[1]


def test_few_features_are_all_fitted(wide):
    X, labels, _ = wide
    rows = read_rows(X[:, :3], labels)
    found = spacing_posterior(rows, X[:, :3], labels)
    assert (found == fitted_posterior(rows, X[:, :3])).all()


def test_the_class_called_positive_stays_so(wide):
    X, labels, _ = wide
    other = spacing_posterior(read_rows(X, labels, positive=0), X, labels)
    assert np.corrcoef(other, spacing_posterior(read_rows(X, labels), X, labels))[0, 1] < -0.99
