from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm
from statsmodels.stats.proportion import power_proportions_2indep

import evenodds as eo
from evenodds.errors import InputError
from evenodds.inference.audit.audit_test import audit_pvalue
from evenodds.inference.audit.counts import Flips
from evenodds.planning.exact_power import given_power, true_power

NOISE = eo.ClassConditionalNoise(alpha=0.2, beta=0.1)


def test_the_power_is_that_of_two_proportions():
    """statsmodels: power_proportions_2indep with the pooled null variance."""
    size = eo.audit_size(NOISE, prior=0.3)
    n1 = 0.3 * size.n_rows
    ratio = 0.7 / 0.3
    theirs = power_proportions_2indep(
        diff=0.1, prop2=0.1, nobs1=n1, ratio=ratio, alpha=0.05, return_results=True
    )
    assert size.power == pytest.approx(theirs.power, abs=0.002)


@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.95])
def test_one_row_fewer_would_not_do(wanted):
    size = eo.audit_size(NOISE, sampled_by="true", power=wanted)
    assert wanted <= size.power < wanted + 0.005


def test_one_sided_tests_need_fewer_rows():
    both = eo.audit_size(NOISE, prior=0.5).n_rows
    assert eo.audit_size(NOISE, prior=0.5, alternative="less").n_rows < both


@pytest.mark.parametrize(
    "design",
    [{"prior": 0.5}, {"sampled_by": "true", "share": 0.3}, {"sampled_by": "given", "prior": 0.2}],
    ids=["random", "true", "given"],
)
def test_simulated_audits_find_it_as_often_as_said(design):
    size = eo.audit_size(NOISE, **design, runs=200, seed=11)
    band = norm.isf(1e-4) * (0.8 * 0.2 / 200) ** 0.5
    assert abs(size.simulated_power - size.power) < band


def test_rows_are_told_by_class():
    size = eo.audit_size(NOISE, sampled_by="true", share=0.25)
    assert size.n_positive == pytest.approx(0.25 * size.n_rows, abs=0.5)
    assert size.n_positive + size.n_negative == size.n_rows


def test_a_plan_prints_itself():
    assert str(eo.audit_size(NOISE, prior=0.5)).startswith("Audit 398 rows: 199 expected")


@pytest.mark.parametrize(
    ("noise", "options", "message"),
    [
        (NOISE, {}, r"^prior is needed with sampled_by='random': what share of the rows is truly"),
        (
            NOISE,
            {"prior": 0.5, "share": 0.5},
            r"^share is chosen when rows are drawn by class; at random it is the prior: leave it",
        ),
        (
            eo.ClassConditionalNoise(0.1, 0.1),
            {"prior": 0.5},
            r"^both flip rates are 0\.1: there is no asymmetry to find\.",
        ),
        (
            NOISE,
            {"prior": 0.5, "alternative": "greater"},
            r"^alternative is 'greater' but beta − alpha is −0\.10: a one-sided test looks",
        ),
        (
            eo.ClassConditionalNoise(0.1, 0.10001),
            {"prior": 0.5},
            r"^more than 1,000,000,000 rows would have to be audited: the flip rates are too close",
        ),
    ],
)
def test_bad_input_gets_its_sentence(noise, options, message):
    with pytest.raises(InputError, match=message):
        eo.audit_size(noise, **options)


@pytest.mark.parametrize(
    ("alpha", "beta", "prior"), [(0.9, 0.05, 0.5), (0.3, 0.01, 0.02), (0.2, 0.0, 0.5)]
)
def test_few_wrong_labels_by_given_class_are_planned_for(alpha, beta, prior):
    """A normal law asked for 3 and for 118 rows in the first two, which found it in 0 and 33%."""
    noise = eo.ClassConditionalNoise(alpha, beta)
    size = eo.audit_size(noise, prior=prior, sampled_by="given", runs=150, seed=3)
    assert 0.8 <= size.power < 0.9
    assert size.simulated_power >= 0.8 - norm.isf(1e-3) * (0.8 * 0.2 / 150) ** 0.5


def test_the_power_of_a_small_audit_is_that_of_its_test():
    """Every table of 5 and 6 rows, tested by itself and weighted by its chance."""
    wrong, counts = (0.1, 0.6), (800, 200)
    power = 0.0
    for one, other in product(range(6), range(7)):
        truly = 5 - one + other
        if truly in (0, 11):
            continue
        flips = Flips(truly, other, 11 - truly, one)
        if audit_pvalue(flips, "less", counts) < 0.05:
            power += binom.pmf(one, 5, wrong[0]) * binom.pmf(other, 6, wrong[1])
    assert given_power((5, 6), counts, wrong, 0.05, "less") == pytest.approx(power, abs=1e-6)


