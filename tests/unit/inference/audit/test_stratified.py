"""z of an audit within strata, against enumeration, another optimiser and the plain audit."""

from dataclasses import replace
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from scipy.optimize import minimize

from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.result import inverted
from evenodds.inference.audit.score import AuditByGiven
from evenodds.inference.audit.stratified import Cells, StratifiedAudit, tails, with_added
from evenodds.inference.profile import Reference

CELLS = Cells(
    n_rows=np.array([500.0, 900.0, 100.0, 60.0, 300.0, 640.0]),
    audited=np.array([12.0, 20.0, 8.0, 8.0, 14.0, 18.0]),
    wrong=np.array([0.0, 3.0, 4.0, 5.0, 4.0, 1.0]),
    positive=np.array([False, False, False, True, True, True]),
)


def test_one_stratum_is_the_audit_by_given_label():
    flips = Flips(n_positive=420, flipped_positive=60, n_negative=380, flipped_negative=40)
    plain = AuditByGiven(flips, 6000, 4000)
    cells = Cells(
        n_rows=np.array([6000.0, 4000.0]),
        audited=np.array([flips.given_negative, flips.given_positive], dtype=float),
        wrong=np.array([60.0, 40.0]),
        positive=np.array([False, True]),
    )
    audit = StratifiedAudit(cells)
    assert audit.seen.alpha == pytest.approx(plain.seen.alpha)
    assert audit.seen.beta == pytest.approx(plain.seen.beta)
    for asymmetry in (-0.17, -0.15, -0.1, -0.08):
        assert audit.z(asymmetry) == pytest.approx(plain.at(asymmetry).z, rel=0.05)
    for rate, value in (("alpha", 0.17), ("alpha", 0.23), ("beta", 0.06), ("beta", 0.09)):
        assert audit.z(value, rate) == pytest.approx(plain.at(value, rate).z, rel=0.06)


