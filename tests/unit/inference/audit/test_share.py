"""The share truly positive, from noisy labels and an audit."""

import json

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from tests.snapshots.results import MAKERS

import evenodds as eo
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.share import (
    shared_rates,
    shared_rates_by_given,
    z_by_labels,
    z_by_rates,
)
from evenodds.inference.audit.stratified import Cells, LikeliestShares


def audit(*counts, **settings):
    true = np.repeat([1, 1, 0, 0], counts)
    given = np.repeat([1, 0, 1, 0], counts)
    return eo.audit_test(true, given, **settings)


def test_labels_are_corrected_by_how_often_they_are_wrong():
    found = eo.corrected_share({0: 600, 1: 400}, audit(30, 5, 10, 55))
    assert found.by == "labels"
    assert found.share == pytest.approx(0.4 * 30 / 40 + 0.6 * 5 / 60)


def test_by_true_class_it_is_that_of_rogan_and_gladen():
    found = eo.corrected_share({0: 600, 1: 400}, audit(80, 20, 10, 90, sampled_by="true"))
    assert found.by == "rates"
    assert found.share == pytest.approx((0.4 - 0.1) / (1 - 0.2 - 0.1))


def test_rows_audited_elsewhere_tell_rates_alone():
    here = eo.corrected_share([1] * 400 + [0] * 600, audit(80, 20, 10, 90), elsewhere=True)
    assert here.by == "rates"
    assert here.share == pytest.approx((0.4 - 0.1) / (1 - 0.2 - 0.1))


def test_audits_within_strata_are_summed_over_strata():
    strata = np.repeat(["low", "high"], 40)
    given = np.tile(np.repeat([0, 1], 20), 2)
    true = given.copy()
    true[:4], true[75:] = 1, 0  # 4 of 20 low negatives, 5 of 20 high positives are wrong
    counts = {"low": {0: 700, 1: 100}, "high": {0: 50, 1: 150}}
    found = eo.corrected_share(
        {0: 750, 1: 250}, eo.audit_test(true, given, strata=strata, given_counts=counts)
    )
    assert found.share == pytest.approx(0.25 + 0.7 * 4 / 20 - 0.15 * 5 / 20)


def test_large_audits_have_the_interval_of_the_delta_method():
    found = eo.corrected_share({0: 60_000, 1: 40_000}, audit(3000, 500, 1000, 5500))
    wrong, n, weight = np.array([0.25, 500 / 6000]), np.array([4000, 6000]), np.array([0.4, 0.6])
    drawn = (weight**2 * wrong * (1 - wrong) * (1 / n - 1 / np.array([4e4, 6e4]))).sum()
    spread = np.sqrt(drawn + found.share * (1 - found.share) / 1e5)
    interval = found.confidence_interval()
    assert interval.low == pytest.approx(found.share - 1.96 * spread, abs=2e-4)
    assert interval.high == pytest.approx(found.share + 1.96 * spread, abs=2e-4)


def test_by_rates_large_audits_have_it_too():
    found = eo.corrected_share({0: 6000, 1: 4000}, audit(3200, 800, 400, 3600, sampled_by="true"))
    pi, slope = found.share, 0.7
    variance = 0.24 / 1e4 + pi**2 * 0.16 / 4000 + (1 - pi) ** 2 * 0.09 / 4000
    half = 1.96 * np.sqrt(variance) / slope
    interval = found.confidence_interval()
    assert (interval.low, interval.high) == pytest.approx((pi - half, pi + half), abs=1e-3)


def test_no_wrong_row_is_no_certainty():
    """Of 40 negatives none is wrong: up to 1 - 0.025 ** (1 / 40) of them may be."""
    found = eo.corrected_share({0: 99_999, 1: 1}, audit(1, 0, 0, 40))
    assert found.share == pytest.approx(1e-5)
    interval = found.confidence_interval()
    assert 0 <= interval.low <= 1e-5
    assert interval.high == pytest.approx(1 - 0.025 ** (1 / 40), abs=0.01)


def test_shares_that_rates_do_not_allow_are_cut_off_and_doubted():
    found = eo.corrected_share({0: 9900, 1: 100}, audit(80, 20, 10, 90, sampled_by="true"))
    assert found.share == 0
    assert found.diagnostics[0].concern
    assert "fewer than the 10.0%" in found.diagnostics[0].message
    interval = found.confidence_interval()
    assert interval.low == interval.high == 0


