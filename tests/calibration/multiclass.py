"""Level, power and family-wise error with four classes: ``python -m tests.calibration.multiclass``.

Prints Markdown tables for the docs.
"""

import argparse
import sys
import time
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


def rejections(cell: ClassCell, runs: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return which splits were rejected, run by run, by themselves and with all counted.

    And how often the 95% interval of the first split, where it has one, holds its asymmetry.
    """
    alone, counted, covered = [], [], []
    for run in range(runs):
        splits = cell.test(seed, run).splits
        alone.append([split.pvalue < 0.05 for split in splits])
        counted.append([split.rejected() for split in splits])
        if splits[0].tested:
            interval = splits[0].confidence_interval()
            covered.append(interval.low <= -cell.lost <= interval.high)
    return np.array(alone), np.array(counted), float(np.mean(covered))


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


def most_flagged(runs: int) -> float:
    """Return the highest share of false alarms that a nominal 5% explains.

    One chance in a thousand that any of the six cells is above it.
    """
    return float(stats.binom.ppf(1 - 1e-3 / 6, runs, 0.05) / runs)


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--separated", action="store_true", help="only classes far apart")
    asked = parser.parse_args()
    runs, started = asked.runs, time.process_time()
    # Few runs of few cells are enough: these tests withhold nearly everything.
    failures = separated_table(min(runs, 200))
    if asked.separated:
        return int(failures > 0)
    upper = most_flagged(runs)
    print(f"Uniform noise, nominal 5%, {runs} runs; any split flagged at most {upper:.3f}\n")
    print("| cell | a split by itself | any split, adjusted |\n|---|---|---|")
    for cell in LEVEL_CELLS:
        alone, counted, _ = rejections(cell, runs, seed=1)
        family = counted.any(axis=1).mean()
        failures += family > upper
        rates = alone.mean(axis=0)
        print(
            f"| {cell.name} | {rates.min():.3f} to {rates.max():.3f} | {family:.3f} |", flush=True
        )
    print("\nOne pair leans\n")
    print(
        "| cell | runs | the pair found | any other, adjusted | at most | its interval covers |\n"
        "|---|---|---|---|---|---|"
    )
    few = max(runs // 5, 1)
    for cell, tries, seed in zip(PAIR_CELLS, (runs, 3 * few), (77, 78), strict=True):
        _, counted, covered = rejections(cell, tries, seed)
        others = counted[:, 1:].any(axis=1).mean()
        most = most_flagged(tries)
        failures += others > most
        found = counted[:, 0].mean()
        print(
            f"| {cell.name} | {tries} | {found:.3f} | {others:.3f} | {most:.3f} | {covered:.3f} |",
            flush=True,
        )
    print(f"\nTwo-class tests of each split alone, {few} runs\n")
    print("| cell | method | a split by itself |\n|---|---|---|")
    for cell, method in (
        (LEVEL_CELLS[0], eo.Boundary()),
        (LEVEL_CELLS[3], eo.Boundary()),
        (replace(LEVEL_CELLS[3], n=8000), eo.Boundary()),
        (LEVEL_CELLS[3], eo.Local()),
        (PAIR_CELLS[0], eo.Boundary()),
    ):
        rates = [
            np.mean([two_class_pvalue(cell, method, 3, run, split) < 0.05 for run in range(few)])
            for split in range(len(cell.splits()))
        ]
        shown = ", ".join(f"{rate:.2f}" for rate in rates)
        print(f"| {cell.name} | {type(method).__name__.lower()} | {shown} |", flush=True)
    print(f"\n{failures} cells out of bounds; {time.process_time() - started:.0f} s of CPU")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
