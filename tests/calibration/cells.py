"""Where level and power are measured: named cells, and one run of a cell."""

from dataclasses import dataclass, replace

import evenodds as eo
from evenodds.inference.asymmetry import null_statistic
from evenodds.inference.noise_aware import FittedRows
from evenodds.rows.memory import read_rows
from evenodds.simulation.rejection import Setting
from evenodds.simulation.worlds import find_world, many_features, two_bells

WORLDS = {
    "paper": two_bells(),
    # The paper's world with anchors drawn as in the other worlds, nearer the rows.
    "paper, near": replace(two_bells(), draw_anchor_seeds=two_bells(0.15).draw_anchor_seeds),
    "rare": two_bells(0.15),
    "skewed": find_world("skewed"),
    "many": many_features(10),
}


@dataclass(frozen=True)
class Cell:
    """One setting to simulate."""

    world: str
    n: int
    k: int
    alpha: float
    beta: float
    tolerance: float = 0.0
    shared: float = 0.0

    @property
    def name(self) -> str:
        """A short name for tables."""
        return (
            f"{self.world} n={self.n} k={self.k} flips={self.alpha:g}/{self.beta:g} "
            f"tolerance={self.tolerance:g}+{self.shared:g}"
        )

    def draw(self, seed: int, run: int):
        """Return features, noisy labels and anchors of one run, the same whoever asks."""
        setting = Setting(
            world=WORLDS[self.world],
            noise=eo.ClassConditionalNoise(self.alpha, self.beta),
            n_rows=self.n,
            n_anchors=self.k,
            tolerance=self.tolerance,
            shared_tolerance=self.shared,
            seed=seed,
        )
        trial = setting.draw(run)
        return trial.features, trial.labels, trial.anchors


def level_cell(world, n, k, tau, tolerance=0.0, shared=0.0):
    return Cell(world, n, k, tau, tau, tolerance, shared)


LEVEL_CELLS = (
    level_cell("paper", 1000, 1, 0.0),
    level_cell("paper", 1000, 8, 0.1),
    level_cell("paper", 2000, 1, 0.3),
    level_cell("paper", 5000, 8, 0.2),
    level_cell("paper", 1000, 8, 0.1, 0.1),
    level_cell("paper", 2000, 8, 0.2, 0.1, 0.1),
    level_cell("rare", 1000, 1, 0.1),
    level_cell("rare", 2000, 8, 0.2),
    level_cell("rare", 5000, 1, 0.1),
    level_cell("rare", 5000, 8, 0.3),
    level_cell("rare", 2000, 8, 0.1, 0.1),
    level_cell("rare", 5000, 8, 0.2, 0.1, 0.1),
    level_cell("skewed", 1000, 8, 0.1),
    level_cell("skewed", 2000, 1, 0.2),
    level_cell("skewed", 5000, 8, 0.0),
    level_cell("skewed", 2000, 8, 0.1, 0.1),
    level_cell("skewed", 5000, 1, 0.2, 0.1, 0.1),
    level_cell("many", 1000, 1, 0.1),
    level_cell("many", 2000, 8, 0.2),
    level_cell("many", 5000, 8, 0.1, 0.1, 0.1),
    level_cell("paper", 500, 8, 0.1),
    level_cell("rare", 500, 1, 0.1),
    level_cell("skewed", 500, 8, 0.2),
    level_cell("many", 500, 8, 0.1),
)

BOOTSTRAP_CELLS = tuple(cell for cell in LEVEL_CELLS if cell.n == 500)

POWER_CELLS = (
    Cell("paper, near", 2000, 1, 0.05, 0.15),
    Cell("paper, near", 2000, 8, 0.05, 0.15),
    Cell("rare", 2000, 1, 0.05, 0.15),
    Cell("rare", 2000, 8, 0.05, 0.15),
    Cell("skewed", 2000, 1, 0.05, 0.15),
    Cell("skewed", 2000, 8, 0.05, 0.15),
)


def null_statistics(X, labels, anchors) -> tuple[float, float]:
    """Return z(0) of the boundary and of the joint test, without the rest of a result."""
    rows = read_rows(X, labels)
    fitted = FittedRows.of(rows)
    boundary, _ = null_statistic(rows, anchors, eo.Boundary(), fitted)
    joint, _ = null_statistic(rows, anchors, eo.Joint(), fitted)
    return boundary, joint


def null_pvalue(X, labels, anchors, method, groups=None) -> float:
    """Return the p-value of a test, without the rest of a result, which takes most of the time."""
    z, reference = null_statistic(read_rows(X, labels, groups=groups), anchors, method)
    return reference.pvalue(z, "two-sided")
