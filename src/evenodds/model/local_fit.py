"""The noisy posterior at some points, from local fits to the rows around each.

At a point a the local log-odds are ``c_0 + c'(x - a)``; they maximise

    sum_i w_i K((x_i - a)/h) log-likelihood_i  +  the prior row.

The prior row is one row in all, half positive and half negative, spread over the point and
one standard deviation of the kernel (at most one of the features) to either side of it along
every feature. It keeps every fit finite, also where all labels nearby agree, moves a posterior
p by about (1/2 - p)/n with n rows nearby, and counts as a row in the variance too, so a
neighbourhood that says nothing gets a wide error.

The bandwidth that predicts labels best balances squared bias against variance, so its bias is
as large as its error: fine for a curve, wrong for a test, the more so as a test averages many
anchors, which lowers the error and not the bias. It is therefore narrowed by
``n^{1/(p+4) - 1/(p+2)}``, and never wider than ``1.2 n^{-1/(p+3)}`` spreads, since in samples of
usual size cross-validation likes to see a straight line where there is a gentle bend (theory
page, "Local likelihood").

A row moves the log-odds at a by its influence
``psi_i(a) = K_i(a) e_1' J(a)^{-1} (1, x_i - a) (y_i - p_i(a))``, so the covariance of two
points is ``sum_i w_i psi_i(a) psi_i(b)``, and with groups the sum over groups of the products
of summed influences (theory page, "Local likelihood").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import get_args

import numpy as np

from evenodds.errors import AnchorError, ConvergenceError, InputError
from evenodds.model.logistic import refuse_combinations
from evenodds.model.neighbours import (
    REACH,
    SPREAD,
    Kernel,
    Layout,
    Neighbourhood,
    Room,
    Standard,
    Surroundings,
    copies_merged,
    distinct_counts,
    effective_distinct,
    kernel_weights,
    prior_places,
    squared_distances,
)
from evenodds.rows.base import IntArray, Rows, refuse_missing
from evenodds.validation import FloatArray, check_choice, check_number

Precision = type[np.float64] | type[np.float32]

# Change of a log-odds below which a step is the last; Newton's error after it is its square.
LAST_STEP: dict[Precision, float] = {np.float64: 1e-7, np.float32: 3e-3}
MOST_STEPS = 100
# Curvature below this share of its largest possible value is rounding.
ROUNDING: dict[Precision, float] = {np.float64: 1e-14, np.float32: 1e-6}
# How far the first step may change log-odds near the point.
FIRST_CHANGE = 2.0
LONGEST_REACH = 1e6


@dataclass(frozen=True, slots=True, eq=False)
class LocalFits:
    """Local-linear fits at standardised points.

    Coefficients are ``(c_0, c)`` about each point; `information` is the negative second
    derivative in them, the prior row included.
    """

    points: FloatArray
    bandwidth: float
    kernel: str
    coefficients: FloatArray  # (points, features + 1)
    information: FloatArray  # (points, features + 1, features + 1)
    effective_rows: FloatArray

    @property
    def log_odds(self) -> FloatArray:
        """Fitted log-odds at the points themselves."""
        return self.coefficients[:, 0]


def fit_local(around: Surroundings, points: FloatArray, bandwidth: float, kernel: str) -> LocalFits:
    """Fit at every point, to the last digit."""
    return fit_bandwidths(around, points, [bandwidth], kernel)[0]


def fit_bandwidths(
    around: Surroundings,
    points: FloatArray,
    bandwidths: Sequence[float],
    kernel: str,
    *,
    left_out: IntArray | None = None,
    dtype: Precision = np.float64,
) -> list[LocalFits]:
    """Fit at every point with every bandwidth, given from the widest to the narrowest.

    Each bandwidth starts where the wider one ended, on those of its rows still in reach.
    With `left_out`, a number for each row, points are the rows themselves, and rows of a
    point's own number do not count there.
    Single precision (about five digits) is enough to compare bandwidths, and three times as
    fast.
    """
    n_points, n_parameters = len(points), points.shape[1] + 1
    fits = [
        LocalFits(
            points,
            bandwidth,
            kernel,
            coefficients=np.empty((n_points, n_parameters)),
            information=np.empty((n_points, n_parameters, n_parameters)),
            effective_rows=np.empty(n_points),
        )
        for bandwidth in bandwidths
    ]
    layout, room = Layout.of(around, dtype), Room(dtype)
    for numbers, rows in around.blocks(points, REACH[kernel] * bandwidths[0]):
        own = None
        if left_out is not None:
            own = left_out[numbers][:, None] == (left_out if rows is None else left_out[rows])
        near = Neighbourhood(
            layout if rows is None else layout.take(rows), points[numbers], kernel, room, own
        )
        coefficients: FloatArray | None = None
        for fit in fits:
            near.narrow(fit.bandwidth)
            start = near.flat_start() if coefficients is None else coefficients
            coefficients, information = climb(near, start, dtype)
            fit.coefficients[numbers] = near.about_points(coefficients)
            fit.information[numbers] = near.information_about(information)
            fit.effective_rows[numbers] = near.effective_rows
    return fits


def climb(
    near: Neighbourhood, start: FloatArray, dtype: Precision
) -> tuple[FloatArray, FloatArray]:
    """Return the best coefficients of a block's points and the information there.

    Newton's steps, each no longer than a reach that doubles while the likelihood still rises at
    the end of the last step and shrinks where that went too far: steep fits take many doublings.
    """
    coefficients, step = start.copy(), np.zeros_like(start)
    reach = np.full(len(start), FIRST_CHANGE / 2)
    floor = ROUNDING[dtype] * near.largest_curvature()
    for _ in range(MOST_STEPS):
        score, information = near.derivatives(coefficients)
        rising = (score * step).sum(axis=1) >= 0
        reach = np.minimum(reach * np.where(rising, 2.0, 0.25), LONGEST_REACH)
        step = np.linalg.solve(information + floor, score[..., None])[..., 0].astype(float)
        changes = near.changes(step)
        step *= np.minimum(1.0, reach / np.maximum(changes, 1e-12))[:, None]
        coefficients += step
        if changes.max() < LAST_STEP[dtype]:
            return coefficients, information
    if dtype is np.float32:
        return coefficients, information  # rough as it is, it still ranks bandwidths
    raise ConvergenceError(
        f"a local fit did not settle in {MOST_STEPS} steps: leave out anchors with few rows "
        "nearby, or use a method that fits one curve to all rows."
    )


# Widest bandwidth for a test, in spreads of the features: this times n^{-1/(p+3)}.
WIDEST = 1.2
# Bandwidths tried, from that one down, each this many times narrower.
LADDER = tuple(2 ** (-step / 2) for step in range(4))
# Rows that the search fits to and whose labels it predicts.
MOST_FITTED = 1000
SEED = 20231216
# A bandwidth must leave this many effective rows a parameter around most predicted rows.
ROWS_A_PARAMETER = 5


def choose_bandwidth(around: Surroundings, kernel: str) -> float:
    """Return the bandwidth for tests: cross-validated, carried to all rows, undersmoothed."""
    n_rows, n_features = _n_distinct(around), around.features.shape[1]
    sample = _sample(around)
    n_sampled = _n_distinct(sample)
    # A sample of fewer rows predicts best with a wider bandwidth, by this rate.
    carried = (n_sampled / n_rows) ** (1 / (n_features + 4))
    narrowed = carried * undersmoothing(n_rows, n_features)
    widest = WIDEST * n_rows ** (-1 / (n_features + 3)) / SPREAD[kernel]
    scores = cross_validation(sample, kernel, [widest / narrowed * step for step in LADDER])
    return float(widest_as_good(scores, n_sampled, sample.weights) * narrowed)


def widest_as_good(
    scores: dict[float, FloatArray], n_rows: float, weights: FloatArray | None = None
) -> float:
    """Return the widest bandwidth that predicts no worse than the best by a standard error.

    The error is that of `n_rows` distinct rows. Which of them is best is mostly chance; that
    they are all narrow enough is seen to elsewhere.
    """
    means = {bandwidth: np.average(each, weights=weights) for bandwidth, each in scores.items()}
    best = max(means, key=lambda bandwidth: means[bandwidth])
    for bandwidth in sorted(scores, reverse=True):
        losses = scores[best] - scores[bandwidth]
        loss = np.average(losses, weights=weights)
        spread = np.average((losses - loss) ** 2, weights=weights) / n_rows
        if loss <= np.sqrt(spread):
            return bandwidth
    return best


def undersmoothing(n_rows: float, n_features: int) -> float:
    """Return the factor that takes a bandwidth from the rate of prediction to that of tests."""
    return float(n_rows ** (1 / (n_features + 4) - 1 / (n_features + 2)))


def cross_validation(
    sample: Surroundings, kernel: str, bandwidths: list[float]
) -> dict[float, FloatArray]:
    """Return the log-likelihood of each label by a fit without its own row (or group).

    Bandwidths are given from the widest; those that leave most rows without neighbours are
    left out, the widest never.
    """
    n_rows, n_features = sample.features.shape
    left_out = np.arange(n_rows) if sample.groups is None else sample.groups
    tried = fit_bandwidths(
        sample, sample.features, bandwidths, kernel, left_out=left_out, dtype=np.float32
    )
    signs, enough = 2 * sample.labels - 1, ROWS_A_PARAMETER * (n_features + 1)
    return {
        fits.bandwidth: -np.logaddexp(0, -signs * fits.log_odds)
        for fits in tried
        if fits is tried[0] or np.median(fits.effective_rows) >= enough
    }


def _n_distinct(around: Surroundings) -> float:
    """Return how many rows there are, copies that weights stand for not counted."""
    if around.weights is None:
        return float(len(around))
    return float(distinct_counts(around.features, around.labels, around.weights).sum())


def _sample(around: Surroundings) -> Surroundings:
    """Return all rows, or a random part where they are many."""
    if len(around) <= MOST_FITTED:
        return around
    rng = np.random.default_rng(SEED)
    return around.take(np.sort(rng.permutation(len(around))[:MOST_FITTED]))


# Influences of all points on a run of rows are held at a time; this many numbers at most.
MOST_CELLS = 1_000_000


def log_odds_covariance(around: Surroundings, fits: LocalFits) -> FloatArray:
    """Return the joint covariance of the fitted log-odds."""
    n_points = len(fits.points)
    first = np.zeros((n_points, fits.coefficients.shape[1], 1))
    first[:, 0] = 1.0
    levers: FloatArray = np.linalg.solve(fits.information, first)[..., 0].astype(float)
    covariance = np.diag(_prior_variances(fits, levers))
    order, ends = _runs(around, max(MOST_CELLS // n_points, 1))
    for start, stop in pairwise(ends):
        rows = slice(start, stop) if order is None else order[start:stop]
        influences = _influences(around, fits, levers, rows)
        if around.groups is None:
            counted = influences if around.weights is None else influences * around.weights[rows]
            covariance += counted @ influences.T
            continue
        if around.weights is not None:
            influences *= around.weights[rows]
        groups = around.groups[rows]
        firsts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
        summed = np.add.reduceat(influences, firsts, axis=1)
        covariance += summed @ summed.T
    return (covariance + covariance.T) / 2


def _runs(around: Surroundings, most_rows: int) -> tuple[IntArray | None, list[int]]:
    """Return an order of the rows that keeps groups together, and where to cut it."""
    n_rows = len(around)
    cuts = list(range(0, n_rows, most_rows))
    if around.groups is None:
        return None, [*cuts, n_rows]
    order: IntArray = np.argsort(around.groups, kind="stable")
    ordered = around.groups[order]
    # A cut moves to where its group begins; a group longer than a run is taken whole.
    begins = np.searchsorted(ordered, ordered[cuts], side="left")
    return order, [*np.unique(begins).tolist(), n_rows]


def _influences(
    around: Surroundings, fits: LocalFits, levers: FloatArray, rows: slice | IntArray
) -> FloatArray:
    """Return the influence of each row on each point's log-odds, one line a point."""
    features, points = around.features[rows], fits.points
    distances = squared_distances(features.T, points)
    influences: FloatArray = kernel_weights(distances, fits.bandwidth, fits.kernel).astype(float)
    influences *= _line(levers, features, points)
    with np.errstate(over="ignore"):
        shares = 1 / (1 + np.exp(-_line(fits.coefficients, features, points)))
    influences *= around.labels[rows] - shares
    return influences


