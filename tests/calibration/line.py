"""Level and coverage of the line test, strata drawn without a learner.

Cases to be stated are shared out as `choose_cases` does; those looked up are equally many.
"""

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from scipy import stats

from evenodds.inference.cases.choose import shares_of_strata
from evenodds.inference.cases.line_fit import LineStatistic
from evenodds.inference.cases.strata import ALIKE, Strata, strata_by_statement
from evenodds.inference.line.ladder import experts_differ
from evenodds.inference.line.line_test import FLAT, NEAR

SHAPES = {
    "wide": lambda size: np.linspace(0.05, 0.75, size),
    "narrow": lambda size: np.linspace(0.25, 0.55, size),
    "lopsided": lambda size: np.r_[np.zeros(size - 2), 0.1, 0.6],
}
# From strata apart to those of a useless score, with half and with few positives: where the
# slope of the line is not told, the asymmetry is all the less so the further they are from 1/2.
CLOSER = {
    "close": lambda size: np.linspace(0.35, 0.45, size),
    "alike": lambda size: np.full(size, 0.4),
    "few": lambda size: np.linspace(0.02, 0.3, size),
    "fewclose": lambda size: np.linspace(0.05, 0.15, size),
    "fewalike": lambda size: np.full(size, 0.1),
}
EVEN = {"even": lambda size: np.linspace(0.05, 0.95, size)}
DESIGNS = ((30, 3), (60, 5), (120, 8))
RATES = (0.0, 0.1, 0.25, 0.4)
BLURS = (0.0, 0.07, 0.15)
ROWS = 500
# How alike the cases of a stratum are: a Beta with these two counts in all.
CONCENTRATION = 2.0
SHARED = 0.05
CRITICAL = stats.norm.isf(0.025)


