"""Where the tests of several classes are tried: named cells, and one run of a cell."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

import evenodds as eo
from evenodds.inference.null_test import null_statistic
from evenodds.model.softmax.flips import uniform_flips
from evenodds.rows.source import read_rows
from evenodds.simulation.classes import four_bells, relabel

PAIRS = tuple(combinations(range(4), 2))
WORLDS = {"square": four_bells(), "lopsided": four_bells(lopsided=True)}


@dataclass(frozen=True)
class ClassCell:
    """One setting to simulate: uniform noise, and perhaps one class that loses to another."""

    world: str
    n: int
    scheme: str
    rate: float = 0.15
    lost: float = 0.0  # share of class 0 that is labelled 1, beyond uniform noise
    k: int = 4
    tolerance: float = 0.0

    @property
    def name(self) -> str:
        """A short name for tables."""
        return (
            f"{self.scheme}, {self.world}, n={self.n} k={self.k} noise={self.rate:g}"
            f"+{self.lost:g} tolerance={self.tolerance:g}"
        )

    def flips(self):
        matrix = uniform_flips(4, self.rate)
        matrix[0, 1] += self.lost
        matrix[0, 0] -= self.lost
        return matrix

    def splits(self):
        every = range(4)
        if self.scheme == "one-vs-one":
            return [((i,), (j,)) for i, j in PAIRS]
        if self.scheme == "one-vs-rest":
            return [((i,), tuple(j for j in every if j != i)) for i in every]
        columns = eo.build_codes(4).columns()
        return [
            (tuple(i for i in every if c[i] > 0), tuple(i for i in every if c[i] < 0))
            for c in columns
        ]

    def draw(self, seed: int, run: int):
        """Return features, labels and anchors by split of one run, the same whoever asks."""
        rng = np.random.default_rng([seed, run])
        world = WORLDS[self.world]
        features, classes = world.draw_rows(self.n, rng)
        labels = relabel(classes, self.flips(), rng)
        anchors = {
            split: world.draw_anchors(*split, self.k, rng, tolerance=self.tolerance)
            for split in self.splits()
        }
        return features, labels, anchors

    def test(self, seed: int, run: int) -> eo.MulticlassTestResult:
        """Return the result of one run."""
        features, labels, anchors = self.draw(seed, run)
        if self.scheme == "one-vs-rest":
            anchors = {positive[0]: points for (positive, _), points in anchors.items()}
        return eo.multiclass_test(features, labels, anchors, scheme=self.scheme)


LEVEL_CELLS = (
    ClassCell("lopsided", 2000, "one-vs-rest"),
    ClassCell("square", 1000, "one-vs-rest", rate=0.3, tolerance=0.1),
    ClassCell("lopsided", 2000, "output-codes"),
    ClassCell("lopsided", 2000, "one-vs-one"),
)
PAIR_CELLS = (
    ClassCell("lopsided", 2000, "one-vs-one", lost=0.15),
    ClassCell("lopsided", 2000, "one-vs-one", lost=0.3),
)


def two_class_pvalue(cell: ClassCell, method, seed: int, run: int, split: int) -> float:
    """Return the p-value of a two-class test of one split, as if there were two classes."""
    features, labels, anchors = cell.draw(seed, run)
    positive, negative = cell.splits()[split]
    kept = np.isin(labels, (*positive, *negative))
    rows = read_rows(features[kept], np.isin(labels[kept], positive).astype(int))
    z, reference = null_statistic(rows, anchors[(positive, negative)], method)
    return reference.pvalue(z, "two-sided")
