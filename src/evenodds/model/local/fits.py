r"""Many local fits at once: Newton steps for a block of points, shared in matrix products.

At a point a the local log-odds are ``c_0 + c'(x - a)/h``; they maximise

    sum_i w_i K((x_i - a)/h) log-likelihood_i  +  the prior row.

The prior row is one row in all, half positive and half negative, spread over the point and
one standard deviation of the kernel (at most one of the features) to either side of it along
every feature. It keeps every fit finite, also where
all labels nearby agree, moves a posterior p by about (1/2 - p)/n with n rows nearby, and
counts as a row in the variance too, so a neighbourhood that says nothing gets a wide error.
"""

from dataclasses import dataclass

import numpy as np

from evenodds.errors import ConvergenceError
from evenodds.model.local.kernels import REACH, SPREAD, kernel_weights
from evenodds.model.local.surroundings import PointBlock, Surroundings, squared_distances
from evenodds.rows.base import IntArray
from evenodds.validation import FloatArray

MOST_STEPS = 60
# Largest change of a log-odds in the last step; Newton's error after it is its square.
LAST_STEP = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class LocalFits:
    """Local-linear fits at standardised points.

    Coefficients are ``(c_0, c)`` in bandwidths about each point; `information` is the negative
    second derivative in them, the prior row included.
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


def fit_local(
    around: Surroundings,
    points: FloatArray,
    bandwidth: float,
    kernel: str,
    *,
    start: FloatArray | None = None,
    left_out: "LeftOut | None" = None,
) -> LocalFits:
    """Fit at every point; `start` are coefficients of a nearby bandwidth."""
    n_parameters = points.shape[1] + 1
    coefficients = np.empty((len(points), n_parameters))
    information = np.empty((len(points), n_parameters, n_parameters))
    effective = np.empty(len(points))
    for block in around.blocks(points, REACH[kernel] * bandwidth):
        climb = _Climb(around, block, bandwidth, kernel, left_out)
        here = block.numbers
        first = climb.flat_start() if start is None else start[here]
        coefficients[here], information[here] = climb.newton(first)
        effective[here] = climb.effective_rows
    return LocalFits(points, bandwidth, kernel, coefficients, information, effective)


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """Which rows must not count at which point: those of its own group, or itself."""

    of_points: IntArray
    of_rows: IntArray


class _Climb:
    """Newton for one block of points, in coordinates about the block's middle."""

    def __init__(
        self,
        around: Surroundings,
        block: PointBlock,
        bandwidth: float,
        kernel: str,
        left_out: LeftOut | None,
    ) -> None:
        rows = slice(None) if block.rows is None else block.rows
        middle = block.points.mean(axis=0)
        features = (around.features[rows] - middle) / bandwidth
        self.points = (block.points - middle) / bandwidth
        self.labels = around.labels[rows]
        self.design = np.column_stack([np.ones(len(features)), features])
        self.n_parameters = self.design.shape[1]
        self.pairs = np.triu_indices(self.n_parameters)
        self.products = self.design[:, self.pairs[0]] * self.design[:, self.pairs[1]]
        kernels = kernel_weights(squared_distances(features, self.points), kernel)
        if left_out is not None:
            own = left_out.of_points[block.numbers][:, None] == left_out.of_rows[rows]
            kernels[own] = 0.0
        counted = kernels if around.weights is None else kernels * around.weights[rows]
        total, squares = counted.sum(axis=1), np.einsum("ij,ij->i", counted, kernels)
        self.effective_rows = np.divide(
            total**2, squares, out=np.zeros_like(total), where=squares > 0
        )
        self.total = total
        self.weights = counted
        self.positives = counted @ self.labels
        self.positive_score = (counted * self.labels) @ self.design
        self.prior = PriorRow.at(self.points, bandwidth, kernel)
        farthest = float(np.abs(self.design[:, 1:]).max(initial=0.0)) + float(
            np.abs(self.points).max()
        )
        self.reach = min(REACH[kernel], farthest * self.n_parameters**0.5)

    def flat_start(self) -> FloatArray:
        """Return the log-odds of the share of positives nearby, without slopes."""
        share = (self.positives + 0.5) / (self.total + 1)
        start = np.zeros((len(share), self.n_parameters))
        start[:, 0] = np.log(share / (1 - share))
        return start

    def newton(self, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return coefficients and information about each point.

        The step is damped by ``log(1 + r)/r``, r the most that it changes a log-odds within
        reach: the logistic likelihood then always rises (it is self-concordant in this sense),
        and near the optimum the step is Newton's own.
        """
        coefficients = self._about_middle(start)
        for _ in range(MOST_STEPS):
            score, information = self._derivatives(coefficients)
            step: FloatArray = np.linalg.solve(information, score[..., None])[..., 0].astype(float)
            about = self._about_points(step)
            change = np.abs(about[:, 0]) + self.reach * np.linalg.norm(about[:, 1:], axis=1)
            if change.max() < LAST_STEP:
                coefficients += step
                return self._about_points(coefficients), self._information(information)
            damped = np.log1p(change) / np.maximum(change, 1e-300)
            coefficients += np.where(change < 0.1, 1.0, damped)[:, None] * step
        raise ConvergenceError(
            f"a local fit did not settle in {MOST_STEPS} steps: give a wider bandwidth."
        )

    def _derivatives(self, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return score and information about the block's middle, the prior row included."""
        shares = coefficients @ self.design.T
        np.negative(shares, out=shares)
        with np.errstate(over="ignore"):
            np.exp(shares, out=shares)
        shares += 1.0
        np.reciprocal(shares, out=shares)
        weighted = self.weights * shares
        score = self.positive_score - weighted @ self.design
        shares -= 1.0
        weighted *= shares
        packed = weighted @ self.products
        information = np.empty((len(shares), self.n_parameters, self.n_parameters))
        information[:, self.pairs[0], self.pairs[1]] = -packed
        information[:, self.pairs[1], self.pairs[0]] = -packed
        prior_score, prior_information = self.prior.derivatives(coefficients)
        return score + prior_score, information + prior_information

    def _about_middle(self, coefficients: FloatArray) -> FloatArray:
        moved = coefficients.copy()
        moved[:, 0] -= np.einsum("ij,ij->i", coefficients[:, 1:], self.points)
        return moved

    def _about_points(self, coefficients: FloatArray) -> FloatArray:
        moved = coefficients.copy()
        moved[:, 0] += np.einsum("ij,ij->i", coefficients[:, 1:], self.points)
        return moved

    def _information(self, information: FloatArray) -> FloatArray:
        """Return the information in coefficients about each point."""
        shift = np.broadcast_to(np.eye(self.n_parameters), information.shape).copy()
        shift[:, 1:, 0] = -self.points
        moved: FloatArray = shift @ information @ shift.transpose(0, 2, 1)
        return moved


@dataclass(frozen=True, slots=True, eq=False)
class PriorRow:
    """One row, half of either label, spread over each point and its sides."""

    design: FloatArray  # (points, places, features + 1)

    @classmethod
    def at(cls, points: FloatArray, bandwidth: float, kernel: str) -> "PriorRow":
        """Spread a row about each point; coordinates are in bandwidths."""
        n_points, n_features = points.shape
        aside = min(SPREAD[kernel], 1 / bandwidth) * np.eye(n_features)
        sides = np.vstack([np.zeros((1, n_features)), aside, -aside])
        places = points[:, None, :] + sides
        return cls(np.concatenate([np.ones((n_points, len(sides), 1)), places], axis=2))

    def derivatives(self, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the prior row's part of score and information."""
        weight = 1 / self.design.shape[1]
        shares = self._shares(coefficients)
        score = weight * np.einsum("ik,ikp->ip", 0.5 - shares, self.design)
        slopes = weight * shares * (1 - shares)
        information = np.einsum("ik,ikp,ikq->ipq", slopes, self.design, self.design)
        return score, information

    def variance(self, coefficients: FloatArray, levers: FloatArray) -> FloatArray:
        """Return the prior row's part of the variance of ``levers'(coefficients)``."""
        weight = 1 / self.design.shape[1]
        shares = self._shares(coefficients)
        squared_residuals = ((1 - shares) ** 2 + shares**2) / 2
        pulls = np.einsum("ikp,ip->ik", self.design, levers)
        variance: FloatArray = weight * (pulls**2 * squared_residuals).sum(axis=1)
        return variance

    def _shares(self, coefficients: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            shares: FloatArray = 1 / (
                1 + np.exp(-np.einsum("ikp,ip->ik", self.design, coefficients))
            )
        return shares
