"""The sums over rows that a logistic fit is made of, and the scale it works on.

Each works on centred features ``x - shift`` where a shift is needed to keep
the digits (a calendar year, a large id), and on the features as they are where
it is not, which saves a copy of each block.

The solver works with ``(x - shift) / scale``. The scale is a power of two, so
it costs no digits; the shift is there only for columns far from zero, since
subtracting it costs a copy of each block.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, ssyrk
from scipy.linalg.lapack import dpotrf, dpotri

from evenodds.errors import InputError
from evenodds.rows.base import (
    Block,
    Rows,
    against,
    beside,
    exactly,
    on_host,
    refuse_missing,
    small_spread,
    xp_of,
)
from evenodds.validation import FloatArray

# From this width on the symmetric product beats the general one, which starts faster.
SYMMETRIC_PRODUCT_FROM = 40
LONG_WAY_UP_TO = 4
# From this width on rows are multiplied one after another: they come from memory twice as fast as
# in the several streams of a matrix product. NumPy 1 cannot.
ROW_BY_ROW_FROM = 40
row_products = getattr(np, "vecdot", np.matmul)
# Rows of one product on a device.
LONGEST_THERE = 8192
# Sums of squares that single precision holds, with room for rows that add little of it.
LEAST_IN_SINGLE, MOST_IN_SINGLE = 1e-20, 1e30
# Sums in single precision go over into double precision after this many rows.
ROWS_IN_SINGLE = 2048
# A column's spread below this loses digits where it is squared.
LEAST_SPREAD = 1e-150
# Columns that are mirrored at once.
STRIP = 64
# A piece of a block of this size and its scaled copy stay in the cache between two products.
PIECE_BYTES = 384 * 1024


class Sums:
    """Sums over rows, to which those over other rows can be added."""

    summed: ClassVar[tuple[str, ...]]  # what is summed
    on_device: ClassVar[bool] = False  # whether rows may lie on a device

    def merge(self, other: Self) -> None:
        """Add what another copy has summed over other rows."""
        for name in self.summed:
            total = getattr(self, name)
            total += getattr(other, name)
            setattr(self, name, total)


def weigh(block: Block, *values: FloatArray) -> None:
    """Count a block's rows with their weights, where they have any; in place."""
    if block.weights is not None:
        for each in values:
            each.__imul__(block.weights)


def counts_of(block: Block) -> Any:
    """Return how many rows each row of a block stands for."""
    return block.xp.ones_like(block.labels) if block.weights is None else block.weights


class Moments(Sums):
    """First and second moments of features and labels."""

    summed = ("labels", "features_by_label", "_gram")
    on_device = True

    def __init__(self, n_features: int, shift: FloatArray | None = None) -> None:
        self.shift = shift
        self.labels = 0.0
        self.features_by_label = np.zeros(n_features)
        self._gram = WeightedGram(n_features)

    def add(self, block: Block) -> None:
        features = shifted(exactly(block.features), self.shift)
        counts = counts_of(block)
        labels = block.labels * counts
        self.labels += float(labels.sum())
        self.features_by_label += against(labels, features)
        self._gram.add(features, counts)

    def total(self) -> FloatArray:
        """Return ``[1, X]' W [1, X]``: the weight, the sums, and the products of features."""
        return self._gram.total()


class Ranges:
    """Least and largest value of each column, where rows have weight."""

    on_device = True

    def __init__(self, n_features: int) -> None:
        self.low, self.high = np.full(n_features, np.inf), np.full(n_features, -np.inf)

    def add(self, block: Block) -> None:
        features = exactly(block.features)[counts_of(block) > 0]
        if len(features):
            self.low = np.minimum(self.low, on_host(block.xp.amin(features, 0)))
            self.high = np.maximum(self.high, on_host(block.xp.amax(features, 0)))

    def merge(self, other: Self) -> None:
        self.low = np.minimum(self.low, other.low)
        self.high = np.maximum(self.high, other.high)


