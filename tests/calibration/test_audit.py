"""Level and power of audits, in short; ``python -m tests.calibration.audit`` is the long run."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from evenodds.inference.audit.counts import AuditedLabels, groupings_of
from evenodds.inference.audit.score import AuditByTrue
from tests.calibration.audit_cells import (
    BIASED,
    AuditCell,
    EvidenceCell,
    annotator_errors,
    coverage,
    evidence_rejections,
    rejection_share,
)
from tests.calibration.grouped_audit_cells import GroupCell, judge

FOLDER = os.environ.get("EVENODDS_DATA")


@pytest.mark.parametrize(
    ("cell", "runs"),
    [
        (AuditCell("random", 40, 0.5, 0.1, 0.1), 300),
        (AuditCell("random", 3000, 0.15, 0.1, 0.1), 300),
        (AuditCell("true", 60, 0.5, 0.3, 0.3), 300),
        (AuditCell("given", 200, 0.15, 0.1, 0.1, 1000), 60),
        (AuditCell("given", 20, 0.1, 0.1, 0.1, 1000), 100),
        (AuditCell("given", 40, 0.3, 0.1, 0.1, 60), 100),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_level_holds_under_equal_flips(cell, runs):
    share = rejection_share(cell, runs, seed=11)
    assert share * runs <= stats.binom.ppf(1 - 1e-4, runs, 0.05)


@pytest.mark.parametrize(
    "cell",
    [
        AuditCell("random", 60, 0.5, 0.05, 0.3),
        AuditCell("random", 1000, 0.3, 0.2, 0.1),
        AuditCell("given", 300, 0.2, 0.2, 0.1, 3000),
    ],
    ids=lambda cell: cell.name,
)
def test_intervals_hold_the_truth(cell):
    assert coverage(cell, 60, seed=12) * 60 >= stats.binom.ppf(1e-4, 60, 0.95)


@pytest.mark.parametrize("sampled_by", ["random", "true", "given"])
def test_audits_of_the_size_planned_find_it(sampled_by):
    noise = eo.ClassConditionalNoise(0.25, 0.1)
    size = eo.audit_size(noise, prior=0.5, sampled_by=sampled_by, runs=150, seed=2)
    assert stats.binom.ppf(1e-4, 150, 0.8) <= 150 * size.simulated_power


def test_annotators_are_rarely_named_falsely():
    family, share, named = annotator_errors(30, BIASED, seed=13)
    most = stats.binom.ppf(1 - 1e-4, 30, 0.05) / 30
    assert max(family, share) <= most
    assert named > 0.4


@pytest.mark.parametrize("rows", ["other", "random", "given"])
def test_level_holds_with_an_audit_as_evidence(rows):
    cell = EvidenceCell("paper", 500, 3, 0.15, 0.15, 100, rows)
    boundary, joint, *_ = evidence_rejections(cell, 30)
    assert max(boundary, joint) * 30 <= stats.binom.ppf(1 - 1e-4, 30, 0.05)


def test_an_audit_adds_power_to_anchors():
    with_audit = EvidenceCell("paper", 1000, 3, 0.05, 0.15, 300, "other")
    boundary, _, audit_alone, anchors_alone = evidence_rejections(with_audit, 40)
    assert boundary > max(audit_alone, anchors_alone)


@pytest.mark.parametrize(
    ("cell", "runs"),
    [
        (GroupCell(40, 3, 0.5, 0.3, 0.3), 200),
        (GroupCell(100, 10, 0.2, 0.3, 0.3), 200),
        (GroupCell(100, 10, 0.3, 0.1, 0.1, uneven=True), 200),
        (GroupCell(20, 50, 0.5, 0.2, 0.2, (0.1, 0.1), "leaning"), 200),
        (GroupCell(100, 3, 0.3, 0.2, 0.2, (0.3, 0.1), "both", annotators=20), 100),
        (GroupCell(100, 10, 0.3, 0.2, 0.2, sampled_by="given", audited=400), 25),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_level_and_coverage_hold_by_groups(cell, runs):
    plain, rejected, *held = judge(cell, runs, seed=14)
    assert rejected * runs <= stats.binom.ppf(1 - 1e-4, runs, 0.05)
    assert min(held) * runs >= stats.binom.ppf(1e-4, runs, 0.95)
    assert plain > rejected


def test_unequal_flips_are_found_by_groups():
    _, rejected, *_ = judge(GroupCell(200, 3, 0.3, 0.25, 0.1, sampled_by="true"), 60, seed=15)
    assert rejected > 0.75


@pytest.mark.skipif(not FOLDER, reason="EVENODDS_DATA is not set: no real data to test on")
def test_two_crowd_answers_a_pair_are_no_two_rows():
    """Both answers on pairs of products, classes swapped at random: equal flips, real items."""
    with (Path(FOLDER) / "product_labels.csv").open(newline="", encoding="utf-8") as file:
        table = [list(map(int, row.values())) for row in csv.DictReader(file)]
    _, gold, *answers = np.array(table).T
    rng, runs, items = np.random.default_rng(16), 600, np.repeat(np.arange(300), 2)
    rejected = np.zeros(2)
    for _ in range(runs):
        rows, swap = rng.permutation(len(gold))[:300], rng.integers(0, 2, 300)
        true = np.repeat(gold[rows] ^ swap, 2).astype(bool)
        given = np.column_stack([answer[rows] ^ swap for answer in answers]).ravel().astype(bool)
        labels = AuditedLabels(true, given, 1, 0)
        groupings = groupings_of((items,), labels)
        z = [AuditByTrue(labels.flips(), grouping).z(0.0) for grouping in ((), groupings)]
        rejected += np.abs(z) > stats.norm.isf(0.025)
    assert rejected[0] > stats.binom.ppf(1 - 1e-4, runs, 0.05)
    assert rejected[1] <= stats.binom.ppf(1 - 1e-4, runs, 0.05)


@pytest.mark.skipif(not FOLDER, reason="EVENODDS_DATA is not set: no real data to test on")
@pytest.mark.parametrize(
    ("column", "alpha", "beta"), [("first_answer", 0.42, 0.15), ("majority_of_3", 0.39, 0.06)]
)
def test_crowd_answers_flip_same_products_more_often(column, alpha, beta):
    """Crowd answers on "same product?": the rates are known from the gold labels of all pairs."""
    with (Path(FOLDER) / "product_labels.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    gold, given = (np.array([int(row[name]) for row in table]) for name in ("gold", column))
    whole = eo.audit_test(gold, given)
    assert (whole.alpha, whole.beta) == pytest.approx((alpha, beta), abs=0.005)
    rng = np.random.default_rng(6)
    chosen = np.concatenate(
        [rng.permutation(np.flatnonzero(given == label))[:150] for label in (0, 1)]
    )
    counts = {label: int((given == label).sum()) for label in (0, 1)}
    audit = eo.audit_test(gold[chosen], given[chosen], sampled_by="given", given_counts=counts)
    interval = audit.confidence_interval(0.99)
    assert interval.low < beta - alpha < interval.high
    assert audit.pvalue < 0.05
