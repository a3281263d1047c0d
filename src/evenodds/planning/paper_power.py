"""How often the paper's test would reject, from its summary numbers.

With ``v`` the variance of the mean posterior at the anchors, the test rejects when that
mean is further than ``z_c sqrt(v)`` from 1/2. Under class-conditional noise it is centred
at ``1/2 + shift`` instead, with a variance of its own.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from evenodds.errors import InputError
from evenodds.inference.profile import Alternative
from evenodds.noise import ClassConditionalNoise
from evenodds.validation import check_between, check_whole


@dataclass(frozen=True, slots=True)
class Centre:
    """Where a statistic is centred, and its standard deviation."""

    mean: float
    spread: float = 1.0

    def power(self, significance: float, alternative: Alternative) -> float:
        """Return the probability that the statistic rejects."""
        tail = significance / 2 if alternative == "two-sided" else significance
        critical = float(-ndtri(tail))
        above = float(ndtr((self.mean - critical) / self.spread))
        below = float(ndtr((-self.mean - critical) / self.spread))
        return {"two-sided": above + below, "greater": above, "less": below}[alternative]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorVariance:
    """Variance of the mean posterior for random anchors on the boundary.

    Parameters
    ----------
    single : float
        Expected variance with one anchor.
    floor : float, default 0
        Variance at the centre of the anchor region. Every anchor carries the intercept,
        so averaging anchors cannot remove it: ``v_k = floor + (single - floor) / k``.
    n_rows : int, optional
        Number of rows these variances are for; with more rows they shrink in proportion.
    """

    single: float
    floor: float = 0.0
    n_rows: int | None = None

    def __post_init__(self) -> None:
        check_between(self.single, "single", 0, np.inf, closed="neither")
        check_between(self.floor, "floor", 0, self.single)
        if self.n_rows is not None:
            check_whole(self.n_rows, "n_rows", at_least=1)

    def of(self, n_anchors: int, n_rows: float | None = None) -> float:
        """Return the expected variance with this many anchors, and rows where they are given."""
        k = check_whole(n_anchors, "n_anchors", at_least=1)
        variance = self.floor + (self.single - self.floor) / k
        if n_rows is None:
            return variance
        if self.n_rows is None:
            raise InputError(
                "AnchorVariance has no n_rows, so how its variance shrinks with more rows is "
                "unknown: say how many rows it is for."
            )
        return variance * self.n_rows / n_rows


def wald_power(
    noise: ClassConditionalNoise,
    variance: float,
    *,
    significance: float = 0.05,
    anchor_variance: float = 0.0,
    mean_posterior: float | None = None,
    alternative: Alternative = "two-sided",
) -> float:
    r"""Return the probability that the paper's test rejects uniform noise.

    Parameters
    ----------
    noise : ClassConditionalNoise
        The flip rates.
    variance : float
        Variance of the mean posterior at the anchors under the null, from the fitted
        curve alone: the paper's v, or `AnchorVariance.of`.
    significance : float, default 0.05
        Nominal level.
    anchor_variance : float, default 0
        Variance of the mean of the stated posteriors: ``tolerance^2 / (3 k)`` plus
        ``shared_tolerance^2 / 3``.
    mean_posterior : float, optional
        Where the fitted curve settles at the anchors under this noise. Default
        ``1/2 + (beta - alpha) / 2``, the noisy posterior itself, as in the paper; a plain
        logistic curve settles further out (theory page, "Corrections").
    alternative : {"two-sided", "greater", "less"}
        "greater" means that negatives are flipped more often.

    Notes
    -----
    With :math:`v` the null variance, :math:`\tilde v` that under the noise, and
    :math:`h` the shift, the probability of a type II error is

    .. math:: b = \Phi\!\left(\frac{z_c \sqrt v - h}{\sqrt{\tilde v}}\right)
                - \Phi\!\left(\frac{-z_c \sqrt v - h}{\sqrt{\tilde v}}\right).

    Examples
    --------
    >>> from evenodds.noise import ClassConditionalNoise
    >>> round(wald_power(ClassConditionalNoise(0.3, 0.1), variance=0.001), 2)
    0.89
    """
    check_between(variance, "variance", 0, np.inf, closed="neither", why="it is a variance")
    check_between(anchor_variance, "anchor_variance", 0, np.inf, why="it is a variance")
    if mean_posterior is not None:
        check_between(mean_posterior, "mean_posterior", 0, 1)
    level = check_between(significance, "significance", 0, 1, closed="neither")
    settled = (1 + noise.asymmetry) / 2 if mean_posterior is None else mean_posterior
    shift = settled - 0.5
    # p (1 - p) at the anchor, relative to its 1/4 under the null, scales the curve's error.
    relative_slope = (1 - noise.asymmetry**2) ** 2
    signal = (1 - noise.alpha - noise.beta) ** 2
    null_error = float(np.sqrt(variance + anchor_variance))
    noisy_error = float(np.sqrt(variance * relative_slope + signal * anchor_variance))
    centre = Centre(shift / null_error, noisy_error / null_error)
    return centre.power(level, alternative)


def type_two_ratio(
    noise: ClassConditionalNoise,
    variance: AnchorVariance,
    n_anchors: int,
    *,
    significance: float = 0.05,
) -> float:
    """Return ``b_k / b_1``: the type II error with k anchors relative to one.

    At the expected variance it never exceeds 1; a particular set of anchors can be worse
    than a particular single one.
    """
    many = 1 - wald_power(noise, variance.of(n_anchors), significance=significance)
    one = 1 - wald_power(noise, variance.of(1), significance=significance)
    # Where one anchor is enough there is nothing left to improve.
    return many / one if one > 0 else 1.0
