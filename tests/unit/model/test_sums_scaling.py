import numpy as np
import pytest

import evenodds as eo
from evenodds.model.sums import Scaling, ShiftedCurve, without_chance


def test_scales_are_powers_of_two():
    factors = Scaling.by(None, np.array([3.3, 0.02, 1e9])).factors
    assert (np.frexp(factors)[0] == 0.5).all()


def test_scaled_spreads_are_near_one():
    spreads = np.array([3.3, 0.02, 1e9])
    scaled = spreads * Scaling.by(None, spreads).factors[1:]
    assert ((scaled > 2**-0.5) & (scaled < 2**0.5)).all()


def test_the_intercept_is_not_scaled():
    assert Scaling.by(None, np.array([3.3])).factors[0] == 1.0


def test_a_matrix_is_divided_on_both_sides():
    scaled = Scaling.by(None, np.array([4.0])).rescaled(np.full((2, 2), 16.0))
    assert scaled.tolist() == [[16.0, 4.0], [4.0, 1.0]]


def test_the_shift_is_taken_out_of_the_intercept():
    curve = ShiftedCurve(np.array([10.0]), np.array([1.0, 2.0]), np.eye(2), np.eye(2))
    assert curve.coefficients_of_data().tolist() == [-19.0, 2.0]


def test_the_covariance_of_the_data_gives_the_same_predictions():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    curve = ShiftedCurve(np.array([10.0]), np.array([1.0, 2.0]), covariance, covariance)
    at_twelve = np.array([1.0, 12.0])
    inside = curve.design(np.array([[12.0]]))[0]
    assert at_twelve @ curve.covariance_of_data() @ at_twelve == pytest.approx(
        inside @ covariance @ inside, rel=1e-12
    )


def test_predictions_far_from_zero_keep_their_digits(labelled):
    near = eo.fit_logistic(labelled.X, labelled.y).log_odds_covariance(np.zeros((1, 2)))
    far = eo.fit_logistic(labelled.X + 1e6, labelled.y).log_odds_covariance(np.full((1, 2), 1e6))
    assert far == pytest.approx(near, rel=1e-8)


def _products(features):
    return (features - features.mean(axis=0)).T @ (features - features.mean(axis=0))


def test_products_of_unrelated_columns_are_mostly_chance():
    products = _products(np.random.default_rng(3).normal(size=(500, 50)))
    kept = without_chance(products, 500)
    apart = ~np.eye(50, dtype=bool)
    assert np.abs(kept[apart]).max() < 0.1 * np.abs(products[apart]).max()
    np.testing.assert_allclose(kept.diagonal(), products.diagonal(), rtol=1e-12)


def test_products_of_related_columns_are_kept():
    rng = np.random.default_rng(4)
    products = _products(rng.normal(size=(500, 50)) + 2 * rng.normal(size=(500, 1)))
    np.testing.assert_allclose(without_chance(products, 500), products, rtol=0.01)


def test_what_is_chance_does_not_depend_on_the_scale_of_columns():
    rng = np.random.default_rng(5)
    features = rng.normal(size=(500, 50)) + 0.3 * rng.normal(size=(500, 1))
    scale = 10.0 ** rng.integers(-3, 4, 50)
    there, here = (without_chance(_products(each), 500) for each in (features * scale, features))
    np.testing.assert_allclose(there / np.outer(scale, scale), here, rtol=1e-9, atol=1e-9)
