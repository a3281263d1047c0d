"""Tests from the share of positive labels alone, when the true share is known."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import betainc, logsumexp, ndtr, xlog1py, xlogy

from evenodds.errors import InputError
from evenodds.inference.multiplicity import log_ways
from evenodds.inference.results import Result
from evenodds.validation import FloatArray, check_between, check_choice, check_whole

Null = Literal["uniform", "clean"]

# Half-width of the range of priors averaged over, in standard errors.
REACH = 9.0
# Gauss-Legendre nodes in each of the panels the range is cut into.
NODES = 12
PANELS = 32
# Two log-probabilities this close count as equal when "as unlikely" is decided, as in scipy.stats.
TIE = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PriorTestResult(Result):
    """Outcome of a test on the share of positive labels.

    Attributes
    ----------
    pvalue : float
        Exact two-sided p-value; conservative for the "uniform" null.
    null : str
        "uniform": the labels may be flipped, equally often in both classes.
        "clean": the labels are right.
    n_positive, n_rows : int
        The count of positive labels and of all labels.
    noisy_prior : float
        Share of positive labels.
    prior, prior_standard_error : float
        The true share as stated, and how surely.
    noise_rate : float or None
        Rate of uniform noise that would give this share; None where none would, or
        where every rate would (a prior of 1/2).
    asymmetry : float or None
        Estimate of ``beta - alpha``, which exists at a prior of 1/2 only.
    """

    pvalue: float
    null: Null
    n_positive: int
    n_rows: int
    noisy_prior: float
    prior: float
    prior_standard_error: float
    noise_rate: float | None
    asymmetry: float | None


def prior_test(
    n_positive: int,
    n_rows: int,
    prior: float,
    *,
    null: Null = "uniform",
    prior_standard_error: float = 0.0,
) -> PriorTestResult:
    r"""Test the labels from their share of positives, when the true share is known.

    The null "uniform" is that both classes are flipped equally often, at any rate: the
    share of positive labels then lies between the true share and 1/2. The null "clean"
    is that no label is flipped.

    Parameters
    ----------
    n_positive : int
        Number of positive labels.
    n_rows : int
        Number of labels.
    prior : float
        True share of positives, strictly between 0 and 1.
    null : {"uniform", "clean"}
        What to test.
    prior_standard_error : float, default 0
        Standard error of `prior`, when it is itself an estimate.

    Returns
    -------
    PriorTestResult

    Notes
    -----
    The p-value is the probability of all counts at most as likely as the one observed
    (as in `scipy.stats.binomtest`). For the uniform null it is 1 where the observed share
    lies between the prior and 1/2, and else the larger of the p-values at these two ends.
    With a standard error the binomial is averaged over a normal distribution of the prior,
    cut to (0, 1). The test sees only noise that moves the share: flips that cancel out,
    ``beta (1 - prior) = alpha prior``, leave no trace.

    Examples
    --------
    >>> import evenodds as eo
    >>> result = eo.prior_test(120, 1000, prior=0.2)  # 12% labelled positive, 20% are
    >>> result.pvalue < 1e-9  # uniform noise would push the share up, not down
    True
    """
    positives = check_whole(n_positive, "n_positive")
    rows = check_whole(n_rows, "n_rows", at_least=1)
    if positives > rows:
        raise InputError(f"n_positive is {positives} but n_rows is {rows}: it counts some of them.")
    share = check_between(prior, "prior", 0, 1, closed="neither", why="it is a share of positives")
    error = check_between(prior_standard_error, "prior_standard_error", 0, 0.5, closed="left")
    kind: Null = check_choice(null, "null", get_args(Null))  # type: ignore[assignment]
    at_prior = _two_sided(positives, rows, _averaged(share, error))
    observed = positives / rows
    if kind == "clean":
        pvalue = at_prior
    elif min(share, 0.5) <= observed <= max(share, 0.5):
        pvalue = 1.0
    else:
        # The nearer end decides when the prior is exact; a blurred prior can make the other decide.
        pvalue = max(at_prior, _two_sided(positives, rows, _averaged(0.5, 0.0)))
    return PriorTestResult(
        pvalue=pvalue,
        null=kind,
        n_positive=positives,
        n_rows=rows,
        noisy_prior=observed,
        prior=share,
        prior_standard_error=error,
        noise_rate=_noise_rate(observed, share),
        asymmetry=2 * observed - 1 if share == 0.5 else None,
    )


def _noise_rate(observed: float, prior: float) -> float | None:
    """Return the uniform rate that turns `prior` into `observed`, if one below 1/2 does."""
    if prior == 0.5:
        return None
    rate = (observed - prior) / (1 - 2 * prior)
    return rate if 0 <= rate < 0.5 else None


# A distribution of priors: nodes and weights given a count, refined where that count peaks.
Averaging = Callable[[int, int], tuple[FloatArray, FloatArray]]


def _averaged(prior: float, error: float) -> Averaging:
    """Return quadrature nodes and weights for a normal prior cut to (0, 1)."""

    def nodes_for(count: int, n: int) -> tuple[FloatArray, FloatArray]:
        if error == 0:
            return np.array([prior]), np.array([1.0])
        low, high = max(prior - REACH * error, 0.0), min(prior + REACH * error, 1.0)
        peak = (count + 0.5) / (n + 1)
        width = REACH * np.sqrt(max(peak * (1 - peak), 1 / (n + 1)) / n)
        edges = np.concatenate(
            [
                np.linspace(low, high, PANELS + 1),
                np.linspace(peak - width, peak + width, PANELS + 1),
            ]
        )
        edges = np.unique(np.clip(edges, low, high))
        points, weights = np.polynomial.legendre.leggauss(NODES)
        half = np.diff(edges)[:, None] / 2
        nodes = (edges[:-1, None] + half * (1 + points)).ravel()
        density = np.exp(-(((nodes - prior) / error) ** 2) / 2) / (error * np.sqrt(2 * np.pi))
        mass = ndtr((1 - prior) / error) - ndtr(-prior / error)
        return nodes, (half * weights).ravel() * density / mass

    return nodes_for


def _two_sided(count: int, n: int, averaging: Averaging) -> float:
    """Return the probability of all counts at most as likely as `count`."""
    mode = _mode(n, averaging)
    observed = _log_probability(count, n, averaging)
    if count == mode:
        return 1.0

    def as_unlikely(other: int) -> bool:
        return _log_probability(other, n, averaging) <= observed + TIE

    # Probabilities fall away from the mode, so bisection finds where they become as small.
    if count < mode:
        first = bisect_left(range(n + 1), True, lo=mode, key=as_unlikely)
        return min(_at_most(count, n, averaging) + _at_least(first, n, averaging), 1.0)
    likely_from = bisect_left(range(mode + 1), True, key=lambda other: not as_unlikely(other))
    return min(_at_most(likely_from - 1, n, averaging) + _at_least(count, n, averaging), 1.0)


def _mode(n: int, averaging: Averaging) -> int:
    """Return the likeliest count: the first from which the next is no likelier."""

    def past(count: int) -> bool:
        ahead = _log_probability(count + 1, n, averaging)
        return ahead <= _log_probability(count, n, averaging)

    return bisect_left(range(n), True, key=past)


def _log_probability(count: int, n: int, averaging: Averaging) -> float:
    """Return the logarithm of the averaged binomial probability of `count`."""
    nodes, weights = averaging(count, n)
    logs = log_ways(n, count) + xlogy(count, nodes) + xlog1py(n - count, -nodes)
    return float(logsumexp(logs, b=weights))


def _at_least(count: int, n: int, averaging: Averaging) -> float:
    """Return the averaged binomial probability of `count` or more."""
    if not 0 < count <= n:
        return float(count <= 0)
    nodes, weights = averaging(count, n)
    return float(weights @ betainc(count, n - count + 1, nodes))


def _at_most(count: int, n: int, averaging: Averaging) -> float:
    """Return the averaged binomial probability of `count` or fewer."""
    if not 0 <= count < n:
        return float(count >= n)
    nodes, weights = averaging(count, n)
    return float(weights @ betainc(n - count, count + 1, 1 - nodes))
