"""Newton on centred columns until rounding stops it: what the others are compared with."""

import numpy as np

from benchmarks.data import FloatArray
from benchmarks.libraries import Answer

BLOCK_ROWS = 4096
MAX_STEPS = 50
# A step below this size that is no smaller than half of the one before is rounding alone.
SURELY_CLOSE = 1e-9


def newton_to_the_floor(X: FloatArray, y: FloatArray) -> Answer:
    """Return coefficients, intercept first, and the inverse information, both for X as it is."""
    centre = X.mean(axis=0)
    coefficients = np.zeros(X.shape[1] + 1)
    previous = np.inf
    for _ in range(MAX_STEPS):
        score, information = _derivatives(X, y, centre, coefficients)
        step = np.linalg.solve(information, score)
        size = float(np.abs(step).max())
        if size < SURELY_CLOSE and size > previous / 2:
            break
        coefficients, previous = coefficients + step, size
    else:
        raise ArithmeticError(f"Newton did not settle in {MAX_STEPS} steps")
    # Back to columns that are not centred: the intercept alone changes.
    back = np.eye(len(coefficients))
    back[0, 1:] = -centre
    return back @ coefficients, back @ np.linalg.inv(information) @ back.T


def largest_gaps(answer: Answer, reference: Answer) -> tuple[float, float]:
    """Return the largest gap of the coefficients, and of the covariance in units of its diagonal.

    The unit of entry (i, j) is ``sqrt(C_ii C_jj)``: a gap of correlations and relative variances.
    """
    spreads = np.sqrt(np.diagonal(reference[1]))
    coefficients = np.abs(answer[0] - reference[0]).max()
    covariance = (np.abs(answer[1] - reference[1]) / np.outer(spreads, spreads)).max()
    return float(coefficients), float(covariance)


def _derivatives(
    X: FloatArray, y: FloatArray, centre: FloatArray, coefficients: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return score and information at one point."""
    score = np.zeros(len(coefficients))
    information = np.zeros((len(coefficients), len(coefficients)))
    design = np.ones((BLOCK_ROWS, len(coefficients)))
    for start in range(0, len(X), BLOCK_ROWS):
        rows = X[start : start + BLOCK_ROWS]
        block = design[: len(rows)]
        np.subtract(rows, centre, out=block[:, 1:])
        fitted = 1 / (1 + np.exp(-(block @ coefficients)))
        score += (y[start : start + BLOCK_ROWS] - fitted) @ block
        information += (block.T * (fitted * (1 - fitted))) @ block
    return score, information
