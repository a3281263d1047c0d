"""Many noisy-logistic null fits at once: the same rows and anchors, other labels and targets.

The climb of the single fit (`noisy.climb_noisy`), carried out for a batch of replicates:
each has its own damping and its own noise rate, all share the products with the design.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from evenodds.model.batch import PairProducts, batches, fit_batch
from evenodds.model.evidence import Evidence
from evenodds.model.noisy import (
    CREEP,
    CREEP_OF_STEPS,
    LARGEST_RATE,
    LAST_GAIN,
    MAX_CREEPING,
    MAX_STEPS,
    STEP_ROWS_A_PARAMETER,
    start_shapes,
)
from evenodds.model.noisy_batch_steps import (
    Mask,
    Secants,
    State,
    reduced_batch,
    scoring_steps,
)
from evenodds.model.noisy_sums import FLAT_BEYOND, NoisyPoint
from evenodds.validation import FloatArray


@dataclass(frozen=True, slots=True)
class NoisyBatch:
    """Null fits of a batch at a hypothesised asymmetry, with the derivatives at each."""

    coefficients: FloatArray  # (replicates, d)
    rates: FloatArray
    objective: FloatArray
    score: FloatArray  # (replicates, d + 2): theta, tau, Delta
    information: FloatArray  # (replicates, d + 2, d + 2)
    transition: FloatArray
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

        Climbs begin at `start`, where the labels were drawn from, and at the replicate's own
        plain fit stretched for several noise rates, as the single fit does.
        """
        plain = fit_batch(self.pairs, labels, np.zeros(self.pairs.design.shape[1]))
        parts = []
        for batch in batches(len(labels), len(self.pairs.design)):
            given = labels[batch].astype(np.float64)
            ends = [
                self._climb(given, pulls[batch], theta, rate)
                for theta, rate in self._starts(plain.coefficients[batch], start)
            ]
            parts.append(_best(ends))
        return NoisyBatch(
            *(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(NoisyBatch))
        )

    def _starts(
        self, plain: FloatArray, start: NoisyPoint
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        n = len(plain)
        yield np.tile(start.coefficients, (n, 1)), np.full(n, start.rate)
        n_rows, n_parameters = self.pairs.design.shape
        for rate, stretch in start_shapes(n_rows, n_parameters, self.asymmetry):
            yield stretch * plain, np.full(n, rate)

    def _climb(
        self, labels: FloatArray, pulls: FloatArray, theta: FloatArray, rate: FloatArray
    ) -> NoisyBatch:
        """Climb with a whole batch; see `noisy.climb_noisy` for the steps."""
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
                here.rate[active],
                damping=damping[active],
                secants=secants.of(active),
                low=low,
            )
            settled = gains <= LAST_GAIN
            converged[active[settled]] = True
            moving = ~settled & (creeping[active] < MAX_CREEPING) & (damping[active] < 1e12)
            score = reduced[0][moving]
            active, steps, gains = active[moving], steps[moving], gains[moving]
            if len(active) == 0:
                break
            there = self._evaluate(
                labels[active],
                pulls[active],
                here.theta[active] + steps[:, :-1] @ basis.T,
                np.clip(here.rate[active] + steps[:, -1], low, LARGEST_RATE),
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
        return NoisyBatch(
            coefficients=here.theta,
            rates=here.rate,
            objective=here.objective,
            score=here.score,
            information=here.information,
            transition=here.transition,
            rate_is_free=free,
            converged=converged,
        )

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
            theta=theta,
            rate=rate,
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
