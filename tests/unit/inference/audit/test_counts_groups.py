"""Audits whose rows share items or annotators."""

import json

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.errors import InputError
from evenodds.inference.audit.counts import AuditedLabels, groupings_of

DESIGNS = {
    "random": {},
    "true": {"sampled_by": "true"},
    "given": {"sampled_by": "given", "given_counts": (3000, 2000)},
}


def _answers(seed=0, items=80, answers=5, flipped=0.3):
    """Items of one true class each, of which some are flipped in most of their answers."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), answers)
    true = (rng.random(items) < 0.4)[item].astype(int)
    chance = rng.beta(0.5, 0.5 * (1 - flipped) / flipped, items)[item]
    return true, np.where(rng.random(len(true)) < chance, 1 - true, true), item


@pytest.mark.parametrize("design", ["random", "true"])
def test_answers_that_are_copies_count_once(design):
    """Each row nine times over, as nine answers to one item: about the answer of single rows."""
    rng = np.random.default_rng(1)
    true = (rng.random(300) < 0.4).astype(int)
    given = np.where(rng.random(300) < 0.2, 1 - true, true)
    once = eo.audit_test(true, given, **DESIGNS[design])
    copies = eo.audit_test(
        np.repeat(true, 9),
        np.repeat(given, 9),
        groups=np.repeat(np.arange(300), 9),
        **DESIGNS[design],
    )
    assert copies.asymmetry == pytest.approx(once.asymmetry)
    assert copies.design_effect == pytest.approx(9, rel=0.05)
    assert copies.statistic == pytest.approx(once.statistic, rel=0.03)
    for one, other in (
        (copies.confidence_interval(), once.confidence_interval()),
        (copies.alpha_interval(), once.alpha_interval()),
        (copies.beta_interval(), once.beta_interval()),
    ):
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=0.012)


@pytest.mark.parametrize("design", DESIGNS)
def test_groups_take_evidence_away(design):
    true, given, item = _answers()
    plain = eo.audit_test(true, given, **DESIGNS[design])
    grouped = eo.audit_test(true, given, groups=item, **DESIGNS[design])
    assert grouped.design_effect > 1.5
    assert abs(grouped.statistic) < abs(plain.statistic)
    assert (grouped.alpha, grouped.beta) == (plain.alpha, plain.beta)
    wide, narrow = grouped.confidence_interval(), plain.confidence_interval()
    assert wide.low < narrow.low < narrow.high < wide.high
    assert grouped.equivalence(0.3).pvalue > plain.equivalence(0.3).pvalue


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_interval_leaves_zero_out_when_the_test_rejects(design, alternative):
    for seed in range(1 if design == "given" else 3):
        true, given, item = _answers(seed, flipped=0.15)
        given = np.where((true == 0) & (item % 3 == 0), 1, given)
        result = eo.audit_test(true, given, groups=item, alternative=alternative, **DESIGNS[design])
        for level in (0.5, 0.9, 0.95, 0.99, 0.9999):
            interval = result.confidence_interval(level)
            assert (interval.low <= 0 <= interval.high) == (result.pvalue >= 1 - level)


@pytest.mark.parametrize("design", DESIGNS)
def test_groups_of_one_row_change_nothing(design):
    true, given, _ = _answers(answers=1)
    alone = eo.audit_test(true, given, groups=np.arange(len(true)), **DESIGNS[design])
    plain = eo.audit_test(true, given, **DESIGNS[design])
    assert (alone.pvalue, alone.method) == (plain.pvalue, plain.method)
    assert alone.confidence_interval() == plain.confidence_interval()
    assert any("No group has two rows" in check.message for check in alone.diagnostics)


def test_row_order_and_the_names_of_groups_do_not_matter():
    true, given, item = _answers()
    order = np.random.default_rng(2).permutation(len(true))
    one = eo.audit_test(true, given, groups=item)
    names = pd.Series([f"item {number}" for number in item[order]])
    other = eo.audit_test(true[order], given[order], groups=names)
    assert other.statistic == pytest.approx(one.statistic, rel=1e-9)


def test_swapping_the_classes_flips_the_sign():
    true, given, item = _answers()
    one, other = (eo.audit_test(true, given, groups=item, positive=label) for label in (1, 0))
    assert other.statistic == pytest.approx(-one.statistic, rel=1e-9)


def test_the_variance_is_that_of_the_sandwich():
    """Many groups of both classes: the sum over groups of their squared influences."""
    rng = np.random.default_rng(4)
    who = rng.integers(0, 400, 20_000)
    true = rng.random(20_000) < 0.3
    alpha, beta = rng.beta(2, 8, 400)[who], rng.beta(3, 12, 400)[who]
    flipped = rng.random(20_000) < np.where(true, alpha, beta)
    result = eo.audit_test(true, true ^ flipped, groups=who)
    influence = np.where(
        true, -(flipped - result.alpha) / true.sum(), (flipped - result.beta) / (~true).sum()
    )
    sandwich = float((np.bincount(who, influence) ** 2).sum())
    independent = float((influence**2).sum())
    assert result.design_effect == pytest.approx(sandwich / independent, rel=0.03)


def test_annotators_who_flip_both_classes_alike_hide_little():
    """Carelessness on both sides cancels in the difference; a leaning adds to it."""
    rng = np.random.default_rng(5)
    who = np.repeat(np.arange(100), 60)
    true = rng.random(len(who)) < 0.5
    share = rng.beta(2, 8, 100)[who]
    alike = rng.random(len(who)) < share
    leaning = rng.random(len(who)) < np.where(true, share, 0.4 - np.minimum(share, 0.4))
    effects = [eo.audit_test(true, true ^ f, groups=who).design_effect for f in (alike, leaning)]
    assert effects[0] < 1.6
    assert effects[1] > 4


def test_two_groupings_add_up():
    true, given, item = _answers(items=100)
    who = np.random.default_rng(3).integers(0, 15, len(true))
    both = eo.audit_test(true, given, groups=(item, who))
    each = [eo.audit_test(true, given, groups=one) for one in (item, who)]
    added = sum(result.design_effect - 1 for result in each)
    assert both.design_effect == pytest.approx(1 + added)
    assert len(both.groupings) == 2


def test_no_flips_at_all_say_nothing_of_how_they_go_together():
    """The rule of three for 60 items of 10 answers, not for 600 rows."""
    true = np.repeat([0, 1], [400, 200])
    result = eo.audit_test(true, true, groups=np.repeat(np.arange(60), 10))
    assert result.pvalue == 1
    assert result.alpha_interval().high > 0.12
    assert result.confidence_interval().high > 0.05


@pytest.mark.parametrize("answers", range(2, 12))
def test_a_class_that_is_always_flipped_may_have_a_rate_of_one(answers):
    item = np.repeat(np.arange(30), answers)
    true = (item % 3 == 0).astype(int)
    result = eo.audit_test(true, np.zeros_like(true), groups=item)
    assert result.alpha_interval().high == 1
    assert result.beta_interval().low == 0


def test_results_survive_json():
    true, given, item = _answers()
    result = eo.audit_test(true, given, groups=(item, item // 7))
    again = eo.AuditTestResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again == result
    assert again.alpha_interval() == result.alpha_interval()


def test_few_groups_are_doubted():
    true, given, item = _answers(items=80)
    few = eo.audit_test(true, given, groups=item // 16)
    many = eo.audit_test(true, given, groups=item)
    doubts = [check for check in few.diagnostics if check.name == "groups"]
    assert doubts[0].concern
    assert "audit more groups, not more rows of these" in doubts[0].message
    assert not any(check.concern for check in many.diagnostics)


def test_few_groups_with_a_flip_are_doubted():
    true = np.repeat([0, 1], [300, 300])
    given = true.copy()
    given[:120:3] = 1
    given[300:305] = 0
    result = eo.audit_test(true, given, groups=np.repeat(np.arange(120), 5))
    message = next(check.message for check in result.diagnostics if check.concern)
    assert "In one true class 1 group holds a flip" in message


def test_unanimous_groups_have_correlation_one():
    item = np.repeat(np.arange(40), [1, 2, 3, 4] * 10)
    true = (item % 2).astype(bool)
    labels = AuditedLabels(true, true ^ (item % 5 == 0), 1, 0)
    (found,) = groupings_of((item,), labels)
    assert found.correlations[:2] == pytest.approx((1, 1))


TRUE, GIVEN = [1, 1, 0, 0], [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (
            [1, 2, 3],
            r"^groups has shape \(3,\) but there are 4 audited rows: give one group a row\.$",
        ),
        (["a"] * 4, r"^groups has one group only \('a'\): the variance needs at least two\.$"),
        (
            [1, None, 2, 2],
            r"^groups has 1 missing value, the first in row 1: give every row its group\.$",
        ),
        (
            ([1, 1, 2, 2],) * 3,
            r"^groups holds 3 columns but takes one or two: a group for each row, or a pair of "
            r"such columns, such as \(items, annotators\)\.$",
        ),
    ],
)
def test_bad_groups_get_their_sentence(groups, message):
    with pytest.raises(InputError, match=message):
        eo.audit_test(TRUE, GIVEN, groups=groups)
