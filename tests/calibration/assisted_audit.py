"""Corrected shares, groups that share their rates, chances, looks and several raters: measured."""

import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

import evenodds as eo
from evenodds.inference.audit.audit_test import audit_pvalue
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.raters import read_raters
from evenodds.inference.audit.result import cells_of
from evenodds.inference.audit.share import (
    shared_rates,
    shared_rates_by_given,
    z_by_labels,
    z_by_rates,
)
from evenodds.inference.audit.strata import read_inclusion, read_strata
from evenodds.inference.audit.stratified import Cells, StratifiedAudit
from evenodds.inference.looks import critical_value
from tests.calibration.parts import run_parts
from tests.calibration.stratified_audit import DESIGNS, Design, _random_variance

CRITICAL = stats.norm.isf(0.025)


def most_of(runs: int, cells: int) -> int:
    """Return how many misses at 5% are allowed in any of so many cells."""
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
                labelled.append((int((~given).sum()), int(given.sum())))
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
    Groups("3 by given label, rare", (200,) * 3, (0.02, 0.05, 0.01), (0.1,) * 3, (0.02,) * 3, True,
           10_000),
    Groups("2 by given label, most of 120 rows", (100,) * 2, (0.3, 0.5), (0.2,) * 2, (0.1,) * 2,
           True, 120),
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


@dataclass(frozen=True)
class Drawn:
    """A world of `stratified_audit.py`, rows of which are drawn with chances."""

    world: Design
    by: str  # how likely to be wrong by the score, the deviation of that, or how likely right
    fixed: bool = False  # so many rows exactly (systematic), not each by itself
    least: float = 0.02  # what every row has beside its chance to be wrong

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        how = {"wrong": "looks wrong", "deviation": "by deviation", "right": "looks right"}[self.by]
        return f"{self.world.name}, {how}{', fixed size' if self.fixed else ''}"

    def draw(self, seed: int, run: int) -> tuple[Any, Any, Any]:
        """Return the truth of rows that were drawn (None of others), given labels and chances."""
        true, given, scores = self.world.draw(seed, run)
        rng = np.random.default_rng([seed, run, 1])
        wrong = np.where(given, 1 - scores, scores)
        sizes = (1 - wrong if self.by == "right" else wrong) + self.least
        if self.by == "deviation":
            sizes = np.sqrt(np.maximum(wrong * (1 - wrong), 1e-4))
        chances = np.minimum(self.world.n_cases * sizes / sizes.sum(), 1.0)
        drawn = rng.random(len(chances)) < chances
        if self.fixed:
            order = rng.permutation(len(chances))
            ends = np.floor(np.cumsum(chances[order]) + rng.random())
            drawn[order] = np.diff(ends, prepend=0.0) > 0
        truth = np.where(drawn, true.astype(object), None)
        return truth, given, chances

    def judge(self, seed: int, run: int) -> tuple[float, float, float, float]:
        """Return z at the truth, the estimate, wrong rows, and whether chances are doubted."""
        try:
            labels, strata, _, check = read_inclusion(*self.draw(seed, run))
        except eo.InputError as error:
            if "no audited row is" not in str(error):
                raise
            return 0.0, np.nan, 0.0, 0.0
        audit = StratifiedAudit(cells_of(strata, labels.positive))
        wrong = sum(one.n_wrong for one in strata)
        return audit.z(self.world.truth), audit.seen.asymmetry, wrong, check.concern


WORLDS = {one.name: one for one in DESIGNS}
DRAWN = (
    Drawn(WORLDS["balanced"], "wrong"),
    Drawn(WORLDS["balanced"], "deviation"),
    Drawn(WORLDS["balanced, few cases"], "wrong"),
    Drawn(WORLDS["balanced, few cases"], "deviation", fixed=True),
    Drawn(replace(WORLDS["5 wrong rows"], alpha=0.01, beta=0.01), "wrong"),
    Drawn(replace(WORLDS["5 wrong rows"], alpha=0.025, beta=0.025), "deviation"),
    Drawn(WORLDS["rare positives"], "wrong"),
    Drawn(WORLDS["rare positives"], "deviation", fixed=True),
    Drawn(WORLDS["hard cases flipped"], "wrong"),
    Drawn(WORLDS["hard cases flipped"], "deviation", fixed=True),
    Drawn(WORLDS["150 rows, 60 audited"], "wrong"),
    Drawn(WORLDS["asymmetric"], "wrong", fixed=True),
    Drawn(WORLDS["hard cases flipped"], "right"),
    Drawn(WORLDS["balanced, few cases"], "right"),
)


def drawn_judged(design: Drawn, runs: int, seed: int = 44) -> np.ndarray:
    """Return what `judge` says in many runs."""
    return np.array([design.judge(seed, run) for run in range(runs)], dtype=float)


