"""Exact unconditional p-values for two flip rates in small audits.

The chance, under a hypothesised difference, of a table at least as extreme as the one
seen, at the nuisance rate that makes it largest. Tables are ordered by Fisher's p-value
where no difference is hypothesised (Boschloo 1970, Stat. Neerl. 24, 1-9), else by the
score (Chan and Zhang 1999, Biometrics 55, 1202-1209).
"""

from collections.abc import Callable

import numpy as np
from scipy.special import betainc, betaincinv, ndtri, xlog1py, xlogy

from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.fisher import Counts, fisher_tail
from evenodds.inference.audit.rates_tried import rates_between
from evenodds.inference.audit.two_proportions import score_z
from evenodds.inference.choosing import log_ways
from evenodds.validation import FloatArray

Order = Callable[[Counts, Counts], FloatArray]

# Nuisance rates tried at first, then between the neighbours of the best.
RATES = 97
ZOOMED_RATES = 33
# With more rows than this in the smaller class, nuisance rates are limited to those that the
# flips seen leave possible, and the chance that the truth lies outside is added to p
# (Berger and Boos 1994, J. Am. Stat. Assoc. 89, 1012-1016).
MOST_FREE_ROWS = 1000
OUTSIDE = 1e-7
# Two values of an ordering this close are one.
TIE = 1e-9
SMALLEST = 1e-300


def exact_pvalues(flips: Flips, asymmetry: float, zooms: int = 1) -> tuple[float, float]:
    """Return the p-values against a larger and against a smaller asymmetry."""
    return _greater(flips, asymmetry, zooms), _greater(flips.reversed(), -asymmetry, zooms)


def exact_z(flips: Flips, asymmetry: float, zooms: int = 1) -> float:
    """Return the normal deviate whose p-value is the exact one, on the side it points to."""
    gap = flips.beta - flips.alpha - asymmetry
    pvalue = (
        _greater(flips, asymmetry, zooms)
        if gap >= 0
        else _greater(flips.reversed(), -asymmetry, zooms)
    )
    size = float(max(-ndtri(max(pvalue, SMALLEST)), 0.0))
    return size if gap >= 0 else -size


def _greater(flips: Flips, asymmetry: float, zooms: int) -> float:
    """Return the p-value against a larger asymmetry, going through the smaller class."""
    table = flips if flips.n_positive <= flips.n_negative else flips.mirrored()
    low, high, outside = _possible_rates(table, asymmetry)
    if low > high:
        return outside
    first, last = _plausible_counts(table.n_positive, low, high, outside)
    counts = np.arange(first, last + 1)
    others = _plausible_counts(table.n_negative, low + asymmetry, high + asymmetry, outside)
    thresholds = _thresholds(table, counts, _order(table, asymmetry), others)

    def chances(alphas: FloatArray) -> FloatArray:
        betas = np.clip(alphas + asymmetry, 0.0, 1.0)
        own = _probabilities(counts, table.n_positive, alphas)
        return np.asarray((own * _at_least(thresholds, table.n_negative, betas)).sum(axis=1))

    alphas = rates_between(low, high, RATES)
    found = chances(alphas)
    for _ in range(zooms):
        best = int(np.argmax(found))
        left, right = alphas[max(best - 1, 0)], alphas[min(best + 1, len(alphas) - 1)]
        alphas = np.linspace(left, right, ZOOMED_RATES)
        found = chances(alphas)
    return min(float(found.max()) + outside, 1.0)


def _order(table: Flips, asymmetry: float) -> Order:
    """Return what orders tables: larger means more evidence for a larger asymmetry."""
    n_positive, n_negative = table.n_positive, table.n_negative
    if asymmetry != 0:
        return lambda flipped, other: score_z(n_positive, flipped, n_negative, other, asymmetry)

    def minus_fisher(flipped: Counts, other: Counts) -> FloatArray:
        # On the log scale: the smallest of them still differ.
        return -np.log(np.maximum(fisher_tail(n_positive, n_negative, flipped, other), SMALLEST))

    return minus_fisher


def _thresholds(table: Flips, counts: Counts, order: Order, plausible: tuple[int, int]) -> Counts:
    """Return from how many flipped negatives on tables are extreme, for each flipped positives.

    The order rises with the flipped negatives, so halving finds where. Counts that are not
    plausible need not be told apart.
    """
    seen = np.array([table.flipped_positive]), np.array([table.flipped_negative])
    observed = float(order(*seen)[0])
    observed -= TIE * max(abs(observed), 1.0)
    fewest, most = plausible
    low, high = np.full(len(counts), fewest), np.full(len(counts), most + 1)
    while (low < high).any():
        middle = (low + high) // 2  # stays below `high`, so it is a count, where they differ
        extreme = order(counts, np.minimum(middle, most)) >= observed
        high = np.where(extreme & (low < high), middle, high)
        low = np.where(~extreme & (low < high), middle + 1, low)
    return low


def _possible_rates(table: Flips, asymmetry: float) -> tuple[float, float, float]:
    """Return the range of alpha to search, and the chance that the truth lies outside."""
    low, high = max(0.0, -asymmetry), min(1.0, 1.0 - asymmetry)
    if table.n_positive <= MOST_FREE_ROWS:
        return low, high, 0.0
    alpha = clopper_pearson(table.flipped_positive, table.n_positive, 1 - OUTSIDE / 2)
    beta = clopper_pearson(table.flipped_negative, table.n_negative, 1 - OUTSIDE / 2)
    return (
        max(low, alpha[0], beta[0] - asymmetry),
        min(high, alpha[1], beta[1] - asymmetry),
        OUTSIDE,
    )


def clopper_pearson(flipped: float, n: float, level: float) -> tuple[float, float]:
    """Return the exact interval for one rate (Clopper and Pearson 1934, Biometrika 26)."""
    tail = (1 - level) / 2
    low = 0.0 if flipped == 0 else float(betaincinv(flipped, n - flipped + 1, tail))
    high = 1.0 if flipped == n else float(betaincinv(flipped + 1, n - flipped, 1 - tail))
    return low, high


def _plausible_counts(n: int, low: float, high: float, outside: float) -> tuple[int, int]:
    """Return the counts that rates from `low` to `high` can give; all of them in small audits."""
    if outside == 0:
        return 0, n
    # Eight standard deviations and some: what is left out is far below `outside`.
    reach = [8 * np.sqrt(n * rate * (1 - rate)) + 30 for rate in (low, high)]
    return max(int(n * low - reach[0]), 0), min(int(n * high + reach[1]) + 1, n)


def _probabilities(counts: Counts, n: int, rates: FloatArray) -> FloatArray:
    """Return binomial probabilities, one row a rate."""
    column = rates[:, None]
    return np.asarray(
        np.exp(log_ways(n, counts) + xlogy(counts, column) + xlog1py(n - counts, -column))
    )


def _at_least(thresholds: Counts, n: int, rates: FloatArray) -> FloatArray:
    """Return binomial probabilities of reaching each threshold, one row a rate."""
    if n <= 8 * len(thresholds):
        tails = np.cumsum(_probabilities(np.arange(n, -1, -1), n, rates), axis=1)[:, ::-1]
        padded = np.column_stack([tails, np.zeros(len(rates))])
        return np.asarray(padded[:, thresholds])
    inside = (thresholds > 0) & (thresholds <= n)
    safe = np.where(inside, thresholds, 1)
    reached = betainc(safe, n - safe + 1, rates[:, None])
    return np.where(inside, reached, np.where(thresholds == 0, 1.0, 0.0))
