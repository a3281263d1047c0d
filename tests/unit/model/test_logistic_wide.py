"""Wide tables are climbed by scores, with one curvature at the end: the fit is the same."""

import tracemalloc

import numpy as np
import pytest
from tests.unit.model.test_newton import Hill

from evenodds import InputError, fit_logistic
from evenodds.errors import RankError, SeparationError
from evenodds.model import logistic
from evenodds.model.newton import quasi_newton
from evenodds.rows.read import read_data


def table(kind, n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    log_odds = X @ rng.normal(size=n_columns) * 1.5 / np.sqrt(n_columns)
    if kind == "far":
        X += 1e5
    elif kind == "skewed":
        X = np.exp(X)
    elif kind == "alike":
        X = 0.3 * X + rng.normal(size=(n_rows, 1))
    elif kind == "rare":
        log_odds -= 3.0
    elif kind == "steep":
        log_odds *= 2
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-log_odds))).astype(int)


def both_ways(monkeypatch, X, y, **how):
    wide = fit_logistic(X, y, **how)
    monkeypatch.setattr(logistic, "WIDE", 10**9)
    return wide, fit_logistic(X, y, **how)


@pytest.mark.parametrize("kind", ["plain", "far", "skewed", "alike", "rare", "steep"])
@pytest.mark.parametrize("n_rows", [2_500, 16_000])
def test_the_fit_is_newtons(monkeypatch, kind, n_rows):
    wide, plain = both_ways(monkeypatch, *table(kind, n_rows, 120))
    spread = np.sqrt(plain.covariance.diagonal())
    assert np.abs((wide.coefficients - plain.coefficients) / spread).max() < 1e-8
    np.testing.assert_allclose(wide.covariance.diagonal(), plain.covariance.diagonal(), rtol=2e-7)
    assert wide.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-12)


def test_weights_count(monkeypatch):
    X, y = table("plain", 16_000, 100)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    wide, plain = both_ways(monkeypatch, X, y, sample_weight=weights)
    np.testing.assert_allclose(wide.coefficients, plain.coefficients, atol=1e-10)


def test_one_curvature_and_few_scores_of_all_rows_are_enough(monkeypatch):
    X, y = table("plain", 16_000, 120)
    passes = []

    def counted(name):
        whole = getattr(logistic.LogisticProblem, name)

        def passed(problem, coefficients):
            passes.append(name)
            assert problem.rows.n_rows == 16_000
            return whole(problem, coefficients)

        monkeypatch.setattr(logistic.LogisticProblem, name, passed)

    counted("evaluate")
    counted("score")
    fit_logistic(X, y)
    assert passes.count("evaluate") == 1
    assert passes.count("score") <= 10


@pytest.mark.parametrize(
    ("errors", "precisions"),
    [((1.0,), ["double"]), ((0.0, 0.0), ["single"]), ((0.0, 1.0), ["single", "double"])],
    ids=["too much at first", "little", "too much at last"],
)
def test_single_precision_is_for_where_it_costs_little(monkeypatch, errors, precisions):
    told, used = iter(errors), []
    whole = logistic.LogisticProblem.evaluate

    def noted(problem, coefficients):
        used.append("single" if problem.single else "double")
        return whole(problem, coefficients)

    monkeypatch.setattr(logistic, "error_in_single", lambda *_: next(told))
    monkeypatch.setattr(logistic.LogisticProblem, "evaluate", noted)
    fit_logistic(*table("plain", 16_000, 120))
    assert used == precisions


def test_a_column_that_is_constant_in_the_sample_alone_is_fitted(monkeypatch):
    X, y = table("plain", 16_000, 120)
    X[:, 7] = 0
    X[np.random.default_rng(2).choice(len(X), 30, replace=False), 7] = 1
    wide, plain = both_ways(monkeypatch, X, y)
    np.testing.assert_allclose(wide.coefficients, plain.coefficients, atol=1e-9)


