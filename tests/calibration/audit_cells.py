"""Audits to simulate: how they are drawn, and what their tests say of them."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

import evenodds as eo
from evenodds.inference.audit.audit_test import SMALL_CELL, audit_pvalue, method_of
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.exact import exact_z, given_z
from evenodds.inference.audit.score import AuditByGiven, score_z
from evenodds.inference.boundary import Boundary
from evenodds.inference.method import Known
from evenodds.inference.multiplicity import benjamini_hochberg, holm
from evenodds.inference.noise_aware import FittedRows, JointStatistic
from evenodds.inference.null_fits import AnchorEquations
from evenodds.rows.memory import read_rows
from evenodds.simulation.rejection import Setting
from tests.calibration.cells import WORLDS

CRITICAL = stats.norm.isf(0.025)
# Simulated annotators: so many, of so many rows each, and so many who flip positives more.
ANNOTATORS, ROWS_EACH, BIASED = 20, 120, 5


@dataclass(frozen=True)
class AuditCell:
    """An audit to simulate: how rows are drawn, how many, and their flips."""

    sampled_by: str
    n: int
    prior: float
    alpha: float
    beta: float
    whole: int = 0  # rows of the whole data, by given class

    @property
    def name(self) -> str:
        """A row of the table."""
        whole = f" of {self.whole:,}" if self.whole else ""
        return (
            f"| {self.sampled_by} | {self.n:,}{whole} | {self.prior:g} "
            f"| {self.alpha:g} / {self.beta:g} |"
        )

    def draw(self, rng) -> tuple[Flips, tuple[int, int] | None]:
        """Return the counts of one audit."""
        if self.sampled_by == "given":
            return self._draw_by_given(rng)
        n_positive = round(self.n * self.prior)
        if self.sampled_by == "random":
            n_positive = int(rng.binomial(self.n, self.prior))
        sizes = n_positive, self.n - n_positive
        flipped = rng.binomial(sizes, (self.alpha, self.beta))
        return Flips(sizes[0], int(flipped[0]), sizes[1], int(flipped[1])), None

    def _draw_by_given(self, rng):
        """Draw the whole data, then half of the audit from either given label."""
        noise = eo.ClassConditionalNoise(self.alpha, self.beta)
        share = noise.noisy_prior(self.prior)
        positive = int(rng.binomial(self.whole, share))
        wrong = rng.binomial(
            self.n // 2,
            ((1 - self.prior) * self.beta / share, self.prior * self.alpha / (1 - share)),
        )
        truly = self.n // 2 - int(wrong[0]) + int(wrong[1])
        flips = Flips(truly, int(wrong[1]), 2 * (self.n // 2) - truly, int(wrong[0]))
        return flips, (self.whole - positive, positive)


LEVEL_CELLS = (
    AuditCell("random", 40, 0.5, 0.1, 0.1),
    AuditCell("random", 100, 0.15, 0.1, 0.1),
    AuditCell("random", 400, 0.15, 0.02, 0.02),
    AuditCell("random", 400, 0.5, 0.2, 0.2),
    AuditCell("random", 5000, 0.15, 0.1, 0.1),
    AuditCell("true", 40, 0.5, 0.3, 0.3),
    AuditCell("true", 200, 0.5, 0.1, 0.1),
    AuditCell("true", 2000, 0.2, 0.05, 0.05),
    AuditCell("given", 100, 0.5, 0.1, 0.1, 2000),
    AuditCell("given", 100, 0.15, 0.1, 0.1, 1000),
    AuditCell("given", 200, 0.15, 0.05, 0.05, 10_000),
    AuditCell("given", 20, 0.1, 0.1, 0.1, 1000),
    AuditCell("given", 40, 0.05, 0.1, 0.1, 2000),
    AuditCell("given", 40, 0.3, 0.1, 0.1, 60),
    AuditCell("given", 200, 0.05, 0.02, 0.02, 10_000),
    AuditCell("given", 600, 0.05, 0.02, 0.02, 10_000),
    AuditCell("given", 400, 0.3, 0.2, 0.2, 800),
    AuditCell("given", 2000, 0.15, 0.1, 0.1, 100_000),
)
POWER_CELLS = (
    AuditCell("random", 200, 0.5, 0.05, 0.15),
    AuditCell("random", 1000, 0.15, 0.2, 0.1),
    AuditCell("true", 200, 0.5, 0.05, 0.15),
    AuditCell("given", 200, 0.5, 0.05, 0.15, 10_000),
    AuditCell("given", 400, 0.15, 0.2, 0.05, 10_000),
)


@lru_cache(maxsize=200_000)
def rejects(flips: Flips, counts: tuple[int, int] | None) -> bool:
    """Tell whether an audit rejects equal flips at 5%."""
    return audit_pvalue(flips, "two-sided", counts) < 0.05


@lru_cache(maxsize=200_000)
def covers(flips: Flips, counts: tuple[int, int] | None, asymmetry: float) -> bool:
    """Tell whether the 95% interval holds an asymmetry: its test does not reject it."""
    if counts is not None:
        audit = AuditByGiven(flips, *counts)
        method = method_of(audit)
        if method == "exact":
            z = given_z(audit, asymmetry)
        else:
            z = (audit.at if method == "score" else audit.root_at)(asymmetry).z
    elif flips.fewest_expected < SMALL_CELL:
        z = exact_z(flips, asymmetry)
    else:
        sizes = flips.n_positive, flips.flipped_positive, flips.n_negative, flips.flipped_negative
        z = float(score_z(*sizes, asymmetry))
    return abs(z) <= CRITICAL


def audits(cell: AuditCell, runs: int, seed: int):
    """Yield simulated audits in which both classes were seen."""
    rng = np.random.default_rng([seed, cell.n, round(1000 * cell.prior)])
    for _ in range(runs):
        flips, counts = cell.draw(rng)
        if min(flips.n_positive, flips.n_negative) > 0:
            yield flips, counts


def rejection_share(cell: AuditCell, runs: int, seed: int = 1) -> float:
    """Return how often an audit rejects."""
    return float(np.mean([rejects(*audit) for audit in audits(cell, runs, seed)]))


def coverage(cell: AuditCell, runs: int, seed: int = 2) -> float:
    """Return how often the interval holds the truth."""
    truth = cell.beta - cell.alpha
    return float(np.mean([covers(*audit, truth) for audit in audits(cell, runs, seed)]))


def rate_coverage(cell: AuditCell, runs: int) -> tuple[float, float]:
    """Return how often 95% intervals of alpha and beta hold the truth, by given label."""
    rng = np.random.default_rng(20240305)
    held = np.zeros(2)
    for _ in range(runs):
        flips, counts = cell.draw(rng)
        audit = AuditByGiven(flips, *counts)
        z = audit.at if method_of(audit) == "score" else audit.root_at
        held += [
            abs(z(truth, rate).z) <= CRITICAL
            for rate, truth in (("alpha", cell.alpha), ("beta", cell.beta))
        ]
    return tuple(held / runs)


def annotator_errors(runs: int, biased: int, seed: int = 3) -> tuple[float, float, float]:
    """Return the errors of naming annotators, and how many of the biased are named.

    How often Holm names anyone falsely, the share of false names by Benjamini and Hochberg,
    and the share of the biased that Holm names.
    """
    rng = np.random.default_rng(seed)
    family, false_share, named = [], [], []
    for _ in range(runs):
        alphas = np.where(np.arange(ANNOTATORS) < biased, 0.35, 0.1)
        n_positive = rng.binomial(ROWS_EACH, 0.5, size=ANNOTATORS)
        tables = zip(
            n_positive,
            rng.binomial(n_positive, alphas),
            ROWS_EACH - n_positive,
            rng.binomial(ROWS_EACH - n_positive, 0.1),
            strict=True,
        )
        pvalues = [_pvalue(*(int(count) for count in table)) for table in tables]
        by_holm, by_share = holm(pvalues) < 0.05, benjamini_hochberg(pvalues) < 0.05
        family.append(by_holm[biased:].any())
        false_share.append(by_share[biased:].sum() / max(by_share.sum(), 1))
        named.append(by_holm[:biased].mean() if biased else 0.0)
    return float(np.mean(family)), float(np.mean(false_share)), float(np.mean(named))


@lru_cache(maxsize=200_000)
def _pvalue(*counts: int) -> float:
    return audit_pvalue(Flips(*counts), "two-sided")


@dataclass(frozen=True)
class EvidenceCell:
    """Rows, anchors and an audit, to be tested together."""

    world: str
    n: int
    k: int
    alpha: float
    beta: float
    audited: int
    rows: str  # "other" rows, or rows of the data drawn at "random" or by "given" label

    @property
    def name(self) -> str:
        """A row of the table."""
        return (
            f"| {self.world} | {self.n:,} | {self.k} | {self.audited} {self.rows} "
            f"| {self.alpha:g} / {self.beta:g} |"
        )

    def statistics(self, run: int, seed: int = 4) -> tuple[float, float, float, float]:
        """Return z of boundary and joint with the audit, of it alone, and of anchors alone."""
        noise = eo.ClassConditionalNoise(self.alpha, self.beta)
        setting = Setting(
            world=WORLDS[self.world],
            noise=noise,
            n_rows=self.n,
            n_anchors=max(self.k, 1),
            seed=seed,
        )
        trial = setting.draw(run)
        rng = np.random.default_rng([seed, run, 1])
        audit, true, given = self._audit(trial, noise, rng)
        rows = read_rows(trial.features, trial.labels)
        plain = FittedRows.of(rows)
        fitted = plain.with_audit(audit)
        known = Known(trial.anchors if self.k else None)
        equations = AnchorEquations.of(known.anchors, known.points_for(rows), fitted.problem)
        boundary = Boundary().statistic(fitted, equations).at(0.0).z
        joint = JointStatistic(fitted, equations).at(0.0).z
        positive = int(true.sum())
        flipped = int((true * (1 - given)).sum()), int(((1 - true) * given).sum())
        alone = score_z(positive, flipped[0], len(true) - positive, flipped[1], 0.0)
        without = np.nan
        if self.k:
            without = Boundary().statistic(plain, equations).at(0.0).z
        return boundary, joint, float(alone), without

    def _audit(self, trial, noise, rng):
        """Draw the audit; by given label half of it from either."""
        if self.rows == "other":
            true = rng.permutation(trial.true_labels)[: self.audited].astype(int)
            given = noise.flip(true, rng)
            return eo.Audit(true, given), true, given
        chosen = rng.permutation(self.n)[: self.audited]
        if self.rows == "given":
            halves = [rng.permutation(np.flatnonzero(trial.labels == label)) for label in (0, 1)]
            chosen = np.concatenate([half[: self.audited // 2] for half in halves])
        true, given = trial.true_labels[chosen].astype(int), trial.labels[chosen].astype(int)
        return eo.Audit(true, rows=chosen, sampled_by=self.rows), true, given


EVIDENCE_LEVEL_CELLS = (
    EvidenceCell("paper", 1000, 4, 0.1, 0.1, 100, "other"),
    EvidenceCell("paper", 1000, 0, 0.2, 0.2, 100, "other"),
    EvidenceCell("rare", 2000, 4, 0.1, 0.1, 200, "other"),
    EvidenceCell("rare", 2000, 4, 0.1, 0.1, 200, "random"),
    EvidenceCell("rare", 2000, 0, 0.2, 0.2, 200, "random"),
    EvidenceCell("rare", 2000, 4, 0.1, 0.1, 200, "given"),
)
EVIDENCE_POWER_CELLS = (
    EvidenceCell("paper", 1000, 4, 0.05, 0.15, 200, "other"),
    EvidenceCell("rare", 2000, 4, 0.05, 0.15, 200, "other"),
    EvidenceCell("rare", 2000, 4, 0.05, 0.15, 200, "random"),
    EvidenceCell("rare", 2000, 0, 0.05, 0.15, 200, "random"),
)


def evidence_rejections(cell: EvidenceCell, runs: int) -> np.ndarray:
    """Return how often boundary, joint, the audit alone and anchors alone reject at 5%."""
    return np.mean([np.abs(cell.statistics(run)) > CRITICAL for run in range(runs)], axis=0)
