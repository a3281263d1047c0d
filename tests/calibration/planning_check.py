"""Power promised beside power reached, and rows from pilots; docs/planning.md says how to run it.

Three parts: the formula beside simulation; plans with 2 to 20 features, corrected where rows are
few; and how often the range from a pilot holds the rows that are truly needed.
"""

import argparse
import csv
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import evenodds as eo
from evenodds.planning.power import work_out
from evenodds.planning.question import RUNS as RUNS_USED
from evenodds.planning.question import read_question
from evenodds.simulation.own_data import PilotWorld
from evenodds.simulation.rejection import RejectionRate
from evenodds.simulation.world import World
from evenodds.simulation.worlds import many_features
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

# Plans for a power of 0.8 from six anchors within 0.05, by columns and method.
WANTED = 0.8
PLANNED = tuple((method, p) for method in ("boundary", "joint") for p in (2, 5, 10, 20))
PLANNED_NOISE = eo.ClassConditionalNoise(0.05, 0.25)
PLANNED_SETTINGS = {"n_anchors": 6, "tolerance": 0.05, "shared_tolerance": 0.0}
REACHED_RUNS = 400


@dataclass(frozen=True)
class PilotCell:
    """Pilots of one size from one world; their labels are flipped at 5% each."""

    name: str
    coefficients: tuple[float, ...]
    n_rows: int
    rates_known: bool

    def truth(self) -> World:
        """Return the world the pilots come from."""
        features = np.random.default_rng(0).normal(size=(20_000, len(self.coefficients) - 1))
        return eo.data_world(features, coefficients=self.coefficients)

    def pilot(self, truth: World, number: int) -> PilotWorld:
        """Return the world of one pilot."""
        rng = np.random.default_rng([5, number])
        features, labels = truth.draw_rows(self.n_rows, rng)
        rates = {"alpha": 0.05, "beta": 0.05} if self.rates_known else {}
        return eo.data_world(features, eo.UniformNoise(0.05).flip(labels, rng), **rates)


PILOT_NOISE = eo.ClassConditionalNoise(*SMALL)
PILOT_CELLS = (
    PilotCell("1 in 10 positive", (-4.0, 1.5, -1.0, 0.5), 800, rates_known=False),
    PilotCell("1 in 10 positive", (-4.0, 1.5, -1.0, 0.5), 800, rates_known=True),
    PilotCell("1 in 3 positive", (-1.5, 2.0, 1.0), 400, rates_known=False),
)
PILOT_SETTINGS = {"n_anchors": 6, "tolerance": 0.05, "shared_tolerance": 0.0, "runs": 0}
PILOTS = 20


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
    return eo.power(WORLDS[cell.world], noise, runs=0, **arguments(cell, method))


def simulated(cell: Cell, method: str, runs: int) -> RejectionRate:
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


def planned_rows(method: str, n_features: int) -> tuple[int, int]:
    """Return the rows that a plan asks for: by the formula alone, and as `sample_size` does."""
    question = read_question(
        many_features(n_features),
        method=method,
        alternative="two-sided",
        tolerance=PLANNED_SETTINGS["tolerance"],
        shared_tolerance=PLANNED_SETTINGS["shared_tolerance"],
        significance=0.05,
        seed=0,
    )
    wanted = {"n_anchors": PLANNED_SETTINGS["n_anchors"], "power": WANTED}
    alone, corrected = (
        work_out(question, "rows", noise=PLANNED_NOISE, runs=runs, **wanted)[0].n_rows
        for runs in (0, RUNS_USED)
    )
    return alone, corrected


def reached(method: str, n_features: int, n_rows: int, runs: int) -> RejectionRate:
    """Return the power that these rows reach, by simulation."""
    return eo.rejection_rate(
        many_features(n_features),
        PLANNED_NOISE,
        n_rows=n_rows,
        method=method,
        runs=runs,
        seed=SEED,
        **PLANNED_SETTINGS,
    )


def show_reached(share: float, only: str | None) -> None:
    """Print the power reached by plans with many columns."""
    for method, p in PLANNED:
        if only not in (None, method):
            continue
        by_formula, rows = planned_rows(method, p)
        rate = reached(method, p, rows, max(round(share * REACHED_RUNS), 1))
        print(
            f"{method:<8}  {p:>2} features  formula alone {by_formula:>6,} rows, plan {rows:>6,}  "
            f"promised {WANTED}, reached {rate.rate:.3f} ({rate.runs} runs)",
            flush=True,
        )


def show_pilots(share: float) -> None:
    """Print how often a pilot's range holds the rows that are needed."""
    for cell in PILOT_CELLS:
        truth = cell.truth()
        needed = eo.sample_size(truth, PILOT_NOISE, **PILOT_SETTINGS)
        ranges, refused = [], 0
        for number in range(max(round(share * PILOTS), 1)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", eo.ImprecisionWarning)
                pilot = cell.pilot(truth, number)
            try:
                ranges.append(eo.sample_size_range(pilot, PILOT_NOISE, **PILOT_SETTINGS))
            except eo.InputError:
                refused += 1
        held = sum(r.low <= needed <= (np.inf if r.high is None else r.high) for r in ranges)
        plans = sorted(r.n_rows for r in ranges)
        rates = "known" if cell.rates_known else "estimated"
        print(
            f"{cell.name}, {cell.n_rows} rows, flip rates {rates}: needed {needed:,}; "
            f"{len(ranges)} pilots plan {plans[0]:,} to {plans[-1]:,}, median "
            f"{plans[len(plans) // 2]:,}; range of {ranges[0].level:.0%} holds it in {held}; "
            f"median ends {np.median([r.low for r in ranges]):,.0f} to "
            f"{np.median([np.inf if r.high is None else r.high for r in ranges]):,.0f}; "
            f"{refused} refused",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the runs; 1 is all")
    parser.add_argument("--part", choices=["formula", "reached", "pilots"], help="all by default")
    parser.add_argument("--method", choices=["boundary", "joint"], help="of the part reached")
    parser.add_argument("--out", type=Path, help="a CSV file for the figures of the formula")
    options = parser.parse_args()
    if options.part in (None, "formula"):
        show_formula(options.share, options.out)
    if options.part in (None, "reached"):
        show_reached(options.share, options.method)
    if options.part in (None, "pilots"):
        show_pilots(options.share)
    return 0


def show_formula(share: float, out: Path | None) -> None:
    """Print the formula beside the simulation, and keep the figures."""
    lines = ["method,world,n,k,alpha,beta,tolerance,formula,simulated,runs"]
    for method, cell, found in compare_all(share):
        print(
            f"{method:<8}  {cell.name:<58} formula {found.formula:.3f}  "
            f"simulated {found.simulated:.3f}  gap {found.gap:+.3f} +- {found.standard_error:.3f}",
            flush=True,
        )
        lines.append(
            f"{method},{cell.world},{cell.n},{cell.k},{cell.alpha},{cell.beta},{cell.tolerance},"
            f"{found.formula:.4f},{found.simulated:.4f},{found.runs}"
        )
    if out:
        out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
