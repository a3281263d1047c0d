"""Level, power and family-wise error with four classes: ``python -m tests.calibration.multiclass``.

Prints Markdown tables for the docs.
"""

import sys
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

import evenodds as eo
from tests.calibration.class_cells import (
    LEVEL_CELLS,
    PAIR_CELLS,
    SEPARATED_CELLS,
    ClassCell,
    SeparatedCell,
    two_class_pvalue,
)
from tests.calibration.parts import run_parts


@dataclass(frozen=True)
class Found:
    """What many runs of a cell found, run by run and split by split."""

    alone: np.ndarray  # splits rejected by themselves
    named: np.ndarray  # splits rejected with all counted
    told: np.ndarray  # splits that have numbers
    covered: np.ndarray  # of these, whether the 95% interval holds the true asymmetry


def found_in(cell: ClassCell, runs: int, seed: int) -> Found:
    """Test many runs of a cell."""
    # Uniform noise has no asymmetry of any split.
    truth = cell.asymmetries() if cell.lost else np.zeros(len(cell.splits()))
    found: list[list] = [[], [], [], []]
    for run in range(runs):
        splits = [split for split in cell.test(seed, run).splits if split.n_anchors]
        intervals = [split.confidence_interval() if split.tested else None for split in splits]
        values = (
            [split.pvalue < 0.05 for split in splits],
            [split.rejected() for split in splits],
            [split.tested for split in splits],
            [i is not None and i.low <= t <= i.high for i, t in zip(intervals, truth, strict=True)],
        )
        for kept, value in zip(found, values, strict=True):
            kept.append(value)
    return Found(*map(np.array, found))


@dataclass(frozen=True)
class Told:
    """What many runs of a cell of separated classes said."""

    flagged: int  # runs with any split rejected
    withheld: np.ndarray  # which splits, run by run
    doubted: int  # runs with any concern
    unlike: int  # splits whose p-value and interval disagree, or whose numbers cannot be


def told(cell: SeparatedCell, runs: int, seed: int) -> Told:
    """Count what is flagged and what is withheld where classes hardly overlap."""
    withheld, flagged, doubted, unlike = [], 0, 0, 0
    for run in range(runs):
        result = cell.test(seed, run)
        withheld.append([split.withheld is not None for split in result.splits])
        flagged += result.pvalue < 0.05
        doubted += any(check.concern for check in result.diagnostics)
        for split in result.tested:
            interval = split.confidence_interval()
            holds = interval.low <= 0 <= interval.high
            unlike += holds == (split.pvalue < 0.05) or (
                interval.low_is_limit and interval.high_is_limit
            )
    return Told(flagged, np.array(withheld), doubted, unlike)


def most_flagged(runs: int, cells: int) -> float:
    """Return the highest share of false alarms that a nominal 5% explains.

    One chance in a thousand that any of these cells is above it.
    """
    return float(stats.binom.ppf(1 - 1e-3 / cells, runs, 0.05) / runs)


def separated_table(runs: int) -> int:
    """Print what is said of classes that hardly overlap, and return how many cells fail."""
    most = int(stats.binom.ppf(1 - 1e-3 / len(SEPARATED_CELLS), runs, 0.05))
    print(f"\nClasses that hardly overlap, uniform noise, {runs} runs; at most {most} flagged\n")
    print(
        "| cell | any split flagged | all splits withheld | some withheld | doubted | interval "
        "unlike p-value |\n|---|---|---|---|---|---|"
    )
    failures = 0
    for cell in SEPARATED_CELLS:
        found = told(cell, runs, seed=5)
        failures += found.flagged > most or found.unlike > 0
        every, some = found.withheld.all(axis=1).sum(), found.withheld.any(axis=1).sum()
        print(
            f"| {cell.name} | {found.flagged} | {every} | {some} | {found.doubted} | "
            f"{found.unlike} |",
            flush=True,
        )
    return failures


def level_table(runs: int) -> int:
    """Print how often uniform noise is flagged, and return how many cells fail."""
    most = most_flagged(runs, len(LEVEL_CELLS))
    print(f"\nUniform noise, nominal 5%, {runs} runs; any split flagged at most {most:.3f}\n")
    print("| cell | a split by itself | any split, adjusted |\n|---|---|---|")
    failures = 0
    for cell in LEVEL_CELLS:
        found = found_in(cell, runs, seed=1)
        rates, named = found.alone.mean(axis=0), found.named.any(axis=1).mean()
        failures += named > most
        print(f"| {cell.name} | {rates.min():.3f} to {rates.max():.3f} | {named:.3f} |", flush=True)
    return failures


def leaning_table(runs: int) -> int:
    """Print what is found where pairs lean, and return how many cells fail."""
    most = most_flagged(runs, len(PAIR_CELLS))
    by_chance = 1e-3 / sum(len(cell.asked) for cell in PAIR_CELLS)  # more than 95% is no fault
    print(f"\nSome pairs lean, {runs} runs; another is named in at most {most:.3f}\n")
    print(
        "| cell | leaning pairs named | another named | even pairs by themselves | told | "
        "intervals hold the truth |\n|---|---|---|---|---|---|"
    )
    failures = 0
    for cell in PAIR_CELLS:
        found = found_in(cell, runs, seed=77)
        leans = cell.asymmetries() != 0
        others = found.named[:, ~leans].any(axis=1).mean()
        told = found.told.sum(axis=0)
        alone, held = found.alone.sum(axis=0) / told, found.covered.sum(axis=0)
        failures += int(others > most)
        failures += int((held < stats.binom.ppf(by_chance, told, 0.95)).sum())
        named = ", ".join(f"{share:.3f}" for share in found.named[:, leans].mean(axis=0))
        print(
            f"| {cell.name} | {named} | {others:.3f} | "
            f"{alone[~leans].min():.3f} to {alone[~leans].max():.3f} | {told.min() / runs:.3f} | "
            f"{(held / told).min():.3f} to {(held / told).max():.3f} |",
            flush=True,
        )
    return failures


def alone_table(runs: int) -> int:
    """Print what tests of two classes say of each split, as if the others did not exist."""
    print(f"\nTwo-class tests of each split alone, {runs} runs\n")
    print("| cell | method | a split by itself |\n|---|---|---|")
    for cell, method in (
        (LEVEL_CELLS[0], eo.Boundary()),
        (LEVEL_CELLS[3], eo.Boundary()),
        (replace(LEVEL_CELLS[3], n=8000), eo.Boundary()),
        (LEVEL_CELLS[3], eo.Local()),
        (PAIR_CELLS[0], eo.Boundary()),
    ):
        rates = [
            np.mean([two_class_pvalue(cell, method, 3, run, split) < 0.05 for run in range(runs)])
            for split in range(len(cell.splits()))
        ]
        shown = ", ".join(f"{rate:.2f}" for rate in rates)
        print(f"| {cell.name} | {type(method).__name__.lower()} | {shown} |", flush=True)
    return 0


PARTS = {
    # Few runs of few cells are enough: these tests withhold nearly everything.
    "separated": (separated_table, 5),
    "level": (level_table, 2),
    "leaning": (leaning_table, 5),
    "alone": (alone_table, 10),
}

if __name__ == "__main__":
    sys.exit(run_parts(__doc__, PARTS))
