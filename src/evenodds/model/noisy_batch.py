"""Many noisy-logistic null fits at once: the same rows and anchors, other labels and targets.

The climb of the single fit (`noisy_fit.climb_noisy`), carried out for a batch of replicates:
each has its own damping and its own noise rate, all share the products with the design.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from evenodds.model.bounded_scoring import CREEP, MAX_CREEPING, MAX_STEPS, STEP_ROWS_A_PARAMETER
from evenodds.model.many_fits import PairProducts, batches, fit_labels
from evenodds.model.noisy_fit import (
    BINS,
    CREEP_OF_STEPS,
    FEW_ROWS_A_PARAMETER,
    LARGEST_RATE,
    LAST_GAIN,
    Index,
    bins_of,
    first_rate,
    grid_starts,
)
from evenodds.model.noisy_likelihood import FLAT_BEYOND, Evidence, NoisyPoint
from evenodds.validation import FloatArray

Mask = NDArray[np.bool_]


@dataclass(slots=True)
class State:
    """Where a batch stands, with the derivatives at each replicate."""

    coefficients: FloatArray  # (replicates, d)
    rates: FloatArray
    objective: FloatArray
    score: FloatArray  # (replicates, d + 2): theta, tau, Delta
    information: FloatArray  # (replicates, d + 2, d + 2)
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
    basis, d = evidence.basis, here.coefficients.shape[1]
    score = np.empty((len(pulls), basis.shape[1] + 1))
    score[:, :-1] = (here.score[:, :d] + pulls) @ basis
    score[:, :-1] -= here.coefficients @ basis * evidence.roots**2
    score[:, -1] = here.score[:, d]
    information = np.empty((len(pulls), score.shape[1], score.shape[1]))
    information[:, :-1, :-1] = basis.T @ here.information[:, :d, :d] @ basis
    information[:, :-1, :-1] += np.diag(evidence.roots**2)
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
    """Return steps corrected by the last secant: the BFGS update of `newton.with_secant`."""
    last, change = secants.steps[use], secants.changes[use]
    slope = np.einsum("bi,bi->b", last, change)
    along = np.einsum("bi,bi->b", last, score) / slope
    factor = (1 + np.einsum("bi,bi->b", change, product) / slope) * along
    cross = np.einsum("bi,bi->b", product, score) / slope
    return np.asarray(steps + (factor - cross)[:, None] * last - along[:, None] * product)


def _solve(
    information: FloatArray, score: FloatArray, free: Mask, damping: FloatArray
) -> FloatArray:
    """Solve for every replicate's step; tau stands still where it is not free."""
    system, right = _ridged(information, damping), score.copy()
    system[~free, -1, :] = 0
    system[~free, :, -1] = 0
    system[~free, -1, -1] = 1
    right[~free, -1] = 0
    return np.linalg.solve(system, right[:, :, None])[:, :, 0].astype(np.float64)


def _ridged(information: FloatArray, damping: FloatArray) -> FloatArray:
    """Return the information with its diagonal damped, and never quite singular."""
    system = information.copy()
    diagonal = np.arange(system.shape[1])
    entries = system[:, diagonal, diagonal]
    tiny = 1e-12 * entries.max(axis=1, keepdims=True) + 1e-300
    system[:, diagonal, diagonal] = entries * (1 + damping)[:, None] + tiny
    return system


@dataclass(slots=True)
class NoisyBatch(State):
    """Null fits of a batch at a hypothesised asymmetry."""

    rate_is_free: Mask
    converged: Mask


