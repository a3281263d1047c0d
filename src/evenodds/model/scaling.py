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
    factors: FloatArray  # 1 for the intercept, 1 / scale for each column

    @classmethod
    def by(cls, shift: FloatArray | None, spreads: FloatArray) -> "Scaling":
        """Scale by the power of two nearest to each spread."""
        return cls(shift, np.concatenate([[1.0], np.exp2(-np.round(np.log2(spreads)))]))

    def rescaled(self, values: FloatArray) -> FloatArray:
        """Divide a vector or both sides of a matrix by the scale (1 for the intercept).

        The same division takes a score or an information to the solver's scale,
        and coefficients or a covariance back from it.
        """
        divided: FloatArray = values * self.factors
        return divided if values.ndim == 1 else divided * self.factors[:, None]


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


@dataclass(frozen=True, slots=True)
class ColumnMoments:
    """Weight, means, centred products and labels of shifted columns."""

    weight: float
    means: FloatArray
    products: FloatArray  # sums of squares and products about the means
    labels: float
    by_label: FloatArray  # sums of products of labels and centred columns

    @classmethod
    def of(cls, sums: Moments) -> "ColumnMoments":
        """Centre the sums over rows."""
        total = sums.total()
        weight = float(total[0, 0])
        means = total[0, 1:] / weight
        return cls(
            weight=weight,
            means=means,
            products=total[1:, 1:] - weight * np.outer(means, means),
            labels=sums.labels,
            by_label=sums.features_by_label - means * sums.labels,
        )

    @property
    def spreads(self) -> FloatArray:
        """Standard deviation of each column, 0 where rounding leaves nothing."""
        spreads: FloatArray = np.sqrt(np.maximum(self.products.diagonal() / self.weight, 0))
        return spreads
