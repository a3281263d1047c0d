"""How often an exact audit rejects: the chances of all tables that would, summed."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.exact import (
    RATES,
    SMALLEST,
    binomial_chances,
    every_table,
    fisher_tail,
    is_countable,
    likelihood_roots,
    on_the_side,
    possible_rates,
    table_chances,
    wrong_labels,
)
from evenodds.inference.audit.score import (
    AuditByGiven,
    AuditByTrue,
    binomial_logs,
    constrained_rates,
    rates_between,
)
from evenodds.inference.profile import Alternative
from evenodds.validation import FloatArray

DRAWN_TABLES = 4000
# Tables whose order differs by less than this are as extreme as each other.
DECIMALS = 9
# An audit at random or by true class with more tables than this is not gone through: its power
# is within a few in 100 of the normal one.
MOST_TABLES = 20_000

Chances = tuple[float, float]


def is_summable(audit: AuditByTrue | AuditByGiven) -> bool:
    """Tell whether all tables of an exact audit can be gone through."""
    if isinstance(audit, AuditByGiven):
        return is_countable(audit)
    return (audit.flips.n_positive + 1) * (audit.flips.n_negative + 1) <= MOST_TABLES


def powers_at(
    audit: AuditByTrue | AuditByGiven,
    asymmetries: FloatArray,
    level: float,
    alternative: Alternative,
) -> FloatArray:
    """Return the chance that an exact audit rejects, at some true asymmetries.

    Flip rates are those that fit the audit best among all with that asymmetry; nan where the
    share of positive labels allows none.
    """
    rejected = _rejected_like(audit, level, alternative)
    found = (_likeliest(audit, float(asymmetry)) for asymmetry in asymmetries)
    return np.array([np.nan if one is None else _summed(rejected, one) for one in found])


def given_power(
    audited: tuple[int, int],
    counts: tuple[int, int],
    wrong: Chances,
    level: float,
    alternative: Alternative,
) -> float:
    """Return the chance that an audit of so many positive and negative labels rejects.

    `wrong` are the chances that a positive and that a negative label is wrong.
    """
    positive, negative = audited
    audit = AuditByGiven(Flips(positive, 0, negative, 0), *counts)
    if not is_countable(audit):
        rng = np.random.default_rng(0)
        drawn = [rng.binomial(audited[k], wrong[k], DRAWN_TABLES) for k in (0, 1)]
        tables, times = np.unique(drawn, axis=1, return_counts=True)
        z = likelihood_roots(audit, (tables[0], tables[1]), possible_rates(audit))
        pvalues = on_the_side(ndtr(-z), ndtr(z), alternative)
        return float(times @ (pvalues < level) / DRAWN_TABLES)
    return _summed(_rejected_by_given(audit, level, alternative), wrong)


@lru_cache(maxsize=256)
def true_power(
    rows: tuple[int, int], flipped: Chances, level: float, alternative: Alternative
) -> float:
    """Return the chance that an audit of so many true positives and negatives rejects.

    No more rows of a class are counted than tell its rate far better than that of the other.
    """
    if min(rows) == 0:
        return 0.0
    most = MOST_TABLES // (min(rows) + 1)
    n_positive, n_negative = (min(n, most) for n in rows)
    return _summed(_rejected_by_true(n_positive, n_negative, level, alternative), flipped)


def _summed(rejected: NDArray[np.bool_], chances: Chances) -> float:
    """Return the chance of a table that is rejected, from those of a row of either kind."""
    own, other = (
        binomial_chances(np.arange(size), size - 1, np.array([chance]))[0]
        for size, chance in zip(rejected.shape, chances, strict=True)
    )
    return float(own @ rejected @ other)


def _rejected_like(
    audit: AuditByTrue | AuditByGiven, level: float, alternative: Alternative
) -> NDArray[np.bool_]:
    """Return which tables of an audit of this size are rejected, whatever was found in it."""
    flips = audit.flips
    if isinstance(audit, AuditByTrue):
        return _rejected_by_true(flips.n_positive, flips.n_negative, level, alternative)
    sizes = Flips(flips.given_positive, 0, flips.given_negative, 0)
    counts = audit.given_negative, audit.given_positive
    return _rejected_by_given(AuditByGiven(sizes, *counts), level, alternative)


@lru_cache(maxsize=8)
def _rejected_by_true(
    n_positive: int, n_negative: int, level: float, alternative: Alternative
) -> NDArray[np.bool_]:
    """Return which numbers of flipped positives (down) and negatives (across) are rejected."""
    rates = rates_between(0.0, 1.0, RATES)
    sizes = n_positive, n_negative
    flipped, other = (each.ravel() for each in np.indices([n + 1 for n in sizes]))
    own, across = (binomial_chances(np.arange(n + 1), n, rates) for n in sizes)

    def pvalues(flipped: NDArray[np.int64], other: NDArray[np.int64]) -> FloatArray:
        tails = fisher_tail(n_positive, n_negative, flipped, other)
        order = -np.log(np.maximum(tails, SMALLEST)).round(DECIMALS)
        return _tail(order.reshape(n_positive + 1, -1), _together(own, across))

    less = pvalues(n_positive - flipped, n_negative - other)
    found = on_the_side(pvalues(flipped, other), less, alternative)
    return np.asarray(found < level)


@lru_cache(maxsize=8)
def _rejected_by_given(
    audit: AuditByGiven, level: float, alternative: Alternative
) -> NDArray[np.bool_]:
    """Return which numbers of wrong positive (down) and negative labels (across) are rejected."""
    alphas = possible_rates(audit)
    order = likelihood_roots(audit, every_table(audit), alphas).round(DECIMALS)
    each = table_chances(audit, alphas)
    tails = _tail(order, _together(*each)), _tail(-order, _together(*each))
    pvalues = on_the_side(*tails, alternative)
    # A class that was never true leaves nothing to test.
    pvalues[-1, 0] = pvalues[0, -1] = 1.0
    return np.asarray(pvalues < level)


def _together(own: FloatArray, other: FloatArray) -> Iterator[FloatArray]:
    """Yield the chances of all tables, one nuisance rate after the other."""
    return (np.outer(*both).ravel() for both in zip(own, other, strict=True))


def _tail(order: FloatArray, chances: Iterator[FloatArray]) -> FloatArray:
    """Return the largest chance of a table at least as high in the order, for every table."""
    highest_first = np.argsort(-order, axis=None, kind="stable")
    reached = np.zeros(order.size)
    for at_rate in chances:
        np.maximum(reached, np.cumsum(at_rate[highest_first]), out=reached)
    ranked = -order.ravel()[highest_first]
    last_alike = np.searchsorted(ranked, ranked, side="right") - 1
    pvalues = np.empty(order.size)
    pvalues[highest_first] = reached[last_alike]
    return pvalues.reshape(order.shape)


def _likeliest(audit: AuditByTrue | AuditByGiven, asymmetry: float) -> Chances | None:
    """Return the chances of a flip in either class, or of a wrong label, that fit best."""
    if isinstance(audit, AuditByTrue):
        alpha, beta = constrained_rates(*audit.flips.counts, asymmetry)
        return float(alpha), float(beta)
    alphas = possible_rates(audit, asymmetry)
    if len(alphas) == 0:
        return None
    wrong = wrong_labels(audit, alphas, asymmetry)
    seen = audit.flips.flipped_negative, audit.flips.flipped_positive
    logs = sum(binomial_logs(*each) for each in zip(seen, audit.sizes[:2], wrong, strict=True))
    best = int(np.argmax(logs))
    return float(wrong[0][best]), float(wrong[1][best])