def test_fits_are_the_likeliest_under_their_constraint():
    hits, rows = np.array([3.0, 8.0, 40.0]), np.array([30.0, 50.0, 90.0])
    parts, total = np.array([0.3, -0.7, 1.0]), 0.25
    fit = LikeliestShares.of(hits, rows, parts)
    shares = fit.shares(fit.pull_for(np.array([total]), 60))[0]
    assert parts @ shares == pytest.approx(total)
    best = minimize(
        lambda p: -(hits * np.log(p) + (rows - hits) * np.log(1 - p)).sum(),
        [0.1, 0.2, 0.36], bounds=[(1e-6, 1 - 1e-6)] * 3, method="SLSQP", options={"ftol": 1e-13},
        constraints={"type": "eq", "fun": lambda p: parts @ p - total},
    )  # fmt: skip
    assert shares == pytest.approx(best.x, abs=1e-4)


def test_z_falls_with_the_share_and_vanishes_at_the_estimate():
    cells = Cells(*np.array([[600.0, 400], [60, 40], [5, 10]]), np.array([False, True]))
    places = np.linspace(0.05, 0.95, 19)
    assert (np.diff([z_by_labels(one, cells) for one in places]) <= 1e-9).all()
    flips = Flips(100, 20, 100, 10)
    assert (np.diff([z_by_rates(one, flips, (600, 400)) for one in places]) <= 1e-9).all()
    assert z_by_rates(0.3 / 0.7, flips, (600, 400)) == pytest.approx(0, abs=0.02)


def test_groups_that_share_rates_have_pearsons_chi_squared():
    flips = [Flips(100, 20, 200, 10), Flips(80, 30, 100, 9)]
    _, statistic, pvalue = shared_rates(flips)
    expected = sum(
        stats.chi2_contingency(table, correction=False).statistic
        for table in ([[20, 80], [30, 50]], [[10, 190], [9, 91]])
    )
    assert statistic == pytest.approx(expected)
    assert pvalue == pytest.approx(stats.chi2.sf(expected, 2), abs=0.01)


def test_by_given_label_equal_rates_fit_and_unequal_ones_do_not():
    def group(alpha, prior):
        cells = 20_000 * np.array(
            [prior * (1 - alpha), prior * alpha, (1 - prior) * 0.1, (1 - prior) * 0.9]
        )
        drawn = np.r_[cells[[0, 2]] / cells[[0, 2]].sum(), cells[[1, 3]] / cells[[1, 3]].sum()]
        counts = (200 * drawn).round().astype(int)[[0, 2, 1, 3]]
        labels = {0: round(cells[[1, 3]].sum()), 1: round(cells[[0, 2]].sum())}
        return audit(*counts, sampled_by="given", given_counts=labels), labels

    def pvalue(*groups):
        audits = {name: one[0] for name, one in enumerate(groups)}
        return eo.corrected_share({name: one[1] for name, one in enumerate(groups)}, audits)

    same = pvalue(group(0.2, 0.3), group(0.2, 0.5))
    assert same.pvalue > 0.9
    assert same.alpha == pytest.approx(0.2, abs=0.01)
    assert pvalue(group(0.2, 0.3), group(0.5, 0.5)).pvalue < 0.01


def test_by_given_label_all_rows_audited_are_contingency_tables():
    flips = [Flips(300, 60, 700, 70), Flips(500, 130, 500, 60), Flips(400, 90, 600, 80)]
    labels = [(one.given_negative, one.given_positive) for one in flips]
    (alpha, beta), statistic, pvalue = shared_rates_by_given(flips, labels)
    rates, expected, expected_pvalue = shared_rates(flips)
    assert (alpha, beta) == pytest.approx(rates)
    assert statistic == pytest.approx(expected, rel=0.03)
    assert pvalue == pytest.approx(expected_pvalue, abs=0.02)


def test_by_given_label_equal_rates_fit_whatever_they_are():
    """Where most labels are wrong, too: 90 and 95 of 100."""
    flips = [Flips(46, 40, 54, 50), Flips(45, 40, 55, 50)]
    assert shared_rates_by_given(flips, [(5000, 5000), (5050, 4950)])[2] > 0.5


def _minus_log_likelihood(fitted, flips, labels):
    """Return it for alpha, beta and the logits of priors, written out label by label."""
    (alpha, beta), priors = fitted[:2], 1 / (1 + np.exp(-fitted[2:]))
    total = 0.0
    for one, (negative, positive), prior in zip(flips, labels, priors, strict=True):
        labelled = prior * (1 - alpha) + (1 - prior) * beta
        wrong = (1 - prior) * beta / labelled, prior * alpha / (1 - labelled)
        total += stats.binom.logpmf(one.flipped_negative, one.given_positive, wrong[0])
        total += stats.binom.logpmf(one.flipped_positive, one.given_negative, wrong[1])
        total += positive * np.log(labelled) + negative * np.log1p(-labelled)
    return -total


