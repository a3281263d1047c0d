r"""The posterior of the labels as a spline in the fitted index, by weighted least squares.

Around the noisy-logistic curve ``p_0 = beta + (1 - alpha - beta) u``, ``u = s(theta'x)``, the
posterior is ``p_0 + J'delta`` with

    J = (natural cubic spline in u,  u (1 - u) (1, x)).

The straight part of the spline is class-conditional noise, its bends are whatever else the
labels do along the index, and the last columns are what an error of theta does: the covariance
of delta therefore holds the error of the index. ``delta`` is linear in the labels, with weights
``1/(p_0 (1 - p_0))``, so it exists always and is close to normal (theory page, "Contours").
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from evenodds.model.bending.free_rates import FreeCurve, fit_free_rates
from evenodds.model.bending.natural_spline import natural_spline
from evenodds.model.covariance import sum_by_group
from evenodds.model.inverses import symmetric_inverse
from evenodds.model.noisy_problem import NoisyProblem
from evenodds.model.noisy_sums import NoisyPoint, squeezed
from evenodds.model.sums import shifted
from evenodds.rows.base import Block
from evenodds.validation import FloatArray

# Knots lie evenly on the fitted clean posterior between these.
OUTER_KNOTS = (0.1, 0.9)
# At least and at most so many; in between they grow with the fifth root of the rows on the slope.
FEWEST_KNOTS, MOST_KNOTS = 5, 12


@dataclass(frozen=True, slots=True)
class BendingDesign:
    """How rows enter: the curve started from, and the columns of what may be added to it."""

    curve: NoisyPoint  # for features that are shifted, not scaled
    shift: FloatArray | None
    factors: FloatArray  # scale of each column of (1, x)
    knots: FloatArray

    def of(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``p_0`` and J for features as they are in the data."""
        moved = shifted(features, self.shift)
        index = squeezed(moved, self.curve.coefficients)
        slope = index * (1 - index)
        along = np.column_stack([slope, moved * slope[:, None]]) * self.factors
        return self.curve.squeeze(index), np.hstack([natural_spline(index, self.knots), along])

    @property
    def n_columns(self) -> int:
        """Width of J."""
        return len(self.knots) + len(self.factors)


class BendingSums:
    """The normal equations of the weighted least squares."""

    def __init__(self, design: BendingDesign) -> None:
        self.design = design
        self.score = np.zeros(design.n_columns)
        self.information = np.zeros((design.n_columns, design.n_columns))

    def add(self, block: Block) -> None:
        base, columns = self.design.of(block.features)
        precision = 1 / (base * (1 - base))
        if block.weights is not None:
            precision *= block.weights
        weighted = columns * precision[:, None]
        self.score += weighted.T @ (block.labels - base)
        self.information += weighted.T @ columns

    def merge(self, other: Self) -> None:
        self.score += other.score
        self.information += other.information


class BendingVariance:
    """Variance of the scores: by the curve started from or the fitted one, whichever is larger.

    Where the first puts a plateau at the floor and the rows do not, its weights would promise
    far too much.
    """

    def __init__(self, design: BendingDesign, added: FloatArray) -> None:
        self.design, self.added = design, added
        self.total = np.zeros((design.n_columns, design.n_columns))

    def add(self, block: Block) -> None:
        base, columns = self.design.of(block.features)
        fitted = base + columns @ self.added
        known = base * (1 - base)
        variance = np.maximum(known, fitted * (1 - fitted)) / known**2
        if block.weights is not None:
            variance *= block.weights
        self.total += (columns * variance[:, None]).T @ columns

    def merge(self, other: Self) -> None:
        self.total += other.total


class GroupedBendingScores:
    """Scores at the solution, summed within each group."""

    def __init__(self, design: BendingDesign, added: FloatArray, n_groups: int) -> None:
        self.design, self.added = design, added
        self.scores = np.zeros((n_groups, design.n_columns))

    def add(self, block: Block) -> None:
        base, columns = self.design.of(block.features)
        weighted = (block.labels - base - columns @ self.added) / (base * (1 - base))
        if block.weights is not None:
            weighted *= block.weights
        sum_by_group(self.scores, block, columns * weighted[:, None])

    def merge(self, other: Self) -> None:
        self.scores += other.scores


@dataclass(frozen=True, slots=True)
class BentCurve:
    """The fitted posterior of the labels, with the covariance of what was added."""

    design: BendingDesign
    added: FloatArray
    covariance: FloatArray
    transition: float  # rows on the slope of the curve
    plain: bool  # started from the plain curve: no noisy one could be told from a step

    def at(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the posterior of the labels at points, and its covariance."""
        base, columns = self.design.of(points)
        return base + columns @ self.added, columns @ self.covariance @ columns.T


def fit_bent(problem: NoisyProblem, plain_coefficients: FloatArray) -> BentCurve:
    """Fit the curve that can bend to rows of any kind."""
    start = fit_free_rates(problem, plain_coefficients)
    design = BendingDesign(
        curve=problem.outside(start.point),
        shift=problem.scaling.shift,
        factors=problem.scaling.factors,
        knots=np.linspace(*OUTER_KNOTS, number_of_knots(start)),
    )
    rows = problem.rows
    sums = rows.sum_over_rows(BendingSums(design))
    inverse = symmetric_inverse(sums.information)
    added = inverse @ sums.score
    if rows.n_groups is None:
        middle = rows.sum_over_rows(BendingVariance(design, added)).total
    else:
        scores = rows.sum_over_rows(GroupedBendingScores(design, added, rows.n_groups)).scores
        middle = scores.T @ scores
    covariance = inverse @ middle @ inverse
    return BentCurve(design, added, covariance, start.here.transition, start.plain)


def number_of_knots(start: FreeCurve) -> int:
    """Return how many knots the rows on the slope of the curve can bear."""
    wanted = 1 + round(float(start.here.transition**0.2))
    return min(max(wanted, FEWEST_KNOTS), MOST_KNOTS)
