"""The likelihood of K-class labels under a multinomial logistic curve and a flip matrix.

With clean posteriors ``eta_k``, proportional to ``exp(theta_k'x)`` (the last class is the
reference), a label m has probability ``p_m = sum_k eta_k T[k, m]``. Derivatives are taken in
(theta class by class, rates, asymmetries), in this order.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenodds.model.softmax.flips import FlipFamily
from evenodds.validation import FloatArray

# Log-odds beyond which a class counts as certain; it keeps probabilities above zero.
FLAT_BEYOND = 30.0
# Numbers of a block: n rows of K x K, or of products of columns.
BLOCK_NUMBERS = 400_000
# Up to this many columns the products of all pairs of them are worth holding.
FEW_COLUMNS = 24


@dataclass(frozen=True, slots=True)
class ClassData:
    """Rows of K classes on the solver's scale."""

    design: FloatArray  # with a leading 1
    labels: NDArray[np.intp]
    weights: FloatArray | None
    n_classes: int
    groups: NDArray[np.int64] | None = None  # which rows belong together, 0, 1, 2, ...

    def blocks(self) -> list[slice]:
        """Return consecutive rows few enough to work on at a time."""
        widest = max(self.n_classes, min(self.design.shape[1], FEW_COLUMNS))
        length = max(BLOCK_NUMBERS // widest**2, 64)
        return [slice(start, start + length) for start in range(0, len(self.labels), length)]


@dataclass(frozen=True, slots=True)
class ClassPoint:
    """A curve of each class but the last, the rates, and the hypothesised asymmetries."""

    coefficients: FloatArray  # (classes - 1, parameters)
    rates: FloatArray
    asymmetries: FloatArray


@dataclass(frozen=True, slots=True)
class ClassEvaluation:
    """The likelihood at a point."""

    point: ClassPoint
    log_likelihood: float
    score: FloatArray
    information: FloatArray
    transition: float  # weight of rows whose class is not certain


def evaluate(
    data: ClassData, family: FlipFamily, point: ClassPoint, *, leaning: bool = True
) -> ClassEvaluation:
    """Return log-likelihood, score and expected information.

    Without `leaning` derivatives in the asymmetries are left out, which a climb does not need.
    """
    flips = family.matrix(point.rates, point.asymmetries)
    turns = family.exchanges  # how T moves with the rates, and with the asymmetries
    if leaning:
        turns = np.concatenate([turns, family.leanings / 2])
    n_curves, n_columns = point.coefficients.shape
    n_theta = n_curves * n_columns
    n_all = n_theta + len(turns)
    score, information = np.zeros(n_all), np.zeros((n_all, n_all))
    log_likelihood = transition = 0.0
    upper, lower = np.tril_indices(n_curves)  # pairs of curves
    products = (flips[upper] * flips[lower]).T
    grams = np.zeros((len(upper), n_columns, n_columns))
    for rows in data.blocks():
        design, labels = data.design[rows], data.labels[rows]
        weights = None if data.weights is None else data.weights[rows]
        clean = posteriors(design, point.coefficients)
        noisy = clean @ flips
        moves = np.matmul(clean, turns)
        logs = np.log(noisy[np.arange(len(labels)), labels])
        unsure = 2 * (1 - np.einsum("nk,nk->n", clean, clean))
        first = row_scores(labels, flips, clean, noisy, moves)
        precision = 1 / noisy
        # sum_m (T_km - p_m)(T_lm - p_m) / p_m = sum_m T_km T_lm / p_m - 1: rows of T add to 1.
        squares = precision @ products
        squares -= 1
        squares *= clean[:, upper] * clean[:, lower]
        if weights is not None:
            logs, unsure = logs * weights, unsure * weights
            first *= weights[:, None]
            precision *= weights[:, None]
            squares *= weights[:, None]
        log_likelihood += float(logs.sum())
        transition += float(unsure.sum())
        score[:n_theta] += (first[:, :n_curves].T @ design).ravel()
        score[n_theta:] += first[:, n_curves:].sum(axis=0)
        grams += _weighted_grams(design, squares)
        levers = moves * precision
        bent = (levers @ flips[:n_curves].T) * clean[:, :n_curves]
        mixed = np.matmul(bent.transpose(0, 2, 1), design)
        information[n_theta:, :n_theta] += mixed.reshape(len(turns), -1)
        wide = (len(turns), -1)
        information[n_theta:, n_theta:] += levers.reshape(wide) @ moves.reshape(wide).T
    blocks = np.zeros((n_curves, n_columns, n_curves, n_columns))
    blocks[upper, :, lower, :] = grams
    information[:n_theta, :n_theta] = blocks.reshape(n_theta, n_theta)
    whole = np.tril(information) + np.tril(information, -1).T
    return ClassEvaluation(point, log_likelihood, score, whole, transition)


def _weighted_grams(design: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the products of the columns, summed over rows with each of many weights."""
    n_columns = design.shape[1]
    if n_columns <= FEW_COLUMNS:
        products = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
        return np.asarray((weights.T @ products).reshape(-1, n_columns, n_columns))
    return np.stack([(design * weight[:, None]).T @ design for weight in weights.T])


def posteriors(design: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Return the clean posterior of every class, the last one being the reference."""
    linear = np.zeros((len(design), len(coefficients) + 1))
    linear[:, :-1] = design @ coefficients.T
    linear -= linear.max(axis=1, keepdims=True)
    np.maximum(linear, -FLAT_BEYOND, out=linear)
    np.exp(linear, out=linear)
    linear /= linear.sum(axis=1, keepdims=True)
    return linear


def rows_between(data: ClassData, coefficients: FloatArray) -> FloatArray:
    """Return how many rows lie between each two classes, a row at the toss-up counting as one."""
    clean = posteriors(data.design, coefficients)
    weighted = clean if data.weights is None else clean * data.weights[:, None]
    return np.asarray(4 * weighted.T @ clean)


def row_scores(
    labels: NDArray[np.intp],
    flips: FloatArray,
    clean: FloatArray,
    noisy: FloatArray,
    moves: FloatArray,
) -> FloatArray:
    """Return each row's derivative of its log-likelihood in (theta_k'x, rates, asymmetries)."""
    n_curves = clean.shape[1] - 1
    own = np.arange(len(labels))
    seen = noisy[own, labels][:, None]
    by_curve = clean[:, :n_curves] * (flips[:n_curves, labels].T / seen - 1)
    by_turn = moves[:, own, labels].T / seen
    return np.concatenate([by_curve, by_turn], axis=1)


def influences(
    data: ClassData, family: FlipFamily, point: ClassPoint, levers: FloatArray
) -> FloatArray:
    """Return each group's share of ``levers @ score``; rows are groups where there are none."""
    flips = family.matrix(point.rates, point.asymmetries)
    turns = np.concatenate([family.exchanges, family.leanings / 2])
    n_curves, n_columns = point.coefficients.shape
    of_curves = levers[:, : n_curves * n_columns].reshape(len(levers), n_curves, n_columns)
    clean = posteriors(data.design, point.coefficients)
    moves = np.matmul(clean, turns)
    scores = row_scores(data.labels, flips, clean, clean @ flips, moves)
    if data.weights is not None:
        scores *= data.weights[:, None]
    shares = np.einsum("nk,skd,nd->ns", scores[:, :n_curves], of_curves, data.design, optimize=True)
    shares += scores[:, n_curves:] @ levers[:, n_curves * n_columns :].T
    if data.groups is None:
        return np.asarray(shares)
    totals = np.zeros((int(data.groups.max()) + 1, len(levers)))
    np.add.at(totals, data.groups, shares)
    return totals
