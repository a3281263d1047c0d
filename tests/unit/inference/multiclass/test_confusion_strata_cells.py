"""Flip rates looked up within cells, against enumeration, another optimiser and two classes."""

from itertools import product
from math import factorial

import numpy as np
import pytest
from scipy.optimize import minimize

from evenodds.inference.audit.stratified import Cells, StratifiedAudit, tails
from evenodds.inference.multiclass.confusion_strata import ClassCells
from evenodds.inference.multiplicity import holm

THREE = ClassCells(
    n_rows=np.array([800.0, 150.0, 60.0, 40.0, 900.0, 90.0, 120.0, 50.0, 700.0]),
    given=np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]),
    found=np.array(
        [
            [19.0, 1, 0], [8, 4, 1], [3, 0, 3], [4, 2, 0], [2, 20, 0], [0, 5, 3],
            [1, 0, 9], [0, 3, 4], [0, 0, 20],
        ]
    ),
)  # fmt: skip


def two_classes():
    """Return one audit of two classes, as cells of either kind."""
    two = Cells(
        n_rows=np.array([500.0, 900.0, 100.0, 60.0, 300.0, 640.0]),
        audited=np.array([12.0, 20.0, 8.0, 8.0, 14.0, 18.0]),
        wrong=np.array([0.0, 3.0, 4.0, 5.0, 4.0, 1.0]),
        positive=np.array([False, False, False, True, True, True]),
    )
    right = two.audited - two.wrong
    found = np.where(two.positive, [two.wrong, right], [right, two.wrong]).T
    return StratifiedAudit(two), ClassCells(two.n_rows, two.positive.astype(int), found)


def test_of_two_classes_rates_and_difference_are_those_of_the_stratified_audit():
    """That one searches flip rates on a grid, hence the last digits."""
    audit, cells = two_classes()
    assert cells.flip_rates[1, 0] == pytest.approx(audit.seen.alpha)
    assert cells.flip_rates[0, 1] == pytest.approx(audit.seen.beta)
    for rate in (0.05, 0.1, 0.2, 0.3):
        assert cells.rate_z(rate, 1, 0) == pytest.approx(audit.z(rate, "alpha"), abs=1e-3)
        assert cells.rate_z(rate, 0, 1) == pytest.approx(audit.z(rate, "beta"), abs=1e-3)
    for asymmetry in (-0.2, -0.1, 0.0, 0.05):
        assert cells.pair_z(asymmetry, 1, 0) == pytest.approx(audit.z(asymmetry), abs=5e-3)


@pytest.mark.parametrize("difference", [-0.15, 0.0, 0.2])
def test_the_fit_is_the_likeliest_with_its_difference(difference):
    fit = THREE.pair_fit(0, 1)
    shares, rates = fit.under(difference)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert fit.rates_of(shares) == pytest.approx(rates, abs=1e-7)
    assert rates[1] - rates[0] == pytest.approx(difference)

    def chances(logits):
        odds = np.exp(logits.reshape(-1, 2))
        return np.column_stack([odds, np.ones(len(odds))]) / (1 + odds.sum(axis=1))[:, None]

    def loss(logits):
        return -float((fit.counts * np.log(chances(logits))).sum())

    def gap(logits):
        first, second = fit.rates_of(chances(logits))
        return 100 * (second - first - difference)

    start = np.log(fit.counts[:, :2] / fit.counts[:, 2:]).ravel()
    found = minimize(
        loss,
        start,
        constraints={"type": "eq", "fun": gap},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-11},
    )
    assert found.success
    assert -float((fit.counts * np.log(shares)).sum()) == pytest.approx(found.fun, abs=1e-4)


def test_tails_of_multinomial_counts_are_those_of_all_tables():
    rows = np.array([3.0, 4.0])
    chances = np.array([[0.2, 0.1], [0.05, 0.3]])
    steps = np.array([[0.3, -0.2], [0.9, -0.4]])
    mean = float(rows @ (chances * steps).sum(axis=1))
    tables = [
        [(a, b) for a in range(int(n) + 1) for b in range(int(n) + 1 - a)] for n in rows
    ]  # fmt: skip
    sums, weights = [], []
    for table in product(*tables):
        chance = 1.0
        for (a, b), n, (p, q) in zip(table, rows.astype(int), chances, strict=True):
            ways = factorial(n) // (factorial(a) * factorial(b) * factorial(n - a - b))
            chance *= ways * p**a * q**b * (1 - p - q) ** (n - a - b)
        sums.append(float((np.array(table) * steps).sum()) - mean)
        weights.append(chance)
    sums, weights = np.array(sums), np.array(weights)
    assert weights.sum() == pytest.approx(1)
    deviation = float(np.sqrt(weights @ sums**2))
    for score in sums[[0, 7, 40, 90]]:
        high, low = tails(score, (rows, chances, steps), 0.0, deviation)
        assert high == pytest.approx(weights[sums >= score - 1e-9].sum(), abs=2e-3)
        assert low == pytest.approx(weights[sums <= score + 1e-9].sum(), abs=2e-3)


