"""Seeded data with known slopes, made without ever holding more than the data itself.

``normal`` has standard normal columns. ``mixed`` is less friendly: half of its columns are
lognormal or 0/1 dummies, some of them rare. All slopes together have length 2 and the intercept
is -0.5, for columns less their means, the lognormal ones also divided by their spread.
"""

from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Kind = Literal["normal", "mixed"]

SEED = 20210303
SLOPE_LENGTH = 2.0
INTERCEPT = -0.5
RAREST_DUMMY, COMMONEST_DUMMY = 0.02, 0.5
# Small enough that a block's working memory does not show beside the data.
BLOCK_ROWS = 1024


def make_data(kind: Kind, n_rows: int, n_columns: int) -> tuple[FloatArray, FloatArray]:
    """Return features and labels 0.0 and 1.0."""
    rng = np.random.default_rng([SEED, n_rows, n_columns])
    slopes = rng.standard_normal(n_columns)
    slopes *= SLOPE_LENGTH / np.linalg.norm(slopes)
    features, labels = np.empty((n_rows, n_columns)), np.empty(n_rows)
    for start in range(0, n_rows, BLOCK_ROWS):
        block = features[start : start + BLOCK_ROWS]
        rng.standard_normal(out=block)
        log_odds = np.full(len(block), INTERCEPT)
        if kind == "normal":
            log_odds += block @ slopes
        else:
            log_odds += _bend(block) @ slopes
        chances = rng.random(len(block))
        labels[start : start + BLOCK_ROWS] = chances < 1 / (1 + np.exp(-log_odds))
    return features, labels


def _bend(block: FloatArray) -> FloatArray:
    """Turn half of the normal columns into others, in place; return all less their means."""
    n_columns = block.shape[1]
    centred = block.copy()
    lognormal = slice(n_columns // 2, None, 2)
    np.exp(block[:, lognormal], out=block[:, lognormal])
    mean, spread = np.exp(0.5), np.sqrt((np.e - 1) * np.e)
    centred[:, lognormal] = (block[:, lognormal] - mean) / spread
    dummies = range(n_columns // 2 + 1, n_columns, 2)
    shares = np.linspace(COMMONEST_DUMMY, RAREST_DUMMY, len(dummies))
    for column, share in zip(dummies, shares.tolist(), strict=True):
        block[:, column] = block[:, column] < NormalDist().inv_cdf(share)
        centred[:, column] = block[:, column] - share
    return centred
