"""Statements regressed on labels, against a regression written out, and their dispersions."""

import numpy as np
import pytest

from evenodds.inference.cases.strata import Regressed, dispersions, strata_by_statement


def test_in_one_stratum_it_is_the_regression_estimator():
    """Cochran, Sampling Techniques, section 7.1: the mean moved along the least-squares line."""
    rng = np.random.default_rng(11)
    label = (rng.random(40) < 0.6).astype(float)
    said = 0.1 + 0.15 * label + rng.uniform(0, 0.7, 40)
    found = Regressed.on_labels(said, label, np.zeros(40, int), np.array([0.45]))
    slope = np.polyfit(label, said, 1)[0]
    assert found.pull[0] == pytest.approx(slope, rel=1e-12)
    assert found.said.mean() == pytest.approx(said.mean() - slope * (label.mean() - 0.45))


def test_statements_that_go_against_their_labels_stay_as_they_are():
    label = np.tile([0.0, 1.0], 12)
    said = 0.5 - 0.3 * label + np.linspace(0, 0.2, 24)
    found = Regressed.on_labels(said, label, np.repeat([0, 1], 12), np.array([0.4, 0.6]))
    np.testing.assert_array_equal(found.said, said)


def test_sure_statements_stay_sure_whatever_the_labels_are():
    label, of_case = np.tile([0.0, 1.0], 12), np.repeat([0, 1], 12)
    said = np.where(of_case == 0, 0.0, 0.2 + 0.5 * label)
    found = Regressed.on_labels(said, label, of_case, np.array([0.3, 0.7]))
    np.testing.assert_allclose(found.said[:12], 0.0, atol=1e-12)
    assert found.pull[1] > 0.3


def test_labels_take_chance_out_of_the_shares_and_leave_their_mean():
    """Var(eta) = 1/12 and 0.8 of the labels are kept: rho^2 is 0.64 / 12 / 0.25 = 0.21."""
    rng = np.random.default_rng(12)
    plain, regressed = [], []
    for _ in range(2000):
        eta = rng.random(36)
        label = (rng.random(36) < 0.1 + 0.8 * eta).astype(float)
        strata, of_case = np.array([500.0] * 3), np.repeat(np.arange(3), 12)
        found, _ = strata_by_statement(strata, strata / 2, of_case, eta, label)
        plain.append(eta.reshape(3, 12).mean(axis=1))
        regressed.append(found.stated / found.judged)
    assert np.mean(regressed) == pytest.approx(0.5, abs=0.003)
    assert np.var(regressed) / np.var(plain) == pytest.approx(1 - 0.21, abs=0.05)


def test_a_dispersion_is_its_own_drawn_towards_that_of_all():
    """By hand: of 12 cases each, 11 degrees of freedom of its own and 12 of all."""
    judged, stated = np.full(3, 12.0), np.array([2.4, 6.0, 6.0])
    squares = np.array([0.176, 0.55, 2.2])
    own = squares / 11 / np.array([0.16, 0.25, 0.25])
    pooled = squares.sum() / 11 / 0.66
    np.testing.assert_allclose(own, [0.1, 0.2, 0.8])
    found = dispersions(squares, stated, judged)
    np.testing.assert_allclose(found, (11 * own + 12 * pooled) / 23, rtol=1e-12)
    assert dispersions(squares * 3, stated, judged).max() == 1


def test_clean_labels_leave_what_statements_do_not_tell_of_them():
    """Of posteriors 0.02 and 0.98 one label in 50 differs, though none does among these cases.

    Labels vary about statements by p (1 - p) and half a case, and p about what a pull of b leaves
    by (1 - b)^2.
    """
    said = np.tile([0.02] * 6 + [0.98] * 6, 3)
    label, of_case = np.round(said), np.repeat(np.arange(3), 12)
    n = np.full(3, 1000.0)
    found, regressed = strata_by_statement(n, n * [0.45, 0.5, 0.55], of_case, said, label)
    b, varies = regressed.pull[1], 0.48**2 * (11 / 12 + 1) * 12 / 23 * 12 / 11
    assert regressed.off.var() < 0.001
    left = (1 - b) ** 2 * varies + b**2 * (0.02 * 0.98 + 0.5 / 36)
    assert found.dispersion[1] * 0.25 == pytest.approx(left, rel=0.01)
    assert left > 0.015