def _prior_variances(fits: LocalFits, levers: FloatArray) -> FloatArray:
    """Return what the prior row, half of either label, adds to each variance."""
    places = prior_places(fits.points.shape[1], fits.bandwidth, fits.kernel)
    design = np.column_stack([np.ones(len(places)), places])
    shares = 1 / (1 + np.exp(-fits.coefficients @ design.T))
    squared_residuals = ((1 - shares) ** 2 + shares**2) / 2
    return np.asarray(((levers @ design.T) ** 2 * squared_residuals).mean(axis=1))


def _line(coefficients: FloatArray, features: FloatArray, points: FloatArray) -> FloatArray:
    """Return ``c_0 + c'(x - a)`` for each point a and row x."""
    slopes = coefficients[:, 1:]
    intercepts = coefficients[:, 0] - np.einsum("ij,ij->i", slopes, points)
    line: FloatArray = slopes @ features.T
    line += intercepts[:, None]
    return line


# Beyond this many features hardly any row is near another.
MOST_FEATURES = 5
# Fewer effective rows a parameter than this around a point, and nothing can be said of it.
LEAST_ROWS_A_PARAMETER = 3
# Bandwidths beyond these see no row, or all of them alike, and squares of them overflow.
NARROWEST_ALLOWED, WIDEST_ALLOWED = 1e-6, 1e6


