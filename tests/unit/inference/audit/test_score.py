import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlog1py, xlogy
from scipy.stats import chi2_contingency
from statsmodels.stats.proportion import confint_proportions_2indep

import evenodds as eo
from evenodds.inference.audit.score import constrained_rates, score_z

CASES = [(30, 3, 970, 40), (500, 50, 800, 100), (50, 0, 60, 9), (60, 60, 60, 2)]
ASYMMETRIES = (-0.6, -0.1, 0.05, 0.4)


def _best_on_a_grid(n1, f1, n0, f0, asymmetry):
    """Return the likeliest alpha by trying a million of them."""
    alpha = np.linspace(max(0.0, -asymmetry), min(1.0, 1.0 - asymmetry), 1_000_001)
    beta = np.clip(alpha + asymmetry, 0, 1)
    likelihood = xlogy(f1, alpha) + xlog1py(n1 - f1, -alpha)
    likelihood += xlogy(f0, beta) + xlog1py(n0 - f0, -beta)
    return alpha[np.argmax(likelihood)]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("asymmetry", ASYMMETRIES)
def test_constrained_rates_are_the_likeliest(case, asymmetry):
    alpha, beta = constrained_rates(*case, asymmetry)
    assert alpha == pytest.approx(_best_on_a_grid(*case, asymmetry), abs=2e-6)
    assert beta - alpha == pytest.approx(asymmetry, abs=1e-12)


@pytest.mark.parametrize(("n1", "f1", "n0", "f0"), [case for case in CASES if case[1] != case[0]])
def test_z_without_asymmetry_is_the_pooled_chi_square(n1, f1, n0, f0):
    table = [[f1, n1 - f1], [f0, n0 - f0]]
    expected = chi2_contingency(table, correction=False).statistic * (n1 + n0 - 1) / (n1 + n0)
    assert score_z(n1, f1, n0, f0, 0.0) ** 2 == pytest.approx(expected, rel=1e-10)


@settings(deadline=None)
@given(st.integers(2, 60), st.integers(2, 60), st.floats(-0.9, 0.9))
def test_z_rises_with_flipped_negatives_and_falls_with_flipped_positives(n1, n0, asymmetry):
    """The exact test halves along this order, so it must be one."""
    flipped = np.arange(n1 + 1)[:, None], np.arange(n0 + 1)[None, :]
    z = score_z(n1, flipped[0], n0, flipped[1], asymmetry)
    assert np.diff(z, axis=1).min() > -1e-9
    assert np.diff(z, axis=0).max() < 1e-9


def test_the_interval_is_near_that_of_statsmodels():
    """Theirs takes a slightly different constrained rate (`count0` for `nobs0` in one term)."""
    true = np.repeat([1, 0], [500, 800])
    given = np.repeat([0, 1, 1, 0], [50, 450, 100, 700])
    ours = eo.audit_test(true, given).confidence_interval()
    theirs = confint_proportions_2indep(100, 800, 50, 500, method="score", compare="diff")
    assert (ours.low, ours.high) == pytest.approx(theirs, abs=1e-3)


def test_the_interval_ends_where_z_is_critical():
    true = np.repeat([1, 0], [500, 800])
    given = np.repeat([0, 1, 1, 0], [50, 450, 100, 700])
    interval = eo.audit_test(true, given).confidence_interval(0.95)
    ends = [float(score_z(500, 50, 800, 100, end)) for end in (interval.low, interval.high)]
    assert ends == pytest.approx([1.959964, -1.959964], abs=1e-5)
