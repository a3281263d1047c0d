r"""Many local fits at once: Newton steps for a block of points, shared in matrix products.

At a point a the local log-odds are ``c_0 + c'(x - a)``; they maximise

    sum_i w_i K((x_i - a)/h) log-likelihood_i  +  the prior row.

The prior row is one row in all, half positive and half negative, spread over the point and
one standard deviation of the kernel (at most one of the features) to either side of it along
every feature. It keeps every fit finite, also where all labels nearby agree, moves a posterior
p by about (1/2 - p)/n with n rows nearby, and counts as a row in the variance too, so a
neighbourhood that says nothing gets a wide error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenodds.errors import ConvergenceError
from evenodds.model.local.kernels import REACH
from evenodds.model.local.neighbourhood import Layout, LeftOut, Neighbourhood, Room
from evenodds.model.local.surroundings import Surroundings
from evenodds.validation import FloatArray

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
    left_out: LeftOut | None = None,
    dtype: Precision = np.float64,
) -> list[LocalFits]:
    """Fit at every point with every bandwidth, given from the widest to the narrowest.

    Each bandwidth starts where the wider one ended, on those of its rows still in reach.
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
        own = None if left_out is None else left_out.mask(numbers, rows)
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