@pytest.mark.parametrize("asymmetry", [-0.2, 0.0, 0.1])
def test_the_fit_is_the_likeliest_with_its_asymmetry(asymmetry):
    columns = [
        np.column_stack([part[~CELLS.positive], part[CELLS.positive]])
        for part in (CELLS.wrong, CELLS.audited, CELLS.n_rows)
    ]
    added = with_added(*columns)
    wrong, rows = (np.concatenate([part[:, 0], part[:, 1]]) for part in added)

    def minus_log_likelihood(shares):
        return -(wrong @ np.log(shares) + (rows - wrong) @ np.log1p(-shares))

    constraint = {"type": "eq", "fun": lambda e: 100 * (CELLS.sums(e).asymmetry - asymmetry)}
    fitted = StratifiedAudit(CELLS).fit(asymmetry)
    found = minimize(
        minus_log_likelihood,
        fitted * 0.9 + 0.03,
        bounds=[(1e-6, 1 - 1e-6)] * 6,
        constraints=constraint,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert CELLS.sums(fitted).asymmetry == pytest.approx(asymmetry, abs=1e-9)
    assert minus_log_likelihood(fitted) < found.fun + 0.002


def test_tails_are_those_of_all_tables():
    rows, chances = np.array([4.0, 3.0, 5.0]), np.array([0.1, 0.3, 0.02])
    steps = np.array([-0.05, 0.225, 1.5])
    mean = rows @ (chances * steps)
    sums, weights = [], []
    for table in product(range(5), range(4), range(6)):
        sums.append(np.array(table) @ steps - mean)
        weights.append(
            np.prod(
                [
                    comb(int(n), k) * p**k * (1 - p) ** (n - k)
                    for n, k, p in zip(rows, table, chances, strict=True)
                ]
            )
        )
    sums, weights = np.array(sums), np.array(weights)
    deviation = np.sqrt(weights @ sums**2)
    for table in ((0, 0, 0), (0, 1, 0), (2, 3, 0), (0, 2, 1)):
        score = float(np.array(table) @ steps - mean)
        high, low = tails(score, (rows, chances, steps), 0.0, deviation)
        assert high == pytest.approx(weights[sums >= score - 1e-9].sum(), abs=2e-3)
        assert low == pytest.approx(weights[sums <= score + 1e-9].sum(), abs=2e-3)


def test_swapped_classes_swap_the_sign():
    swapped = Cells(CELLS.n_rows, CELLS.audited, CELLS.wrong, ~CELLS.positive)
    audit, other = StratifiedAudit(CELLS), StratifiedAudit(swapped)
    for asymmetry in (-0.1, 0.0, 0.08):
        assert audit.z(asymmetry) == pytest.approx(-other.z(-asymmetry), abs=1e-6)


def _every_draw():
    """Yield the cells of every audit of a tiny population, and the population's own."""
    # Truths of the rows labelled negative, then positive, in two strata; two of each are drawn.
    truths = ([0, 0, 0, 1], [0, 1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1])
    positive = np.array([False, False, True, True])
    sizes = np.array([len(part) for part in truths], dtype=float)
    wrong = [
        [truth != label for truth in part] for part, label in zip(truths, positive, strict=True)
    ]
    whole = Cells(sizes, sizes, np.array([float(sum(part)) for part in wrong]), positive)
    draws = (
        Cells(sizes, np.full(4, 2.0), np.array([float(sum(pair)) for pair in pairs]), positive)
        for pairs in product(*(combinations(part, 2) for part in wrong))
    )
    return whole, list(draws)


def test_over_all_draws_of_a_population_the_flipped_rows_are_right():
    whole, draws = _every_draw()
    for name in ("flipped_positive", "flipped_negative"):
        estimates = [getattr(cells.seen, name) for cells in draws]
        assert np.mean(estimates) == pytest.approx(getattr(whole.seen, name))


def test_over_all_draws_the_variance_has_the_finite_population_factor():
    whole, draws = _every_draw()
    share = whole.wrong / whole.audited
    drawn = np.array([cells.weights @ (cells.wrong / cells.audited) for cells in draws])
    of_draw = share * (1 - share) * whole.n_rows / (whole.n_rows - 1) / 2 * (1 - 2 / whole.n_rows)
    assert drawn.var() == pytest.approx(float(whole.weights**2 @ of_draw))
    # Its estimate has the same factor, cell by cell, and none is left where all rows are audited.
    assert whole.variance() == 0.0


def test_over_all_draws_intervals_hold_the_truth_of_the_rows():
    whole, draws = _every_draw()
    tables, times = np.unique([cells.wrong for cells in draws], axis=0, return_counts=True)
    held = [
        abs(
            StratifiedAudit(Cells(whole.n_rows, np.full(4, 2.0), wrong, whole.positive)).z(
                whole.seen.asymmetry
            )
        )
        < 1.96
        for wrong in tables
    ]
    assert times @ held / times.sum() >= 0.95


def test_the_table_agrees_with_z():
    audit = StratifiedAudit(CELLS)
    profile = audit.profile()
    interval = profile.interval(0.95, "two-sided", Reference())
    assert profile.at_zero == audit.z(0.0)
    assert audit.z(interval.low) == pytest.approx(1.96, abs=0.01)
    assert audit.z(interval.high) == pytest.approx(-1.96, abs=0.01)
    assert profile(0.9) < -3  # more than the share of positive labels leaves possible


def _one_stratum(negative, positive, times=1.0):
    """Return an audit of (audited, wrong) rows of either label, each standing for some."""
    audited, wrong = np.array([negative, positive], dtype=float).T
    return StratifiedAudit(Cells(audited * times, audited, wrong, np.array([False, True])))


@pytest.mark.parametrize(
    ("negative", "positive"), [((4, 0), (26, 15)), ((5, 0), (25, 16)), ((2, 0), (28, 27))]
)
def test_where_a_label_is_rare_z_points_to_the_estimate(negative, positive):
    """Shares of positive labels far from the one counted are tried here."""
    audit = _one_stratum(negative, positive)
    other = _one_stratum(positive, negative)
    interval = audit.profile().interval(0.95, "two-sided", Reference())
    assert audit.seen.asymmetry > 0.7
    assert audit.z(0.0) > 3
    assert other.z(0.0) == pytest.approx(-audit.z(0.0), abs=1e-3)
    assert 0 < interval.low < audit.seen.asymmetry < interval.high


@pytest.mark.parametrize(("n_rows", "step"), [(9, 1), (30, 6)])
def test_z_never_contradicts_the_estimate(n_rows, step):
    for n in range(1, n_rows, step):
        for wrong in product(range(0, n + 1, step), range(0, n_rows - n + 1, step)):
            truly_positive = wrong[0] + n_rows - n - wrong[1]
            if 0 < truly_positive < n_rows:
                audit = _one_stratum((n, wrong[0]), (n_rows - n, wrong[1]))
                assert audit.z(0.0) * np.sign(audit.seen.asymmetry) > -0.1


def test_with_another_share_of_labels_a_share_wrong_of_all_is_all_of_them():
    cells = CELLS.at_share(0.7)
    assert cells.positive_share == pytest.approx(0.7)
    assert cells.weights.sum() == pytest.approx(1.0)
    all_wrong = cells.sums(np.ones(6))
    assert all_wrong.flipped_negative == pytest.approx(cells.positive_share)
    assert all_wrong.prior == pytest.approx(1 - cells.positive_share)


@pytest.mark.parametrize("level", [0.05, 0.5, 0.6, 0.7, 0.8, 0.95])
def test_rates_of_labels_no_better_than_a_coin_have_intervals(level):
    audit = _one_stratum((10, 5), (30, 17))
    audit = StratifiedAudit(replace(audit.cells, n_rows=np.array([100.0, 1000.0])))
    assert audit.seen.alpha + audit.seen.beta > 1
    for rate in ("alpha", "beta"):
        estimate = getattr(audit.seen, rate)
        low, high = inverted(lambda value, of=rate: audit.z(value, of), estimate, level)
        assert 0 < low < estimate < high < 1


def test_an_interval_holds_an_estimate_that_is_no_root():
    assert inverted(lambda rate: 3 - rate, 0.4, 0.95) == (0.4, 1.0)
    assert inverted(lambda rate: -3 - rate, 0.4, 0.95) == (0.0, 0.4)
