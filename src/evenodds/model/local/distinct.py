"""Rows that tell something new: a copy sharpens an error, but shows no new place.

A row of weight 1,000 is a thousand rows in a likelihood. Yet labels of one row all agree, so a
bandwidth narrow enough for a thousand rows would let that one row decide. Where rows in one
place carry both labels they are a true count of cases, and count in full.
"""

import numpy as np

from evenodds.model.local.kernels import kernel_weights
from evenodds.model.local.surroundings import squared_distances
from evenodds.rows.base import IntArray
from evenodds.validation import FloatArray

SEED = 20240229


def distinct_counts(features: FloatArray, labels: FloatArray, weights: FloatArray) -> FloatArray:
    """Return what each row counts as: its weight in a place of both labels, else one at most."""
    place = _places(features)
    n_places = int(place.max()) + 1
    rows = np.bincount(place, minlength=n_places)
    positives = np.bincount(place, weights=labels, minlength=n_places)
    mixed = (positives > 0) & (positives < rows)
    counts: FloatArray = np.where(mixed[place], weights, np.minimum(weights, 1.0))
    return counts


def effective_distinct(
    features: FloatArray, counts: FloatArray, points: FloatArray, bandwidth: float, kernel: str
) -> FloatArray:
    """Return how many distinct rows each point rests on, counted as effective rows are."""
    lines, found = features.T, np.empty(len(points))
    for number, point in enumerate(points):
        near = kernel_weights(squared_distances(lines, point[None]), bandwidth, kernel)[0]
        found[number] = (near @ counts) ** 2 / (1 + near**2 @ counts)
    return found


def _places(features: FloatArray) -> IntArray:
    """Return the number of each row's place; equal rows share one.

    Along a random direction different rows differ, and one column sorts fast.
    """
    direction: FloatArray = np.random.default_rng(SEED).normal(size=(features.shape[1],))
    along = np.zeros(len(features))
    # Column by column: a matrix product may round equal rows differently.
    for factor, column in zip(direction, features.T, strict=True):
        along += factor * column
    numbers: IntArray = np.unique(along, return_inverse=True)[1].reshape(-1)
    return numbers
