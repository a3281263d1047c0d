"""The algebra of a scoring step, for a batch of replicates at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenodds.model.evidence import Evidence
from evenodds.model.noisy import LARGEST_RATE
from evenodds.validation import FloatArray

Mask = NDArray[np.bool_]


@dataclass(slots=True)
class State:
    """Where a batch stands."""

    theta: FloatArray
    rate: FloatArray
    objective: FloatArray
    score: FloatArray
    information: FloatArray
    transition: FloatArray

    def take(self, which: Mask | NDArray[np.intp], other: "State") -> None:
        """Overwrite the chosen replicates by those of another state."""
        for name in self.__slots__:
            getattr(self, name)[which] = getattr(other, name)

    def of(self, which: Mask | NDArray[np.intp]) -> "State":
        """Return the chosen replicates."""
        return State(*(getattr(self, name)[which] for name in self.__slots__))


@dataclass(slots=True)
class Secants:
    """The last step of each replicate and the change of score it made, where they count."""

    steps: FloatArray
    changes: FloatArray
    free: Mask  # whether tau moved
    valid: Mask

    @classmethod
    def none(cls, n: int, n_parameters: int) -> "Secants":
        """Return secants that do not count."""
        zero = np.zeros((n, n_parameters))
        return cls(zero, zero.copy(), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool))

    def of(self, active: NDArray[np.intp]) -> "Secants":
        """Return those of the chosen replicates."""
        return Secants(*(getattr(self, name)[active] for name in self.__slots__))

    def update(self, active: NDArray[np.intp], latest: "Secants") -> None:
        """Note the last steps; only valid ones that rose against the score count."""
        # A tau that stands still has no part in the secant.
        latest.changes[~latest.free, -1] = 0
        rising = np.einsum("bi,bi->b", latest.steps, latest.changes) > 0
        self.steps[active], self.changes[active] = latest.steps, latest.changes
        self.free[active], self.valid[active] = latest.free, latest.valid & rising


def reduced_batch(
    here: State, evidence: Evidence, pulls: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return score and information of the free coefficients and tau, with the evidence."""
    basis, d = evidence.basis, here.theta.shape[1]
    score = np.empty((len(pulls), basis.shape[1] + 1))
    score[:, :-1] = (here.score[:, :d] + pulls - here.theta @ evidence.precision) @ basis
    score[:, -1] = here.score[:, d]
    information = np.empty((len(pulls), score.shape[1], score.shape[1]))
    information[:, :-1, :-1] = basis.T @ (here.information[:, :d, :d] + evidence.precision) @ basis
    border = here.information[:, :d, d] @ basis
    information[:, :-1, -1] = information[:, -1, :-1] = border
    information[:, -1, -1] = here.information[:, d, d]
    return score, information


def scoring_steps(
    score: FloatArray,
    information: FloatArray,
    rate: FloatArray,
    *,
    damping: FloatArray,
    secants: Secants,
    low: float,
) -> tuple[FloatArray, FloatArray, Mask]:
    """Return damped scoring steps of (free coefficients, tau), their gains, and where tau moves."""
    inwards = np.where(rate <= low, score[:, -1] > 0, score[:, -1] < 0)
    free: Mask = ((rate > low) & (rate < LARGEST_RATE)) | inwards
    steps = _solve(information, score, free, damping)
    use = secants.valid & (secants.free == free)
    if use.any():
        products = _solve(information[use], secants.changes[use], free[use], damping[use])
        steps[use] = _bent(steps[use], score[use], products, secants, use)
    target = np.clip(rate + steps[:, -1], low, LARGEST_RATE)
    stopped = target != rate + steps[:, -1]
    if stopped.any():
        moves = (target - rate)[stopped]
        rest = score[stopped, :-1] - information[stopped, :-1, -1] * moves[:, None]
        inner = _ridged(information[stopped, :-1, :-1], np.zeros(len(moves)))
        steps[stopped, :-1] = np.linalg.solve(inner, rest[:, :, None])[:, :, 0]
        steps[stopped, -1] = moves
    return steps, np.einsum("bi,bi->b", score, steps), free


def _bent(
    steps: FloatArray,
    score: FloatArray,
    product: FloatArray,
    secants: Secants,
    use: Mask,
) -> FloatArray:
    """Return steps corrected by the last secant: the BFGS update of `solver.with_secant`."""
    last, change = secants.steps[use], secants.changes[use]
    slope = np.einsum("bi,bi->b", last, change)
    along = np.einsum("bi,bi->b", last, score) / slope
    factor = (1 + np.einsum("bi,bi->b", change, product) / slope) * along
    cross = np.einsum("bi,bi->b", product, score) / slope
    bent: FloatArray = steps + (factor - cross)[:, None] * last - along[:, None] * product
    return bent


def _solve(
    information: FloatArray, score: FloatArray, free: Mask, damping: FloatArray
) -> FloatArray:
    """Solve for every replicate's step; tau stands still where it is not free."""
    system, right = _ridged(information, damping), score.copy()
    system[~free, -1, :] = 0
    system[~free, :, -1] = 0
    system[~free, -1, -1] = 1
    right[~free, -1] = 0
    solution: FloatArray = np.linalg.solve(system, right[:, :, None])[:, :, 0].astype(np.float64)
    return solution


def _ridged(information: FloatArray, damping: FloatArray) -> FloatArray:
    """Return the information with its diagonal damped, and never quite singular."""
    system = information.copy()
    diagonal = np.arange(system.shape[1])
    entries = system[:, diagonal, diagonal]
    tiny = 1e-12 * entries.max(axis=1, keepdims=True) + 1e-300
    system[:, diagonal, diagonal] = entries * (1 + damping)[:, None] + tiny
    return system