@dataclass(frozen=True, slots=True, eq=False)
class LocalPosteriors:
    """Noisy posteriors at points, by local-linear logistic fits.

    Attributes
    ----------
    posterior, log_odds : array of shape (n_points,)
        Probability of a positive label at each point, and its log-odds.
    covariance, log_odds_covariance : array of shape (n_points, n_points)
        Of `posterior` and of `log_odds`: rows near two points correlate them.
    bandwidth : float
        In spreads of the features (half-width of the middle 68%).
    effective_rows : array of shape (n_points,)
        Rows that each fit rests on: ``(sum K)^2 / (1 + sum K^2)``, the 1 for the prior row.
    distinct_rows : array of shape (n_points,)
        The same without the copies that weights stand for.
    """

    posterior: FloatArray
    log_odds: FloatArray
    covariance: FloatArray
    log_odds_covariance: FloatArray
    bandwidth: float
    effective_rows: FloatArray
    distinct_rows: FloatArray


def check_settings(bandwidth: float | None, kernel: str) -> float | None:
    """Refuse a kernel that is none, or a bandwidth that is no distance."""
    check_choice(kernel, "kernel", get_args(Kernel))
    if bandwidth is None:
        return None
    width = check_number(bandwidth, "bandwidth")
    if width <= 0:
        raise InputError(
            f"bandwidth is {width:g} but must be positive: it is a distance, in spreads of the "
            "features."
        )
    if not NARROWEST_ALLOWED <= width <= WIDEST_ALLOWED:
        raise InputError(
            f"bandwidth is {width:g} but must lie between {NARROWEST_ALLOWED:g} and "
            f"{WIDEST_ALLOWED:g}: it counts "
            "spreads of the features, and 0.1 to 2 is usual."
        )
    return width