@pytest.mark.parametrize("rows", [10_000, 1_000_000, 100_000_000])
def test_by_given_label_rates_are_the_likeliest_in_data_of_any_size(rows):
    """Groups of very different size, 150 rows of either label audited."""
    flips = [Flips(139, 21, 161, 32), Flips(152, 7, 148, 5)]
    labels = [(rows * 7 // 10, rows * 3 // 10), (1200, 800)]
    rates, _, _ = shared_rates_by_given(flips, labels)

    def beside(alpha, beta):
        """Return the likelihood at some rates, with the best priors."""
        best = minimize(
            lambda logits: _minus_log_likelihood(np.r_[alpha, beta, logits], flips, labels),
            (-1.0, -0.5),
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-10, "maxiter": 4000},
        )
        return best.fun

    here = beside(*rates)
    for step in (0.997, 1.003):
        assert beside(rates[0] * step, rates[1]) > here
        assert beside(rates[0], rates[1] * step) > here


def test_groups_come_from_labels_or_counts_alike():
    given, who = np.array([1, 0] * 200), np.repeat(["a", "b"], 200)
    audits = {"a": audit(20, 5, 4, 21), "b": audit(18, 6, 6, 20)}
    by_rows = eo.corrected_share(given, audits, groups=who)
    by_counts = eo.corrected_share({"a": {0: 100, 1: 100}, "b": {0: 100, 1: 100}}, audits)
    assert by_rows == by_counts
    assert by_rows.to_frame()["group"].tolist() == ["a", "b"]


def test_groups_within_strata_have_shares_and_no_test(tmp_path):
    within = MAKERS["audit_strata"]()
    counts = dict(zip((within.negative, within.positive), within.given_counts, strict=True))
    found = eo.corrected_share({"a": counts, "b": counts}, {"a": within, "b": within})
    assert found.pvalue is None
    assert "within strata" in str(found)
    assert "No test of equal flip rates" in found.report(tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["share_by_labels", "share_by_rates", "shares_by_group"])
def test_results_survive_a_trip_through_json(name):
    found = MAKERS[name]()
    assert type(found).from_dict(json.loads(json.dumps(found.to_dict()))) == found


@pytest.mark.parametrize(
    ("given", "made", "settings", "message"),
    [
        ({0: 10, 2: 5}, (9, 1, 1, 9), {}, "given has '0' and '2' but the audit's labels are"),
        ({0: 5, 1: 5}, (9, 1, 1, 9), {}, "given has 5 rows labelled 0, but 10 such rows"),
        ({0: 50, 1: 50}, (0, 5, 0, 5), {}, "given has 50 rows labelled 1, and none was audited"),
        ({}, (9, 1, 1, 9), {}, "given has no label"),
        ({0: 0, 1: 0}, (9, 1, 1, 9), {"elsewhere": True}, "given counts no row"),
        ({0: 50, 1: 50}, (1, 9, 9, 1), {"elsewhere": True}, "no better than a coin"),
        ({0: 50, 1: 50}, (9, 1, 1, 9), {"groups": [1]}, "groups goes with an audit for each"),
    ],
)
def test_labels_that_do_not_fit_the_audit_are_refused(given, made, settings, message):
    with pytest.raises(eo.InputError, match=message):
        eo.corrected_share(given, audit(*made), **settings)


@pytest.mark.parametrize("kind", [float, bool, object, str])
def test_labels_may_be_of_another_kind_than_the_audits(kind):
    given = np.array([1, 0, 0] * 100)
    found = eo.corrected_share(given.astype(kind), audit(30, 5, 10, 55))
    assert found == eo.corrected_share(given, audit(30, 5, 10, 55))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones((100, 2), dtype=int), r"given has shape \(100, 2\) but must be one column"),
        ([0.0, 1.0, np.nan] * 100, "given has 100 missing values, the first in row 2"),
        (np.array([0, 1, "1"] * 100, dtype=object), "hold both 1 and '1'"),
        ({0: 100, 1: 100, "1": 50}, "labels of given hold both 1 and '1'"),
    ],
)
def test_labels_that_could_be_counted_wrongly_are_refused(given, message):
    with pytest.raises(eo.InputError, match=message):
        eo.corrected_share(given, audit(30, 5, 10, 55))


