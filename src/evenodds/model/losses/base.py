"""What every loss offers: its value and its slope in the score, for rows with 0/1 labels."""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import InputError
from evenodds.validation import FloatArray, check_zero_one


@runtime_checkable
class Loss(Protocol):
    """A price for giving a score to a row with a label."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def convex(self) -> bool:
        """Whether it is known to be convex in the score, so that every minimum is the least."""

    def values(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the loss of each score where the label is 1 or 0."""

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the derivative in the score, or a subgradient where there is a kink."""


def signs_and_scores(scores: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return 0/1 labels as -1/+1, and the scores beside them.

    Raises
    ------
    InputError
        If there are more of one than of the other; a single one serves all of the other.
    """
    signs, known = signs_of(labels), np.asarray(scores, dtype=np.float64)
    if signs.ndim and known.ndim and signs.shape != known.shape:
        raise InputError(
            f"there are {known.size} scores but {signs.size} labels: give one label a score."
        )
    return signs, known


def signs_of(labels: ArrayLike) -> FloatArray:
    """Return 0/1 labels as -1/+1."""
    return np.where(check_zero_one(labels), 1.0, -1.0)