def first_constant(rows: Rows, flat: NDArray[np.bool_]) -> int:
    """Return the first of columns that look constant, refusing those that vary a little."""
    ranges = rows.sum_over_rows(Ranges(rows.n_features))
    for column in np.flatnonzero(flat & (ranges.low < ranges.high)).tolist():
        called = f"{rows.column(column)} of {rows.called}"
        raise small_spread(called, ranges.low[column], ranges.high[column])
    return int(np.argmax(flat))


def refuse_overflow(rows: Rows) -> None:
    """Refuse columns whose sums of squares are not finite, as values are missing or too large."""
    refuse_missing(rows)
    raise InputError(
        f"{rows.called} has values so large that their squares overflow: rescale its columns."
    )


class _Heaviest:
    """The largest weight of a row."""

    on_device = True
    weight = 0.0

    def add(self, block: Block) -> None:
        self.weight = max(self.weight, float(counts_of(block).max()))

    def merge(self, other: Self) -> None:
        self.weight = max(self.weight, other.weight)


def refuse_one_heavy_row(rows: Rows) -> None:
    """Refuse a row that outweighs all others, by which nothing else is seen."""
    largest = rows.sum_over_rows(_Heaviest()).weight
    others = rows.total_weight - largest
    if largest > others:
        raise InputError(
            f"one row has the weight {largest:g} and all others together {others:g}, so that they "
            "count for nothing: a weight is how many rows a row stands for, so check it."
        )


class Score(Sums):
    """First derivative of the log-likelihood at `coefficients`, intercept first."""

    summed = ("score",)
    on_device = True

    def __init__(self, coefficients: FloatArray, shift: FloatArray | None = None) -> None:
        self.coefficients = coefficients
        self.shift = shift
        self.score = np.zeros(len(coefficients))

    def add(self, block: Block) -> None:
        features = shifted(block.features, self.shift)
        residuals = block.labels - probabilities(features, self.coefficients)
        weigh(block, residuals)
        self.score[0] += float(residuals.sum())
        self.score[1:] += against(residuals, features)


class Information(Sums):
    """Log-likelihood, its first derivative, and its negative second derivative."""

    summed = ("log_likelihood", "score", "_gram")
    on_device = True

    def __init__(
        self, coefficients: FloatArray, shift: FloatArray | None = None, *, single: bool = False
    ) -> None:
        n_parameters = len(coefficients)
        self.coefficients = coefficients
        self.shift = shift
        self.log_likelihood = 0.0
        self.score = np.zeros(n_parameters)
        self._gram = WeightedGram(n_parameters - 1, single=single)

    @property
    def information(self) -> FloatArray:
        """Return the negative second derivative, intercept first."""
        return self._gram.total()

    def add(self, block: Block) -> None:
        features = shifted(exactly(block.features), self.shift)
        fitted = probabilities(features, self.coefficients)
        residuals = block.labels - fitted
        # 1 - |y - p| is the fitted probability of the label that was given.
        log_chances = block.xp.log(1 - abs(residuals))  # -inf far from the optimum is meant
        curvature = fitted - fitted * fitted
        weigh(block, residuals, curvature, log_chances)
        self.log_likelihood += float(log_chances.sum())
        self.score[0] += float(residuals.sum())
        self.score[1:] += against(residuals, features)
        self._gram.add(features, curvature)


def shifted(features: Any, shift: FloatArray | None) -> Any:
    """Return centred features, or the very same array where no shift is needed."""
    if shift is None:
        return features
    exact = exactly(features)
    return exact - beside(shift, exact)


def unshifted(coefficients: FloatArray, shift: FloatArray | None) -> FloatArray:
    """Return coefficients (intercept first) of shifted features as those of the data."""
    moved = coefficients.copy()
    if shift is not None:
        moved[0] -= shift @ moved[1:]
    return moved