def test_what_is_wrong_is_said_of_all_rows():
    X, y = table("plain", 16_000, 120)
    X[::2, 3] = np.nan
    with pytest.raises(InputError, match="8000 missing values, the first in row 0, column 3"):
        fit_logistic(X, y)
    X[:, 3] = X[:, 4] - X[:, 5]
    with pytest.raises(RankError, match="columns 3, 4, 5 of X repeat each other"):
        fit_logistic(X, y)


def test_separated_labels_are_named():
    X, _ = table("plain", 700, 100)
    with pytest.raises(InputError, match="together separate the labels"):
        fit_logistic(X, X.sum(axis=1) > 0)


@pytest.mark.parametrize(("n_rows", "n_ones"), [(3_000, 2), (16_000, 2), (16_000, 60)])
def test_a_rare_category_with_one_label_is_named(n_rows, n_ones):
    X, y = table("plain", n_rows, 100)
    X[:, 0] = 0
    X[:n_ones, 0], y[:n_ones] = 1, 1
    with pytest.raises(SeparationError, match="column 0 alone separates the labels"):
        fit_logistic(X, y)


@pytest.mark.parametrize(("value", "what"), [(np.nan, "missing"), (np.inf, "infinite")])
def test_a_value_that_the_sample_does_not_see_is_named(value, what):
    X, y = table("plain", 16_000, 100)
    for row in (7, 8):  # one of them is not in the sample
        one = X.copy()
        one[row, 3] = value
        with pytest.raises(InputError, match=f"1 {what} value, the first in row {row}, column 3"):
            fit_logistic(one, y)


def test_few_of_a_label_in_the_sample_lead_to_the_same_fit(monkeypatch):
    X, y = table("plain", 16_000, 100)
    y[np.flatnonzero(y == 1)[400:]] = 0
    assert logistic._sampled(read_data(X, y)) is not None
    wide, plain = both_ways(monkeypatch, X, y)
    np.testing.assert_allclose(wide.coefficients, plain.coefficients, atol=1e-9)


def test_a_sample_too_small_for_its_columns_lends_nothing():
    assert logistic._sampled(read_data(*table("plain", 4_000, 100))) is None


def test_a_climb_by_scores_stops_next_to_the_top():
    hill = Hill([1.0, -2.0])
    reached, n_steps = quasi_newton(hill, np.zeros(2), np.eye(2))
    np.testing.assert_allclose(reached, hill.top, atol=1e-6)
    assert 2 < n_steps < 20
    assert hill.n_full == 0


def test_a_climb_by_scores_that_creeps_hands_over():
    class Creeping(Hill):
        def score(self, x):
            super().score(x)
            return np.exp(-x)  # no top

    hill = Creeping([0.0, 0.0])
    reached, n_steps = quasi_newton(hill, np.zeros(2), np.eye(2))
    assert np.isfinite(reached).all()
    assert n_steps < 40


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_columns_of_any_scale_keep_their_covariance(scale):
    """Squares of such columns are nothing, or too much, in single precision."""
    rng = np.random.default_rng(0)
    X, scales = rng.normal(size=(20_000, 110)), np.ones(110)
    y = rng.random(20_000) < 1 / (1 + np.exp(-X[:, :10].sum(axis=1) / 3))
    scales[::7] = scale
    plain, scaled = (fit_logistic(each, y).covariance for each in (X, X * scales))
    factors = np.r_[1, scales]
    np.testing.assert_allclose(scaled * np.outer(factors, factors), plain, atol=1e-7 * plain.max())


def test_little_memory_is_needed_beside_the_data():
    """A sample of one row in eight is not copied, and few matrices are held at once."""
    X, y = table("normal", 20_000, 250)
    fit_logistic(X[:3000], y[:3000])
    tracemalloc.start()
    try:
        fit_logistic(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.15 * X.nbytes
