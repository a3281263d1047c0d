"""The linear score of least mean loss, for any loss that has a slope."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from evenodds.errors import InputError
from evenodds.model.losses.base import Loss
from evenodds.model.losses.catalogue import find_loss
from evenodds.model.losses.descent import FORBIDDING, descend, endless
from evenodds.model.problem import measure_columns, refuse_repeats
from evenodds.model.scaling import ColumnMoments
from evenodds.model.sums import shifted
from evenodds.rows.base import Block, Rows
from evenodds.rows.door import read_data
from evenodds.validation import FloatArray, check_number

# Root-mean-square scores beyond these are no scores, and their squares over- or underflow.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-6, 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearScore:
    """A linear score of least risk.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features + 1,)
        Intercept first, on the scale of the data.
    risk : float
        Mean loss over the rows, each counted with its weight.
    root_mean_square : float
        Of the scores of the rows.
    loss : str
        Name of the loss.
    n_rows : int
        Rows, as stored.
    positive, negative : object
        The labels; a score above 0 speaks for the positive one.
    """

    coefficients: FloatArray
    risk: float
    root_mean_square: float
    loss: str
    n_rows: int
    positive: Any
    negative: Any

    def scores(self, points: ArrayLike) -> FloatArray:
        """Return the scores of points given on the scale of the data, one row each."""
        known = np.asarray(points, dtype=np.float64)
        n_features = len(self.coefficients) - 1
        if known.ndim != 2 or known.shape[1] != n_features:
            raise InputError(
                f"points has shape {known.shape} but the score was fitted to {n_features} "
                f"features: give an array of shape (n_points, {n_features})."
            )
        scores: FloatArray = self.coefficients[0] + known @ self.coefficients[1:]
        return scores


class RiskSum:
    """Total loss at some coefficients (intercept first), and its slope."""

    def __init__(self, loss: Loss, coefficients: FloatArray, shift: FloatArray | None) -> None:
        self.loss = loss
        self.coefficients = coefficients
        self.shift = shift
        self.total = 0.0
        self.slope = np.zeros(len(coefficients))

    def add(self, block: Block) -> None:
        features = shifted(block.features, self.shift)
        scores = features @ self.coefficients[1:] + self.coefficients[0]
        values = self.loss.values(scores, block.labels)
        slopes = self.loss.slopes(scores, block.labels)
        if block.weights is not None:
            values = values * block.weights
            slopes = slopes * block.weights
        self.total += float(values.sum())
        self.slope[0] += slopes.sum()
        self.slope[1:] += slopes @ features

    def merge(self, other: Self) -> None:
        self.total += other.total
        self.slope += other.slope


def minimise_risk(
    X: Any,
    y: Any,
    loss: str | Loss,
    *,
    radius: float | None = None,
    positive: Any = None,
    sample_weight: ArrayLike | str | None = None,
) -> LinearScore:
    """Find the linear score whose mean loss over the rows is least.

    Parameters
    ----------
    X : array, data frame or path
        Features, without an intercept column; as for `fit_logistic`.
    y : array-like of shape (n_rows,) or str
        Two labels, or the name of their column in X.
    loss : str or Loss
        Name of a margin loss (see `margin_losses`), or what `corrected_loss` returns.
    radius : float, optional
        Largest root-mean-square score over the rows. Losses that reward ever larger scores
        need it: the unhinged always, the sigmoid and the ramp nearly always.
    positive : object, optional
        The positive label; default the larger, True, or the later in sort order.
    sample_weight : array-like or str, optional
        Weight of each row, such as the cost of an error there. Or their column in X.

    Returns
    -------
    LinearScore

    Raises
    ------
    InputError
        If the data cannot be used, or the loss is flat, as the zero-one loss is.
    ConvergenceError
        If the risk falls on and on as scores grow.

    Notes
    -----
    The radius, unlike a penalty, leaves the minimiser of a symmetric loss in its place under
    uniform noise. A loss that is not convex is descended from three starts; a lower minimum
    elsewhere cannot be ruled out. For the logistic loss `fit_logistic` is quicker and
    more exact, and for its forward correction `NoiseAwareLogisticRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> import evenodds as eo
    >>> rng = np.random.default_rng(3)
    >>> X = rng.normal(size=(20_000, 1))
    >>> true = (rng.random(20_000) < 1 / (1 + np.exp(-3 * X[:, 0]))).astype(int)
    >>> noise = eo.ClassConditionalNoise(alpha=0.4, beta=0.1)
    >>> given = noise.flip(true, rng)
    >>> def boundary(loss):
    ...     intercept, slope = eo.minimise_risk(X, given, loss).coefficients
    ...     return round(float(-intercept / slope), 2)
    >>> boundary("logistic"), boundary(eo.corrected_loss("logistic", noise))  # the truth is 0
    (0.84, 0.02)
    """
    found = find_loss(loss)
    limit = None if radius is None else check_number(radius, "radius")
    if limit is not None and limit <= 0:
        raise InputError(f"radius is {limit:g} but must be above 0: it is the size of a score.")
    if limit is not None and not SMALLEST_RADIUS <= limit <= LARGEST_RADIUS:
        raise InputError(
            f"radius is {limit:g} but must lie between {SMALLEST_RADIUS:g} and "
            f"{LARGEST_RADIUS:g}: it is the size of a score, and 1 to 20 is usual."
        )
    rows = read_data(X, y, positive=positive, sample_weight=sample_weight)
    return least_risk(rows, found, limit)


def least_risk(rows: Rows, loss: Loss, radius: float | None = None) -> LinearScore:
    """Find the linear score of least risk for any source of rows."""
    moments, shift = measure_columns(rows)
    refuse_repeats(rows, moments, shift)
    # In coordinates where E[xx'] is the identity, the length of a vector is the root-mean-square
    # score, and least squares is the mean of the signed rows.
    root = np.linalg.cholesky(_second_moments(moments))

    def outside(inside: FloatArray) -> FloatArray:
        coefficients: FloatArray = solve_triangular(root, inside, lower=True, trans=1)
        return coefficients

    def risk(inside: FloatArray) -> tuple[float, FloatArray]:
        with np.errstate(over="ignore", invalid="ignore"):
            here = rows.sum_over_rows(RiskSum(loss, outside(inside), shift))
        if here.total < -FORBIDDING:
            raise endless(loss)
        if not (np.isfinite(here.total) and np.isfinite(here.slope).all()):
            return FORBIDDING, np.zeros_like(inside)
        slope: FloatArray = solve_triangular(root, here.slope, lower=True)
        return here.total / moments.weight, slope / moments.weight

    least_squares = solve_triangular(root, _signed_mean(moments), lower=True)
    best = descend(risk, least_squares, loss, radius)
    coefficients = outside(best.place)
    if shift is not None:
        coefficients[0] -= shift @ coefficients[1:]
    return LinearScore(
        coefficients=coefficients,
        risk=best.risk,
        root_mean_square=float(np.linalg.norm(best.place)),
        loss=loss.name,
        n_rows=rows.n_rows,
        positive=rows.positive,
        negative=rows.negative,
    )


def _second_moments(moments: ColumnMoments) -> FloatArray:
    """Return the mean of ``[1, x] [1, x]'``."""
    means = np.concatenate([[1.0], moments.means])
    second: FloatArray = np.outer(means, means)
    second[1:, 1:] += moments.products / moments.weight
    return second


def _signed_mean(moments: ColumnMoments) -> FloatArray:
    """Return the mean of ``[1, x]``, negated where the label is negative."""
    labels = moments.labels / moments.weight
    means = np.concatenate([[1.0], moments.means])
    signed: FloatArray = (2 * labels - 1) * means
    signed[1:] += 2 * moments.by_label / moments.weight
    return signed
