"""Cases drawn by given label in every stratum: what they say of the share truly positive."""

import math

import numpy as np

from evenodds.inference.line.likelihood import Strata
from evenodds.validation import FloatArray

# Added to the cases of either kind where a variance is estimated.
HALF_A_CASE = 0.5


def strata_by_label(rows: FloatArray, judged: FloatArray, true: FloatArray) -> Strata:
    """Return what a line is fitted to, from looked-up cases drawn by stratum and given label.

    All arrays have a row a stratum, and a column for the negative and the positive label: rows of
    the data, cases that were looked up, and how many of these are truly positive. The share of a
    stratum that is truly positive is the mean of its labels, weighted by their rows; it counts as
    many cases as would give it the same variance if drawn from the stratum at random.
    """
    n = rows.sum(axis=1)
    weights = rows / n[:, None]
    known = np.maximum(judged, 1.0)
    # Where all are truly positive the share is 1, not 1 less rounding.
    share = np.where((true == judged).all(axis=1), 1.0, (weights * true / known).sum(axis=1))
    near = (true + HALF_A_CASE) / (judged + 2 * HALF_A_CASE)
    variance = (weights**2 * near * (1 - near) / known).sum(axis=1)
    middle = (weights * near).sum(axis=1)
    worth = middle * (1 - middle) / variance
    return Strata(n, rows[:, 1], worth, worth * share, np.ones(len(n)), math.inf)