def probabilities(features: Any, coefficients: FloatArray) -> Any:
    """Return the logistic curve of the linear predictor; overflow to 0 is meant."""
    if not isinstance(features, np.ndarray):
        return logits_there(features, coefficients).sigmoid()
    # Written out: scipy.special.expit is several times slower on a block in cache.
    wide = features.shape[1] >= ROW_BY_ROW_FROM
    linear = (row_products if wide else np.matmul)(features, coefficients[1:])
    linear += coefficients[0]
    np.negative(linear, out=linear)
    np.exp(linear, out=linear)
    linear += 1
    return np.reciprocal(linear, out=linear)


def logits_there(features: Any, coefficients: FloatArray) -> Any:
    """Return the linear predictor of rows on a device, multiplied as they are, in float64."""
    return (features @ beside(coefficients[1:], features)).double() + float(coefficients[0])


class WeightedGram:
    """Sum of ``[1, X]' W [1, X]``, by whichever product is faster at this width.

    With `single`, products of different wide columns are summed in single precision, in half the
    time; `error_in_single` tells what that costs. Squares stay in double precision.
    """

    def __init__(self, n_features: int, *, single: bool = False) -> None:
        self._weight = 0.0
        self._border = np.zeros(n_features)
        # Column order, so that the symmetric product can add to it in place (one triangle).
        self._gram = np.zeros((n_features, n_features), order="F")
        self._symmetric = n_features >= SYMMETRIC_PRODUCT_FROM
        self._scratch = np.empty((0, n_features))
        self._single = _InSingle(n_features) if single and self._symmetric else None

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the scratch, which is larger than everything else together."""
        return {**self.__dict__, "_scratch": self._scratch[:0]}

    def add(self, features: Any, weights: Any) -> None:
        """Add the rows of a block."""
        self._weight += float(weights.sum())
        if not isinstance(features, np.ndarray):
            self._add_there(features, weights)
            return
        if not self._symmetric:
            self._border += weights @ features
            if features.nbytes <= PIECE_BYTES:
                self._add_general(features, weights)
                return
            for piece in pieces(features):
                self._add_general(features[piece], weights[piece])
            return
        if len(self._scratch) < len(features):
            self._scratch = np.empty((len(features), features.shape[1]))
        if self._single is not None:
            self._border += weights @ features
            self._single.add(features, weights, self._scratch[: len(features)])
            return
        roots = np.sqrt(weights)
        scaled = np.multiply(features, roots[:, None], out=self._scratch[: len(features)])
        self._border += roots @ scaled
        self._gram = dsyrk(1.0, scaled.T, beta=1.0, c=self._gram, overwrite_c=1)

    def _add_there(self, features: Any, weights: Any) -> None:
        """Add rows on a device: many short products side by side, since one long one waits."""
        roots = weights.sqrt()
        scaled = features * roots[:, None]
        self._border += on_host(roots @ scaled)
        n_whole = len(scaled) // LONGEST_THERE * LONGEST_THERE
        pieces = scaled[:n_whole].view(-1, LONGEST_THERE, scaled.shape[1])
        product = scaled[n_whole:].T @ scaled[n_whole:]
        if len(pieces):
            product += (pieces.transpose(1, 2) @ pieces).sum(dim=0)
        self._gram += on_host(product)

    def _add_general(self, features: FloatArray, weights: FloatArray) -> None:
        # NumPy's inner loop runs along the last axis: the long one for the narrowest blocks, and
        # for those whose columns lie one after another.
        long_way = features.shape[1] <= LONG_WAY_UP_TO or features.strides[0] < features.strides[1]
        order: Literal["C", "F"] = "C" if long_way else "F"
        self._gram += np.multiply(features.T, weights, order=order) @ features

    def __iadd__(self, other: Self) -> Self:
        """Add what another copy has summed."""
        self._weight += other._weight
        self._border += other._border
        self._gram += other._gram
        if self._single is not None and other._single is not None:
            self._single += other._single
        return self

    def total(self) -> FloatArray:
        """Return the full symmetric matrix, intercept first."""
        self._scratch = self._scratch[:0].copy()  # its memory is wanted for the matrix
        n_parameters = len(self._border) + 1
        full = np.empty((n_parameters, n_parameters))
        full[0, 0] = self._weight
        full[0, 1:] = full[1:, 0] = self._border
        full[1:, 1:] = self._gram
        if self._single is not None:
            full[1:, 1:] += self._single.total()
        if self._symmetric:
            mirror(full[1:, 1:])
        return full


def mirror(upper: FloatArray) -> None:
    """Make a matrix symmetric by its upper triangle, in place and in strips."""
    for start in range(0, len(upper), STRIP):
        strip = slice(start, start + STRIP)
        square = upper[strip, strip]
        square[...] = np.triu(square) + np.triu(square, 1).T
        upper[start + STRIP :, strip] = upper[strip, start + STRIP :].T


class _InSingle:
    """Sum of ``X' W X`` in single precision for some thousand rows, then in double precision."""

    def __init__(self, n_features: int) -> None:
        shape = n_features, n_features
        self._squares, self._sums = np.zeros(n_features), np.zeros(shape, order="F")
        self._recent, self._n_recent = np.zeros(shape, dtype=np.float32, order="F"), 0

    def add(self, features: FloatArray, weights: FloatArray, scratch: FloatArray) -> None:
        """Add rows, with the help of an array of their size."""
        self._squares += weights @ np.multiply(features, features, out=scratch)
        # Over the squares, which have been summed: half of their memory is enough.
        scaled = scratch.reshape(-1).view(np.float32)[: features.size].reshape(features.shape)
        scaled[...] = features
        scaled *= np.sqrt(weights).astype(np.float32)[:, None]
        self._recent = ssyrk(1.0, scaled.T, beta=1.0, c=self._recent, overwrite_c=1)
        self._n_recent += len(features)
        if self._n_recent >= ROWS_IN_SINGLE:
            self._settle()

    def _settle(self) -> None:
        self._sums += self._recent
        self._recent[:], self._n_recent = 0, 0

    def __iadd__(self, other: Self) -> Self:
        other._settle()
        self._squares += other._squares
        self._sums += other._sums
        return self

    def total(self) -> FloatArray:
        """Return the matrix; its upper triangle counts."""
        self._settle()
        np.fill_diagonal(self._sums, self._squares)
        return self._sums


