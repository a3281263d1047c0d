import numpy as np
import pytest

import evenodds as eo


def design_and_residuals(data, weights):
    fit = eo.fit_logistic(data.X, data.y, sample_weight=weights)
    design = np.column_stack([np.ones(len(data.y)), data.X])
    return fit, design, data.y - 1 / (1 + np.exp(-design @ fit.coefficients))


def test_the_sandwich_counts_a_row_of_weight_three_as_three_rows(labelled):
    weights = 1.0 + np.arange(300) % 3
    fit, design, residuals = design_and_residuals(labelled, weights)
    middle = design.T @ (design * (weights * residuals**2)[:, None])
    sandwich = eo.fit_logistic(
        labelled.X, labelled.y, sample_weight=weights, covariance="sandwich"
    ).covariance
    assert sandwich == pytest.approx(fit.covariance @ middle @ fit.covariance, rel=1e-9)


def test_scores_are_summed_within_groups_before_they_are_squared(labelled):
    weights, groups = 1.0 + np.arange(300) % 3, np.arange(300) // 7
    fit, design, residuals = design_and_residuals(labelled, weights)
    scores = design * (weights * residuals)[:, None]
    summed = np.array([scores[groups == group].sum(axis=0) for group in range(groups.max() + 1)])
    grouped = eo.fit_logistic(
        labelled.X, labelled.y, sample_weight=weights, groups=groups
    ).covariance
    expected = fit.covariance @ summed.T @ summed @ fit.covariance
    assert grouped == pytest.approx(expected, rel=1e-9)


def test_rows_of_a_group_need_not_be_neighbours(labelled):
    groups = np.arange(300) % 40
    order = np.argsort(groups, kind="stable")
    together = eo.fit_logistic(labelled.X[order], labelled.y[order], groups=groups[order])
    apart = eo.fit_logistic(labelled.X, labelled.y, groups=groups)
    assert apart.covariance == pytest.approx(together.covariance, rel=1e-9)


def test_what_groups_are_called_does_not_matter(labelled):
    groups = np.arange(300) % 40
    named = eo.fit_logistic(labelled.X, labelled.y, groups=[f"patient {g}" for g in groups])
    numbered = eo.fit_logistic(labelled.X, labelled.y, groups=groups)
    assert named.covariance == pytest.approx(numbered.covariance, rel=1e-12)


def test_rows_repeated_within_a_group_are_no_news(labelled):
    groups = np.arange(300)
    once = eo.fit_logistic(labelled.X, labelled.y, groups=groups)
    four_times = eo.fit_logistic(
        np.tile(labelled.X, (4, 1)), np.tile(labelled.y, 4), groups=np.tile(groups, 4)
    )
    assert four_times.covariance == pytest.approx(once.covariance, rel=1e-9)


@pytest.mark.parametrize("seed", [2, 8, 13])
def test_the_covariance_of_many_heavy_tailed_rows_is_exact_to_one_in_ten_million(seed):
    rng = np.random.default_rng(seed)
    n_rows, n_columns = 130_000, (6, 8, 10)[seed % 3]
    X = rng.standard_t(3, size=(n_rows, n_columns))
    if seed % 2:
        X = np.exp(rng.normal(size=(n_rows, n_columns)))
    slopes = rng.normal(size=n_columns)
    index = X @ (1.5 * slopes / np.linalg.norm(slopes))
    chance = 1 / (1 + np.exp(np.quantile(index, 0.7) - index))
    fit = eo.fit_logistic(X, (rng.random(n_rows) < chance).astype(float))
    design = np.column_stack([np.ones(n_rows), X])
    fitted = 1 / (1 + np.exp(-design @ fit.coefficients))
    exact = np.linalg.inv((design.T * (fitted * (1 - fitted))) @ design)
    scale = np.sqrt(exact.diagonal())
    assert np.abs((fit.covariance - exact) / np.outer(scale, scale)).max() < 1e-7
