"""Power of an audit by given class where few wrong labels are expected.

There the score is not used, so no normal law foretells what is found. In small audits the
p-values of all tables are computed at once; in larger ones those of tables drawn.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, xlog1py, xlogy

from evenodds.inference.audit.by_given import AuditByGiven
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.exact_given import (
    Binomial,
    is_countable,
    likelihood_roots,
    points_needed,
    possible_rates,
    table_asymmetries,
    wrong_labels,
)
from evenodds.inference.profile import Alternative
from evenodds.validation import FloatArray

DRAWN_TABLES = 4000
# Tables whose order differs by less than this are as extreme as each other.
DECIMALS = 9


def given_power(
    audited: tuple[int, int],
    counts: tuple[int, int],
    wrong: tuple[float, float],
    level: float,
    alternative: Alternative,
) -> float:
    """Return the chance that an audit of so many positive and negative labels rejects."""
    positive, negative = audited
    audit = AuditByGiven(Flips(positive, 0, negative, 0), *counts)
    if not is_countable(audit):
        return _of_tables_drawn(audit, wrong, level, alternative)
    pvalues = _all_pvalues(audit, alternative)
    # A class that was never true leaves nothing to test.
    pvalues[positive, 0] = pvalues[0, negative] = 1.0
    own, other = Binomial(positive), Binomial(negative)
    chances = (
        np.exp(one.logs(np.array([chance]))[0] + one.ways)
        for one, chance in zip((own, other), wrong, strict=True)
    )
    return float(next(chances) @ (pvalues < level) @ next(chances))


def _all_pvalues(audit: AuditByGiven, alternative: Alternative) -> FloatArray:
    """Return the exact p-value of every table of wrong labels."""
    positive = Binomial(audit.flips.given_positive)
    negative = Binomial(audit.flips.given_negative)
    share = audit.seen.positive_share
    chances = wrong_labels(possible_rates(0.0, share, points_needed(audit)), 0.0, share)
    found = positive.logs(chances.positive), negative.logs(chances.negative)
    roots = likelihood_roots(*found, positive.own[:, None] + negative.own[None, :])
    order = np.where(table_asymmetries(audit) >= 0, roots, -roots).round(DECIMALS)
    own, other = np.exp(found[0] + positive.ways), np.exp(found[1] + negative.ways)
    tables = (own[:, :, None] * other[:, None, :]).reshape(len(own), -1)
    greater, less = (_tail(side * order, tables) for side in (1, -1))
    both = np.minimum(2 * np.minimum(greater, less), 1.0)
    return np.asarray({"two-sided": both, "greater": greater, "less": less}[alternative])


def _tail(order: FloatArray, tables: FloatArray) -> FloatArray:
    """Return the largest chance of a table at least as high in the order, for every table."""
    highest_first = np.argsort(-order, axis=None, kind="stable")
    reached = np.cumsum(tables[:, highest_first], axis=1).max(axis=0)
    ranked = -order.ravel()[highest_first]
    last_alike = np.searchsorted(ranked, ranked, side="right") - 1
    pvalues = np.empty(order.size)
    pvalues[highest_first] = reached[last_alike]
    return pvalues.reshape(order.shape)


def _of_tables_drawn(
    audit: AuditByGiven, wrong: tuple[float, float], level: float, alternative: Alternative
) -> float:
    """Return the share of drawn tables whose likelihood ratio rejects."""
    sizes = audit.flips.given_positive, audit.flips.given_negative
    rng = np.random.default_rng(0)
    drawn = np.unique(
        np.column_stack(
            [
                rng.binomial(sizes[0], wrong[0], DRAWN_TABLES),
                rng.binomial(sizes[1], wrong[1], DRAWN_TABLES),
            ]
        ),
        axis=0,
        return_counts=True,
    )
    shares = drawn[0] / np.array(sizes)
    share = audit.seen.positive_share
    null = wrong_labels(possible_rates(0.0, share, points_needed(audit)), 0.0, share)
    best = np.full(len(shares), -np.inf)
    for chances in zip(null.positive, null.negative, strict=True):
        np.maximum(best, _log_likelihood(drawn[0], sizes, np.array(chances)), out=best)
    free = _log_likelihood(drawn[0], sizes, shares)
    size = np.sqrt(np.maximum(2 * (free - best), 0.0))
    q1, q0 = np.clip(shares, 1e-9, 1 - 1e-9).T
    prior = q0 * (1 - share) + (1 - q1) * share
    root = np.where(q1 * share / (1 - prior) >= q0 * (1 - share) / prior, size, -size)
    tails = {"two-sided": 2 * ndtr(-size), "greater": ndtr(-root), "less": ndtr(root)}
    rejected: NDArray[np.bool_] = tails[alternative] < level
    return float(drawn[1] @ rejected / DRAWN_TABLES)


def _log_likelihood(
    tables: NDArray[np.int64], sizes: tuple[int, int], chances: FloatArray
) -> FloatArray:
    """Return the log-likelihood of tables of wrong labels."""
    return np.asarray(
        (xlogy(tables, chances) + xlog1py(np.array(sizes) - tables, -chances)).sum(axis=1)
    )
