"""Thousands of plain logistic fits at once: the same rows, other labels.

Replicates share their matrix products. With ``Q`` the products of every pair of columns,
one product of weights and Q gives the information of a whole batch, so a refit costs
little more than its exponentials.
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
# The curvature is kept from the step before once all coefficients move less than this.
KEPT_CURVATURE = 0.01
LONGEST_STEP = 4.0
MAX_STEPS = 30


@dataclass(frozen=True, slots=True)
class BatchFit:
    """Plain fits of many label vectors; those that found no optimum are marked."""

    coefficients: FloatArray  # (replicates, parameters)
    converged: NDArray[np.bool_]


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
        n_columns = self.design.shape[1]
        flat = self._flat_grams(weights)
        grams = np.empty((len(weights), n_columns, n_columns))
        rows, columns = np.triu_indices(n_columns)
        grams[:, rows, columns] = flat
        grams[:, columns, rows] = flat
        return grams

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
    products: FloatArray = design[:, rows] * design[:, columns]
    return products


def fit_batch(pairs: PairProducts, labels: NDArray[np.generic], start: FloatArray) -> BatchFit:
    """Fit plain logistic regression to every row of `labels` (replicates, rows of the design).

    `start` are coefficients near the fits, such as those the labels were drawn from. Columns
    should be on comparable scales.
    """
    coefficients = np.empty((len(labels), pairs.design.shape[1]))
    converged = np.empty(len(labels), dtype=bool)
    shared = _probabilities(pairs.design, start[None, :])
    first = np.linalg.inv(pairs.grams(shared * (1 - shared))[0])
    for batch in batches(len(labels), len(pairs.design)):
        given = labels[batch].astype(np.float64)
        # From a shared start the first step needs no exponential of its own.
        near = start + (given - shared) @ pairs.design @ first
        coefficients[batch], converged[batch] = _climb(pairs, given, near)
    return BatchFit(coefficients, converged)


def batches(n_replicates: int, n_rows: int) -> Iterator[slice]:
    """Cut replicates into batches whose arrays stay small."""
    size = max(1, BATCH_NUMBERS // n_rows)
    for start in range(0, n_replicates, size):
        yield slice(start, min(start + size, n_replicates))


def _climb(
    pairs: PairProducts, labels: FloatArray, coefficients: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Take Newton steps until all replicates have settled."""
    active = np.arange(len(labels))
    converged = np.zeros(len(labels), dtype=bool)
    inverses: FloatArray = np.empty(0)
    largest = np.inf
    for _ in range(MAX_STEPS):
        fitted = _probabilities(pairs.design, coefficients[active])
        score = (labels[active] - fitted) @ pairs.design
        if largest > KEPT_CURVATURE:
            fitted -= fitted * fitted
            try:
                inverses = np.linalg.inv(pairs.grams(fitted)).astype(np.float64)
            except np.linalg.LinAlgError:
                break
        steps = (inverses @ score[:, :, None])[:, :, 0]
        sizes = np.abs(steps).max(axis=1)
        # Steps this long lead nowhere: the labels are (nearly) separated.
        steps *= np.minimum(1, LONGEST_STEP / np.maximum(sizes, 1e-300))[:, None]
        coefficients[active] += steps
        largest = float(sizes.max())
        moving = sizes > LAST_STEP
        converged[active[~moving]] = True
        if not moving.any():
            break
        active, inverses = active[moving], inverses[moving]
    return coefficients, converged


def _probabilities(design: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Return the logistic curves of a batch, (replicates, rows)."""
    linear = -coefficients @ design.T
    with np.errstate(over="ignore"):
        np.exp(linear, out=linear)
    linear += 1
    return np.reciprocal(linear, out=linear)
