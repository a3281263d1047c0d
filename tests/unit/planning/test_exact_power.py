"""The power of exact audits, summed over all their tables."""

import numpy as np
import pytest
from scipy.stats import binom

from evenodds.inference.audit.audit_test import audit_pvalue
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.score import AuditByGiven, AuditByTrue
from evenodds.planning.exact_power import given_power, powers_at


def brute_force(n_positive, n_negative, alpha, beta, alternative, level):
    """Return the chance of a table whose p-value is below the level."""
    return sum(
        binom.pmf(lost, n_positive, alpha) * binom.pmf(won, n_negative, beta)
        for lost in range(n_positive + 1)
        for won in range(n_negative + 1)
        if audit_pvalue(Flips(n_positive, lost, n_negative, won), alternative) < level
    )


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(("n_positive", "n_negative"), [(1, 1), (3, 3), (4, 9), (12, 7)])
def test_power_is_the_chance_of_the_tables_that_the_test_rejects(
    n_positive, n_negative, alternative
):
    audit = AuditByTrue(Flips(n_positive, 0, n_negative, 0))
    for size, level in ((0.8, 0.05), (0.6, 0.2)):
        expected = brute_force(n_positive, n_negative, 0.0, size, alternative, level)
        found = powers_at(audit, np.array([size]), level, alternative)
        assert found == pytest.approx(expected, abs=1e-12)


def test_rates_are_those_that_fit_the_audit_best():
    """Half of either class are flipped: at an asymmetry of 0.4, 0.3 and 0.7 fit best."""
    audit = AuditByTrue(Flips(8, 4, 8, 4))
    expected = brute_force(8, 8, 0.3, 0.7, "two-sided", 0.05)
    assert powers_at(audit, np.array([0.4]), 0.05, "two-sided") == pytest.approx(expected)


def test_by_given_label_it_is_the_power_that_plans_the_audit():
    """Nothing wrong was found: at 0.3, alpha is 0, and half the labels are positive."""
    audit = AuditByGiven(Flips(10, 0, 10, 0), 500, 500)
    prior = (0.5 - 0.3) / 0.7
    wrong = (1 - prior) * 0.3 / 0.5, 0.0
    expected = given_power((10, 10), (500, 500), wrong, 0.05, "two-sided")
    assert powers_at(audit, np.array([0.3]), 0.05, "two-sided") == pytest.approx(expected, rel=1e-9)


def test_a_share_of_positive_labels_allows_no_larger_asymmetry():
    audit = AuditByGiven(Flips(10, 0, 10, 0), 900, 100)
    powers = powers_at(audit, np.array([0.05, 0.2, -0.2]), 0.05, "two-sided")
    assert np.isnan(powers).tolist() == [False, True, False]