def test_groups_without_an_audit_are_named():
    audits = {"a": audit(20, 5, 4, 21), "b": audit(18, 6, 6, 20)}
    who = np.repeat(["a", "b", "c"], [200, 200, 50])
    by_rows = eo.corrected_share(np.array([1, 0] * 225), audits, groups=who)
    by_counts = eo.corrected_share({"a": {0: 100, 1: 100}, "b": {0: 100, 1: 100},
                                    "c": {0: 25, 1: 25}}, audits)  # fmt: skip
    assert by_rows == by_counts
    assert [one.message for one in by_rows.diagnostics] == [
        "'c' is left out: none of its rows were audited"
    ]


def test_groups_that_print_alike_are_refused():
    audits = {1: audit(20, 5, 4, 21), "1": audit(18, 6, 6, 20)}
    with pytest.raises(eo.InputError, match="groups of audit hold both 1 and '1'"):
        eo.corrected_share({1: {0: 100, 1: 100}, "1": {0: 90, 1: 90}}, audits)


def test_groups_may_be_of_another_kind_than_the_audits():
    audits = {1: audit(20, 5, 4, 21), 2: audit(18, 6, 6, 20)}
    given, who = np.array([1, 0] * 200), np.repeat([1.0, 2.0], 200)
    assert [one.group for one in eo.corrected_share(given, audits, groups=who).shares] == [1, 2]


def test_other_audits_are_refused():
    by_given = audit(9, 1, 1, 9, sampled_by="given", given_counts={0: 50, 1: 50})
    with pytest.raises(eo.InputError, match="but the audit was drawn from 50 and 50"):
        eo.corrected_share({0: 60, 1: 50}, by_given)
    with pytest.raises(eo.InputError, match="elsewhere goes with rows audited at random"):
        eo.corrected_share({0: 50, 1: 50}, by_given, elsewhere=True)
    with pytest.raises(eo.InputError, match="the audit has groups"):
        eo.corrected_share({0: 50, 1: 50}, audit(9, 1, 1, 9, groups=np.repeat(range(10), 2)))
    with pytest.raises(eo.InputError, match="audit is a list but must be"):
        eo.corrected_share({0: 50, 1: 50}, [1, 0])
    with pytest.raises(eo.InputError, match="at least two groups"):
        eo.corrected_share({"a": {0: 50, 1: 50}}, {"a": by_given})


def test_groups_that_were_not_told_are_refused():
    audits = {"a": audit(9, 1, 1, 9), "b": audit(8, 2, 2, 8)}
    with pytest.raises(eo.InputError, match="groups is missing"):
        eo.corrected_share([0, 1] * 50, audits)
    with pytest.raises(eo.InputError, match="groups has shape"):
        eo.corrected_share([0, 1] * 50, audits, groups=["a"] * 9)
    with pytest.raises(eo.InputError, match="groups has no row of 'b'"):
        eo.corrected_share([0, 1] * 50, audits, groups=["a"] * 100)
    with pytest.raises(eo.InputError, match="given needs counts for each group"):
        eo.corrected_share({"a": {0: 50, 1: 50}}, audits)
    with pytest.raises(eo.InputError, match="of group 'b': given has 5 rows"):
        eo.corrected_share({"a": {0: 50, 1: 50}, "b": {0: 5, 1: 50}}, audits)


def test_groups_that_could_not_be_audited_are_named():
    true, given = np.tile([1, 1, 0, 0], 10), np.tile([1, 0, 0, 1], 10)
    true[28:], who = 0, np.repeat(["a", "b", "c"], [16, 12, 12])
    found = eo.corrected_share(np.tile(given, 2), eo.annotator_audit(true, given, who),
                               groups=np.tile(who, 2))  # fmt: skip
    assert [one.group for one in found.shares] == ["a", "b"]
    assert "'c' is left out" in found.diagnostics[0].message


def test_an_audit_read_as_it_grew_is_doubted():
    true = [1] * 60 + [0] * 60
    given = [1] * 50 + [0] * 10 + [1] * 20 + [0] * 40
    counts = {1: 700, 0: 500}
    once = eo.corrected_share(counts, eo.audit_test(true, given))
    later = eo.corrected_share(counts, eo.audit_test(true, given, looks=(60, 120, 180)))
    assert [check.name for check in once.diagnostics if check.concern] == []
    assert [check.name for check in later.diagnostics if check.concern] == ["looks"]
    assert "read 2 times as it grew" in str(later)
