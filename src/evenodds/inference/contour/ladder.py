r"""The ladder of noise models on the contours: clean, uniform, class-conditional.

With P the stated and e the estimated noisy posteriors of the contours, each rung is a linear
model of what the labels add, ``e - P = X rates``:

    clean              X empty
    uniform            X = 1 - 2P         rates tau
    class-conditional  X = (-P, 1 - P)    rates (alpha, beta): a line

fitted by generalised least squares with covariance ``C_e + c^2 C_P``; an error of a stated
posterior moves e by the slope c of the line, so the weights are iterated. A share of labels
estimated near 0 or 1 looks surer than it is: C_e is that of the rung where this is larger (theory
page, "Contours"). Each rung is tested against everything above it.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from evenodds.inference.contour.groups import Contours
from evenodds.inference.contour.whitening import directions, upper_tail, whitener
from evenodds.validation import FloatArray

MOST_ROUNDS = 100
# Shares of labels nearer to 0 or 1 than this are taken as this in their variance.
LEAST_SHARE = 0.002
SETTLED = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Noisy posteriors of the contours, with their covariance.

    `n_groups` is how many groups that was learned from; None if from all rows.
    """

    posterior: FloatArray
    covariance: FloatArray
    n_groups: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class NoiseFit:
    """One noise model fitted to the contours.

    `whitener` takes gaps to coordinates of unit variance; `residuals` and `design`, the columns
    of X, are in them.
    """

    rates: FloatArray
    covariance: FloatArray  # of the rates
    statistic: float
    df: int
    pvalue: float | None  # None where there is nothing left to test
    whitener: FloatArray
    residuals: FloatArray
    design: FloatArray


# What more there is than a rung: a gap at each contour, or none.
Beyond = FloatArray | float


def fit_clean(contours: Contours, estimates: Estimates, beyond: Beyond = 0.0) -> NoiseFit:
    """Set the estimates against the stated posteriors as they are."""
    return _fit(contours, estimates, np.empty((len(contours), 0)), np.empty(0), beyond)


def fit_uniform(contours: Contours, estimates: Estimates, beyond: Beyond = 0.0) -> NoiseFit:
    """Fit the rate of uniform noise."""
    columns = 1 - 2 * contours.stated[:, None]
    return _fit(contours, estimates, columns, np.array([2.0]), beyond)


def fit_class_conditional(
    contours: Contours, estimates: Estimates, beyond: Beyond = 0.0
) -> NoiseFit:
    """Fit the two flip rates (alpha, beta): the line."""
    return _fit(contours, estimates, _line(contours), np.ones(2), beyond)


def _line(contours: Contours) -> FloatArray:
    return np.column_stack([-contours.stated, 1 - contours.stated])


def _fit(
    contours: Contours,
    estimates: Estimates,
    columns: FloatArray,
    falls: FloatArray,
    beyond: Beyond,
) -> NoiseFit:
    """Fit by generalised least squares, the weights iterated with the slope.

    `falls` are what one unit of each rate takes off the slope.
    """
    start = contours.stated + beyond
    gaps = estimates.posterior - start
    kept = directions(estimates.covariance)
    slope, rates = 1.0, np.zeros(columns.shape[1])
    for _ in range(MOST_ROUNDS):
        under = _covariance_under(start + columns @ rates, estimates)
        white = whitener(kept, under + slope**2 * contours.covariance)
        design = white @ columns
        rates = np.linalg.pinv(design) @ (white @ gaps)
        before, slope = slope, 1 - float(falls @ rates)
        if abs(slope - before) < SETTLED:
            break
    residuals = white @ (gaps - columns @ rates)
    covariance: FloatArray = np.linalg.pinv(design.T @ design).astype(np.float64)
    rank = int(np.linalg.matrix_rank(design)) if columns.shape[1] else 0
    statistic, df = float(residuals @ residuals), len(white) - rank
    return NoiseFit(
        rates=rates,
        covariance=covariance,
        statistic=statistic,
        df=df,
        pvalue=upper_tail(statistic, df, len(white), estimates.n_groups) if df else None,
        whitener=white,
        residuals=residuals,
        design=design,
    )


def _covariance_under(heights: FloatArray, estimates: Estimates) -> FloatArray:
    """Return the covariance of the estimates, widened where labels vary more at these heights."""
    ratio = _spread_of_labels(heights) / _spread_of_labels(estimates.posterior)
    widened = np.sqrt(np.maximum(ratio, 1.0))
    covariance: FloatArray = estimates.covariance * np.outer(widened, widened)
    return covariance


def _spread_of_labels(shares: FloatArray) -> FloatArray:
    """Return the variance of a label by the share of positive ones."""
    kept = np.clip(shares, LEAST_SHARE, 1 - LEAST_SHARE)
    spread: FloatArray = kept * (1 - kept)
    return spread


def one_sided_clean(contours: Contours, estimates: Estimates) -> tuple[float, float]:
    """Return statistic and p-value of "clean" against whatever noise can do.

    Flip rates cannot be negative: the part of the gap that a line with a negative rate would
    explain speaks for no noise and is left out. What remains is chi-squared with two, one or no
    degrees of freedom less than there are contours, mixed by the angle between the directions
    of the two rates.
    """
    clean = fit_clean(contours, estimates)
    gaps = clean.residuals
    design = clean.whitener @ _line(contours)
    rank = int(np.linalg.matrix_rank(design))
    off_line = gaps - design @ (np.linalg.pinv(design) @ gaps)
    _, unexplained = nnls(design, gaps)
    beyond = float(off_line @ off_line)
    statistic = max(beyond + float(gaps @ gaps) - unexplained**2, 0.0)
    lengths = np.linalg.norm(design, axis=0)
    cosine = float(design[:, 0] @ design[:, 1] / (lengths[0] * lengths[1]))
    angle = float(np.arccos(np.clip(cosine, -1.0, 1.0)))
    shares = ((np.pi - angle) / (2 * np.pi), 0.5, angle / (2 * np.pi))
    tails = [
        upper_tail(statistic, len(gaps) - rank + number, len(gaps), estimates.n_groups)
        for number in range(3)
    ]
    return statistic, sum(share * tail for share, tail in zip(shares, tails, strict=True))
