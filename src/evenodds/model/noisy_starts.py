"""Where to start climbing the noisy-logistic likelihood: a grid along one index.

The likelihood has several tops, mostly along the noise rate: labels that look like a shallow
curve without noise may fit better as a steep one with much of it. Along a given direction of
the features a curve has three parameters only: steepness, crossing and noise rate. Rows that
are counted in bins of the index give the likelihood of all of them in one product, and the
best curve of each noise rate is where a climb starts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from evenodds.model.evidence import Evidence
from evenodds.model.noisy_problem import NoisyProblem
from evenodds.model.noisy_sums import NoisyPoint
from evenodds.model.sums import shifted
from evenodds.rows.base import Block
from evenodds.validation import FloatArray

# The first start is the plain curve with next to no noise; the others are the best curves of
# these noise rates along the direction it leads to.
FIRST_RATE = 0.005
RATES = (0.18, 0.3, 0.42)
# In spreads of the index, rows are counted in bins up to REACH from its mean.
REACH, BINS = 6.0, 120
STEEPNESSES = np.geomspace(0.2, 12.0, 9)
CROSSINGS = np.linspace(-5.0, 5.0, 21)
# Steeper ones, for few rows, where the likelihood may prefer a step.
STEPS = np.geomspace(20.0, 60.0, 3)
FEW_ROWS_A_PARAMETER = 300
# A curve off an exact constraint is ranked as if that had this precision.
CONSTRAINT_PRECISION = 4.0


def first_rate(asymmetry: float) -> float:
    """Return a noise rate just inside its lower bound."""
    return max(FIRST_RATE, abs(asymmetry) / 2 + 1e-3)


def index_starts(
    problem: NoisyProblem, evidence: Evidence, near: NoisyPoint
) -> Iterator[NoisyPoint]:
    """Return starts of several noise rates along the direction of a curve at hand."""
    moments, positives, negatives = index_counts(problem, near.coefficients)
    index = Index(
        slopes=near.coefficients[None, 1:],
        mean=np.array([moments.mean]),
        spread=np.array([moments.spread]),
        positives=positives[None, :],
        negatives=negatives[None, :],
        pulls=evidence.pull[None, :],
    )
    few = problem.rows.n_rows < FEW_ROWS_A_PARAMETER * len(near.coefficients)
    for coefficients, rate in grid_starts(index, evidence, near.asymmetry, few_rows=few):
        yield NoisyPoint(coefficients[0], float(rate[0]), near.asymmetry)


def index_counts(
    problem: NoisyProblem, coefficients: FloatArray
) -> "tuple[IndexMoments, FloatArray, FloatArray]":
    """Return the moments of an index, and the positive and negative labels in bins along it."""
    slopes, shift = problem.scaling.rescaled(coefficients)[1:], problem.scaling.shift
    moments = problem.rows.sum_over_rows(IndexMoments(slopes, shift))
    counts = problem.rows.sum_over_rows(IndexCounts(slopes, shift, moments.mean, moments.spread))
    return moments, counts.positives, counts.negatives


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """A direction of the features, labels along it and the pull of evidence, a row a replicate."""

    slopes: FloatArray  # (replicates, features)
    mean: FloatArray  # of features @ slopes
    spread: FloatArray
    positives: FloatArray  # (replicates, bins)
    negatives: FloatArray
    pulls: FloatArray  # (replicates, parameters)


def grid_starts(
    index: Index, evidence: Evidence, asymmetry: float, *, few_rows: bool
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Return the best coefficients of each noise rate, and the rates, for every replicate.

    With few rows the best of the steep curves comes on top, at whichever rate it has.
    """
    rates = np.maximum(RATES, first_rate(asymmetry))
    for rate in rates:
        coefficients, _ = _best(index, evidence, asymmetry, STEEPNESSES, float(rate))
        yield coefficients, np.full(len(coefficients), rate)
    if few_rows:
        found = [_best(index, evidence, asymmetry, STEPS, float(rate)) for rate in rates]
        winner = np.argmax([objective for _, objective in found], axis=0)
        chosen = np.stack([coefficients for coefficients, _ in found])
        yield chosen[winner, np.arange(len(winner))], rates[winner]


