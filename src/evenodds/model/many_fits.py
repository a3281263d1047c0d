"""Many plain logistic fits at once: the same rows with other labels, or rows of their own.

Replicates share their matrix products. With ``Q`` the products of every pair of columns,
one product of weights and Q gives the information of a whole batch, so a refit costs
little more than its exponentials.

A simulation fits thousands of samples that share nothing. They are stacked, so one call
works on all of them: matrix products run sample by sample inside it, and everything else is
elementwise, so a fit comes out the same to the last bit whatever else is in the stack.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenodds.validation import FloatArray

# Numbers in one array of a batch: small enough to stay in a core's cache.
BATCH_NUMBERS = 1 << 16
# Products of columns kept in memory (80 MB); beyond this they are made again for each batch.
MOST_KEPT_PRODUCTS = 10_000_000
# Coefficients that move less than this have settled: the step that showed it leaves an error
# far smaller still.
LAST_STEP = 1e-6
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


def _multiply_pairs(design: FloatArray) -> FloatArray:
    """Return the product of every pair of columns, upper triangle by rows."""
    rows, columns = np.triu_indices(design.shape[1])
    return design[:, rows] * design[:, columns]


def batches(n_replicates: int, n_rows: int) -> Iterator[slice]:
    """Cut replicates into batches whose arrays stay small."""
    size = max(1, BATCH_NUMBERS // n_rows)
    for start in range(0, n_replicates, size):
        yield slice(start, min(start + size, n_replicates))


# Numbers in one array of a stack: small enough to stay in a core's cache.
STACK_NUMBERS = 1 << 16
# The same where all label vectors share their rows, so that less is worked on for each.
LABEL_NUMBERS = 1 << 18
# Residual variance is kept above this share of the labels' variance, as for the single fit.
LEAST_RESIDUAL_SHARE = 1e-3


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
    n_samples, n_rows, p = features.shape
    d, n_pairs, n_labels = p + 1, (p + 1) * (p + 2) // 2, labels.shape[1]
    # One block for all that a fit works on, written over in every step: fresh memory would cost
    # more than the arithmetic, and a large block, once freed, is kept for the next stack.
    block = np.empty((n_pairs + 3 * n_labels) * n_samples * n_rows)
    used = n_pairs * n_samples * n_rows
    products = _pair_products(features, block[:used].reshape(n_samples, n_pairs, n_rows))
    given, *room = block[used:].reshape(3, *labels.shape)
    given[:] = labels
    coefficients = _least_squares_start(products, given, d)
    covariance = np.full((*coefficients.shape, d), np.nan)
    converged = np.zeros(coefficients.shape[:2], dtype=bool)
    coefficients[~np.isfinite(coefficients).all(axis=2)] = np.nan  # labels without a start
    moving: NDArray[np.bool_] = np.array(np.isfinite(coefficients).any(axis=(1, 2)))
    held = np.arange(len(features))  # samples in hand; fewer once many have converged
    for _ in range(MAX_STEPS):
        if not moving[held].any():
            break
        if 2 * moving[held].sum() < len(held):
            kept = moving[held]
            held, products, given = held[kept], products[kept], given[kept]
        inverse, steps = _newton_steps(
            coefficients[held], products, given, [part[: len(held)] for part in room]
        )
        sizes = np.abs(steps).max(axis=2)
        # Steps this long lead nowhere: the labels are (nearly) separated.
        steps *= np.minimum(1, LONGEST_STEP / np.maximum(sizes, 1e-300))[..., None]
        sample, labelling = np.nonzero(moving[held][:, None] & np.isfinite(sizes))
        active = held[sample], labelling
        coefficients[active] += steps[sample, labelling]
        # The curvature before a last step of 1e-6 is that after it, to as many digits.
        covariance[active] = inverse[sample, labelling]
        converged[active] = sizes[sample, labelling] <= LAST_STEP
        moving[held] &= (np.isfinite(sizes) & ~converged[held]).any(axis=1)
    return StackFit(coefficients, covariance, converged)


def fit_labels(features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
    """Return the coefficients of many label vectors of the same rows; 0 where there are none."""
    size = max(1, LABEL_NUMBERS // len(features))
    pieces = (labels[None, start : start + size] for start in range(0, len(labels), size))
    fits = [fit_stack(features[None], piece).coefficients[0] for piece in pieces]
    return np.asarray(np.nan_to_num(np.concatenate(fits), nan=0.0, posinf=0.0, neginf=0.0))


def _newton_steps(
    coefficients: FloatArray, products: FloatArray, given: FloatArray, room: list[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return inverse informations and Newton steps; nan where the information is singular."""
    d = coefficients.shape[2]
    columns = products[:, :d]
    fitted, scratch = room
    np.matmul(-coefficients, columns, out=fitted)
    with np.errstate(over="ignore"):
        np.exp(fitted, out=fitted)
    fitted += 1
    np.reciprocal(fitted, out=fitted)
    score = np.subtract(given, fitted, out=scratch) @ columns.transpose(0, 2, 1)
    fitted -= np.multiply(fitted, fitted, out=scratch)
    information = _unfold(fitted @ products.transpose(0, 2, 1), d)
    try:
        inverse: FloatArray = np.linalg.inv(information).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        sound = _is_sound(information)
        inverse = np.full_like(information, np.nan)
        inverse[sound] = np.linalg.inv(information[sound])
    return inverse, (inverse @ score[..., None])[..., 0]


def _pair_products(features: FloatArray, products: FloatArray) -> FloatArray:
    """Fill in 1, the columns, and the products of every pair of columns: (samples, pairs, rows)."""
    p = features.shape[2]
    products[:, 0] = 1
    products[:, 1 : p + 1] = features.transpose(0, 2, 1)
    first, second = np.triu_indices(p)
    for place, (one, other) in enumerate(zip(first, second, strict=True), start=p + 1):
        np.multiply(products[:, one + 1], products[:, other + 1], out=products[:, place])
    return products


def _is_sound(matrices: FloatArray) -> NDArray[np.bool_]:
    """Return which matrices can be inverted."""
    sound: NDArray[np.bool_] = np.array(np.isfinite(matrices).all(axis=(-2, -1)))
    sound[sound] = np.linalg.cond(matrices[sound]) < 1 / np.finfo(float).eps
    return sound


def _unfold(sums: FloatArray, d: int) -> FloatArray:
    """Return symmetric matrices from sums of pair products."""
    first, second = np.triu_indices(d)
    matrices = np.empty((*sums.shape[:-1], d, d))
    matrices[..., first, second] = sums
    matrices[..., second, first] = sums
    return matrices


def _least_squares_start(products: FloatArray, labels: FloatArray, d: int) -> FloatArray:
    """Return linear discriminants: exact if both classes were normal; nan where there is none."""
    n_rows = labels.shape[2]
    gram = _unfold(products.sum(axis=2), d)[:, None]
    by_label = labels @ products[:, :d].transpose(0, 2, 1)
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
