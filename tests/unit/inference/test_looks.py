"""Critical values and p-values of a test that is looked at several times."""

import json

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from evenodds.inference.looks import (
    AfterLooks,
    critical_value,
    look_line,
    look_reached,
    looked_at_pvalue,
    planned_looks,
)

FIFTHS = (0.2, 0.4, 0.6, 0.8, 1.0)


def audit(*counts, **settings):
    true = np.repeat([1, 1, 0, 0], counts)
    given = np.repeat([1, 0, 1, 0], counts)
    return eo.audit_test(true, given, **settings)


@pytest.mark.parametrize(
    ("shares", "published"),
    [
        (FIFTHS, (4.8769, 3.3569, 2.6803, 2.2898, 2.0310)),
        ((1 / 3, 2 / 3, 1.0), (3.7103, 2.5114, 1.9930)),
        ((0.5, 1.0), (2.9626, 1.9686)),
    ],
)
def test_critical_values_are_those_of_the_tables(shares, published):
    """Lan and DeMets with the spending of O'Brien and Fleming, two-sided 0.05."""
    found = [critical_value(shares[: k + 1], 0.05, 2) for k in range(len(shares))]
    assert found == pytest.approx(published, abs=2e-4)


@pytest.mark.parametrize("sides", [1, 2])
def test_all_looks_together_have_the_level(sides):
    rng = np.random.default_rng(3)
    shares = np.array([0.3, 0.45, 0.8, 1.0])
    steps = rng.normal(size=(100_000, 4)) * np.sqrt(np.diff(shares, prepend=0))
    z = np.cumsum(steps, axis=1) / np.sqrt(shares)
    edges = [critical_value(tuple(shares[: k + 1].tolist()), 0.1, sides) for k in range(4)]
    rejected = ((np.abs(z) if sides == 2 else z) > edges).any(axis=1).sum()
    low, high = stats.binom.ppf([1e-4, 1 - 1e-4], 100_000, 0.1)
    assert low <= rejected <= high


@pytest.mark.parametrize(("alternative", "sign"), [("two-sided", -1), ("greater", 1), ("less", -1)])
def test_pvalues_reject_where_critical_values_do(alternative, sign):
    for look in (1, 3, 5):
        reference = AfterLooks(shares=FIFTHS[:look])
        edge = reference.critical(0.03, alternative)[0]
        assert reference.pvalue(sign * edge, alternative) == pytest.approx(0.03, rel=1e-6)


def test_a_large_z_has_a_small_pvalue_and_a_small_one_none():
    assert looked_at_pvalue(FIFTHS, 30.0, 2) == 1e-12
    assert looked_at_pvalue(FIFTHS, 0.0, 2) == pytest.approx(1, abs=1e-6)
    assert looked_at_pvalue(FIFTHS[:1], 1.0, 2) == 1
    assert np.isnan(AfterLooks(shares=FIFTHS).pvalue(np.nan, "less"))


def test_the_verdict_stands_at_a_look_that_rejects():
    found = audit(30, 20, 5, 45, looks=(50, 100, 150, 200))
    assert found.look == 2
    assert found.pvalue == pytest.approx(looked_at_pvalue((0.25, 0.5), found.statistic, 2))
    assert found.pvalue > audit(30, 20, 5, 45).pvalue
    assert "The verdict stands at look 2 of 4: the audit may stop here." in " ".join(
        str(found).split()
    )


def test_a_look_that_does_not_reject_says_when_to_look_again():
    found = audit(36, 14, 9, 41, looks=(50, 100, 150, 200))
    ahead = found.next_look()
    assert ahead.n_rows == 150
    assert ahead.critical == pytest.approx(critical_value((0.25, 0.5, 0.75), 0.05, 2))
    assert "the next is at 150 rows, where z must be beyond 2.36" in " ".join(str(found).split())


def test_after_the_last_look_there_is_none():
    found = audit(36, 14, 9, 41, looks=(50, 100))
    assert found.next_look() is None
    assert "the last one planned" in str(found)


def test_intervals_are_wider_and_agree_with_the_test():
    once, looked = audit(30, 20, 5, 45), audit(30, 20, 5, 45, looks=(50, 100, 150, 200))
    for name in ("confidence_interval", "alpha_interval", "beta_interval"):
        narrow, wide = getattr(once, name)(), getattr(looked, name)()
        assert wide.low < narrow.low < narrow.high < wide.high
        assert wide.level == 0.95
    at_pvalue = looked.confidence_interval(1 - looked.pvalue)
    assert at_pvalue.high == pytest.approx(0, abs=1e-3)