def test_z_falls_and_swaps_its_sign_with_the_classes():
    values = [THREE.pair_z(value, 0, 1) for value in (-0.2, -0.05, 0.0, 0.1, 0.3)]
    assert (np.diff(values) < 0).all()
    for value in (-0.1, 0.0, 0.2):
        assert THREE.pair_z(value, 1, 0) == pytest.approx(-THREE.pair_z(-value, 0, 1), abs=1e-6)


def test_z_is_nought_at_the_estimate_but_for_the_added_rows():
    rates = THREE.flip_rates
    many = ClassCells(THREE.n_rows * 1e4, THREE.given, THREE.found * 1e3)
    assert many.pair_z(rates[1, 0] - rates[0, 1], 0, 1) == pytest.approx(0, abs=0.05)
    assert many.rate_z(rates[2, 0], 2, 0) == pytest.approx(0, abs=0.05)


def test_many_rows_have_the_variance_of_the_delta_method():
    """Half a standard error from the estimate, z is a half."""
    many = ClassCells(THREE.n_rows * 1e7, THREE.given, THREE.found * 1e4)
    shares, weights = many.found / many.audited[:, None], many.weights
    rates, sizes = many.flip_rates, many.matrix.sum(axis=1)
    parts = np.zeros_like(shares)
    parts[:, 0] = -weights * (many.carries(1) - rates[0, 1]) / sizes[0]
    parts[:, 1] = weights * (many.carries(0) - rates[1, 0]) / sizes[1]
    within = (parts**2 * shares).sum(axis=1) - (parts * shares).sum(axis=1) ** 2
    error = np.sqrt((within / many.audited).sum())
    estimate = rates[1, 0] - rates[0, 1]
    for away in (-2.0, -0.5, 1.0):
        assert many.pair_z(estimate + away * error, 0, 1) == pytest.approx(-away, abs=0.05)


def test_none_found_wrong_is_no_certainty():
    """Ten right rows of a cell with a third of the data may hide one wrong in five."""
    clean = ClassCells(np.full(3, 1000.0), np.arange(3), 10.0 * np.eye(3))
    assert clean.rate_z(0.02, 0, 1) > -1.0
    assert clean.rate_z(0.5, 0, 1) < -1.96
    assert abs(clean.pair_z(0.1, 0, 1)) < 1.96
    assert clean.pair_z(0.0, 0, 1) == pytest.approx(0.0, abs=0.7)


def test_a_difference_beyond_all_rates_is_excluded():
    assert THREE.pair_z(1.0, 0, 1) < -5 < 5 < THREE.pair_z(-1.0, 0, 1)


def test_the_smallest_pvalue_of_a_pair_is_that_of_all_exchanged_rows_one_way():
    """One stratum, two classes of equal size: each exchanged row is a toss of a coin."""
    found = np.array([[36.0, 4.0, 0.0], [4.0, 36.0, 0.0], [0.0, 0.0, 40.0]])
    cells = ClassCells(np.array([1000.0, 1000.0, 1000.0]), np.arange(3), found)
    assert cells.least_pvalue(0, 1) == pytest.approx(2 * 0.5**8, rel=1e-6)
    assert cells.least_pvalue(1, 0) == pytest.approx(cells.least_pvalue(0, 1), rel=1e-6)
    assert cells.least_pvalue(0, 2) == 1.0  # nothing was exchanged


def test_pairs_that_cannot_reject_are_not_counted():
    few = [0.004, 0.5, 0.5, 0.5]
    assert holm(few)[0] == pytest.approx(0.016)
    assert holm(few, least=[0.001, 0.25, 0.5, 1.0])[0] == pytest.approx(0.004)
    assert holm(few, least=[0.001, 0.003, 0.5, 1.0])[0] == pytest.approx(0.008)
