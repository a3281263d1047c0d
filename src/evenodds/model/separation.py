"""Telling the user why no maximum-likelihood fit exists.

Labels are separated when some combination of columns never disagrees with
them: the likelihood then grows without bound. One column that does it alone is
found from its extremes; a combination by linear programming (Konis 2007).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import SeparationError
from evenodds.model.sums import Sums
from evenodds.rows.base import Block, Rows, name_column
from evenodds.validation import FloatArray

# The linear programme sees at most this many numbers; beyond that, a sample of the rows.
LARGEST_PROGRAMME = 20_000_000
# How far on the wrong side (in standard deviations) still counts as on the line.
ON_THE_LINE = 1e-7


class Extremes:
    """Smallest and largest value of each column in either class."""

    def __init__(self, n_features: int) -> None:
        self.low = np.full((2, n_features), np.inf)
        self.high = np.full((2, n_features), -np.inf)

    def add(self, block: Block) -> None:
        for label in (0, 1):
            rows = block.features[_counted(block) & (block.labels == label)]
            if len(rows):
                self._widen(label, rows.min(axis=0), rows.max(axis=0))

    def merge(self, other: Self) -> None:
        for label in (0, 1):
            self._widen(label, other.low[label], other.high[label])

    def _widen(self, label: int, low: FloatArray, high: FloatArray) -> None:
        np.minimum(self.low[label], low, out=self.low[label])
        np.maximum(self.high[label], high, out=self.high[label])


@dataclass(frozen=True, slots=True)
class Frame:
    """Puts rows into [-1, 1] with a leading 1, and negates those of the negative class."""

    centre: FloatArray
    half_width: FloatArray

    def signed(self, block: Block) -> FloatArray:
        """Return the rows of a block so that agreeing with the label means being positive."""
        rows = _counted(block)
        scaled = (block.features[rows] - self.centre) / self.half_width
        design = np.column_stack([np.ones(len(scaled)), scaled])
        return design * (2 * block.labels[rows] - 1)[:, None]


class SignedRows(Sums):
    """The rows themselves, for the linear programme; small samples only."""

    summed = ("blocks",)

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.blocks: list[FloatArray] = []

    def add(self, block: Block) -> None:
        self.blocks.append(self.frame.signed(block))


class Disagreements(Sums):
    """How many rows a direction puts on the wrong side."""

    summed = ("count",)

    def __init__(self, frame: Frame, direction: FloatArray) -> None:
        self.frame = frame
        self.direction = direction
        self.count = 0

    def add(self, block: Block) -> None:
        self.count += int((self.frame.signed(block) @ self.direction < -ON_THE_LINE).sum())


def refuse_separation(rows: Rows) -> None:
    """Raise `SeparationError` naming the columns, if the labels are separated."""
    extremes = rows.sum_over_rows(Extremes(rows.n_features))
    ordered = (extremes.high[0] <= extremes.low[1]) | (extremes.high[1] <= extremes.low[0])
    if ordered.any():
        column = rows.column(int(np.argmax(ordered)))
        raise SeparationError(
            f"no maximum-likelihood fit exists: {column} alone separates the labels. "
            "Remove it, or collect overlapping rows."
        )
    direction = _separating_direction(rows, extremes)
    if direction is not None:
        involved = np.flatnonzero(np.abs(direction[1:]) > 1e-6)
        listed = ", ".join(name_column(rows.feature_names, int(j)) for j in involved[:6])
        more = f" and {len(involved) - 6} more" if len(involved) > 6 else ""
        raise SeparationError(
            f"no maximum-likelihood fit exists: columns {listed}{more} together separate the "
            "labels. Remove some of them, or collect overlapping rows."
        )


def _separating_direction(rows: Rows, extremes: Extremes) -> FloatArray | None:
    """Return coefficients that never disagree with the labels, or None."""
    from scipy.optimize import linprog

    low, high = extremes.low.min(axis=0), extremes.high.max(axis=0)
    frame = Frame((low + high) / 2, (high - low) / 2)
    excess = rows.n_rows * (rows.n_features + 1) / LARGEST_PROGRAMME
    sample = rows if excess <= 1 else rows.thinned(int(np.ceil(excess)), np.random.default_rng(0))
    signed = np.concatenate(sample.sum_over_rows(SignedRows(frame)).blocks)
    solution = linprog(
        -signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1)
    )
    if not solution.success:
        return None
    direction = np.asarray(solution.x, dtype=np.float64)
    if signed.sum(axis=0) @ direction <= ON_THE_LINE * len(signed):
        return None
    # Overlap in a sample is overlap in the whole; separation in a sample must be checked.
    if sample is not rows and rows.sum_over_rows(Disagreements(frame, direction)).count:
        return None
    return direction


def _counted(block: Block) -> NDArray[np.bool_]:
    """Return which rows of a block have weight."""
    if block.weights is None:
        return np.ones(len(block.labels), dtype=bool)
    return block.weights > 0