@dataclass(frozen=True)
class Cell:
    """Strata with a known line, and an expert's answers about some of their cases."""

    shape: str
    n_cases: int
    n_strata: int
    alpha: float
    beta: float
    blur: float = 0.07
    looked_up: bool = False
    log_odds: float = 1.0  # above 1 an expert is surer than the case allows
    # How alike cases are in the first to the last strata: differently where there are several.
    concentration: tuple[float, ...] = (CONCENTRATION,)
    either: tuple[float, ...] = ()  # the two posteriors that cases have, if no more
    rows: int = ROWS  # of each stratum
    lean: str = ""  # all answers are off the same way, by up to SHARED ("within") or just that

    @property
    def name(self) -> str:
        answers = "looked up" if self.looked_up else f"stated, blur {self.blur:g}"
        if self.log_odds != 1:
            answers += f", log-odds x {self.log_odds:g}"
        if self.lean:
            answers += f", lean {self.lean}"
        if self.concentration != (CONCENTRATION,):
            answers += f", concentration {self.concentration}"
        if self.either:
            answers += ", posteriors {:g} or {:g}".format(*self.either)
        if self.rows != ROWS:
            answers += f", {self.rows:,} rows a stratum"
        flips = f"{self.alpha:g}/{self.beta:g}"
        return f"{self.shape:<9} m={self.n_cases:<4} S={self.n_strata} flips={flips:<10} {answers}"

    def draw(self, seed: int, run: int) -> Strata:
        rng = np.random.default_rng([seed, run])
        shares = (SHAPES | CLOSER | EVEN)[self.shape](self.n_strata)
        if self.either:
            least, most = self.either
            shares = least + (most - least) * shares
        slope = 1 - self.alpha - self.beta
        lines = self.beta + slope * shares
        sizes = np.full(self.n_strata, self.n_cases // self.n_strata)
        if not self.looked_up:
            rows = np.full(self.n_strata, self.rows)
            sizes = shares_of_strata(rows.astype(float), lines, rows // 2, self.n_cases, rng)
        knots = np.linspace(0, 1, len(self.concentration))
        alike = np.interp(np.linspace(0, 1, self.n_strata), knots, self.concentration)
        counts = np.maximum(alike[:, None] * np.column_stack([shares, 1 - shares]), 1e-9)
        of_case = np.repeat(np.arange(self.n_strata), sizes)
        eta = np.where(shares[of_case] == 0, 0.0, rng.beta(*counts[of_case].T))
        if self.either:
            eta = least + (most - least) * (
                rng.random(eta.shape) < (shares[of_case] - least) / (most - least)
            )
        said = self._said(eta, rng)
        others = (self.rows - sizes).astype(float)
        given = rng.binomial(self.rows - sizes, lines).astype(float)
        if self.looked_up:
            stated = np.bincount(of_case, said, minlength=self.n_strata)
            ones = np.ones(self.n_strata)
            return Strata(others, given, sizes.astype(float), stated, ones, np.inf)
        label = (rng.random(eta.shape) < self.beta + slope * eta).astype(float)
        labelled = given + np.bincount(of_case, label, minlength=self.n_strata)
        return strata_by_statement(others + sizes, labelled, of_case, said, label)[0]

    def _said(self, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if self.looked_up:
            return (rng.random(eta.shape) < eta).astype(float)
        if self.log_odds != 1:
            sure = np.clip(eta, 1e-9, 1 - 1e-9) ** self.log_odds
            eta = sure / (sure + (1 - np.clip(eta, 1e-9, 1 - 1e-9)) ** self.log_odds)
        # A blur that leaves the mean as it is, also near 0 and 1.
        reach = np.minimum(np.minimum(eta, 1 - eta), self.blur * np.sqrt(3))
        said = eta + rng.uniform(-1, 1, eta.shape) * reach
        if not self.lean:
            return said
        return np.clip(said + SHARED * (rng.uniform(-1, 1) if self.lean == "within" else 1), 0, 1)

    def judge(self, seed: int, runs: range) -> np.ndarray:
        """Count how often equal flips are rejected, how often the truth is, and flips regardless.

        That is, were strata also tested where labels do not differ between them.
        """
        drawn = together([self.draw(seed, run) for run in runs])
        statistic = LineStatistic.of(drawn, SHARED if self.lean else 0.0)
        z = statistic(np.array([0.0, self.beta - self.alpha]))
        rejected, missed = np.abs(z).T > CRITICAL
        told = drawn.alike() < ALIKE
        return np.array([(told & rejected).sum(), (told & missed).sum(), rejected.sum()])

    def shown(self, seed: int, runs: range) -> np.ndarray:
        """Count data sets whose numbers are shown, and of these intervals without the truth."""
        counts, truth = np.zeros(2, dtype=int), self.beta - self.alpha
        for run in runs:
            strata = self.draw(seed, run)
            profile = LineStatistic.of(strata).profile()
            if strata.alike() < ALIKE and profile.half_width(NEAR, -NEAR) <= FLAT:
                counts += 1, abs(profile(truth)) > CRITICAL
        return counts


@dataclass(frozen=True)
class Experts:
    """Several experts on the same cases, the last of whom leans."""

    n_cases: int
    n_experts: int
    lean: float
    blur: float = 0.07

    def doubted(self, seed: int, runs: range) -> int:
        """Count how often one of them is told to lean."""
        found = 0
        for run in runs:
            rng = np.random.default_rng([seed, run])
            eta = rng.beta(1, 1, self.n_cases)[:, None]
            said = eta + self.blur * rng.standard_normal((self.n_cases, self.n_experts))
            said[:, -1] += self.lean
            found += experts_differ(np.clip(said, 0, 1)) is not None
        return found


EXPERTS = [Experts(m, k, lean) for m in (60, 120) for k in (2, 3) for lean in (0, 0.03, 0.05)]
WITHHELD = [
    Cell(shape, 60, 5, *rates)
    for shape in ("wide", *CLOSER)
    for rates in ((0.1, 0.1), (0.05, 0.2), (0.25, 0.25))
]


def together(drawn: list[Strata]) -> Strata:
    """Return data sets as one, to be fitted at once."""
    names = ("n", "positive", "judged", "stated", "dispersion", "freedom")
    return Strata(*(np.stack([getattr(one, name) for one in drawn]) for name in names))


def level_cells() -> list[Cell]:
    designs = product(SHAPES, DESIGNS, RATES)
    cells = []
    for shape, (m, size), rate in designs:
        cells += [Cell(shape, m, size, rate, rate, blur) for blur in BLURS]
        cells.append(Cell(shape, m, size, rate, rate, looked_up=True))
    return cells


USELESS = [
    Cell(shape, m, size, rate, rate, looked_up=looked_up)
    for shape in ("alike", "fewalike")
    for m, size in DESIGNS[1:]
    for rate in (0.1, 0.25)
    for looked_up in (False, True)
]
POWER_CELLS = [
    Cell(shape, m, size, 0.05, 0.2, looked_up=looked_up)
    for shape in SHAPES
    for m, size in DESIGNS
    for looked_up in (False, True)
]
# One class is never flipped: the line's slope is on its bound.
ONE_SIDED = [
    Cell(shape, 60, 5, *rates, looked_up=looked_up)
    for shape in ("wide", "narrow", "lopsided")
    for rates in ((0.0, 0.05), (0.0, 0.2), (0.05, 0.0), (0.2, 0.0))
    for looked_up in (False, True)
]
OVERCONFIDENT = [
    Cell("wide", m, size, rate, rate, log_odds=1.7)
    for m, size in DESIGNS[1:]
    for rate in (0.1, 0.25)
]


# Few cases a stratum, and cases that are less alike in some strata than in others.
UNEQUAL = [
    Cell("wide", m, size, 0.1, 0.1, concentration=concentration)
    for m, size in ((25, 5), (30, 5), (40, 5), (50, 5), *DESIGNS)
    for concentration in ((0.3,), (8.0, 8.0, 0.7))
]
# Clean labels or nearly so, and an expert who is nearly sure of every case: hardly a label differs
# from what is stated, and a few that do decide how far the two go together.
SURE = [
    Cell(shape, m, size, rate, rate, 0.01, either=either, rows=5000)
    for shape in ("even", "wide")
    for m, size in DESIGNS
    for either in ((0.02, 0.97), (0.005, 0.98), (0.1, 0.9))
    for rate in (0.0, 0.01, 0.03)
]
LEANING = [
    Cell(shape, m, size, rate, rate, lean=lean)
    for shape in SHAPES
    for m, size in DESIGNS[1:]
    for rate in (0.1, 0.25)
    for lean in ("within", "at the edge")
]


def experts_told(runs: int) -> int:
    """Print how often one of several experts is told to lean; return how often too often."""
    print("Experts: how often one is told to lean, at nominal 1%")
    failures = 0
    for cell in EXPERTS:
        share = cell.doubted(73, range(runs)) / runs
        out = cell.lean == 0 and share > stats.binom.ppf(1 - 1e-4, runs, 0.01) / runs
        failures += out
        mark = "  <-- out of bounds" if out else ""
        who = f"{cell.n_cases} cases, {cell.n_experts} experts, lean {cell.lean:g}"
        print(f"  {who:<60} {share:.3f}{mark}", flush=True)
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--checks", action="store_true", help="experts, withheld numbers")
    options = parser.parse_args()
    cells, runs = level_cells(), options.runs
    measured = (cells, POWER_CELLS + ONE_SIDED, OVERCONFIDENT, LEANING)
    tables = ([], [], [], []) if options.checks else measured
    most = stats.binom.ppf(1 - 1e-3 / len(cells), runs, 0.05)
    started, failures = time.perf_counter(), 0
    with ProcessPoolExecutor(options.workers) as pool:

        def counted(cell: Cell) -> np.ndarray:
            parts = (range(first, min(first + 100, runs)) for first in range(0, runs, 100))
            return np.sum(list(pool.map(partial(cell.judge, 71), parts)), axis=0)

        def told(cells: list[Cell], bounded: Callable[[Cell], bool]) -> int:
            """Print how often each cell rejects; return how many do too often."""
            out = 0
            for cell in cells:
                rejected = counted(cell)[0]
                bad = bounded(cell) and rejected > most
                out += bad
                mark = "  <-- out of bounds" if bad else ""
                print(f"  {cell.name:<60} {rejected / runs:.3f}{mark}", flush=True)
            return out

        print(f"Level at nominal 5%, {runs} runs a cell, at most {most / runs:.3f}")
        failures += told(tables[0], lambda cell: True)
        print("Power, and how often 95% intervals miss the truth")
        for cell in tables[1]:
            found, missed, _ = counted(cell)
            failures += missed > most
            mark = "  <-- out of bounds" if missed > most else ""
            print(f"  {cell.name:<60} {found / runs:.3f}  {missed / runs:.3f}{mark}", flush=True)
        tables_told = (
            ("An overconfident expert (reported, no bound)", tables[2], lambda cell: False),
            (
                f"All answers lean by up to {SHARED:g}, which is allowed for (edge: no bound)",
                tables[3],
                lambda cell: cell.lean == "within",
            ),
            (
                "Statements that vary differently between strata (a bound for usual designs)",
                UNEQUAL,
                lambda cell: (cell.n_cases, cell.n_strata) in DESIGNS,
            ),
            ("An expert nearly sure of all cases, labels nearly clean", SURE, lambda cell: True),
        )
        for title, some, bounded in tables_told:
            print(title)
            failures += told(some, bounded)
        print("A score that tells nothing: level, and what it would be without the rule")
        for cell in USELESS:
            rejected, _, regardless = counted(cell)
            failures += rejected > most
            print(f"  {cell.name:<60} {rejected / runs:.3f}  {regardless / runs:.3f}", flush=True)
        failures += experts_told(runs)
        fewer = runs // 5
        print(f"Numbers shown, and intervals among them that miss the truth, {fewer} runs a cell")
        for cell in WITHHELD:
            parts = (range(first, min(first + 20, fewer)) for first in range(0, fewer, 20))
            shown, missed = np.sum(list(pool.map(partial(cell.shown, 74), parts)), axis=0)
            out = missed > stats.binom.ppf(1 - 1e-3 / len(WITHHELD), shown, 0.05)
            failures += out
            mark = "  <-- out of bounds" if out else ""
            share = missed / max(shown, 1)
            print(f"  {cell.name:<60} {shown / fewer:.3f}  {share:.3f}{mark}", flush=True)
    print(f"{failures} cells out of bounds; {time.perf_counter() - started:.0f} s")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