@pytest.mark.parametrize("sampled_by", ["given", "true"])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_at_least_one_row_of_each_class_is_drawn(sampled_by, share):
    noise = eo.ClassConditionalNoise(0.9, 0.0)
    size = eo.audit_size(noise, prior=0.5, sampled_by=sampled_by, share=share, runs=150)
    assert size.n_positive >= 1
    assert size.simulated_power >= 0.8 - norm.isf(1e-3) * (0.8 * 0.2 / 150) ** 0.5


def test_a_class_of_one_row_is_not_planned_as_a_fraction_of_one():
    """As 1.1 expected rows it promised .84, and was found in 1 of 50 audits."""
    size = eo.audit_size(
        eo.ClassConditionalNoise(0.0, 0.9), sampled_by="true", share=0.01, runs=100
    )
    assert size.simulated_power > 0.8


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(5)
    return 0.1 + 0.7 / (1 + np.exp(-2.2 * rng.normal(size=4000)))  # of labels flipped as in NOISE


def test_a_score_saves_rows(scores):
    plan = eo.audit_size(NOISE, scores=scores)
    assert plan.power >= 0.8
    assert plan.saves == pytest.approx(
        eo.audit_size(NOISE, prior=0.5).n_rows / plan.n_rows, rel=0.03
    )
    assert plan.saves > 4 / 3
    assert sum(one.n_rows for one in plan.split) == plan.n_rows
    assert "at random, it would take" in str(plan)


def test_audits_along_a_score_find_it_as_often_as_said(scores):
    plan = eo.audit_size(NOISE, scores=scores, runs=60)
    assert plan.simulated_power >= 0.65


def test_the_split_is_that_of_the_cases(scores):
    rng = np.random.default_rng(6)
    plan = eo.audit_size(NOISE, scores=scores)
    given = rng.random(len(scores)) < scores
    cases = eo.choose_cases(scores, n_cases=plan.n_rows, given=given)
    drawn = np.bincount(2 * cases.strata + given[cases.rows], minlength=len(plan.split))
    planned = np.array([one.n_rows for one in plan.split])
    assert np.abs(drawn - planned).max() <= 2


@pytest.mark.parametrize(
    ("noise", "options", "message"),
    [
        (NOISE, {"prior": 0.5}, "prior, share and sampled_by are not asked with scores"),
        (eo.ClassConditionalNoise(0.2, 0.19), {}, "more than 2,000 rows would have to be audited"),
    ],
)
def test_plans_along_a_score_that_cannot_be_are_refused(scores, noise, options, message):
    with pytest.raises(InputError, match=message):
        eo.audit_size(noise, scores=scores, **options)


@pytest.mark.parametrize(
    ("noise", "design"),
    [
        ((0.1, 0.0), {"sampled_by": "true", "share": 0.01}),  # .80 was said of a power of .14
        ((0.3, 0.0), {"sampled_by": "true", "share": 0.01}),
        ((0.1, 0.0), {"sampled_by": "true", "share": 0.02}),
        ((0.5, 0.0), {"prior": 0.01}),
        ((0.0, 0.3), {"prior": 0.98, "alternative": "greater"}),
    ],
)
def test_a_class_of_few_rows_is_found_as_often_as_said(noise, design):
    size = eo.audit_size(eo.ClassConditionalNoise(*noise), **design, runs=400, seed=5)
    assert 0.8 <= size.power < 0.88
    assert size.simulated_power >= 0.8 - norm.isf(1e-3) * (0.8 * 0.2 / 400) ** 0.5


@pytest.mark.parametrize(
    ("rows", "noise", "side"),
    [
        ((4, 30), (0.5, 0.02), "two-sided"),
        ((20, 7), (0.1, 0.6), "greater"),
        ((6, 6), (0.8, 0.1), "less"),
    ],
)
def test_with_few_rows_the_power_is_that_of_all_tables(rows, noise, side):
    noise = eo.ClassConditionalNoise(*noise)
    power = sum(
        binom.pmf(own, rows[0], noise.alpha) * binom.pmf(other, rows[1], noise.beta)
        for own, other in product(*(range(n + 1) for n in rows))
        if audit_pvalue(Flips(rows[0], own, rows[1], other), side) < 0.05
    )
    assert true_power(rows, (noise.alpha, noise.beta), 0.05, side) == pytest.approx(power, abs=2e-4)