# Error of a product of columns summed in single precision, as a share of their norms and times
# the root of their rows: of unrelated columns, and what a correlation of 1 adds. The largest of
# many is some standard deviations away.
ERROR_OF_UNRELATED, ERROR_OF_RELATED, LARGEST_ERROR = 3.5e-7, 3.3e-6, 5.0

# An information is summed in single precision if its inverse is then right to this.
SINGLE_WILL_DO = 4e-8


def error_in_single(information: FloatArray, rows_a_weight: float) -> float:
    """Return about the largest error that single precision brings into the inverse information.

    In units of the standard errors of the two parameters. The intercept, which comes first, is
    summed in double precision. Rows of little curvature hardly count.
    """
    n_rows = 4 * float(information[0, 0]) * rows_a_weight
    norms = np.sqrt(information.diagonal())
    correlations = information / np.outer(norms, norms)
    factor, failed = dpotrf(correlations.T, lower=1)
    if failed:
        return math.inf
    inverse = _inverse_by(factor)
    stretch = float(((inverse[:, 1:] ** 2).sum(axis=1) / inverse.diagonal()).max())
    related = float(np.abs(np.triu(correlations[1:, 1:], 1)).max())
    error = ERROR_OF_UNRELATED + ERROR_OF_RELATED * related
    return LARGEST_ERROR * stretch * error / math.sqrt(n_rows)