@dataclass(frozen=True, slots=True)
class BatchProblem:
    """What all replicates share: rows, evidence, and the hypothesised asymmetry."""

    pairs: PairProducts  # design with a leading 1, on the solver's scale
    evidence: Evidence  # its constraints and precision; pulls differ
    asymmetry: float

    def fit(self, labels: NDArray[np.generic], pulls: FloatArray, start: NoisyPoint) -> NoisyBatch:
        """Fit every row of `labels` with its own pull; keep the best of several climbs.

        Climbs begin at `start`, where the labels were drawn from, and where the single fit
        begins (`noisy_fit.find_tops`).
        """
        plain = fit_labels(self.pairs.design[:, 1:], labels)
        parts = []
        for batch in batches(len(labels), len(self.pairs.design)):
            given = labels[batch].astype(np.float64)
            parts.append(_best(self._ends(given, pulls[batch], plain[batch], start)))
        return NoisyBatch(
            *(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(NoisyBatch))
        )

    def _ends(
        self, labels: FloatArray, pulls: FloatArray, plain: FloatArray, start: NoisyPoint
    ) -> list[NoisyBatch]:
        n = len(labels)
        drawn_from = np.tile(start.coefficients, (n, 1)), np.full(n, start.rate)
        first = self._climb(labels, pulls, plain, np.full(n, first_rate(self.asymmetry)))
        n_rows, n_parameters = self.pairs.design.shape
        others = grid_starts(
            self._index(labels, pulls, first.coefficients[:, 1:]),
            self.evidence,
            self.asymmetry,
            few_rows=n_rows < FEW_ROWS_A_PARAMETER * n_parameters,
        )
        climbs = (self._climb(labels, pulls, *point) for point in (drawn_from, *others))
        return [first, *climbs]

    def _index(self, labels: FloatArray, pulls: FloatArray, slopes: FloatArray) -> Index:
        """Count labels along each replicate's own direction."""
        along = slopes @ self.pairs.design[:, 1:].T
        mean, spread = along.mean(axis=1), along.std(axis=1)
        spread[spread == 0] = 1.0
        bins = bins_of((along - mean[:, None]) / spread[:, None])
        bins += BINS * np.arange(len(labels))[:, None]
        size = BINS * len(labels)
        positives, negatives = (
            np.bincount(bins.ravel(), given.ravel(), size).reshape(-1, BINS).astype(np.float64)
            for given in (labels, 1 - labels)
        )
        return Index(slopes, mean, spread, positives, negatives, pulls)

    def _climb(
        self, labels: FloatArray, pulls: FloatArray, theta: FloatArray, rate: FloatArray
    ) -> NoisyBatch:
        """Climb with a whole batch; see `noisy_fit.climb_noisy` for the steps."""
        n, low = len(labels), abs(self.asymmetry) / 2
        basis = self.evidence.basis
        here = self._evaluate(labels, pulls, self.evidence.onto(theta), rate)
        damping, creeping = np.zeros(n), np.zeros(n, dtype=int)
        converged, free = np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
        secants = Secants.none(n, basis.shape[1] + 1)
        active = np.arange(n)
        for _ in range(MAX_STEPS):
            reduced = reduced_batch(here.of(active), self.evidence, pulls[active])
            steps, gains, free[active] = scoring_steps(
                *reduced,
                here.rates[active],
                damping=damping[active],
                secants=secants.of(active),
                low=low,
            )
            settled = gains <= LAST_GAIN
            converged[active[settled]] = True
            ahead = here.rates[active] + steps[:, -1]
            free[active[settled & ((ahead <= low) | (ahead >= LARGEST_RATE))]] = False
            moving = ~settled & (creeping[active] < MAX_CREEPING) & (damping[active] < 1e12)
            score = reduced[0][moving]
            active, steps, gains = active[moving], steps[moving], gains[moving]
            if len(active) == 0:
                break
            there = self._evaluate(
                labels[active],
                pulls[active],
                here.coefficients[active] + steps[:, :-1] @ basis.T,
                np.clip(here.rates[active] + steps[:, -1], low, LARGEST_RATE),
            )
            before = here.objective[active]
            rounding = 1e-13 * np.abs(before)
            better = (there.objective > before) | (
                (gains < 1e-6) & (there.objective > before - rounding)
            )
            stepping = there.transition < STEP_ROWS_A_PARAMETER * theta.shape[1]
            creep = np.where(stepping, CREEP_OF_STEPS, CREEP)
            crept = better & (there.objective - before < creep) & (gains > creep)
            creeping[active] = np.where(crept, creeping[active] + 1, 0)
            here.take(active[better], there.of(better))
            after, _ = reduced_batch(there, self.evidence, pulls[active])
            secants.update(active, Secants(steps, score - after, free[active], better))
            eased = np.where(damping[active] > 1e-6, damping[active] / 10, 0.0)
            damping[active] = np.where(better, eased, np.maximum(10 * damping[active], 1e-3))
        ends = {name: getattr(here, name) for name in State.__slots__}
        return NoisyBatch(**ends, rate_is_free=free, converged=converged)

    def _evaluate(
        self, labels: FloatArray, pulls: FloatArray, theta: FloatArray, rate: FloatArray
    ) -> State:
        """Return objective, score and information of a batch."""
        design, d = self.pairs.design, self.pairs.design.shape[1]
        linear = np.clip(theta @ design.T, -FLAT_BEYOND, FLAT_BEYOND)
        steps = 1 / (1 + np.exp(-linear))
        squeeze = (1 - 2 * rate)[:, None]
        fitted = squeeze * steps + (rate + self.asymmetry / 2)[:, None]
        residuals = labels - fitted
        logs = np.log(np.maximum(1 - np.abs(residuals), 1e-300))
        precision = 1 / (fitted * (1 - fitted))
        slopes = steps * (1 - steps)
        weighted = residuals * precision
        by_rate = 1 - 2 * steps
        by_theta = squeeze * slopes
        mixed, rated = precision * by_theta, precision * by_rate
        score = np.empty((len(labels), d + 2))
        score[:, :d] = (weighted * by_theta) @ design
        score[:, d] = np.einsum("bi,bi->b", weighted, by_rate)
        score[:, d + 1] = weighted.sum(axis=1) / 2
        information = np.empty((len(labels), d + 2, d + 2))
        information[:, :d, :d] = self.pairs.grams(mixed * by_theta)
        information[:, :d, d] = information[:, d, :d] = (mixed * by_rate) @ design
        information[:, :d, d + 1] = information[:, d + 1, :d] = mixed @ design / 2
        information[:, d, d] = np.einsum("bi,bi->b", rated, by_rate)
        information[:, d, d + 1] = information[:, d + 1, d] = rated.sum(axis=1) / 2
        information[:, d + 1, d + 1] = precision.sum(axis=1) / 4
        penalty = np.einsum("bi,ij,bj->b", theta, self.evidence.precision, theta) / 2
        penalty -= np.einsum("bi,bi->b", pulls, theta)
        return State(
            coefficients=theta,
            rates=rate,
            objective=logs.sum(axis=1) - penalty,
            score=score,
            information=information,
            transition=4 * slopes.sum(axis=1),
        )


def _best(ends: list[NoisyBatch]) -> NoisyBatch:
    """Return the end with the highest objective, replicate by replicate."""
    winner = np.argmax([end.objective for end in ends], axis=0)
    rows = np.arange(len(winner))
    return NoisyBatch(
        *(
            np.stack([getattr(end, f.name) for end in ends])[winner, rows]
            for f in fields(NoisyBatch)
        )
    )
