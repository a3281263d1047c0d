"""Corrected shares, groups that share their rates, drawn with chances, and looks: measured."""

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

import evenodds as eo
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.result import cells_of
from evenodds.inference.audit.share import (
    shared_rates,
    shared_rates_by_given,
    z_by_labels,
    z_by_rates,
)
from evenodds.inference.audit.strata import read_strata
from evenodds.inference.audit.stratified import Cells

CRITICAL = stats.norm.isf(0.025)


def most_of(runs: int, cells: int) -> int:
    """Return how many misses at 5 % are allowed in any of so many cells."""
    return int(stats.binom.ppf(1 - 1e-3 / cells, runs, 0.05))


@dataclass(frozen=True)
class Share:
    """Rows with noisy labels, and an audit of some of them."""

    name: str
    n_rows: int
    n_audited: int
    prior: float
    alpha: float
    beta: float
    drawn: str  # random, given, true, elsewhere or strata
    hard: bool = False  # whether flips depend on the case

    def judge(self, seed: int, run: int) -> tuple[float, float, float]:
        """Return z at the truth, the estimate, and wrong rows found."""
        rng = np.random.default_rng([seed, run])
        x = rng.normal(size=self.n_rows)
        # A score x that knows the truth; on average over x the chance is that of the prior.
        slope = 2.0 if self.drawn == "strata" else 0.0
        middle = stats.norm.ppf(self.prior) * np.sqrt(1 + slope**2)
        true = rng.random(self.n_rows) < stats.norm.cdf(middle + slope * x)
        harder = 2 * np.exp(-np.abs(x)) if self.hard else 1.0
        flipped = rng.random(self.n_rows) < harder * np.where(true, self.alpha, self.beta)
        given = true ^ flipped
        if self.drawn in ("true", "elsewhere"):
            flips = self._flips(true, given, rng)
            z = z_by_rates(self.prior, flips, (int((~given).sum()), int(given.sum())))
            share = (given.mean() - flips.beta) / (1 - flips.alpha - flips.beta)
            return z, share, flips.flipped_positive + flips.flipped_negative
        cells = self._cells(true, given, stats.norm.cdf(x), rng)
        if (cells.audited == 0).any():  # the share is refused then
            return 0.0, np.nan, 0.0
        return z_by_labels(self.prior, cells), cells.seen.prior, cells.wrong.sum()

    def _flips(self, true: Any, given: Any, rng: np.random.Generator) -> Flips:
        if self.drawn == "elsewhere":  # other rows, of which half are positive
            true = rng.random(self.n_audited) < 0.5
            given = true ^ (rng.random(len(true)) < np.where(true, self.alpha, self.beta))
        else:
            halves = (
                _some(np.flatnonzero(true == one), self.n_audited // 2, rng) for one in (0, 1)
            )
            rows = np.concatenate([*halves])
            true, given = true[rows], given[rows]
        return Flips.of_cells(np.bincount(2 * true + given, minlength=4))

    def _cells(self, true: Any, given: Any, scores: Any, rng: np.random.Generator) -> Cells:
        n = self.n_audited
        if self.drawn == "strata":
            cases = eo.choose_cases(scores, n_cases=n, given=given, seed=int(rng.integers(10**9)))
            found = read_strata(true[cases.rows], given, cases, scores=scores)
            return cells_of(found.merged()[0], found.labels.positive)
        rows = rng.choice(self.n_rows, n, replace=False)
        if self.drawn == "given":
            rows = np.concatenate(
                [_some(np.flatnonzero(given == one), n // 2, rng) for one in (0, 1)]
            )
        counts = (
            np.bincount(labels, minlength=2).astype(float)
            for labels in (given, given[rows], given[rows][true[rows] != given[rows]])
        )
        return Cells(*counts, np.array([False, True]))


def _some(rows: Any, n: int, rng: np.random.Generator) -> Any:
    return rng.choice(rows, min(n, len(rows)), replace=False)


SHARES = (
    Share("at random", 5000, 200, 0.3, 0.1, 0.1, "random"),
    Share("at random, rare, few wrong", 10_000, 100, 0.05, 0.1, 0.02, "random"),
    Share("by given label", 2000, 100, 0.3, 0.2, 0.05, "given"),
    Share("by given label, rare, few wrong", 10_000, 100, 0.05, 0.05, 0.01, "given"),
    Share("along a score, hard cases flipped", 5000, 150, 0.3, 0.2, 0.05, "strata", hard=True),
    Share("by true class", 5000, 200, 0.3, 0.1, 0.1, "true"),
    Share("by true class, few wrong", 5000, 100, 0.1, 0.02, 0.02, "true"),
    Share("elsewhere, half positive there", 5000, 100, 0.8, 0.05, 0.3, "elsewhere"),
)


def shares_judged(design: Share, runs: int, seed: int = 41) -> np.ndarray:
    """Return what `judge` says in many runs."""
    return np.array([design.judge(seed, run) for run in range(runs)])


def show_shares(runs: int) -> int:
    """Print how often intervals miss the true share; return how many designs are out of bounds."""
    most = most_of(runs, len(SHARES))
    print(f"{runs} audits a design; intervals may miss in {most / runs:.3f} of them\n")
    print(
        "| audited | rows, audited | share | alpha / beta | wrong rows | missed "
        "| too high, too low | bias |\n|---|---|---|---|---|---|---|---|"
    )
    failures = 0
    for one in SHARES:
        z, found, wrong = shares_judged(one, runs).T
        high, low = (z > CRITICAL).mean(), (z < -CRITICAL).mean()
        failures += (high + low) * runs > most
        print(
            f"| {one.name} | {one.n_rows:,}, {one.n_audited} | {one.prior:.2f} "
            f"| {one.alpha:g} / {one.beta:g} | {wrong.mean():.1f} | {high + low:.3f} "
            f"| {high:.3f}, {low:.3f} | {np.nanmean(found) - one.prior:+.4f} |",
            flush=True,
        )
    return failures


@dataclass(frozen=True)
class Groups:
    """Groups of rows, each with an audit of its own."""

    name: str
    sizes: tuple[int, ...]
    priors: tuple[float, ...]
    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    by_given: bool = False
    n_rows: int = 3000

    def pvalue(self, seed: int, run: int) -> float:
        """Return the p-value of "they share their rates"; 1 where a class was not seen."""
        rng = np.random.default_rng([seed, run])
        flips, labelled = [], []
        for n, prior, alpha, beta in zip(
            self.sizes, self.priors, self.alphas, self.betas, strict=True
        ):
            total = self.n_rows if self.by_given else n
            true = rng.random(total) < prior
            given = true ^ (rng.random(total) < np.where(true, alpha, beta))
            if self.by_given:
                drawn = [_some(np.flatnonzero(given == one), n // 2, rng) for one in (0, 1)]
                labelled.append(given.mean())
                rows = np.concatenate(drawn)
                true, given = true[rows], given[rows]
            flips.append(Flips.of_cells(np.bincount(2 * true + given, minlength=4)))
            if not 0 < flips[-1].n_positive < len(true):
                return 1.0
        return (shared_rates_by_given(flips, labelled) if self.by_given else shared_rates(flips))[2]


GROUPS = (
    Groups("2 at random", (100, 100), (0.3, 0.5), (0.1,) * 2, (0.1,) * 2),
    Groups("3 at random, few wrong", (60, 200, 40), (0.2,) * 3, (0.05,) * 3, (0.02,) * 3),
    Groups("6 at random", (50,) * 6, (0.5,) * 6, (0.1,) * 6, (0.2,) * 6),
    Groups("2 by given label", (100, 100), (0.3, 0.5), (0.1,) * 2, (0.1,) * 2, True),
    Groups("3 by given label, few wrong", (60, 200, 40), (0.2, 0.1, 0.3), (0.05,) * 3, (0.02,) * 3,
           True),
    Groups("4 by given label", (200,) * 4, (0.5,) * 4, (0.1,) * 4, (0.2,) * 4, True),
    Groups("2 at random, unequal", (150, 150), (0.3, 0.5), (0.1, 0.3), (0.1,) * 2),
    Groups("2 by given label, unequal", (150, 150), (0.3, 0.3), (0.1, 0.3), (0.1,) * 2, True),
)  # fmt: skip


def show_groups(runs: int) -> int:
    """Print how often shared rates are rejected; return how many designs are out of bounds."""
    equal = [len({*one.alphas}) == 1 for one in GROUPS]
    most = most_of(runs, sum(equal))
    print(f"\n{runs} audits a design; equal rates may be rejected in {most / runs:.3f} of them\n")
    print("| groups | audited | alpha | beta | rejected |\n|---|---|---|---|---|")
    failures = 0
    for one, level in zip(GROUPS, equal, strict=True):
        rejected = sum(one.pvalue(42, run) < 0.05 for run in range(runs))
        failures += level and rejected > most
        told = (", ".join(f"{rate:g}" for rate in {*rates}) for rates in (one.alphas, one.betas))
        sizes = ", ".join(map(str, one.sizes))
        print(f"| {one.name} | {sizes} | {' | '.join(told)} | {rejected / runs:.3f} |", flush=True)
    return failures


PARTS = {"share": (show_shares, 1), "groups": (show_groups, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--part", choices=PARTS, action="append")
    options = parser.parse_args()
    started, failures = time.process_time(), 0
    for name, (show, fewer) in PARTS.items():
        if options.part is None or name in options.part:
            failures += show(options.runs // fewer)
    print(f"\n{failures} out of bounds; {time.process_time() - started:.0f} s of CPU")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
