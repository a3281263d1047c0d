"""Flip matrices as rates and asymmetries."""

import numpy as np
import pytest
from tests.class_worlds import uniform_flips

from evenodds.model.softmax import (
    pairs_family,
    split_leaning,
    uniform_family,
)


@pytest.mark.parametrize("positive", [(0,), (0, 1), (1, 2, 4)])
def test_uniform_noise_loses_from_a_side_what_the_other_side_has_of_classes(positive):
    """Alpha is e (K - a) / (K - 1) and beta e a / (K - 1), whichever class of a side it is."""
    rate, n_classes = 0.2, 5
    negative = [k for k in range(n_classes) if k not in positive]
    flips = uniform_flips(n_classes, rate)
    a = len(positive)
    for k in positive:
        assert flips[k, negative].sum() == pytest.approx(rate * (n_classes - a) / (n_classes - 1))
    for k in negative:
        assert flips[k, list(positive)].sum() == pytest.approx(rate * a / (n_classes - 1))


def test_an_asymmetry_adds_half_of_itself_to_beta_and_takes_it_from_alpha():
    family = uniform_family(4, np.array([split_leaning(4, (0,), (1, 2, 3))]))
    even = family.matrix(np.array([0.05]), np.array([0.0]))
    leaning = family.matrix(np.array([0.05]), np.array([0.06]))
    assert leaning[1:, 0] - even[1:, 0] == pytest.approx([0.03] * 3)
    assert (leaning[0, 1:] - even[0, 1:]).sum() == pytest.approx(-0.03)
    assert leaning.sum(axis=1) == pytest.approx(np.ones(4))


def test_one_rate_for_all_is_uniform_noise():
    family = uniform_family(4, np.zeros((0, 4, 4)))
    assert np.allclose(family.matrix(np.array([0.05]), np.zeros(0)), uniform_flips(4, 0.15))


def test_pairs_with_one_rate_each_are_any_flip_matrix_at_all():
    wanted = np.array([[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.1, 0.15, 0.75]])
    pairs = [(0, 1), (0, 2), (1, 2)]
    family = pairs_family(3, pairs)
    rates = np.array([(wanted[i, j] + wanted[j, i]) / 2 for i, j in pairs])
    asymmetries = np.array([wanted[j, i] - wanted[i, j] for i, j in pairs])
    assert np.allclose(family.matrix(rates, asymmetries), wanted)


def test_pairs_not_named_share_a_rate():
    family = pairs_family(4, [(0, 1)])
    flips = family.matrix(np.array([0.1, 0.02]), np.array([0.0]))
    assert flips[0, 1] == flips[1, 0] == pytest.approx(0.1)
    assert flips[2, 3] == flips[0, 3] == pytest.approx(0.02)


def test_the_lowest_rates_leave_no_flip_below_zero():
    family = pairs_family(3, [(0, 1), (0, 2), (1, 2)])
    asymmetries = np.array([0.2, -0.1, 0.0])
    low, slopes = family.lowest_rates(asymmetries)
    assert low == pytest.approx([0.1, 0.05, 0.0])
    assert family.matrix(low, asymmetries).min() >= -1e-15
    assert slopes[:2].diagonal() == pytest.approx([0.5, -0.5])


def test_a_class_that_never_gets_its_own_label_is_no_class():
    family = pairs_family(3, [(0, 1), (0, 2), (1, 2)])
    assert family.keeps_classes(np.array([0.1, 0.1, 0.1]), np.zeros(3))
    assert not family.keeps_classes(np.array([0.49, 0.49, 0.49]), np.zeros(3) + 0.1)