def test_looks_are_stored():
    found = audit(30, 20, 5, 45, looks=[50, 100, 200])
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["reference"]["shares"] == [0.25, 0.5]
    assert eo.AuditTestResult.from_dict(stored) == found


def test_the_first_cases_are_a_look():
    rng = np.random.default_rng(1)
    scores = rng.random(2000)
    true = rng.random(2000) < scores
    given = true ^ (rng.random(2000) < np.where(true, 0.4, 0.05))
    cases = eo.choose_cases(scores, n_cases=120, given=given)
    found = eo.audit_test(
        true[cases.rows[:60]], given, strata=cases, scores=scores, looks=(60, 120)
    )
    assert found.look == 1
    assert found.pvalue > 2 * stats.norm.sf(abs(found.statistic))


@pytest.mark.parametrize(
    ("looks", "message"),
    [
        ((50, 150), "there are 100 audited rows, and no look was planned then: the next is at 150"),
        ((25, 50), "no look was planned then: the last was at 50"),
        ((100,), "looks holds 100 but needs 2 to 5 rising numbers"),
        ((100, 50), "rising numbers"),
        ((10, 20, 30, 40, 50, 100), "needs 2 to 5"),
        ((), "looks holds nothing"),
        ("50,100", "looks must be the planned numbers"),
        (4, "looks must be the planned numbers"),
        ((0, 100), "looks"),
    ],
)
def test_looks_that_were_not_planned_are_refused(looks, message):
    with pytest.raises(eo.InputError, match=message):
        audit(30, 20, 5, 45, looks=looks)


def test_looks_go_without_groups_and_chances():
    with pytest.raises(eo.InputError, match="looks goes without inclusion and groups"):
        audit(30, 20, 5, 45, looks=(50, 100), groups=np.repeat(range(50), 2))


@pytest.mark.parametrize("sides", [1, 2])
def test_planned_looks_have_the_power_of_one(sides):
    looks = planned_looks(10_000, 4, 0.05, sides, 0.8)
    drift = (stats.norm.ppf(0.8) - stats.norm.ppf(0.05 / sides)) * np.sqrt(looks[-1] / 10_000)
    shares = np.arange(1, 5) / 4
    rng = np.random.default_rng(5)
    steps = rng.normal(drift / 4, 0.5, size=(100_000, 4))
    z = np.cumsum(steps, axis=1) / np.sqrt(shares)
    edges = [critical_value(tuple(shares[: k + 1].tolist()), 0.05, sides) for k in range(4)]
    found = ((np.abs(z) if sides == 2 else z) > edges).any(axis=1).sum()
    low, high = stats.binom.ppf([1e-4, 1 - 1e-4], 100_000, 0.8)
    assert low <= found <= high
    assert 10_000 < looks[-1] < 10_400


def test_plans_name_their_looks():
    plan = eo.audit_size(eo.ClassConditionalNoise(alpha=0.3, beta=0.1), prior=0.4)
    assert plan.looks(4)[-1] >= plan.n_rows
    with pytest.raises(eo.InputError, match="n_looks"):
        plan.looks(6)


@pytest.mark.parametrize(("n_rows", "size"), [(60, 60), (75, 60), (119, 60), (120, 120)])
def test_rows_after_a_look_wait_for_the_next(n_rows, size):
    assert look_reached((60, 120), n_rows) == size


def test_no_look_is_due_before_the_first():
    with pytest.raises(eo.InputError, match="no look is due until case 60, and 48 are answered"):
        look_reached((60, 120), 48)


@pytest.mark.parametrize(
    ("n_rows", "said"),
    [
        (48, "48 of 180 cases; the first look is at 60."),
        (60, "60 of 180 cases: the first look is due."),
        (61, "61 of 180 cases; the second look is at 120."),
        (121, "121 of 180 cases; the last look is at 180."),
        (180, "180 of 180 cases: the last look is due."),
    ],
)
def test_the_way_to_the_next_look_is_said(n_rows, said):
    assert look_line((60, 120, 180), n_rows) == said
