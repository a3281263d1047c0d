"""Many plain logistic fits at once: the same rows with other labels, or rows of their own.

Replicates share their matrix products. With ``Q`` the products of every pair of columns,
one product of weights and Q gives the information of a whole batch, so a refit costs
little more than its exponentials. Where all labels share their rows, what a fit solves is one
function of the coefficients, so its expansion brings every fit close to its end at once.

A simulation fits thousands of samples that share nothing. They are stacked, so one call
works on all of them: matrix products run sample by sample inside it, and everything else is
elementwise, so a fit comes out the same to the last bit whatever else is in the stack.

Steps on the way are in single precision, the last one in double.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from evenodds.validation import FloatArray

Singles = NDArray[np.float32]

# Numbers in one array of a batch: small enough to stay in a core's cache.
BATCH_NUMBERS = 1 << 16
# Products of columns kept in memory (80 MB); beyond this they are made again for each batch.
MOST_KEPT_PRODUCTS = 10_000_000
# Coefficients that move less than this have settled: the step that showed it leaves an error
# far smaller still. In single precision they have settled earlier.
LAST_STEP = 1e-6
NEAR = 1e-3
LONGEST_STEP = 4.0
MAX_STEPS = 30


@dataclass(frozen=True, slots=True)
class PairProducts:
    """A design with the products of every pair of its columns.

    The products are kept where they take little memory, else made again in pieces.
    """

    design: FloatArray  # (rows, d), with a leading 1
    products: FloatArray | None  # (rows, d (d + 1) / 2)

    @classmethod
    def of(cls, design: FloatArray) -> "PairProducts":
        """Multiply every pair of columns, if the products are few enough to keep."""
        n_rows, n_columns = design.shape
        few = n_rows * n_columns * (n_columns + 1) // 2 <= MOST_KEPT_PRODUCTS
        return cls(design, _multiply_pairs(design) if few else None)

    def grams(self, weights: FloatArray) -> FloatArray:
        """Return ``X' W X`` for each row of `weights` (replicates, rows)."""
        return _unfold(self._flat_grams(weights), self.design.shape[1])

    def _flat_grams(self, weights: FloatArray) -> FloatArray:
        """Return the upper triangles of the gram matrices, one a row."""
        if self.products is not None:
            return weights @ self.products
        n_columns = self.design.shape[1]
        total = np.zeros((len(weights), n_columns * (n_columns + 1) // 2))
        length = max(1, BATCH_NUMBERS // total.shape[1])
        for start in range(0, len(self.design), length):
            piece = slice(start, start + length)
            total += weights[:, piece] @ _multiply_pairs(self.design[piece])
        return total


@cache
def _triangle(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of the upper triangle, by rows."""
    rows, columns = np.triu_indices(d)
    return rows, columns


def _multiply_pairs(design: FloatArray) -> FloatArray:
    """Return the product of every pair of columns, upper triangle by rows."""
    rows, columns = _triangle(design.shape[1])
    return design[:, rows] * design[:, columns]


def batches(n_replicates: int, n_rows: int) -> Iterator[slice]:
    """Cut replicates into batches whose arrays stay small."""
    return _cut(n_replicates, BATCH_NUMBERS // n_rows)


def _cut(n: int, size: int) -> Iterator[slice]:
    """Cut the numbers below n into pieces of this size, or of 1."""
    for start in range(0, n, max(1, size)):
        yield slice(start, min(start + max(1, size), n))


# Numbers in the arrays of a stack, and in those where all label vectors share their rows.
STACK_NUMBERS = 1 << 17
LABEL_NUMBERS = 1 << 18
# Fitted values worked on at a time: they and their weights stay in a core's cache.
PIECE_BYTES = 1 << 18
# Residual variance is kept above this share of the labels' variance, as for the single fit.
LEAST_RESIDUAL_SHARE = 1e-3
# Label vectors whose mean is the centre of an expansion, how often this is turned around, and
# steps after it that say it did not hold.
ENOUGH = 500
TURNS = 3
TOO_FAR = 0.1


@dataclass(frozen=True, slots=True)
class StackFit:
    """Plain fits of many samples, each with one or more label vectors."""

    coefficients: FloatArray  # (samples, label vectors, d), intercept first
    covariance: FloatArray  # (samples, label vectors, d, d), the inverse information
    converged: NDArray[np.bool_]  # (samples, label vectors)


def samples_in_a_stack(n_rows: int) -> int:
    """Return how many samples of this length to fit together."""
    return max(1, STACK_NUMBERS // n_rows)


def fit_stack(features: FloatArray, labels: NDArray[np.generic]) -> StackFit:
    """Fit plain logistic regression to every label vector of every sample.

    Parameters
    ----------
    features : ndarray of shape (samples, rows, features)
        On comparable scales: these are simulated, not measured.
    labels : ndarray of shape (samples, label vectors, rows)
        0 or 1.
    """
    products, singles = _pair_products(features)
    by_label = labels.astype(np.float64) @ products[:, : features.shape[2] + 1].transpose(0, 2, 1)
    return _from_afar(products, singles, labels, _least_squares_start(products, by_label))


def fit_labels(features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
    """Return the coefficients of many label vectors of the same rows; 0 where there are none."""
    products, singles = _pair_products(features[None])
    columns = products[0, : features.shape[1] + 1].T.copy()
    pieces = _cut(len(labels), PIECE_BYTES // (8 * len(features)))
    by_label = np.concatenate([labels[piece].astype(np.float64) @ columns for piece in pieces])
    found, left = np.full_like(by_label, np.nan), np.ones(len(labels), dtype=bool)
    if len(labels) >= products.shape[1]:  # with fewer, the fourth moments cost more than they save
        middle = labels[:: max(1, len(labels) // ENOUGH)].mean(axis=0)
        centre = fit_stack(features[None], middle[None, None]).coefficients[0, 0]
        with np.errstate(over="ignore", invalid="ignore"):  # labels far from the centre
            start, inverse = _expanded_starts(products[0], by_label, centre)
            start = start + _newton_steps(start[None], singles, labels[None], inverse[None])[1][0]
            steps = _newton_steps(start[None], products, labels[None])[1][0]
        sizes = np.abs(steps).max(axis=1)
        found, left = start + steps, ~(sizes <= LAST_STEP)
        found[~(sizes <= TOO_FAR)] = np.nan
    unknown = np.isnan(found).any(axis=1)
    found[unknown] = _least_squares_start(products, by_label[None, unknown])[0]
    for piece in _cut(int(left.sum()), LABEL_NUMBERS // len(features)):
        some = np.flatnonzero(left)[piece]
        rest = labels[None, some], found[None, some]
        found[some] = _from_afar(products, singles, *rest).coefficients[0]
    return np.asarray(np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0))


def _from_afar(
    products: FloatArray, singles: Singles, labels: NDArray[np.generic], start: FloatArray
) -> StackFit:
    """Climb most of the way in single precision, whose exponentials cost a fourth."""
    nearly = _climb(singles, labels, start, NEAR)
    start = np.where(nearly.converged[..., None], nearly.coefficients, start)
    return _climb(products, labels, start, LAST_STEP)


def _climb(
    products: FloatArray | Singles,
    labels: NDArray[np.generic],
    start: FloatArray,
    last_step: float,
) -> StackFit:
    """Take Newton steps until they are short, in the precision of the products."""
    coefficients = start.copy()
    coefficients[~np.isfinite(start).all(axis=2)] = np.nan  # labels without a start
    covariance = np.full((*start.shape, start.shape[2]), np.nan)
    converged = np.zeros(start.shape[:2], dtype=bool)
    moving: NDArray[np.bool_] = np.array(np.isfinite(coefficients).any(axis=(1, 2)))
    held = np.arange(len(start))  # samples in hand; fewer once many have converged
    for _ in range(MAX_STEPS):
        if not moving[held].any():
            break
        if 2 * moving[held].sum() < len(held):
            kept = moving[held]
            held, products, labels = held[kept], products[kept], labels[kept]
        with np.errstate(over="ignore"):
            inverse, steps = _newton_steps(coefficients[held], products, labels)
        sizes = np.abs(steps).max(axis=2)
        # Steps this long lead nowhere: the labels are (nearly) separated.
        steps *= np.minimum(1, LONGEST_STEP / np.maximum(sizes, 1e-300))[..., None]
        sample, labelling = np.nonzero(moving[held][:, None] & np.isfinite(sizes))
        active = held[sample], labelling
        coefficients[active] += steps[sample, labelling]
        # The curvature before a last step of 1e-6 is that after it, to as many digits.
        covariance[active] = inverse[sample, labelling]
        converged[active] = sizes[sample, labelling] <= last_step
        moving[held] &= (np.isfinite(sizes) & ~converged[held]).any(axis=1)
    return StackFit(coefficients, covariance, converged)


def _newton_steps(
    coefficients: FloatArray,
    products: FloatArray | Singles,
    labels: NDArray[np.generic],
    inverse: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return inverse informations (or those given) and Newton steps; nan where singular."""
    n_samples, n_labels, d = coefficients.shape
    n_rows, like = products.shape[2], products.dtype
    slopes = (-coefficients).astype(like)
    score, curvature = np.empty_like(slopes), np.empty((*slopes.shape[:2], products.shape[1]), like)
    # With many pairs their products are longer than the cache: read them for more labels at once.
    few = max(1, PIECE_BYTES // (like.itemsize * n_rows), products.shape[1] // 4)
    room = np.empty((2, few * n_rows), like)
    for some in _cut(n_samples, few // n_labels):
        columns, pairs = products[some, :d], products[some].transpose(0, 2, 1)
        for part in ((some, few_labels) for few_labels in _cut(n_labels, few)):
            given = labels[part]
            fitted, scratch = (each[: given.size].reshape(given.shape) for each in room)
            np.matmul(slopes[part], columns, out=fitted)
            np.exp(fitted, out=fitted)
            fitted += 1
            np.reciprocal(fitted, out=fitted)
            # Residuals are summed, not labels and fitted values each: in single precision that
            # would lose half of the digits.
            np.subtract(given, fitted, out=scratch, casting="same_kind")
            np.matmul(scratch, pairs[:, :, :d], out=score[part])
            if inverse is None:
                fitted -= np.multiply(fitted, fitted, out=scratch)
                np.matmul(fitted, pairs, out=curvature[part])
    if inverse is None:
        inverse = _inverses(_unfold(curvature, d))
    return inverse, (inverse @ score[..., None])[..., 0]


def _inverses(information: FloatArray) -> FloatArray:
    """Return inverse matrices; nan where one is singular."""
    try:
        return np.asarray(np.linalg.inv(information), dtype=np.float64)
    except np.linalg.LinAlgError:
        sound = _is_sound(information)
        inverse = np.full_like(information, np.nan)
        inverse[sound] = np.linalg.inv(information[sound])
        return inverse


def _expanded_starts(
    pairs: FloatArray, by_label: FloatArray, centre: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return starts and inverse informations of many label vectors of the same rows.

    A fit solves ``X' p(theta) = X' y``, whose left side is one function for all labels. With
    ``t = theta - centre`` it is ``X' p(centre) + H t + K3[t, t] / 2 + K4[t, t, t] / 6 + ...``.
    """
    d = by_label.shape[1]
    chances = 1 / (1 + np.exp(-centre @ pairs[:d]))
    weights = chances * (1 - chances)
    information = _unfold(pairs @ weights, d)
    third = (pairs * (weights * (1 - 2 * chances))) @ pairs[:d].T
    fourth = (pairs * (weights * (1 - 6 * weights))) @ pairs.T
    first, second = _triangle(d)
    times = np.where(first == second, 1, 2)
    gaps, inverse = by_label - pairs[:d] @ chances, _inverses(information)
    moves = gaps @ inverse
    for _ in range(TURNS):
        squares = times * moves[:, first] * moves[:, second]
        bends = _unfold(squares @ fourth, d)
        moves = (gaps - squares @ third / 2 - (bends @ moves[..., None])[..., 0] / 6) @ inverse
    return centre + moves, _inverses(information + _unfold(moves @ third.T, d) + bends / 2)


def _pair_products(features: FloatArray) -> tuple[FloatArray, Singles]:
    """Return 1, the columns, and the products of every pair of columns: (samples, pairs, rows).

    In double and in single precision, in one block of memory: a large block, once freed, is kept
    for the next stack, where fresh memory would cost more than the arithmetic.
    """
    n_samples, n_rows, p = features.shape
    shape = n_samples, (p + 1) * (p + 2) // 2, n_rows
    block = np.empty((3, n_samples * shape[1] * n_rows), np.float32)
    products, singles = block[:2].ravel().view(np.float64).reshape(shape), block[2].reshape(shape)
    products[:, 0] = 1
    products[:, 1 : p + 1] = features.transpose(0, 2, 1)
    first, second = _triangle(p)
    for place, (one, other) in enumerate(zip(first, second, strict=True), start=p + 1):
        np.multiply(products[:, one + 1], products[:, other + 1], out=products[:, place])
    singles[:] = products
    return products, singles


def _is_sound(matrices: FloatArray) -> NDArray[np.bool_]:
    """Return which matrices can be inverted."""
    sound: NDArray[np.bool_] = np.array(np.isfinite(matrices).all(axis=(-2, -1)))
    sound[sound] = np.linalg.cond(matrices[sound]) < 1 / np.finfo(float).eps
    return sound


def _unfold(sums: FloatArray, d: int) -> FloatArray:
    """Return symmetric matrices from sums of pair products."""
    first, second = _triangle(d)
    matrices = np.empty((*sums.shape[:-1], d, d))
    matrices[..., first, second] = sums
    matrices[..., second, first] = sums
    return matrices


def _least_squares_start(products: FloatArray, by_label: FloatArray) -> FloatArray:
    """Return linear discriminants: exact if both classes were normal; nan where there is none."""
    n_rows, d = products.shape[2], by_label.shape[2]
    columns = products[:, :d]
    gram = (columns @ columns.transpose(0, 2, 1))[:, None]
    share = by_label[..., 0] / n_rows
    # Rows too few for their columns have no fit; they must not stop those of other samples.
    singular = ~_is_sound(gram)
    gram[singular] = np.eye(d)
    slopes = np.linalg.solve(gram, by_label[..., None])[..., 0]
    slopes[singular[:, 0]] = np.nan
    variance = share * (1 - share)
    explained = (slopes * by_label).sum(axis=2) / n_rows - share**2
    residual = np.maximum(variance - explained, LEAST_RESIDUAL_SHARE * variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        start: FloatArray = slopes / residual[..., None]
        start[..., 0] = (
            np.log(share / (1 - share))
            + (slopes[..., 0] - 0.5) / residual
            + (1 / share - 1 / (1 - share)) / 2
        )
    return start
