"""The noisy posterior at some points, from the rows around each, with a joint covariance."""

from dataclasses import dataclass
from typing import get_args

import numpy as np

from evenodds.errors import AnchorError, InputError
from evenodds.model.local.bandwidth import choose_bandwidth
from evenodds.model.local.distinct import distinct_counts, effective_distinct
from evenodds.model.local.fits import LocalFits, fit_local
from evenodds.model.local.influence import log_odds_covariance
from evenodds.model.local.kernels import Kernel
from evenodds.model.local.surroundings import Standard, Surroundings
from evenodds.rows.base import IntArray
from evenodds.validation import FloatArray, check_choice, check_number

# Beyond this many features hardly any row is near another.
MOST_FEATURES = 5
# Fewer effective rows a parameter than this around a point, and nothing can be said of it.
LEAST_ROWS_A_PARAMETER = 3
# Bandwidths beyond these see no row, or all of them alike, and squares of them overflow.
NARROWEST, WIDEST = 1e-6, 1e6


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
        In spreads of the features (half-width of the middle 68 %).
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


def local_posteriors(
    features: FloatArray,
    labels01: FloatArray,
    points: FloatArray,
    *,
    bandwidth: float | None = None,
    kernel: str = "gaussian",
    weights: FloatArray | None = None,
    groups: IntArray | None = None,
) -> LocalPosteriors:
    """Estimate the noisy posterior at `points` without assuming a shape for the curve.

    Parameters
    ----------
    features : array of shape (n_rows, n_features)
        At most five features, in any units: each is measured from its median in half-widths
        of its middle 68 %.
    labels01 : array of shape (n_rows,)
        1.0 for positive labels, 0.0 for the others.
    points : array of shape (n_points, n_features)
    bandwidth : float, optional
        In spreads of the features; by default chosen by cross-validated likelihood, then
        narrowed so that bias is small against the error.
    kernel : {"gaussian", "tricube"}
        The Gaussian is cut at four bandwidths, the tricube ends at one.
    weights : array of shape (n_rows,), optional
        Frequency weights.
    groups : array of int of shape (n_rows,), optional
        Rows that belong together.

    Raises
    ------
    InputError
        If there are too many features, or too few rows around a point.
    """
    rows = LocalRows.of(features, labels01, weights, groups)
    width = check_settings(bandwidth, kernel) or rows.bandwidth(kernel)
    found = rows.posteriors(points, width, kernel)
    refuse_lonely(found, features.shape[1])
    return found


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
    if not NARROWEST <= width <= WIDEST:
        raise InputError(
            f"bandwidth is {width:g} but must lie between {NARROWEST:g} and {WIDEST:g}: it counts "
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
        return cls(standard, Surroundings.of(standard(features), labels01, weights, groups))

    def bandwidth(self, kernel: str) -> float:
        """Return the bandwidth for tests."""
        return choose_bandwidth(self.around, kernel)

    def posteriors(self, points: FloatArray, bandwidth: float, kernel: str) -> LocalPosteriors:
        """Return the posteriors at points, however few rows they have around them."""
        fits = fit_local(self.around, self.standard(points), bandwidth, kernel)
        return read_posteriors(self.around, fits)


def read_posteriors(around: Surroundings, fits: LocalFits) -> LocalPosteriors:
    """Return fits as posteriors with their joint covariance."""
    posterior = 1 / (1 + np.exp(-fits.log_odds))
    slopes = posterior * (1 - posterior)
    covariance = log_odds_covariance(around, fits)
    return LocalPosteriors(
        posterior=posterior,
        log_odds=fits.log_odds,
        covariance=slopes[:, None] * covariance * slopes,
        log_odds_covariance=covariance,
        bandwidth=fits.bandwidth,
        effective_rows=fits.effective_rows,
        distinct_rows=_distinct_rows(around, fits),
    )


def _distinct_rows(around: Surroundings, fits: LocalFits) -> FloatArray:
    """Return how many distinct rows each fit rests on."""
    if around.weights is None:
        return fits.effective_rows
    counts = distinct_counts(around.features, around.labels, around.weights)
    return effective_distinct(around.features, counts, fits.points, fits.bandwidth, fits.kernel)


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
        f"nearby (anchor {worst} has {found.effective_rows[worst]:.1f} at bandwidth "
        f"{found.bandwidth:.2g}): leave such anchors out, {instead}, or collect rows like them."
    )