def show_drawn(runs: int) -> int:
    """Print how often the truth is rejected; return how many designs are out of bounds."""
    most = most_of(runs, len(DRAWN))
    print(f"\n{runs} audits a design; the truth may be rejected in {most / runs:.3f} of them\n")
    print(
        "| design, drawn as it | rows, audited | alpha / beta | asymmetry | wrong rows "
        "| truth rejected | z too high, too low | bias | a row is worth |"
        "\n|---|---|---|---|---|---|---|---|---|"
    )
    failures = 0
    for one in DRAWN:
        z, found, wrong, doubted = drawn_judged(one, runs).T
        high, low = (z > CRITICAL).mean(), (z < -CRITICAL).mean()
        failures += (high + low) * runs > most
        failures += doubted.sum() > stats.binom.ppf(1 - 1e-3, runs, 0.002)
        world = one.world
        worth = _random_variance(world) / np.nanvar(found)
        print(
            f"| {one.name} | {world.n_rows:,}, {world.n_cases} | {world.alpha:g} / {world.beta:g} "
            f"| {world.truth:+.3f} | {wrong.mean():.1f} | {high + low:.3f} | {high:.3f}, {low:.3f} "
            f"| {np.nanmean(found) - world.truth:+.4f} | {worth:.1f} |",
            flush=True,
        )
    return failures


