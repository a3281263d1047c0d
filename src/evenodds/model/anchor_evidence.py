"""What anchors say about the coefficients of the clean curve.

``A theta = t + e`` with ``t = logit(stated posterior)`` and ``e ~ N(0, V)``. Directions in
which V is zero are exact linear constraints; the others add a Gaussian term.
"""

from dataclasses import dataclass

import numpy as np

from evenodds.errors import AnchorError
from evenodds.validation import FloatArray

# Eigenvalues of V below this share of the largest are zero.
ZERO_VARIANCE = 1e-10
# Constraints that disagree by more than this (in log-odds) contradict each other.
CONTRADICTION = 1e-8


@dataclass(frozen=True, slots=True)
class Evidence:
    """Constraints and a Gaussian term on d coefficients.

    The coefficients are ``origin + basis @ free`` with orthonormal columns; the Gaussian term takes
    ``(theta' K theta)/2 - k'theta + constant`` off the log-likelihood.
    """

    origin: FloatArray
    basis: FloatArray
    precision: FloatArray  # K
    pull: FloatArray  # k
    constant: float

    @classmethod
    def none(cls, n_parameters: int) -> "Evidence":
        """Return evidence that says nothing."""
        zero = np.zeros((n_parameters, n_parameters))
        return cls(zero[0], np.eye(n_parameters), zero, zero[0], 0.0)

    @classmethod
    def of(cls, design: FloatArray, targets: FloatArray, covariance: FloatArray) -> "Evidence":
        """Split anchor equations into constraints and a Gaussian term.

        Raises
        ------
        AnchorError
            If exact equations contradict each other or leave no slope free.
        """
        exact, loose = _split(covariance)
        rows, values = loose.T @ design, loose.T @ targets
        fixed, fixed_values = exact.T @ design, exact.T @ targets
        origin, basis = _solve_constraints(fixed, fixed_values)
        return cls(
            origin=origin,
            basis=basis,
            precision=rows.T @ rows,
            pull=rows.T @ values,
            constant=float(values @ values) / 2,
        )

    @staticmethod
    def pulls_of(design: FloatArray, targets: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the pull of the Gaussian term for other targets, a row for each set of them."""
        _, loose = _split(covariance)
        return (targets @ loose) @ (loose.T @ design)

    def scaled(self, share: float) -> "Evidence":
        """Return evidence weakened to go with a share of the rows."""
        precision, pull = self.precision * share, self.pull * share
        return Evidence(self.origin, self.basis, precision, pull, self.constant * share)

    def penalty(self, coefficients: FloatArray) -> float:
        """Return what the Gaussian term takes off the log-likelihood."""
        quadratic = float(coefficients @ self.precision @ coefficients) / 2
        return quadratic - float(self.pull @ coefficients) + self.constant

    def penalty_score(self, coefficients: FloatArray) -> FloatArray:
        """Return the derivative of minus the penalty."""
        return self.pull - self.precision @ coefficients

    def onto(self, coefficients: FloatArray) -> FloatArray:
        """Return the nearest coefficients that obey the constraints, for one row or many."""
        return self.origin + (coefficients - self.origin) @ self.basis @ self.basis.T


def _split(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the directions without error, and the others divided by their standard error."""
    variances, directions = np.linalg.eigh(covariance)
    exact = variances <= ZERO_VARIANCE * variances.max(initial=0.0)
    return directions[:, exact], directions[:, ~exact] / np.sqrt(variances[~exact])


def _solve_constraints(rows: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return one solution of ``rows @ theta = values`` and a basis of the rest."""
    n_parameters = rows.shape[1]
    if len(rows) == 0:
        return np.zeros(n_parameters), np.eye(n_parameters)
    scale = float(np.abs(rows).max())
    left, sizes, right = np.linalg.svd(rows)
    rank = int((sizes > 1e-9 * scale).sum())
    coordinates = left.T @ values
    gap = float(np.abs(coordinates[rank:]).max(initial=0.0))
    if gap > CONTRADICTION * max(1.0, float(np.abs(values).max())):
        raise AnchorError(
            f"the {len(rows)} strict anchors contradict each other: no straight boundary passes "
            "through all of them. Give a tolerance, such as 0.05."
        )
    if rank == n_parameters:
        raise AnchorError(
            f"no straight boundary of {n_parameters - 1} features passes through all "
            f"{len(rows)} strict anchors, so nothing is left to fit. Give a tolerance, such as "
            "0.05, or fewer anchors."
        )
    origin = right[:rank].T @ (coordinates[:rank] / sizes[:rank])
    return origin, right[rank:].T
