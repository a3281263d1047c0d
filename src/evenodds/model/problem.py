"""A logistic likelihood on the solver's scale, and where to start climbing it."""

from dataclasses import dataclass

import numpy as np

from evenodds.errors import InputError, RankError
from evenodds.model.scaling import FAR_FROM_ZERO, ColumnMoments, Scaling
from evenodds.model.solver import Evaluation
from evenodds.model.sums import Information, Moments, Score
from evenodds.rows.base import Rows, name_column
from evenodds.rows.missing import refuse_missing
from evenodds.validation import FloatArray

# Share of a column's variance not explained by the others below which it counts as a repeat.
REPEATED = 1e-13
# A constant column's spread is rounding only, far below this share of its mean.
CONSTANT = 1e-14
# Keeps the start finite where least squares explains the labels almost entirely.
LEAST_RESIDUAL_SHARE = 0.08


@dataclass(frozen=True, slots=True)
class LogisticProblem:
    """The log-likelihood of `rows` as a function of coefficients on the solver's scale."""

    rows: Rows
    scaling: Scaling

    def score(self, coefficients: FloatArray) -> FloatArray:
        """Return the first derivative (one cheap pass)."""
        empty = Score(self.scaling.rescaled(coefficients), self.scaling.shift)
        with np.errstate(over="ignore"):
            return self.scaling.rescaled(self.rows.sum_over_rows(empty).score)

    def evaluate(self, coefficients: FloatArray) -> Evaluation:
        """Return log-likelihood, score and information (one full pass)."""
        empty = Information(self.scaling.rescaled(coefficients), self.scaling.shift)
        with np.errstate(over="ignore", divide="ignore"):
            sums = self.rows.sum_over_rows(empty)
        return Evaluation(
            log_likelihood=sums.log_likelihood,
            score=self.scaling.rescaled(sums.score),
            information=self.scaling.rescaled(sums.information),
        )


def set_up(rows: Rows) -> tuple[LogisticProblem, FloatArray]:
    """Measure the columns; return the problem and a least-squares start.

    Raises
    ------
    InputError
        If values are missing or infinite.
    RankError
        If a column is constant or repeats others.
    """
    moments, shift = measure_columns(rows)
    refuse_repeats(rows, moments, shift)
    scaling = Scaling.by(shift, moments.spreads)
    start = _least_squares_start(moments)
    return LogisticProblem(rows, scaling), start / scaling.factors


def refuse_repeats(rows: Rows, moments: ColumnMoments, shift: FloatArray | None) -> None:
    """Raise RankError where a column is constant or repeats others."""
    means = moments.means if shift is None else moments.means + shift
    constant = moments.spreads <= CONSTANT * np.abs(means)
    if constant.any():
        _refuse_constant(rows, int(np.argmax(constant)), float(means[np.argmax(constant)]))
    refuse_combinations(rows, moments.products)


def measure_columns(rows: Rows) -> tuple[ColumnMoments, FloatArray | None]:
    """Return the moments of the columns, and the shift they are about if one is needed.

    Raises
    ------
    InputError
        If values are missing or infinite, or too large to be squared.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        moments = ColumnMoments.of(rows.sum_over_rows(Moments(rows.n_features)))
    if not np.isfinite(moments.products).all():
        refuse_missing(rows)
        raise InputError(
            f"{rows.called} has values so large that their squares overflow: rescale its columns."
        )
    far = np.abs(moments.means) > FAR_FROM_ZERO * moments.spreads
    if not far.any():
        return moments, None
    shift = np.where(far, moments.means, 0.0)
    return ColumnMoments.of(rows.sum_over_rows(Moments(rows.n_features, shift))), shift


def _least_squares_start(moments: ColumnMoments) -> FloatArray:
    """Return coefficients for shifted features: exact if both classes were normal.

    Least squares on the 0/1 labels, rescaled by the residual variance, is linear
    discriminant analysis (Haggstrom 1983, J. Bus. Econ. Stat. 1, 229-238).
    """
    weight, positives = moments.weight, moments.labels
    negatives = weight - positives
    slopes = np.linalg.solve(moments.products, moments.by_label)
    explained = float(slopes @ moments.by_label)
    residual_variance = (positives * negatives / weight - explained) / weight
    total_variance = positives * negatives / weight**2
    residual_variance = max(residual_variance, LEAST_RESIDUAL_SHARE * total_variance)
    intercept = positives / weight - slopes @ moments.means
    start = np.empty(len(slopes) + 1)
    start[1:] = slopes / residual_variance
    start[0] = (
        np.log(positives / negatives)
        + (intercept - 0.5) / residual_variance
        + (weight / positives - weight / negatives) / 2
    )
    return start


def _refuse_constant(rows: Rows, column: int, value: float) -> None:
    raise RankError(
        f"{rows.column(column)} of {rows.called} is constant (always {value:g}): "
        "the intercept is added for you, so remove it."
    )


def refuse_combinations(rows: Rows, products: FloatArray) -> None:
    """Raise RankError if a column is a linear combination of others, naming all involved.

    `products` are those of the columns about their means.
    """
    norms = np.sqrt(products.diagonal())
    correlation = products / np.outer(norms, norms)
    try:
        unexplained = np.linalg.cholesky(correlation).diagonal() ** 2
        if unexplained.min() > REPEATED:
            return
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(correlation)
    if values[0] > REPEATED:
        return
    involved = np.flatnonzero(np.abs(vectors[:, 0]) > 1e-6 * np.abs(vectors[:, 0]).max())
    listed = ", ".join(name_column(rows.feature_names, int(column)) for column in involved[:6])
    more = f" and {len(involved) - 6} more" if len(involved) > 6 else ""
    raise RankError(
        f"columns {listed}{more} of {rows.called} repeat each other (one is a combination of the "
        "rest): remove one of them."
    )
