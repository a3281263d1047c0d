"""The fit: what it returns, and what it refuses. Numbers of other libraries are in golden/."""

import numpy as np
import pytest
import statsmodels.api as sm

import evenodds as eo
from evenodds.errors import ConvergenceError
from evenodds.model import logistic, newton
from evenodds.model.logistic import fit_rows
from evenodds.rows.memory import read_rows


def draw(n, share, seed=1):
    """Rows with this share of positives, one standard deviation apart."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n)
    y[rng.choice(n, round(share * n), replace=False)] = 1
    return rng.normal(size=(n, 2)) + 0.5 * y[:, None], y


def log_likelihood(fit, X, y):
    linear = fit.coefficients[0] + X @ fit.coefficients[1:]
    return float(np.sum(y * linear - np.logaddexp(0, linear)))


def test_the_score_vanishes_at_the_fit(labelled):
    fit = eo.fit_logistic(labelled.X, labelled.y)
    design = np.column_stack([np.ones(300), labelled.X])
    residuals = labelled.y - 1 / (1 + np.exp(-design @ fit.coefficients))
    assert np.abs(design.T @ residuals).max() < 1e-11


def test_the_log_likelihood_is_that_of_the_coefficients(labelled):
    fit = eo.fit_logistic(labelled.X, labelled.y)
    assert fit.log_likelihood == pytest.approx(
        log_likelihood(fit, labelled.X, labelled.y), rel=1e-13
    )


def test_the_covariance_is_the_inverse_information(labelled):
    fit = eo.fit_logistic(labelled.X, labelled.y)
    design = np.column_stack([np.ones(300), labelled.X])
    fitted = 1 / (1 + np.exp(-design @ fit.coefficients))
    information = design.T @ (design * (fitted * (1 - fitted))[:, None])
    assert fit.covariance == pytest.approx(np.linalg.inv(information), rel=1e-10)


def test_standard_errors_are_roots_of_the_variances(labelled):
    fit = eo.fit_logistic(labelled.X, labelled.y)
    assert fit.standard_errors**2 == pytest.approx(np.diag(fit.covariance), rel=1e-14)


def test_log_odds_are_those_of_the_curve(labelled):
    fit = eo.fit_logistic(labelled.X, labelled.y)
    expected = fit.coefficients[0] + labelled.X[:5] @ fit.coefficients[1:]
    assert fit.log_odds(labelled.X[:5]) == pytest.approx(expected, rel=1e-12)


def test_log_odds_covariance_is_that_of_the_coefficients(labelled):
    fit = eo.fit_logistic(labelled.X, labelled.y)
    design = np.column_stack([np.ones(4), labelled.X[:4]])
    expected = design @ fit.covariance @ design.T
    assert fit.log_odds_covariance(labelled.X[:4]) == pytest.approx(expected, rel=1e-12)


def test_a_calendar_year_keeps_its_digits(labelled):
    near = eo.fit_logistic(labelled.X, labelled.y)
    far = eo.fit_logistic(labelled.X + np.array([2024.0, 0.0]), labelled.y)
    assert far.coefficients[1:] == pytest.approx(near.coefficients[1:], rel=1e-11)


def test_positive_turns_the_curve_round(labelled):
    fit = eo.fit_logistic(labelled.X, labelled.y, positive=0)
    reference = eo.fit_logistic(labelled.X, labelled.y)
    assert fit.coefficients == pytest.approx(-reference.coefficients, rel=1e-12)


def test_the_fit_names_its_labels(labelled):
    fit = eo.fit_logistic(labelled.X, np.where(labelled.y, "ill", "healthy"))
    assert (fit.positive, fit.negative) == ("ill", "healthy")


def test_rows_are_counted_with_their_weights(labelled):
    fit = eo.fit_logistic(labelled.X, labelled.y, sample_weight=np.full(300, 3))
    assert fit.n_rows == 900


def test_groups_ask_for_the_grouped_sandwich(labelled):
    groups = np.arange(300)
    fit = eo.fit_logistic(labelled.X, labelled.y, groups=groups)
    single = eo.fit_logistic(labelled.X, labelled.y, covariance="sandwich")
    assert fit.covariance == pytest.approx(single.covariance, rel=1e-10)


def test_a_wrong_covariance_is_answered_with_the_choices(refused, labelled):
    with refused("covariance is 'hc3' but must be one of 'information' or 'sandwich'."):
        eo.fit_logistic(labelled.X, labelled.y, covariance="hc3")


@pytest.mark.parametrize("n_rows", [2, 3])
def test_as_many_parameters_as_rows_are_refused(refused, labelled, n_rows):
    labels = [0, 1, 0][:n_rows]
    with refused(f"X has {n_rows} rows and 2 columns: a fit needs more rows than its 3 parameters"):
        eo.fit_logistic(labelled.X[:n_rows], labels)


@pytest.mark.parametrize("share", [0.02, 0.01, 0.003, 0.98, 0.99, 0.997])
def test_rare_labels_are_fitted(share):
    X, y = draw(5000, share)
    expected = sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=1e-12).params
    assert eo.fit_logistic(X, y).coefficients == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("share", [0.4, 0.005])
def test_many_rows_give_the_optimum_of_plain_newton(share, monkeypatch):
    X, y = draw(150_000, share)
    climbed = eo.fit_logistic(X, y)
    monkeypatch.setattr(logistic, "THINNING", len(X))
    assert climbed.coefficients == pytest.approx(eo.fit_logistic(X, y).coefficients, abs=1e-11)


def test_many_rows_are_climbed_without_newton_on_all_of_them():
    assert logistic._climb_many_rows(read_rows(*draw(150_000, 0.4))) is not None


def test_many_rows_give_the_covariance_of_plain_newton(monkeypatch):
    X, y = draw(150_000, 0.4)
    climbed = eo.fit_logistic(X, y)
    monkeypatch.setattr(logistic, "THINNING", len(X))
    assert climbed.covariance == pytest.approx(eo.fit_logistic(X, y).covariance, rel=1e-7)


def test_many_rows_in_the_order_of_their_labels_are_fitted(monkeypatch):
    X, y = draw(150_000, 0.4)
    order = np.argsort(y, kind="stable")
    ordered = eo.fit_logistic(X[order], y[order])
    assert ordered.coefficients == pytest.approx(eo.fit_logistic(X, y).coefficients, abs=1e-11)


def test_a_rare_category_among_many_rows_is_fitted():
    X, y = draw(150_000, 0.4)
    X = np.column_stack([X, np.arange(150_000) < 40])
    fit = eo.fit_logistic(X, y)
    design = np.column_stack([np.ones(len(X)), X])
    residuals = y - 1 / (1 + np.exp(-design @ fit.coefficients))
    assert np.abs(design.T @ residuals).max() < 1e-6


def test_a_fit_that_does_not_settle_says_why(refused, labelled, monkeypatch):
    monkeypatch.setattr(newton, "MAX_ITERATIONS", 1)
    text = "the fit stopped after 1 iterations because the steps did not shrink: the labels are alm"
    with refused(text, ConvergenceError):
        eo.fit_logistic(labelled.X, labelled.y)


def test_the_fit_says_why_it_stopped(labelled):
    fit = fit_rows(read_rows(labelled.X, labelled.y))
    assert fit.stopped_because.startswith("the last step changed fitted log-odds by ")


def test_a_fit_shows_its_coefficients(labelled):
    assert repr(eo.fit_logistic(labelled.X, labelled.y)).startswith("LogisticFit(coefficients=")
