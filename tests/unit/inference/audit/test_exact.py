import numpy as np
import pytest
from scipy.stats import binom, boschloo_exact, hypergeom

from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.exact import clopper_pearson, exact_pvalues, exact_z, fisher_tail
from evenodds.inference.audit.score import score_z

TABLES = [
    Flips(51, 26, 39, 10),
    Flips(12, 8, 49, 45),
    Flips(31, 31, 37, 27),
    Flips(8, 0, 52, 28),
    Flips(7, 3, 20, 8),
    Flips(25, 0, 4, 0),
    Flips(60, 4, 9, 3),
]


@pytest.mark.parametrize("flips", TABLES, ids=str)
def test_without_asymmetry_it_is_boschloo_as_in_scipy(flips):
    table = [
        [flips.flipped_negative, flips.flipped_positive],
        [flips.n_negative - flips.flipped_negative, flips.n_positive - flips.flipped_positive],
    ]
    expected = [
        boschloo_exact(table, alternative=side, n=64).pvalue for side in ("greater", "less")
    ]
    assert exact_pvalues(flips, 0.0, 4) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def _enumerated(flips, asymmetry):
    """Return the chance of tables as extreme as this one, at its worst, by going through all."""
    n1, n0 = flips.n_positive, flips.n_negative
    f1, f0 = np.meshgrid(np.arange(n1 + 1), np.arange(n0 + 1), indexing="ij")
    seen = score_z(n1, flips.flipped_positive, n0, flips.flipped_negative, asymmetry)
    extreme = score_z(n1, f1, n0, f0, asymmetry) >= seen - 1e-9
    chances = [
        (binom.pmf(f1, n1, alpha) * binom.pmf(f0, n0, alpha + asymmetry))[extreme].sum()
        for alpha in np.linspace(max(0, -asymmetry), min(1, 1 - asymmetry), 501)
    ]
    return max(chances)


@pytest.mark.parametrize("flips", TABLES[:2] + TABLES[-2:], ids=str)
@pytest.mark.parametrize("asymmetry", [-0.3, 0.1])
def test_with_an_asymmetry_it_is_the_enumerated_chance(flips, asymmetry):
    greater, less = exact_pvalues(flips, asymmetry, 2)
    assert greater == pytest.approx(_enumerated(flips, asymmetry), rel=1e-3)
    assert less == pytest.approx(_enumerated(flips.reversed(), -asymmetry), rel=1e-3)


def test_limiting_the_nuisance_rate_lies_between_its_estimate_and_no_limit(monkeypatch):
    """5 of 1200 against none: rates far from 1 in 500 are out of the question."""
    flips = Flips(1200, 5, 1200, 0)
    limited = exact_pvalues(flips, 0.0)[1]
    monkeypatch.setattr("evenodds.inference.audit.exact.MOST_FREE_ROWS", 10**9)
    unlimited = exact_pvalues(flips, 0.0)[1]
    rate = 5 / 2400
    at_the_estimate = binom.pmf(0, 1200, rate) * binom.sf(4, 1200, rate)
    assert at_the_estimate < limited < unlimited


@pytest.mark.parametrize(("n1", "n0"), [(7, 40), (40, 7), (200, 150)])
def test_fishers_tail_is_that_of_the_hypergeometric_law(n1, n0):
    f1, f0 = (grid.ravel() for grid in np.meshgrid(np.arange(n1 + 1), np.arange(n0 + 1)))
    expected = hypergeom.sf(f0 - 1, n1 + n0, n0, f1 + f0)
    np.testing.assert_allclose(fisher_tail(n1, n0, f1, f0), expected, rtol=1e-9, atol=1e-14)


def test_a_hundred_million_rows_with_few_flips_are_quick_and_exact():
    greater, less = exact_pvalues(Flips(10**8, 2, 10**8, 9), 0.0)
    assert 0.01 < greater < 0.04
    assert less > 0.9


@pytest.mark.parametrize("asymmetry", [0.01, -0.01])
def test_an_impossible_asymmetry_is_rejected_towards_the_data(asymmetry):
    assert np.sign(exact_z(Flips(100_000, 2, 100_000, 9), asymmetry)) == -np.sign(asymmetry)


@pytest.mark.parametrize(("flipped", "n"), [(0, 10), (3, 10), (10, 10)])
def test_clopper_pearson_leaves_its_tails(flipped, n):
    low, high = clopper_pearson(flipped, n, 0.9)
    tails = [binom.sf(flipped - 1, n, low), binom.cdf(flipped, n, high)]
    expected = [0.05 if flipped > 0 else 1.0, 0.05 if flipped < n else 1.0]
    assert tails == pytest.approx(expected, rel=1e-6)
