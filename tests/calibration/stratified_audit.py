"""Level, coverage and worth of the stratified audit, and the level of the line beside it."""

import sys
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import stats

import evenodds as eo
from evenodds.inference.audit.result import cells_of
from evenodds.inference.audit.strata import StratifiedRows, compare_with_line, read_strata
from evenodds.inference.audit.stratified import Shares, StratifiedAudit
from tests.calibration.parts import run_parts

CRITICAL = stats.norm.isf(0.025)


@dataclass(frozen=True)
class Design:
    """A world with a score, how labels are flipped in it, and how cases are drawn."""

    name: str
    n_rows: int
    n_cases: int
    alpha: float
    beta: float
    base: float = 0.0  # log-odds of an average row
    signal: float = 2.2  # of the score; R^2 for the truth is about .43, .17 at 1
    hard: float = 0.0  # how much more often hard cases are flipped; 0: by class alone
    by_label: bool = True

    def _chances(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        eta = 1 / (1 + np.exp(-self.base - x))
        harder = self.hard * np.exp(-np.abs(self.base + x)) if self.hard else 1.0
        return eta, *(np.clip(rate * harder + 0 * x, 0, 1) for rate in (self.alpha, self.beta))

    @cached_property
    def truth(self) -> float:
        """The asymmetry of the process, by quadrature."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(200)
        eta, alpha, beta = self._chances(self.signal * nodes)
        return float(
            weights @ ((1 - eta) * beta) / (weights @ (1 - eta))
            - weights @ (eta * alpha) / (weights @ eta)
        )

    def draw(self, seed: int, run: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return true and given labels and scores of all rows."""
        rng = np.random.default_rng([seed, run])
        x = self.signal * rng.normal(size=self.n_rows)
        eta, alpha, beta = self._chances(x)
        true = rng.random(self.n_rows) < eta
        given = true ^ (rng.random(self.n_rows) < np.where(true, alpha, beta))
        return true, given, eta * (1 - alpha) + (1 - eta) * beta

    def wrong_chance(self, seed: int, run: int, given: np.ndarray) -> np.ndarray:
        """Return how likely each label of a draw is wrong."""
        x = self.signal * np.random.default_rng([seed, run]).normal(size=self.n_rows)
        eta, alpha, beta = self._chances(x)
        positive = eta * (1 - alpha) + (1 - eta) * beta
        return np.where(given, (1 - eta) * beta / positive, eta * alpha / (1 - positive))

    def audit(self, seed: int, run: int) -> StratifiedRows | None:
        """Return one audit; None where a class was not seen."""
        true, given, scores = self.draw(seed, run)
        labels = given if self.by_label else None
        cases = eo.choose_cases(scores, n_cases=self.n_cases, given=labels, seed=run)
        try:
            return read_strata(true[cases.rows], given, cases, scores=scores)
        except eo.InputError as error:
            if "no audited row is" not in str(error):
                raise
            return None

    def judge(self, seed: int, run: int) -> tuple[float, float, float]:
        """Return z at the truth, the estimate, and the rows found wrong."""
        found = self.audit(seed, run)
        if found is None:
            return 0.0, np.nan, 0.0
        audit = StratifiedAudit(cells_of(found.merged()[0], found.labels.positive))
        return audit.z(self.truth), audit.seen.asymmetry, float(found.wrong.sum())

    def beside(self, seed: int, run: int) -> tuple[float, bool]:
        """Return the asymmetry by the line, and whether it is said to differ."""
        found = self.audit(seed, run)
        compared = None if found is None else compare_with_line(found)
        return (np.nan, False) if compared is None else (compared.line, compared.differs)

    def line_z(self, seed: int, run: int) -> float:
        """Return z of the line test at the truth, of cases drawn by label."""
        true, given, scores = self.draw(seed, run)
        cases = eo.choose_cases(scores, n_cases=self.n_cases, given=given, seed=run)
        stated = true[cases.rows].astype(float)
        found = eo.line_test(scores, given, cases, stated, answers="looked-up")
        return found.statistic if self.truth == 0 else found.profile(self.truth)


DESIGNS = (
    Design("balanced", 5000, 200, 0.1, 0.1),
    Design("balanced, few cases", 2000, 60, 0.15, 0.15),
    Design("balanced, by score alone", 2000, 60, 0.15, 0.15, by_label=False),
    Design("5 wrong rows", 5000, 200, 0.0135, 0.0135),
    Design("5 wrong rows, by score alone", 5000, 200, 0.025, 0.025, by_label=False),
    Design("rare positives", 10_000, 200, 0.1, 0.1, base=-4.0),
    Design("rare positives, by score alone", 10_000, 200, 0.1, 0.1, base=-4.0, by_label=False),
    Design("hard cases flipped", 5000, 120, 0.2, 0.2, base=-1.0, hard=1.8),
    Design("hard cases flipped, by score alone", 5000, 120, 0.2, 0.2, -1.0, 2.2, 1.8, False),
    Design("150 rows, 60 audited", 150, 60, 0.15, 0.15, base=-0.5, signal=1.5),
    Design("150 rows, 60 audited, by score alone", 150, 60, 0.15, 0.15, -0.5, 1.5, 0.0, False),
    Design("asymmetric", 5000, 120, 0.3, 0.05, base=-1.0),
    Design("300 rows, positives rare and never flipped", 300, 100, 0.0, 0.2, -3.0, 1.0),
)
# Flips depend on the case, and by class alone with one class never flipped.
BESIDE = (
    Design("hard cases flipped, base -1", 5000, 200, 0.2, 0.2, base=-1.0, hard=1.8),
    Design("hard positives flipped", 5000, 200, 0.5, 0.02, base=-1.0, hard=1.5),
    Design("one class never flipped", 5000, 200, 0.1, 0.0),
    Design("few flips", 5000, 200, 0.03, 0.03),
)
# Flips by class alone, cases by label: the line test itself.
LINES = (
    Design("balanced", 5000, 200, 0.1, 0.1),
    Design("balanced, few cases", 2000, 60, 0.15, 0.15),
    Design("10% positives", 10_000, 200, 0.1, 0.1, base=-3.5),
    Design("asymmetric", 5000, 120, 0.3, 0.05, base=-1.0),
    Design("much noise", 5000, 120, 0.2, 0.2, base=-1.4),
)
# Where the score's R^2 for the truth is about .4, and lower.
WORTH = (
    Design("balanced", 5000, 200, 0.1, 0.1),
    Design("30% positives", 5000, 200, 0.1, 0.1, base=-1.4),
    Design("10% positives", 10_000, 200, 0.1, 0.1, base=-3.5),
    Design("a poor score", 5000, 200, 0.1, 0.1, signal=1.0),
    Design("hard cases flipped", 5000, 200, 0.2, 0.2, hard=2.0),
)


def judged(design: Design, runs: int, seed: int = 31) -> np.ndarray:
    """Return what `judge` says of many audits."""
    return np.array([design.judge(seed, run) for run in range(runs)])


def show_level(runs: int) -> int:
    """Print how often the truth is rejected; return how many designs are out of bounds."""
    most = stats.binom.ppf(1 - 1e-3 / len(DESIGNS), runs, 0.05)
    print(f"{runs} audits a design; the truth may be rejected in {most / runs:.3f} of them\n")
    print(
        "| design | rows, audited | alpha / beta | asymmetry | wrong rows | truth rejected "
        "| z too high, too low | bias |\n|---|---|---|---|---|---|---|---|"
    )
    failures = 0
    for one in DESIGNS:
        z, estimates, wrong = judged(one, runs).T
        high, low = (z > CRITICAL).mean(), (z < -CRITICAL).mean()
        failures += (high + low) * runs > most
        print(
            f"| {one.name} | {one.n_rows:,}, {one.n_cases} | {one.alpha:g} / {one.beta:g} "
            f"| {one.truth:+.3f} | {wrong.mean():.1f} | {high + low:.3f} | {high:.3f}, {low:.3f} "
            f"| {np.nanmean(estimates) - one.truth:+.4f} |",
            flush=True,
        )
    return failures


def show_beside(runs: int) -> int:
    """Print how often the line is said to differ; return how many designs are out of bounds."""
    designs = *DESIGNS, *BESIDE
    most = stats.binom.ppf(1 - 1e-3 / len(designs), runs, 0.01)
    print(f"\n{runs} audits a design; by class alone the line may differ in {most / runs:.3f}\n")
    print("| design | asymmetry | by the line, median | line differs |\n|---|---|---|---|")
    failures = 0
    for one in designs:
        lines, differs = np.array([one.beside(33, run) for run in range(runs)]).T
        failures += not one.hard and differs.sum() > most
        print(
            f"| {one.name} | {one.truth:+.3f} | {np.nanmedian(lines):+.3f} "
            f"| {differs.mean():.3f} |",
            flush=True,
        )
    return failures


def show_line(runs: int) -> int:
    """Print how often the line test rejects the truth; return how many are out of bounds."""
    most = stats.binom.ppf(1 - 1e-3 / len(LINES), runs, 0.05)
    print(f"\n{runs} line tests a design; the truth may be rejected in {most / runs:.3f}\n")
    print("| design | rows, cases | alpha / beta | truth rejected |\n|---|---|---|---|")
    failures = 0
    for one in LINES:
        rejected = sum(abs(one.line_z(35, run)) > CRITICAL for run in range(runs))
        failures += rejected > most
        print(
            f"| {one.name} | {one.n_rows:,}, {one.n_cases} | {one.alpha:g} / {one.beta:g} "
            f"| {rejected / runs:.3f} |",
            flush=True,
        )
    return failures


def show_worth(runs: int) -> int:
    """Print how many rows drawn at random an audited row is worth."""
    print("\n| score | R^2 for the truth | rows of a random audit per audited row |\n|---|---|---|")
    failures = 0
    for one in WORTH:
        share, found = worth(one, runs)
        failures += found < 4 / 3 and share > 0.35
        print(f"| {one.name} | {share:.2f} | {found:.2f} |", flush=True)
    return failures


def worth(design: Design, runs: int) -> tuple[float, float]:
    """Return R^2 of the score for the truth, and how many random rows an audited one is worth."""
    true, _, scores = design.draw(0, 0)
    spread = np.nanvar([_estimate(design, run) for run in range(runs)])
    return float(np.corrcoef(true, scores)[0, 1] ** 2), _random_variance(design) / spread


def _estimate(design: Design, run: int) -> float:
    found = design.audit(32, run)
    if found is None:
        return np.nan
    return cells_of(found.merged()[0], found.labels.positive).seen.asymmetry


def _random_variance(design: Design) -> float:
    """Return the variance of the asymmetry in a random audit of the same size."""
    true, given, _ = replace(design, n_rows=200_000).draw(1, 0)
    alpha, beta, prior = (~given[true]).mean(), given[~true].mean(), true.mean()
    return (alpha * (1 - alpha) / prior + beta * (1 - beta) / (1 - prior)) / design.n_cases


def show_regression(runs: int) -> int:
    """Print what regression within strata would add to the audit, on the score and at best."""
    print(
        f"\n{runs} audits a cell; variance without regression over that with it, on how likely "
        "the score finds a label wrong / on how likely it is\n"
    )
    print(
        "| score | usual strata | 4 strata | 2 strata | by label alone "
        "| usual strata over label alone |\n|---|---|---|---|---|---|"
    )
    for one in WORTH:
        found = [[_regressed(one, run, n) for n in (None, 4, 2, 1)] for run in range(runs)]
        spread = np.var(found, axis=0)  # a row for each number of strata
        gains = (f"{plain / score:.2f} / {plain / best:.2f}" for plain, score, best in spread)
        strata = spread[3, 0] / spread[0, 0]
        print(f"| {one.name} | {' | '.join(gains)} | {strata:.2f} |", flush=True)
    return 0


def _regressed(design: Design, run: int, n_strata: int | None) -> list[float]:
    """Return the asymmetry without regression, with regression on the score, and at best.

    Whether an audited row is wrong is regressed within strata on how likely that is, with a slope
    for either label, the best for the weighted sum of the strata.
    """
    true, given, scores = design.draw(36, run)
    label = given.astype(int)
    if n_strata == 1:
        rng = np.random.default_rng([36, run, 1])
        halves = (rng.permutation(np.flatnonzero(label == one)) for one in (0, 1))
        rows = np.concatenate([half[: design.n_cases // 2] for half in halves])
        cell = label
    else:
        wanted = {"n_cases": design.n_cases, "n_strata": n_strata, "given": given}
        cases = eo.choose_cases(scores, **wanted, seed=run)
        rows, cell = cases.rows, 2 * cases.strata_of(scores) + label
    wrong, where, size = true[rows] != given[rows], cell[rows], int(cell.max()) + 1
    n, n_rows = (np.bincount(cells, minlength=size) for cells in (where, cell))
    share = np.bincount(where, wrong, size) / np.maximum(n, 1)
    weight = ((n_rows / np.maximum(n, 1)) ** 2)[where]
    found = [share]
    for likely in (np.where(given, 1 - scores, scores), design.wrong_chance(36, run, given)):
        seen = np.bincount(where, likely[rows], size) / np.maximum(n, 1)
        off = np.bincount(cell, likely, size) / np.maximum(n_rows, 1) - seen
        apart = likely[rows] - seen[where]
        tops = np.bincount(label[rows], weight * apart * (wrong - share[where]))
        slopes = tops / np.bincount(label[rows], weight * apart**2)
        found.append(share + slopes[np.arange(size) % 2] * off)
    part = np.where(n > 0, n_rows, 0) / len(true)
    sums = ([float((part * one)[k::2].sum()) for k in (0, 1)] for one in found)
    return [Shares(*flipped, float(given.mean())).asymmetry for flipped in sums]


PARTS = {
    "level": (show_level, 1),
    "beside": (show_beside, 4),
    "line": (show_line, 4),
    "worth": (show_worth, 2),
    "regression": (show_regression, 1),
}


if __name__ == "__main__":
    sys.exit(run_parts(__doc__, PARTS))