@dataclass(frozen=True, slots=True, eq=False)
class LocalRows:
    """Rows on one scale, ready for local fits at any points and bandwidths."""

    standard: Standard
    around: Surroundings

    @classmethod
    def of(
        cls,
        features: FloatArray,
        labels01: FloatArray,
        weights: FloatArray | None = None,
        groups: IntArray | None = None,
        feature_names: tuple[str, ...] | None = None,
    ) -> "LocalRows":
        """Measure the columns and hold the rows."""
        check_few_features(features.shape[1], "a fit of one curve to all rows")
        standard = Standard.of(features, weights, feature_names)
        held = copies_merged(features, labels01, weights, groups)
        return cls(standard, Surroundings.of(standard(held[0]), *held[1:]))

    def bandwidth(self, kernel: str) -> float:
        """Return the bandwidth for tests."""
        return choose_bandwidth(self.around, kernel)

    def posteriors(self, points: FloatArray, bandwidth: float, kernel: str) -> LocalPosteriors:
        """Return the posteriors at points, however few rows they have around them."""
        around = self.around
        fits = fit_local(around, self.standard(points), bandwidth, kernel)
        posterior = 1 / (1 + np.exp(-fits.log_odds))
        slopes = posterior * (1 - posterior)
        covariance = log_odds_covariance(around, fits)
        distinct_rows = fits.effective_rows
        if around.weights is not None:
            counts = distinct_counts(around.features, around.labels, around.weights)
            distinct_rows = effective_distinct(
                around.features, counts, fits.points, bandwidth, kernel
            )
        return LocalPosteriors(
            posterior=posterior,
            log_odds=fits.log_odds,
            covariance=slopes[:, None] * covariance * slopes,
            log_odds_covariance=covariance,
            bandwidth=bandwidth,
            effective_rows=fits.effective_rows,
            distinct_rows=distinct_rows,
        )