@dataclass(frozen=True)
class Looked:
    """An audit that is read while it grows, until it rejects."""

    name: str
    drawn: str  # random, given, true, or strata (a world of `stratified_audit.py`)
    looks: tuple[int, ...]
    alpha: float
    beta: float
    prior: float = 0.3
    n_rows: int = 5000
    world: Design | None = None

    def stops(self, seed: int, run: int) -> tuple[int, bool, bool]:
        """Return the rows audited when it stops, whether it rejects, and whether a p < .05 was."""
        edges = [
            critical_value(tuple(n / self.looks[-1] for n in self.looks[: k + 1]), 0.05, 2)
            for k in range(len(self.looks))
        ]
        sizes = [abs(z) for z in self._statistics(np.random.default_rng([seed, run]), run)]
        naive = any(z > CRITICAL for z in sizes)
        for n, z, edge in zip(self.looks, sizes, edges, strict=True):
            if z > edge:
                return n, True, naive
        return self.looks[-1], False, naive

    def _statistics(self, rng: np.random.Generator, run: int) -> list[float]:
        """Return z at each look."""
        if self.world is not None:
            true, given, scores = self.world.draw(46, run)
            n = self.looks[-1]
            cases = eo.choose_cases(scores, n_cases=n, given=given, seed=run)
            return [self._within(true, given, scores, cases, n) for n in self.looks]
        true = rng.random(self.n_rows) < self.prior
        given = true ^ (rng.random(self.n_rows) < np.where(true, self.alpha, self.beta))
        order = rng.permutation(self.n_rows)
        counts = (int((~given).sum()), int(given.sum())) if self.drawn == "given" else None
        if self.drawn != "random":  # one of either, in turn
            by = given if self.drawn == "given" else true
            halves = [order[by[order] == one][: self.looks[-1] // 2] for one in (False, True)]
            order = np.stack(halves, axis=1).ravel()
        found = []
        for n in self.looks:
            cells = np.bincount(2 * true[order[:n]] + given[order[:n]], minlength=4)
            flips = Flips.of_cells(cells)
            seen = min(flips.n_positive, flips.n_negative) > 0
            pvalue = audit_pvalue(flips, "two-sided", counts) if seen else 1.0
            found.append(float(stats.norm.isf(pvalue / 2)))
        return found

    def _within(self, true: Any, given: Any, scores: Any, cases: Any, n: int) -> float:
        try:
            found = read_strata(true[cases.rows[:n]], given, cases, scores=scores)
        except eo.InputError as error:
            if "no audited row is" not in str(error):
                raise
            return 0.0
        return StratifiedAudit(cells_of(found.merged()[0], found.labels.positive)).z(0.0)


LOOKED = (
    Looked("at random, 4 looks", "random", (50, 100, 150, 200), 0.15, 0.15, 0.4),
    Looked("at random, 5 looks", "random", (80, 160, 240, 320, 400), 0.2, 0.2),
    Looked("at random, 2 looks, few wrong", "random", (60, 120), 0.05, 0.05),
    Looked("by true class, 5 looks", "true", (40, 80, 120, 160, 200), 0.2, 0.2),
    Looked("by given label, 3 looks", "given", (100, 200, 400), 0.2, 0.2),
    Looked("along a score, 4 looks", "strata", (50, 100, 150, 200), 0.15, 0.15,
           world=Design("balanced", 5000, 200, 0.15, 0.15)),
    Looked("at random, 4 looks, unequal", "random", (50, 100, 150, 200), 0.3, 0.1, 0.4),
    Looked("at random, 1 look, unequal", "random", (200,), 0.3, 0.1, 0.4),
    Looked("at random, 5 looks, very unequal", "random", (80, 160, 240, 320, 400), 0.4, 0.1),
)  # fmt: skip


def show_looks(runs: int) -> int:
    """Print how often any look rejects; return how many designs are out of bounds."""
    equal = [one.alpha == one.beta for one in LOOKED]
    most = most_of(runs, sum(equal))
    print(f"\n{runs} audits a design; equal rates may be rejected in {most / runs:.3f} of them\n")
    print(
        "| design | planned | alpha / beta | rejected | p < 0.05 at any look | mean rows |"
        "\n|---|---|---|---|---|---|"
    )
    failures = 0
    for one, level in zip(LOOKED, equal, strict=True):
        rows, rejected, naive = np.array([one.stops(45, run) for run in range(runs)]).T
        failures += level and rejected.sum() > most
        print(
            f"| {one.name} | {', '.join(map(str, one.looks))} | {one.alpha:g} / {one.beta:g} "
            f"| {rejected.mean():.3f} | {naive.mean():.3f} | {rows.mean():.0f} |",
            flush=True,
        )
    return failures


@dataclass(frozen=True)
class Raters:
    """A world of `stratified_audit.py` whose cases are judged by raters who err."""

    name: str
    world: Design
    n_raters: int
    errs: float = 0.0
    guessed: float = 0.0  # share of cases at which every rater guesses
    last_settles: bool = False  # the last is asked where the others differ
    told: bool = False  # whether the majority is known to be wrong, and should be doubted

    def draw(self, seed: int, run: int) -> tuple[Any, Any, dict[str, Any]]:
        """Return what every rater says of each case, given labels, and how cases were drawn."""
        true, given, scores = self.world.draw(seed, run)
        cases = eo.choose_cases(scores, n_cases=self.world.n_cases, given=given, seed=run)
        rng = np.random.default_rng([seed, run, 1])
        errs = np.where(rng.random(len(cases)) < self.guessed, 0.5, self.errs)
        wrong = rng.random((len(cases), self.n_raters)) < errs[:, None]
        said = (true[cases.rows][:, None] ^ wrong).astype(float)
        if self.last_settles:
            said[(said[:, :-1] == said[:, :1]).all(axis=1), -1] = np.nan
        return said, given, {"strata": cases, "scores": scores}

    def judge(self, seed: int, run: int) -> tuple[float, float, float]:
        """Return z at the truth by the first rater, by the mean of the first two, by majority."""
        said, given, how = self.draw(seed, run)
        try:
            cells = [
                cells_of(found.merged()[0], found.labels.positive)
                for truth in (said[:, 0], said[:, 1], read_raters(said).truth)
                for found in [read_strata(truth, given, **how)]
            ]
        except eo.InputError as error:
            if "no audited row is" not in str(error):
                raise
            return 0.0, 0.0, 0.0
        cells[1] = replace(cells[0], wrong=(cells[0].wrong + cells[1].wrong) / 2)
        z = [StratifiedAudit(one).z(self.world.truth) for one in cells]
        return z[0], z[1], z[2]

    def doubted(self, seed: int, run: int) -> bool:
        """Return whether the majority is doubted as a truth."""
        said, given, how = self.draw(seed, run)
        return eo.audit_test(said, given, **how).diagnostics[-1].concern


RATERS = (
    Raters("balanced, 3 raters", Design("", 2000, 60, 0.15, 0.15), 3, 0.1),
    Raters("asymmetric, 3 raters", Design("", 5000, 120, 0.3, 0.05, -1.0), 3, 0.05),
    Raters("rare positives, 5 raters", Design("", 10_000, 200, 0.1, 0.1, -4.0), 5, 0.05),
    Raters("hard cases flipped, 2 raters and a third where they differ",
           Design("", 5000, 120, 0.2, 0.2, -1.0, 2.2, 1.8), 3, 0.05, last_settles=True),
    Raters("30 % positives, 3 careful raters", Design("", 5000, 200, 0.1, 0.1, -1.4), 3, 0.01),
    Raters("rare positives, 3 raters", Design("", 10_000, 200, 0.1, 0.1, -4.0), 3, 0.05, told=True),
    Raters("30 % positives, 3 raters who guess at a fifth of the cases",
           Design("", 5000, 200, 0.1, 0.1, -1.4), 3, guessed=0.2, told=True),
)  # fmt: skip


def show_raters(runs: int) -> int:
    """Print how often the truth is rejected; return how many designs are out of bounds."""
    good = sum(not one.told for one in RATERS)
    most = most_of(runs, good)
    print(f"\n{runs} audits a design; the truth may be rejected in {most / runs:.3f} of them\n")
    print(
        "| design | a rater errs in | one rater | mean of two | majority | doubted |"
        "\n|---|---|---|---|---|---|"
    )
    failures = 0
    for one in RATERS:
        found = np.array([one.judge(47, run) for run in range(runs)])
        rejected = (np.abs(found) > CRITICAL).mean(axis=0)
        doubted = np.mean([one.doubted(48, run) for run in range(runs // 20)])
        failures += doubted < 0.9 if one.told else rejected[2] * runs > most
        shares = " | ".join(f"{share:.3f}" for share in rejected)
        errs = one.errs or one.guessed / 2
        print(f"| {one.name} | {errs:g} | {shares} | {doubted:.2f} |", flush=True)
    return failures


PARTS = {
    "share": (show_shares, 1),
    "groups": (show_groups, 1),
    "drawn": (show_drawn, 1),
    "looks": (show_looks, 1),
    "raters": (show_raters, 1),
}


if __name__ == "__main__":
    sys.exit(run_parts(__doc__, PARTS))