def pieces(features: Any, within: slice = slice(None)) -> Iterator[slice]:
    """Cut rows in memory into pieces that fit the cache together with a scaled copy."""
    start, end, _ = within.indices(len(features))
    if not isinstance(features, np.ndarray):
        yield within
        return
    length = max(PIECE_BYTES // (8 * features.shape[1]), 1)
    for first in range(start, end, length):
        yield slice(first, min(first + length, end))


# Keeps the start finite where least squares explains the labels almost entirely.
LEAST_RESIDUAL_SHARE = 0.08
# A column whose mean is this many spreads from zero loses digits unless it is centred.
FAR_FROM_ZERO = 8.0


@dataclass(frozen=True, slots=True)
class Scaling:
    """A shift and a scale a column."""

    shift: FloatArray | None
    factors: FloatArray  # 1 for the intercept, 1 / scale for each column
    spreads: FloatArray  # of the columns on this scale: about 1

    @classmethod
    def by(cls, shift: FloatArray | None, spreads: FloatArray) -> "Scaling":
        """Scale by the power of two nearest to each spread."""
        factors = np.exp2(-np.round(np.log2(spreads)))
        return cls(shift, np.concatenate([[1.0], factors]), spreads * factors)

    def rescaled(self, values: FloatArray) -> FloatArray:
        """Divide a vector or both sides of a matrix by the scale (1 for the intercept).

        The same division takes a score or an information to the solver's scale,
        and coefficients or a covariance back from it.
        """
        divided: FloatArray = values * self.factors
        if values.ndim == 2:
            divided *= self.factors[:, None]
        return divided

    def in_single(self, information: FloatArray) -> bool:
        """Return whether single precision holds the squares of columns as the data have them."""
        squares = information.diagonal() / self.factors**2
        return bool((squares > LEAST_IN_SINGLE).all() and (squares < MOST_IN_SINGLE).all())


@dataclass(frozen=True, slots=True)
class ShiftedCurve:
    """A fitted curve in features that are shifted only: the form that keeps its digits.

    With a column far from zero (a year, an id) the intercept's variance is huge and
    cancels in every prediction; here it never appears.
    """

    shift: FloatArray | None
    coefficients: FloatArray
    covariance: FloatArray
    inverse_information: FloatArray

    def design(self, points: FloatArray) -> FloatArray:
        """Return points as rows of the shifted design, with a leading 1."""
        moved = points if self.shift is None else points - self.shift
        return np.column_stack([np.ones(len(points)), moved])

    def coefficients_of_data(self) -> FloatArray:
        """Return the coefficients on the scale of the data."""
        return unshifted(self.coefficients, self.shift)

    def covariance_of_data(self) -> FloatArray:
        """Return the covariance of the coefficients on the scale of the data."""
        one_side = unshifted(self.covariance, self.shift)
        return unshifted(one_side.T, self.shift).T


def without_chance(products: Any, n_rows: int) -> Any:
    """Return sums of products about means, less what chance adds to those of different columns.

    Correlations are shrunk by the share of their squares that `n_rows` rows of unrelated columns
    would show too (Schaefer and Strimmer 2005, Stat. Appl. Genet. Mol. Biol. 4, 32).
    """
    variances = products.diagonal()
    by_variance = products / (variances + (variances <= 0))  # of a constant column 0
    n_columns = int((variances > 0).sum())
    squares = float((by_variance * by_variance.T).sum()) - n_columns
    by_chance = n_columns * (n_columns - 1) / n_rows
    kept = max(1 - by_chance / max(squares, by_chance, 1e-300), 0.0)
    return products * kept + (1 - kept) * xp_of(products).diag(variances)


@dataclass(frozen=True, slots=True)
class ColumnMoments:
    """Weight, means, centred products and labels of shifted columns."""

    weight: float
    means: FloatArray
    products: FloatArray  # sums of squares and products about the means
    labels: float
    by_label: FloatArray  # sums of products of labels and centred columns

    @classmethod
    def of(cls, sums: Moments) -> "ColumnMoments":
        """Centre the sums over rows."""
        total = sums.total()
        weight = float(total[0, 0])
        means = total[0, 1:] / weight
        return cls(
            weight=weight,
            means=means,
            products=total[1:, 1:] - weight * np.outer(means, means),
            labels=sums.labels,
            by_label=sums.features_by_label - means * sums.labels,
        )

    def gram(self) -> FloatArray:
        """Return ``[1, X]' W [1, X]`` of the shifted columns."""
        weight, sums = self.weight, self.weight * self.means
        full = np.empty((len(sums) + 1, len(sums) + 1))
        full[0, 0], full[0, 1:], full[1:, 0] = weight, sums, sums
        full[1:, 1:] = self.products + np.outer(sums, self.means)
        return full

    def start(self) -> FloatArray:
        """Return coefficients for shifted features: exact if both classes were normal.

        Least squares on the 0/1 labels, rescaled by the residual variance, is linear
        discriminant analysis (Haggstrom 1983, J. Bus. Econ. Stat. 1, 229-238).
        """
        weight, positives = self.weight, self.labels
        negatives = weight - positives
        slopes = np.linalg.solve(self.products, self.by_label)
        explained = float(slopes @ self.by_label)
        residual_variance = (positives * negatives / weight - explained) / weight
        total_variance = positives * negatives / weight**2
        residual_variance = max(residual_variance, LEAST_RESIDUAL_SHARE * total_variance)
        intercept = positives / weight - slopes @ self.means
        start = np.empty(len(slopes) + 1)
        start[1:] = slopes / residual_variance
        start[0] = (
            np.log(positives / negatives)
            + (intercept - 0.5) / residual_variance
            + (weight / positives - weight / negatives) / 2
        )
        return start

    @property
    def spreads(self) -> FloatArray:
        """Standard deviation of each column, 0 where rounding leaves nothing."""
        spreads = np.sqrt(np.maximum(self.products.diagonal() / self.weight, 0))
        return np.where(spreads > LEAST_SPREAD, spreads, 0.0)


# Eigenvalues below this share of the largest count as zero.
ZERO = 1e-10
# A matrix of unit diagonal whose pivots are all above this is far from singular.
FIRM_PIVOT = 1e-4


def symmetric_inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse, or the pseudo-inverse where the matrix is (nearly) singular."""
    scale = np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
    sides = np.multiply.outer(scale, scale)
    balanced = matrix / sides
    factor, failed = dpotrf(balanced, lower=1)
    if not failed and factor.diagonal().min(initial=1.0) ** 2 > FIRM_PIVOT:
        return _inverse_by(factor) / sides
    values, vectors = np.linalg.eigh(balanced)
    kept = values > ZERO * values[-1]
    inverse: FloatArray = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return inverse / sides


def positive_inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix; rounding may have made it less than that.

    Cholesky's takes half the time of a general one.
    """
    factor, failed = dpotrf(matrix.T, lower=1)
    if not failed:
        return _inverse_by(factor)
    inverse = np.linalg.inv(matrix)
    return np.asarray((inverse + inverse.T) / 2)


def _inverse_by(factor: FloatArray) -> FloatArray:
    """Return the inverse of a matrix by its Cholesky factor, which is overwritten."""
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    inverse: FloatArray = lower + lower.T
    inverse.flat[:: len(inverse) + 1] /= 2
    return inverse


def chi_squared(
    gaps: FloatArray, covariance: FloatArray, zero: float = ZERO, least: float = 0.0
) -> tuple[float, int]:
    """Return the squared size of gaps in their standard errors, and its degrees of freedom.

    Directions whose variance is no more than `zero` of the largest, or than `least`, say nothing
    and are left out.
    """
    values, vectors = np.linalg.eigh(covariance)
    kept = values > max(zero * values[-1], least)
    return float(((vectors[:, kept].T @ gaps) ** 2 / values[kept]).sum()), int(kept.sum())