def check_few_features(n_features: int, instead: str) -> None:
    """Refuse more features than rows can be near in; `instead` takes any number."""
    if n_features > MOST_FEATURES:
        raise InputError(
            f"there are {n_features} features but a local fit takes at most {MOST_FEATURES}: in "
            f"more, hardly any row is near another. Use fewer features, or {instead}."
        )


def rows_needed(n_features: int) -> int:
    """Return the fewest effective rows around a point that say anything of it."""
    return LEAST_ROWS_A_PARAMETER * (n_features + 1)


def refuse_lonely(
    found: LocalPosteriors, n_features: int, instead: str = "give a wider bandwidth"
) -> None:
    """Refuse anchors with hardly any row nearby; `instead` is what helps without more rows."""
    needed = rows_needed(n_features)
    lonely = found.effective_rows < needed
    if not lonely.any():
        return
    worst = int(np.argmin(found.effective_rows))
    several = f"{int(lonely.sum())} of {len(lonely)} anchors have"
    raise AnchorError(
        f"{several if lonely.sum() > 1 else 'an anchor has'} fewer than {needed} effective rows "
        f"nearby (anchor {worst + 1} has {found.effective_rows[worst]:.1f} at bandwidth "
        f"{found.bandwidth:.2g}): leave such anchors out, {instead}, or collect rows like them."
    )


# Most numbers that are held (320 MB).
MOST_NUMBERS = 40_000_000


def hold_locally(rows: Rows, instead: str) -> LocalRows:
    """Bring the rows of any source into memory, ready for local fits.

    `instead` names what takes any number of rows and features.

    Raises
    ------
    InputError
        If there are too many features or rows, or values are missing.
    RankError
        If a column is constant or repeats others.
    """
    check_few_features(rows.n_features, instead)
    if rows.n_rows * rows.n_features > MOST_NUMBERS:
        raise InputError(
            f"{rows.called} has {rows.n_rows:,} rows of {rows.n_features} features, more than "
            f"the {MOST_NUMBERS // rows.n_features:,} that a local fit holds in memory: give a "
            f"random part of the rows, or use {instead}, which needs no memory."
        )
    every = rows.to_memory()
    if not np.isfinite(every.features).all():
        refuse_missing(rows)
    held = LocalRows.of(
        every.features, every.labels, every.weights, every.groups, rows.feature_names
    )
    centred = held.around.features - held.around.features.mean(axis=0)
    refuse_combinations(rows, centred.T @ centred)
    return held
