"""Exact unconditional p-values for the flip rates of small audits.

The chance, under a hypothesised difference, of a table at least as extreme as the one
seen, at the nuisance rate that makes it largest. Tables are ordered by Fisher's p-value
where no difference is hypothesised (Boschloo 1970, Stat. Neerl. 24, 1-9), else by the
score (Chan and Zhang 1999, Biometrics 55, 1202-1209).

The wrong labels of either given class are binomial, with chances tied by the hypothesis and
by the share s of positive labels, which is taken as known unless it leaves a hypothesis hardly
any room. Tables are ordered by the signed root of their likelihood ratio: it stays finite where
a variance under the hypothesis does not. The p-value is the chance of a table at least as
extreme, at the worst nuisance rate.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, ndtr, ndtri

from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.score import (
    LARGEST_Z,
    AuditByGiven,
    at_likeliest_share,
    binomial_logs,
    flip_rates,
    rates_between,
    score_z,
)
from evenodds.inference.multiplicity import log_ways
from evenodds.inference.profile import Alternative
from evenodds.validation import FloatArray

Counts = NDArray[np.int64]

# Terms of a tail are summed this far out, in standard deviations and beyond.
REACH = 10.0
AT_LEAST = 40


def fisher_tail(n_positive: int, n_negative: int, flipped: Counts, other: Counts) -> FloatArray:
    """Return the chance of at least `other` flipped negatives, given all the flips.

    The shorter tail is summed outwards from the table, where terms fall fast. With 10^8 rows
    `scipy.stats.hypergeom` makes a test of 0.02 seconds one of 8.
    """
    drawn = flipped + other
    total = n_positive + n_negative
    mean = drawn * (n_negative / total)
    spread = np.sqrt(mean * (n_positive / total) * (total - drawn) / max(total - 1, 1))
    upper = other > mean
    n_terms = min(int(REACH * spread.max()) + AT_LEAST, max(n_negative, n_positive) + 1)
    steps = np.arange(n_terms)
    negatives = np.where(upper[:, None], other[:, None] + steps, other[:, None] - 1 - steps)
    positives = drawn[:, None] - negatives
    possible = (negatives >= 0) & (positives >= 0)
    possible &= (negatives <= n_negative) & (positives <= n_positive)
    logs = log_ways(n_negative, np.where(possible, negatives, 0))
    logs += log_ways(n_positive, np.where(possible, positives, 0))
    logs -= log_ways(total, drawn)[:, None]
    tails: FloatArray = np.where(possible, np.exp(logs), 0.0).sum(axis=1)
    return np.asarray(np.where(upper, tails, np.maximum(1 - tails, 0.0)))


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
    if flips.asymmetry >= asymmetry:
        return _deviate(_greater(flips, asymmetry, zooms))
    return -_deviate(_greater(flips.reversed(), -asymmetry, zooms))


def on_the_side(greater: Any, less: Any, alternative: Alternative) -> Any:
    """Return p-values as asked for, from those against a larger and a smaller asymmetry."""
    both = np.minimum(2 * np.minimum(greater, less), 1.0)
    return {"two-sided": both, "greater": greater, "less": less}[alternative]


def _deviate(pvalue: float) -> float:
    """Return the size of the normal deviate that has a one-sided p-value."""
    return float(max(-ndtri(max(pvalue, SMALLEST)), 0.0))


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
        own = binomial_chances(counts, table.n_positive, alphas)
        return np.asarray((own * _at_least(thresholds, table.n_negative, betas)).sum(axis=1))

    return min(_largest(chances, rates_between(low, high, RATES), zooms) + outside, 1.0)


def _largest(chances: Callable[[FloatArray], FloatArray], rates: FloatArray, zooms: int) -> float:
    """Return the largest chance along nuisance rates, looking closer at the best of them."""
    found = chances(rates)
    largest = float(found.max())
    for _ in range(zooms):
        best = int(np.argmax(found))
        left, right = rates[max(best - 1, 0)], rates[min(best + 1, len(rates) - 1)]
        rates = np.linspace(left, right, ZOOMED_RATES)
        found = chances(rates)
        largest = max(largest, float(found.max()))
    return largest


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


def binomial_chances(counts: Counts, n: int, rates: FloatArray) -> FloatArray:
    """Return binomial probabilities, one row a rate."""
    return np.asarray(np.exp(log_ways(n, counts) + binomial_logs(counts, n, rates[:, None])))


def _at_least(thresholds: Counts, n: int, rates: FloatArray) -> FloatArray:
    """Return binomial probabilities of reaching each threshold, one row a rate."""
    if n <= 8 * len(thresholds):
        tails = np.cumsum(binomial_chances(np.arange(n, -1, -1), n, rates), axis=1)[:, ::-1]
        padded = np.column_stack([tails, np.zeros(len(rates))])
        return np.asarray(padded[:, thresholds])
    inside = (thresholds > 0) & (thresholds <= n)
    safe = np.where(inside, thresholds, 1)
    reached = betainc(safe, n - safe + 1, rates[:, None])
    return np.where(inside, reached, np.where(thresholds == 0, 1.0, 0.0))


# With fewer wrong (or right) labels than this in a given class the score's variance may vanish.
FEW_WRONG = 5.0
# Points of the line per root of the rows in a class: about four to a standard error.
POINTS_A_ROOT = 12.6
FEWEST_POINTS = 65
# Larger tables than this take too long to go through at every hypothesis.
MOST_WORK = 3_000_000


def is_small(audit: AuditByGiven) -> bool:
    """Tell whether the score of an audit by given class cannot be trusted."""
    return fewest_wrong(audit) < FEW_WRONG


def fewest_wrong(audit: AuditByGiven) -> float:
    """Return the fewest wrong, or right, labels of a given class, seen or expected.

    With groups, as many independent ones as they are worth.
    """
    sizes = audit.sizes[:2] / audit.design_effect()
    shares = np.array([audit.seen.vector[:2], audit.constrained(0.0).vector[:2]])
    return float((np.minimum(shares, 1 - shares) * sizes).min())


def is_countable(audit: AuditByGiven) -> bool:
    """Tell whether all tables of an audit can be gone through."""
    return bool(np.prod(audit.sizes[:2] + 1.0) * points_needed(audit) <= MOST_WORK)


def given_pvalues(audit: AuditByGiven, asymmetry: float) -> tuple[float, float]:
    """Return the p-values against a larger and against a smaller asymmetry.

    Exact at a share of positive labels: the one counted, unless that leaves the hypothesis hardly
    any room.
    """

    @cache
    def at(share: float) -> tuple[float, float]:
        rows = audit.given_positive + audit.given_negative
        positive, negative = share * rows, (1 - share) * rows
        return _pvalues_at(
            replace(audit, given_positive=positive, given_negative=negative), asymmetry
        )

    def tail(which: Literal[0, 1]) -> float:
        def z(share: float) -> float:
            return float(ndtri(at(share)[which]))

        counted = audit.seen.positive_share, float(audit.sizes[2])
        # Beyond what labels leave possible, a negative asymmetry is too low and others too high.
        otherwise = np.inf if (asymmetry < 0) == bool(which) else -np.inf
        found = at_likeliest_share(z, asymmetry, "asymmetry", counted, otherwise=otherwise)
        return float(ndtr(found))

    return tail(0), tail(1)


def _pvalues_at(audit: AuditByGiven, asymmetry: float) -> tuple[float, float]:
    """Return the p-values, exact if the share of positive labels is that of the process."""
    alphas = possible_rates(audit, asymmetry)
    if len(alphas) == 0:  # no flip rates have this asymmetry with this share of labels
        return (0.0, 1.0) if audit.seen.asymmetry > asymmetry else (1.0, 0.0)
    order = likelihood_roots(audit, every_table(audit), alphas, asymmetry)
    observed = float(order[audit.flips.flipped_negative, audit.flips.flipped_positive])
    hair = TIE * max(abs(observed), 1.0)

    def worst(region: NDArray[np.bool_]) -> float:
        def chances(rates: FloatArray) -> FloatArray:
            own, other = table_chances(audit, rates, asymmetry)
            return np.asarray(((own @ region.astype(np.float64)) * other).sum(axis=1))

        return min(_largest(chances, alphas, zooms=1), 1.0)

    return worst(order >= observed - hair), worst(order <= observed + hair)


def given_z(audit: AuditByGiven, asymmetry: float) -> float:
    """Return the normal deviate with the smaller of the p-values, on its side."""
    greater, less = given_pvalues(audit, asymmetry)
    return _deviate(greater) if greater <= less else -_deviate(less)


def points_needed(audit: AuditByGiven) -> int:
    """Return how many points a line needs, so that the likeliest is missed by little."""
    return max(FEWEST_POINTS, int(POINTS_A_ROOT * np.sqrt(audit.sizes[:2].max())))


def possible_rates(audit: AuditByGiven, asymmetry: float = 0.0) -> FloatArray:
    """Return the rates alpha that the share of positive labels allows, below and above chance."""
    share = audit.seen.positive_share
    low, high = max(0.0, -asymmetry), min(1.0, 1.0 - asymmetry)
    below = low, min(high, share - asymmetry, 1 - share)
    above = max(low, share - asymmetry, 1 - share), high
    n_points = points_needed(audit)
    branches = [rates_between(*ends, n_points) for ends in (below, above) if ends[0] <= ends[1]]
    return np.concatenate(branches) if branches else np.empty(0)


def wrong_labels(
    audit: AuditByGiven, alphas: FloatArray, asymmetry: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Return the chances that a positive and that a negative label is wrong, at some alphas."""
    share, betas = audit.seen.positive_share, alphas + asymmetry
    stretch = 1 - alphas - betas
    coin = np.abs(stretch) < TIE
    prior = np.where(coin, 0.5, (share - betas) / np.where(coin, 1.0, stretch))
    prior = np.clip(prior, 0.0, 1.0)
    wrong = (1 - prior) * betas / share, prior * alphas / (1 - share)
    return np.clip(wrong[0], 0.0, 1.0), np.clip(wrong[1], 0.0, 1.0)