def _best(
    index: Index,
    evidence: Evidence,
    asymmetry: float,
    steepnesses: FloatArray,
    rate: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the best curve of a noise rate along the index, with its objective."""
    kept, lost = _log_chances(tuple(steepnesses), rate, asymmetry)
    likelihood = index.positives @ kept.T + index.negatives @ lost.T
    steep = np.repeat(steepnesses, len(CROSSINGS)) / index.spread[:, None]
    intercept = -steep * (np.tile(CROSSINGS, len(steepnesses)) * index.spread[:, None])
    intercept -= steep * index.mean[:, None]
    objective = likelihood - _penalty(index, evidence, intercept, steep)
    place = np.arange(len(objective)), np.argmax(objective, axis=1)
    coefficients = np.column_stack([intercept[place], steep[place][:, None] * index.slopes])
    return coefficients, objective[place]


def _penalty(
    index: Index, evidence: Evidence, intercept: FloatArray, steep: FloatArray
) -> FloatArray:
    """Return what the evidence takes off, up to a constant, for (intercept, steep * slopes)."""
    slopes = index.slopes
    off = np.eye(len(evidence.origin)) - evidence.basis @ evidence.basis.T
    precision = evidence.precision + CONSTRAINT_PRECISION * off
    pull = index.pulls + CONSTRAINT_PRECISION * off @ evidence.origin
    mixed = (slopes @ precision[1:, 0])[:, None]
    square = np.einsum("bi,ij,bj->b", slopes, precision[1:, 1:], slopes)[:, None]
    quadratic = precision[0, 0] * intercept**2 + steep * (2 * intercept * mixed + steep * square)
    along = np.einsum("bi,bi->b", pull[:, 1:], slopes)[:, None]
    penalty: FloatArray = quadratic / 2 - pull[:, :1] * intercept - along * steep
    return penalty


@lru_cache(maxsize=16)
def _log_chances(
    steepnesses: tuple[float, ...], rate: float, asymmetry: float
) -> tuple[FloatArray, FloatArray]:
    """Return the log-chances of a positive and a negative label, a row a curve, a column a bin."""
    middles = (np.arange(BINS) + 0.5) * (2 * REACH / BINS) - REACH
    linear = np.array(steepnesses)[:, None, None] * (middles - CROSSINGS[:, None])
    chances = rate + asymmetry / 2 + (1 - 2 * rate) / (1 + np.exp(-linear))
    chances = chances.reshape(-1, BINS)
    return np.log(chances), np.log1p(-chances)


class IndexMoments:
    """Mean and spread of an index over rows."""

    def __init__(self, slopes: FloatArray, shift: FloatArray | None) -> None:
        self.slopes, self.shift = slopes, shift
        self.sums = np.zeros(3)

    def add(self, block: Block) -> None:
        index = shifted(block.features, self.shift) @ self.slopes
        weights = np.ones(len(index)) if block.weights is None else block.weights
        self.sums += (weights.sum(), weights @ index, weights @ index**2)

    def merge(self, other: Self) -> None:
        self.sums += other.sums

    @property
    def mean(self) -> float:
        """Mean of the index."""
        return float(self.sums[1] / self.sums[0])

    @property
    def spread(self) -> float:
        """Standard deviation of the index; 1 where it does not vary."""
        return spread_of(*self.sums)


def spread_of(weight: float, total: float, squares: float) -> float:
    """Return a standard deviation from sums; 1 where there is none."""
    variance = squares / weight - (total / weight) ** 2
    return float(np.sqrt(variance)) if variance > 0 else 1.0


class IndexCounts:
    """Positive and negative labels in bins of a standardised index."""

    def __init__(
        self, slopes: FloatArray, shift: FloatArray | None, mean: float, spread: float
    ) -> None:
        self.slopes, self.shift = slopes, shift
        self.mean, self.spread = mean, spread
        self.positives, self.negatives = np.zeros(BINS), np.zeros(BINS)

    def add(self, block: Block) -> None:
        index = shifted(block.features, self.shift) @ self.slopes
        bins = bins_of((index - self.mean) / self.spread)
        weights = np.ones(len(index)) if block.weights is None else block.weights
        self.positives += np.bincount(bins, weights * block.labels, BINS)
        self.negatives += np.bincount(bins, weights * (1 - block.labels), BINS)

    def merge(self, other: Self) -> None:
        self.positives += other.positives
        self.negatives += other.negatives


def bins_of(standardised: FloatArray) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    """Return the bin of each value, those beyond the reach in the outermost."""
    places = (standardised + REACH) * (BINS / (2 * REACH))
    return np.clip(places, 0, BINS - 1).astype(np.int64)
