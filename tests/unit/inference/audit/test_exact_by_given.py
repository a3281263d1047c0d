from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm

import evenodds as eo
from evenodds.inference.audit.audit_test import audit_pvalue
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.exact import given_pvalues, given_z
from evenodds.inference.audit.score import AuditByGiven, GivenSample


def _audit(rows, wrong_positive, wrong_negative, counts):
    truly = rows - wrong_positive + wrong_negative
    return AuditByGiven(Flips(truly, wrong_negative, 2 * rows - truly, wrong_positive), *counts)


def test_one_wrong_label_of_ten_is_no_proof_beyond_doubt():
    result = eo.audit_test(
        [1] * 9 + [0] + [1] + [0] * 9,
        [1] * 10 + [0] * 10,
        sampled_by="given",
        given_counts=(19_000, 1_000),
    )
    assert result.method == "exact"
    assert 0.001 < result.pvalue < 0.05


@pytest.mark.parametrize(
    ("prior", "rate", "rows", "whole"),
    [(0.1, 0.1, 10, 1000), (0.05, 0.1, 12, 2000), (0.5, 0.1, 10, 1000), (0.3, 0.3, 8, 100)],
)
def test_no_flip_rate_rejects_more_often_than_stated(prior, rate, rows, whole):
    """The chance of rejecting, summed over all tables; the counts are as expected."""
    share = prior * (1 - rate) + (1 - prior) * rate
    positive = round(share * whole)
    share = positive / whole
    prior = (share - rate) / (1 - 2 * rate)
    wrong = (1 - prior) * rate / share, prior * rate / (1 - share)
    level = 0.0
    for one, other in product(range(rows + 1), repeat=2):
        if (one, other) in {(rows, 0), (0, rows)}:
            continue  # a class was never true: there is no test
        audit = _audit(rows, one, other, (whole - positive, positive))
        counts = audit.given_negative, audit.given_positive
        if audit_pvalue(audit.flips, "two-sided", counts) < 0.05:
            level += binom.pmf(one, rows, wrong[0]) * binom.pmf(other, rows, wrong[1])
    assert level <= 0.0501


def test_swapping_the_classes_swaps_the_sides():
    one = given_pvalues(AuditByGiven(Flips(18, 3, 22, 4), 700, 300), 0.1)
    other = given_pvalues(AuditByGiven(Flips(22, 4, 18, 3), 300, 700), -0.1)
    assert one == pytest.approx(other[::-1], rel=1e-3)


def test_the_exact_z_falls_through_the_estimate():
    audit = _audit(20, 4, 2, (1500, 500))
    estimate = audit.seen.beta - audit.seen.alpha
    values = [given_z(audit, asymmetry) for asymmetry in (-0.6, -0.4, -0.25, 0.05, 0.15)]
    assert abs(given_z(audit, estimate)) < 0.1
    assert values[0] > values[1] > 1
    assert values[-1] < 0


@pytest.mark.parametrize("asymmetry", [-0.97, 0.6])
def test_asymmetries_beyond_the_share_of_labels_are_ruled_out(asymmetry):
    """With one label in twenty positive beta passes .05 by no more than chance, nor alpha .95."""
    assert min(given_pvalues(_audit(10, 1, 1, (1900, 100)), asymmetry)) < 1e-4


def test_a_rate_hardly_beyond_the_share_of_labels_is_possible():
    """0.29 of 300 labels are positive; up to 0.33 is within chance."""
    audit = _audit(40, 36, 0, (213, 87))
    less = [given_pvalues(audit, beta)[1] for beta in (0.28, 0.29, 0.3, 0.32, 0.35)]
    assert less == sorted(less, reverse=True)
    assert less[2] > 0.1
    assert less[-1] < 0.025


def test_the_truth_is_rarely_rejected_where_one_class_is_rare():
    """Rejected in .28 of 150 audits where the share of positive labels is taken as known."""
    rejected = 0
    for run in range(50):
        rng = np.random.default_rng([95, run])
        true = rng.random(300) < 0.05
        given = np.where(true, True, rng.random(300) < 0.3)
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(given == one), 40, replace=False) for one in (True, False)]
        )
        wrong = [int((given[half] != true[half]).sum()) for half in (rows[:40], rows[40:])]
        audit = _audit(40, *wrong, (int((~given).sum()), int(given.sum())))
        rejected += abs(given_z(audit, 0.3)) > norm.isf(0.025)
    assert rejected <= binom.ppf(1 - 1e-3, 50, 0.05)


def test_intervals_hold_the_truth_as_often_as_stated():
    """All tables of 10 and 10 rows, at rates that differ, weighted by their chances."""
    wrong, counts = (0.3, 0.02), (900, 100)

    sample = GivenSample(*wrong, 0.1)
    asymmetry, held = sample.beta - sample.alpha, 0.0
    for one, other in product(range(11), repeat=2):
        chance = binom.pmf(one, 10, wrong[0]) * binom.pmf(other, 10, wrong[1])
        if chance > 1e-6 and abs(given_z(_audit(10, one, other, counts), asymmetry)) < 1.96:
            held += chance
    assert 0.95 <= held <= 1


def test_no_wrong_labels_are_no_evidence():
    assert np.min(given_pvalues(_audit(15, 0, 0, (900, 100)), 0.0)) > 0.5
