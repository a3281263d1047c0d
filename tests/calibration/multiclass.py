"""Level, power and family-wise error with four classes: ``python -m tests.calibration.multiclass``.

Prints Markdown tables for the docs.
"""

import argparse
import sys
import time
from dataclasses import replace

import numpy as np
from scipy import stats

import evenodds as eo
from tests.calibration.class_cells import LEVEL_CELLS, PAIR_CELLS, ClassCell, two_class_pvalue


def rejections(cell: ClassCell, runs: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return which splits were rejected, run by run, by themselves and with all counted.

    And how often the 95 % interval of the first split holds its asymmetry.
    """
    alone, counted, covered = [], [], 0
    for run in range(runs):
        splits = cell.test(seed, run).splits
        alone.append([split.pvalue < 0.05 for split in splits])
        counted.append([split.rejected() for split in splits])
        interval = splits[0].confidence_interval()
        covered += interval.low <= -cell.lost <= interval.high
    return np.array(alone), np.array(counted), covered / runs


def most_flagged(runs: int) -> float:
    """Return the highest share of false alarms that a nominal 5 % explains.

    One chance in a thousand that any of the six cells is above it.
    """
    return float(stats.binom.ppf(1 - 1e-3 / 6, runs, 0.05) / runs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    runs = parser.parse_args().runs
    started, failures = time.process_time(), 0
    upper = most_flagged(runs)
    print(f"Uniform noise, nominal 5 %, {runs} runs; any split flagged at most {upper:.3f}\n")
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
