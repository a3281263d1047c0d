"""Features on one scale inside the solver, whatever their units outside.

The solver works with ``(x - shift) / scale``. The scale is a power of two, so
it costs no digits; the shift is there only for columns far from zero, since
subtracting it costs a copy of each block.
"""

from dataclasses import dataclass

import numpy as np

from evenodds.model.sums import Moments
from evenodds.validation import FloatArray

# A column whose mean is this many spreads from zero loses digits unless it is centred.
FAR_FROM_ZERO = 8.0


@dataclass(frozen=True, slots=True)
class Scaling:
    """A shift and a scale a column."""

    shift: FloatArray | None
    scale: FloatArray

    def rescaled(self, values: FloatArray) -> FloatArray:
        """Divide a vector or both sides of a matrix by the scale (1 for the intercept).

        The same division takes a score or an information to the solver's scale,
        and coefficients or a covariance back from it.
        """
        factors = np.concatenate([[1.0], 1 / self.scale])
        divided: FloatArray = values * factors
        return divided if values.ndim == 1 else divided * factors[:, None]


@dataclass(frozen=True, slots=True)
class ShiftedCurve:
    """A fitted curve in features that are shifted only: the form that keeps its digits.

    With a column far from zero (a year, an id) the intercept's variance is huge and
    cancels in every prediction; here it never appears.
    """

    shift: FloatArray | None
    coefficients: FloatArray
    covariance: FloatArray
    inverse_information: FloatArray

    def design(self, points: FloatArray) -> FloatArray:
        """Return points as rows of the shifted design, with a leading 1."""
        moved = points if self.shift is None else points - self.shift
        return np.column_stack([np.ones(len(points)), moved])

    def coefficients_of_data(self) -> FloatArray:
        """Return the coefficients on the scale of the data."""
        unshifted = self.coefficients.copy()
        if self.shift is not None:
            unshifted[0] -= self.shift @ unshifted[1:]
        return unshifted

    def covariance_of_data(self) -> FloatArray:
        """Return the covariance of the coefficients on the scale of the data."""
        unshifted = self.covariance.copy()
        if self.shift is not None:
            unshifted[0] -= self.shift @ unshifted[1:]
            unshifted[:, 0] -= unshifted[:, 1:] @ self.shift
        return unshifted


def spreads(moments: Moments) -> FloatArray:
    """Return the standard deviation of each column, 0 where rounding leaves nothing."""
    means = moments.features / moments.weight
    variances = np.diagonal(moments.gram) / moments.weight - means**2
    return np.sqrt(np.maximum(variances, 0))


def centred_gram(moments: Moments) -> FloatArray:
    """Return sums of squares and products about the means."""
    means = moments.features / moments.weight
    gram: FloatArray = moments.gram - moments.weight * np.outer(means, means)
    return gram


def power_of_two(spread: FloatArray) -> FloatArray:
    """Return the nearest power of two to each spread."""
    scale: FloatArray = np.exp2(np.round(np.log2(spread)))
    return scale
