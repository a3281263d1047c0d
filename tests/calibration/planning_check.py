"""Power by the formula beside power by simulation; docs/planning.md says how to run it."""

import argparse
import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import evenodds as eo
from tests.calibration.cells import WORLDS, Cell

SMALL, LARGE = (0.05, 0.15), (0.3, 0.1)

# Every world, number of anchors, tolerance and pair of flip rates, and a power that is neither
# near the level nor near 1 where there is one. With flips, rows say as much as
# n (1 - alpha - beta)^2 clean ones would: at least 600 here, and 60 a parameter.
CELLS = (
    Cell("paper", 2000, 1, *LARGE),
    Cell("paper", 2000, 4, *SMALL, tolerance=0.1),
    Cell("paper", 2000, 2, *SMALL, tolerance=0.05),
    Cell("paper", 2000, 8, *SMALL, tolerance=0.05),
    Cell("paper", 5000, 1, *SMALL),
    Cell("rare", 2000, 1, *LARGE),
    Cell("rare", 2000, 4, *SMALL, tolerance=0.1),
    Cell("rare", 2000, 16, *SMALL, tolerance=0.1),
    Cell("rare", 5000, 2, *SMALL, tolerance=0.05),
    Cell("rare", 5000, 16, *SMALL),
    Cell("skewed", 1000, 1, *SMALL),
    Cell("skewed", 2000, 2, *LARGE, tolerance=0.05),
    Cell("skewed", 1000, 8, *SMALL, tolerance=0.05),
    Cell("skewed", 2000, 4, *SMALL, tolerance=0.1),
    Cell("skewed", 2000, 16, *SMALL, tolerance=0.1),
    Cell("many", 2000, 16, *SMALL),
    Cell("many", 2000, 1, *LARGE),
    Cell("many", 2000, 4, *LARGE, tolerance=0.05),
    Cell("many", 2000, 8, *SMALL, tolerance=0.05),
    Cell("many", 5000, 4, *SMALL, tolerance=0.1),
)
# Fewer: shown, not held to anything.
SHORT_CELLS = (
    Cell("paper", 1000, 1, *LARGE),
    Cell("paper", 1000, 4, *LARGE, tolerance=0.1),
    Cell("rare", 1000, 1, *LARGE),
    Cell("skewed", 1000, 2, *LARGE, tolerance=0.05),
    Cell("many", 1000, 16, *SMALL),
)
MEASURED = Path(__file__).with_suffix(".csv")
RUNS = {"wald": 5000, "boundary": 1500, "joint": 1000}
SEED = 21

SIZES = (500, 1000, 2000, 5000)
JOINT_CELLS = tuple(
    Cell(world, n, 4, *SMALL, tolerance=0.05)
    for world in ("paper", "rare", "skewed", "many")
    for n in SIZES
)
METHODS = {
    "wald": CELLS + SHORT_CELLS,
    "boundary": CELLS + SHORT_CELLS,
    "joint": JOINT_CELLS,
}


@dataclass(frozen=True)
class Comparison:
    """The formula's power of one cell and the simulated one."""

    formula: float
    simulated: float
    runs: int

    @property
    def gap(self) -> float:
        """How far the formula is above the simulation."""
        return self.formula - self.simulated

    @property
    def standard_error(self) -> float:
        """Binomial error of the simulation, if the formula were right."""
        return float(np.sqrt(self.formula * (1 - self.formula) / self.runs))


def arguments(cell: Cell, method: str) -> dict[str, object]:
    """Return a cell as arguments of `power` and `rejection_rate`."""
    return {
        "n_rows": cell.n,
        "n_anchors": cell.k,
        "tolerance": cell.tolerance,
        "shared_tolerance": cell.shared,
        "method": method,
    }


def worked_out(cell: Cell, method: str) -> float:
    """Return a cell's power by the formula."""
    noise = eo.ClassConditionalNoise(cell.alpha, cell.beta)
    return eo.power(WORLDS[cell.world], noise, **arguments(cell, method))


def simulated(cell: Cell, method: str, runs: int) -> eo.RejectionRate:
    """Return a cell's power by simulation."""
    noise = eo.ClassConditionalNoise(cell.alpha, cell.beta)
    settings = arguments(cell, method)
    return eo.rejection_rate(WORLDS[cell.world], noise, runs=runs, seed=SEED, **settings)


def measured() -> dict[tuple[str, Cell], Comparison]:
    """Return the comparisons measured at full length, as this script wrote them."""
    with MEASURED.open(newline="", encoding="utf-8") as file:
        return {
            (
                row["method"],
                Cell(
                    row["world"],
                    int(row["n"]),
                    int(row["k"]),
                    float(row["alpha"]),
                    float(row["beta"]),
                    float(row["tolerance"]),
                ),
            ): Comparison(float(row["formula"]), float(row["simulated"]), int(row["runs"]))
            for row in csv.DictReader(file)
        }


def compare_all(runs_share: float) -> Iterator[tuple[str, Cell, Comparison]]:
    """Yield every comparison, method by method."""
    for method, cells in METHODS.items():
        runs = max(round(runs_share * RUNS[method]), 1)
        for cell in cells:
            rate = simulated(cell, method, runs).rate
            yield method, cell, Comparison(worked_out(cell, method), rate, runs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the runs; 1 is all")
    parser.add_argument("--out", type=Path, help="a CSV file for the figures")
    options = parser.parse_args()
    lines = ["method,world,n,k,alpha,beta,tolerance,formula,simulated,runs"]
    for method, cell, found in compare_all(options.share):
        print(
            f"{method:<8}  {cell.name:<58} formula {found.formula:.3f}  "
            f"simulated {found.simulated:.3f}  gap {found.gap:+.3f} +- {found.standard_error:.3f}",
            flush=True,
        )
        lines.append(
            f"{method},{cell.world},{cell.n},{cell.k},{cell.alpha},{cell.beta},{cell.tolerance},"
            f"{found.formula:.4f},{found.simulated:.4f},{found.runs}"
        )
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
