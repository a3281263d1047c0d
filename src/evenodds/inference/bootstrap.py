"""Calibration by parametric bootstrap: what z looks like under uniform noise, for data like these.

Labels are drawn again and again from the null fit, anchors' targets with their own error;
the null is refitted and z recomputed each time. It costs some hundred fits, and replaces
the normal distribution where rows are few.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from evenodds.errors import InputError
from evenodds.inference.null_fits import AnchorEquations
from evenodds.model.many_fits import PairProducts, batches
from evenodds.model.noisy_batch import BatchProblem, NoisyBatch
from evenodds.model.noisy_fit import NoisyFit
from evenodds.model.noisy_likelihood import (
    NoisyEvaluation,
    NoisyPoint,
    NoisyProblem,
    squeezed,
)
from evenodds.rows.base import Rows
from evenodds.validation import MOST_RUNS, FloatArray, check_whole

Calibration = Literal["asymptotic", "bootstrap"]
Progress = Callable[[int, int], None]  # draws done, draws in all

# The bootstrap holds the rows in memory; beyond this many the normal distribution is exact.
MOST_ROWS = 200_000
# Replicates drawn and fitted together.
DRAWS_TOGETHER = 100


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How a test is calibrated by drawing labels from its null fit."""

    draws: int = 999
    seed: int = 0
    progress: Progress | None = None

    def __post_init__(self) -> None:
        draws = check_whole(self.draws, "draws", at_least=19, at_most=MOST_RUNS)
        object.__setattr__(self, "draws", draws)
        object.__setattr__(self, "seed", check_whole(self.seed, "seed"))


def refuse_bootstrap(calibration: Calibration, audit: Any) -> None:
    """Refuse to draw labels where an audit is part of the evidence."""
    if calibration == "bootstrap" and audit is not None:
        raise InputError(
            "calibration='bootstrap' draws labels, not audits: use calibration='asymptotic', or "
            "test the audit by itself with audit_test, which is exact in small samples."
        )


def null_distribution(
    problem: NoisyProblem,
    equations: AnchorEquations,
    null: NoisyFit,
    statistic: Callable[[NoisyFit, AnchorEquations], float],
    settings: Bootstrap,
) -> tuple[float, ...]:
    """Return z of labels drawn from the null fit, one for each draw, sorted."""
    rows = problem.rows
    _check_rows(rows)
    design = problem.design(rows.to_memory().features)
    # Drawn are errors of posteriors, at the same places.
    equations = replace(equations, found=False)
    evidence = equations.evidence()
    batch_problem = BatchProblem(PairProducts.of(design), evidence, null.point.asymmetry)
    chances = null.point.squeeze(squeezed(design[:, 1:], null.point.coefficients))
    centre = equations.design @ null.point.coefficients
    root = _root(equations.covariance)
    rng = np.random.default_rng(settings.seed)
    found: list[float] = []
    while len(found) < settings.draws:
        n = min(DRAWS_TOGETHER, settings.draws - len(found))
        labels = np.empty((n, len(design)), dtype=np.int8)
        for batch in batches(n, len(design)):
            size = batch.stop - batch.start
            labels[batch] = rng.random((size, len(design))) < chances
        targets = centre + rng.normal(size=(n, len(centre))) @ root.T
        pulls = evidence.pulls_of(equations.design, targets, equations.covariance)
        fits = batch_problem.fit(labels, pulls, null.point)
        for number in range(n):
            drawn = replace(equations, targets=targets[number])
            found.append(statistic(_single(fits, number, null.point), drawn))
        if settings.progress is not None:
            settings.progress(len(found), settings.draws)
    return tuple(sorted(found))


def _check_rows(rows: Rows) -> None:
    if rows.n_groups is not None:
        raise InputError(
            "calibration='bootstrap' draws every row by itself, so it cannot be used with groups: "
            "use calibration='asymptotic', which counts groups."
        )
    if rows.weighted:
        raise InputError(
            "calibration='bootstrap' needs one row a case: repeat rows instead of weighting them."
        )
    if rows.n_rows > MOST_ROWS:
        raise InputError(
            f"calibration='bootstrap' is for small samples, and {rows.called} has {rows.n_rows:,} "
            "rows: with so many the normal distribution is exact; use calibration='asymptotic'."
        )


def _root(covariance: FloatArray) -> FloatArray:
    """Return a square root of a covariance that may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


def _single(fits: NoisyBatch, number: int, null: NoisyPoint) -> NoisyFit:
    """Return one replicate of a batch as a fit of its own."""
    point = NoisyPoint(fits.coefficients[number], float(fits.rates[number]), null.asymmetry)
    here = NoisyEvaluation(
        float(fits.objective[number]),
        fits.score[number],
        fits.information[number],
        point,
        float(fits.transition[number]),
    )
    return NoisyFit(
        here=here,
        objective=here.log_likelihood,
        rate_is_free=bool(fits.rate_is_free[number]),
        converged=bool(fits.converged[number]),
        n_steps=0,
    )
