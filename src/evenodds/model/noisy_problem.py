"""The noisy-logistic likelihood of rows, on the solver's scale."""

from dataclasses import dataclass, replace

import numpy as np

from evenodds.model.audit_terms import AuditPart, AuditTerms
from evenodds.model.noisy_sums import NoisyPoint, NoisyScore, NoisySums
from evenodds.model.scaling import Scaling
from evenodds.rows.base import Rows, sampling_step
from evenodds.validation import FloatArray

# From this many rows on, starts are searched on a small sample and carried to a larger one.
MANY_ROWS = 128_000
SMALL_SAMPLE = 8000
SMALL_SAMPLE_A_PARAMETER = 200
THINNING = 16
SAMPLE_SEED = 19981016
# When a climb that starts near its end may stop; see `NoisyProblem.last_gain`.
LAST_GAIN_NEARBY = 1e-8
LAST_GAIN_MANY_ROWS = 0.05


@dataclass(frozen=True, slots=True)
class NoisyEvaluation:
    """The likelihood at a point, on the solver's scale, without the evidence of anchors."""

    point: NoisyPoint
    log_likelihood: float
    score: FloatArray  # of theta, tau, Delta
    information: FloatArray
    transition: float

    def with_part(self, part: AuditPart) -> "NoisyEvaluation":
        """Return the likelihood of rows and audit together."""
        return replace(
            self,
            log_likelihood=self.log_likelihood + part.log_likelihood,
            score=self.score + part.score,
            information=self.information + part.information,
        )


@dataclass(frozen=True, slots=True)
class NoisyProblem:
    """The noisy-logistic likelihood of `rows` on the solver's scale."""

    rows: Rows
    scaling: Scaling
    samples: tuple["NoisyProblem", ...] = ()  # of fewer rows, the smallest first
    audit: AuditTerms | None = None

    @classmethod
    def of(cls, rows: Rows, scaling: Scaling) -> "NoisyProblem":
        """Return the problem, with samples to search on when there are many rows."""
        if rows.n_rows < MANY_ROWS:
            return cls(rows, scaling)
        rng = np.random.default_rng(SAMPLE_SEED)
        chosen = [_thin(rows, rng), rows.thinned(sampling_step(rows, THINNING), rng)]
        samples = sorted((cls(sample, scaling) for sample in chosen), key=lambda s: s.rows.n_rows)
        return cls(rows, scaling, tuple(samples))

    def with_audit(self, audit: AuditTerms) -> "NoisyProblem":
        """Return the problem with an audit in its likelihood, weakened in its samples."""
        total = self.rows.total_weight
        samples = tuple(
            replace(sample, audit=audit.scaled(sample.rows.total_weight / total))
            for sample in self.samples
        )
        return replace(self, samples=samples, audit=audit)

    @property
    def small(self) -> "NoisyProblem":
        """The smallest sample, or the problem itself: for checks that need not see every row."""
        return self.samples[0] if self.samples else self

    @property
    def last_gain(self) -> float:
        """When a climb that starts nearby may stop.

        Statistics are flat in the nuisance parameters, the more so the more rows: with 130,000,
        stopping a fifth of a standard error short changes z by less than 1e-4.
        """
        return LAST_GAIN_MANY_ROWS if self.samples else LAST_GAIN_NEARBY

    def evaluate(self, point: NoisyPoint) -> NoisyEvaluation:
        """Return log-likelihood, score and expected information (one full pass)."""
        sums = self.rows.sum_over_rows(NoisySums(self.outside(point), self.scaling.shift))
        factors = self.factors
        rows = NoisyEvaluation(
            point=point,
            log_likelihood=sums.log_likelihood,
            score=sums.score * factors,
            information=sums.information * np.outer(factors, factors),
            transition=sums.transition,
        )
        return rows if self.audit is None else rows.with_part(self.audit.at(point))

    def score(self, point: NoisyPoint) -> FloatArray:
        """Return the score of (theta, tau) (one cheap pass)."""
        sums = self.rows.sum_over_rows(NoisyScore(self.outside(point), self.scaling.shift))
        rows = sums.score * self.factors[:-1]
        return rows if self.audit is None else rows + self.audit.at(point).score[:-1]

    def design(self, points: FloatArray) -> FloatArray:
        """Return anchor points in the solver's coordinates, with a leading 1."""
        moved = points if self.scaling.shift is None else points - self.scaling.shift
        return np.column_stack([np.ones(len(points)), moved]) * self.scaling.factors

    def outside(self, point: NoisyPoint) -> NoisyPoint:
        """Return a point for the sums, whose features are shifted but not scaled."""
        coefficients = self.scaling.rescaled(point.coefficients)
        return NoisyPoint(coefficients, point.rate, point.asymmetry)

    @property
    def factors(self) -> FloatArray:
        """Scale of the derivatives in (theta, tau, Delta)."""
        return np.concatenate([self.scaling.factors, [1.0, 1.0]])


def small_sample(rows: Rows) -> Rows:
    """Return the rows, or a sample where they are many: for what need not see every row."""
    if rows.n_rows < MANY_ROWS:
        return rows
    return _thin(rows, np.random.default_rng(SAMPLE_SEED))


def _thin(rows: Rows, rng: np.random.Generator) -> Rows:
    """Draw some thousand rows, more of them where there are many parameters."""
    n_small = max(SMALL_SAMPLE, SMALL_SAMPLE_A_PARAMETER * (rows.n_features + 1))
    return rows.thinned(max(rows.n_rows // n_small, 2), rng)