def table_chances(
    audit: AuditByGiven, alphas: FloatArray, asymmetry: float = 0.0
) -> list[FloatArray]:
    """Return the chances of each number of wrong labels, positive and negative; one row a rate."""
    wrong = wrong_labels(audit, alphas, asymmetry)
    sizes = audit.sizes[:2].tolist()
    return [
        binomial_chances(np.arange(n + 1), n, chances)
        for n, chances in zip(sizes, wrong, strict=True)
    ]


def every_table(audit: AuditByGiven) -> tuple[Counts, Counts]:
    """Return the numbers of wrong labels, positive ones down and negative ones across."""
    n_positive, n_negative, _ = audit.sizes
    return np.arange(n_positive + 1)[:, None], np.arange(n_negative + 1)[None, :]


def likelihood_roots(
    audit: AuditByGiven,
    tables: tuple[Counts, Counts],
    alphas: FloatArray,
    asymmetry: float = 0.0,
) -> FloatArray:
    """Return the signed roots of the likelihood ratio of tables, the likeliest alpha found."""

    def logs(chances: Iterable[Any]) -> FloatArray:
        each = zip(tables, audit.sizes, chances, strict=False)
        return np.asarray(sum(binomial_logs(*of_one) for of_one in each))

    shares = [wrong / n for wrong, n in zip(tables, audit.sizes, strict=False)]
    best = np.asarray(-np.inf)
    for chances in zip(*wrong_labels(audit, alphas, asymmetry), strict=True):
        best = np.maximum(best, logs(chances))
    size = np.sqrt(np.clip(2 * (logs(shares) - best), 0.0, LARGEST_Z**2))
    q1, q0 = (np.clip(share, TIE, 1 - TIE) for share in shares)
    alpha, beta = flip_rates(q1, q0, audit.seen.positive_share)
    return np.asarray(np.where(beta - alpha >= asymmetry, size, -size))
