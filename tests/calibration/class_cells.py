"""Where the tests of several classes are tried: named cells, and one run of a cell."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression

import evenodds as eo
from evenodds.inference.asymmetry import null_statistic
from evenodds.rows.memory import read_rows
from tests.class_worlds import four_bells, relabel, uniform_flips

PAIRS = tuple(combinations(range(4), 2))
WORLDS = {"square": four_bells(), "lopsided": four_bells(lopsided=True)}


@dataclass(frozen=True)
class ClassCell:
    """One setting to simulate: uniform noise, and perhaps classes that lose to others."""

    world: str
    n: int
    scheme: str
    rate: float = 0.15
    # Shares of a class that are labelled another, beyond uniform noise.
    lost: tuple[tuple[int, int, float], ...] = ()
    k: int = 4
    tolerance: float = 0.0
    asked: tuple[tuple[int, int], ...] = PAIRS  # those with toss-ups, one against one

    @property
    def name(self) -> str:
        """A short name for tables."""
        lost = "".join(f"+{share:g} {i}>{j}" for i, j, share in self.lost)
        few = "" if self.asked == PAIRS else f", toss-ups of {len(self.asked)} of 6 pairs"
        return (
            f"{self.scheme}, {self.world}, n={self.n} k={self.k} noise={self.rate:g}{lost} "
            f"tolerance={self.tolerance:g}{few}"
        )

    def flips(self):
        matrix = uniform_flips(4, self.rate)
        for i, j, share in self.lost:
            matrix[i, j] += share
            matrix[i, i] -= share
        return matrix

    def asymmetries(self):
        """Return the true asymmetry of every pair that has toss-ups."""
        flips = self.flips()
        return np.array([flips[j, i] - flips[i, j] for i, j in self.asked])

    def splits(self):
        every = range(4)
        if self.scheme == "one-vs-one":
            return [((i,), (j,)) for i, j in self.asked]
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
ONE_PAIR = ClassCell("lopsided", 2000, "one-vs-one", lost=((0, 1, 0.15),))
TWO_PAIRS = ClassCell("lopsided", 2000, "one-vs-one", lost=((0, 3, 0.1), (1, 2, 0.15)))
THREE_PAIRS = ClassCell(
    "lopsided", 4000, "one-vs-one", lost=((0, 1, 0.1), (1, 3, 0.1), (2, 3, 0.2)), tolerance=0.05
)
PAIR_CELLS = (
    ONE_PAIR,
    replace(ONE_PAIR, lost=((0, 1, 0.3),)),
    TWO_PAIRS,
    replace(TWO_PAIRS, n=8000),
    THREE_PAIRS,
    replace(THREE_PAIRS, asked=((0, 1), (0, 2))),
    ClassCell("square", 1000, "one-vs-one", 0.3, ((0, 3, 0.1), (1, 2, 0.1)), tolerance=0.1),
    ClassCell("square", 4000, "one-vs-one", 0.1, ((0, 1, 0.2), (1, 2, 0.2), (2, 3, 0.2))),
)


@dataclass(frozen=True)
class SeparatedCell:
    """Real classes that hardly overlap, their labels flipped uniformly."""

    data: str
    scheme: str = "one-vs-one"
    rate: float = 0.2

    @property
    def name(self) -> str:
        """A short name for tables."""
        return f"{self.data}, {self.scheme}, noise={self.rate:g}"

    def test(self, seed: int, run: int) -> eo.MulticlassTestResult:
        """Return the result of one run."""
        features, classes = real_classes(self.data)
        labels = relabel(classes, uniform_flips(3, self.rate), np.random.default_rng([seed, run]))
        anchors = {
            split: eo.Anchors(points)
            for split, points in clean_toss_ups(self.data, self.scheme).items()
        }
        return eo.multiclass_test(features, labels, anchors, scheme=self.scheme)


SEPARATED_CELLS = (
    SeparatedCell("penguins", rate=0.1),
    SeparatedCell("penguins"),
    SeparatedCell("penguins", rate=0.3),
    SeparatedCell("penguins", "one-vs-rest"),
    SeparatedCell("wine", rate=0.1),
    SeparatedCell("wine"),
    SeparatedCell("wine", rate=0.3),
    SeparatedCell("wine", "one-vs-rest"),
    SeparatedCell("wine, all columns"),
)


@cache
def real_classes(data: str):
    """Return features and true classes, rows with missing features left out."""
    if data.startswith("wine"):
        wine = load_wine()
        three = [wine.feature_names.index(c) for c in ("alcohol", "flavanoids", "color_intensity")]
        return (wine.data[:, three] if data == "wine" else wine.data), wine.target
    from palmerpenguins import load_penguins

    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm"]
    rows = load_penguins().dropna(subset=columns)
    _, classes = np.unique(rows["species"].to_numpy(str), return_inverse=True)
    return rows[columns].to_numpy(float), classes


@cache
def clean_toss_ups(data: str, scheme: str):
    """Return four toss-ups a split, where a curve of the clean labels has even odds.

    The rows of both sides nearest to even odds, each moved across along the slope; the curve is
    lightly penalised, since clean labels may separate.
    """
    features, classes = real_classes(data)
    middle, spread = features.mean(axis=0), features.std(axis=0)
    rows = (features - middle) / spread
    clean = LogisticRegression(C=10.0, max_iter=10_000, tol=1e-10).fit(rows, classes)
    splits = (
        {(i, j): ([i], [j]) for i, j in combinations(range(3), 2)}
        if scheme == "one-vs-one"
        else {i: ([i], [j for j in range(3) if j != i]) for i in range(3)}
    )

    def log_odds(points, first, second):
        linear = clean.decision_function(np.atleast_2d(points))
        return logsumexp(linear[:, first], axis=1) - logsumexp(linear[:, second], axis=1)

    found = {}
    for key, (first, second) in splits.items():
        odds = log_odds(rows, first, second)
        meant = np.isin(classes, (*first, *second))
        near = np.argsort(np.where(meant, np.abs(odds), np.inf))[:4]
        slope = clean.coef_[first].mean(axis=0) - clean.coef_[second].mean(axis=0)
        found[key] = np.array(
            [_crossing(row, slope, log_odds, first, second) for row in rows[near]]
        )
        found[key] = found[key] * spread + middle
    return found


def _crossing(row, slope, log_odds, first, second):
    """Return where the line through a row along a slope has even odds."""

    def odds_at(step):
        return float(log_odds(row + step * slope, first, second)[0])

    return row + brentq(odds_at, -50.0, 50.0) * slope


def two_class_pvalue(cell: ClassCell, method, seed: int, run: int, split: int) -> float:
    """Return the p-value of a two-class test of one split, as if there were two classes."""
    features, labels, anchors = cell.draw(seed, run)
    positive, negative = cell.splits()[split]
    kept = np.isin(labels, (*positive, *negative))
    rows = read_rows(features[kept], np.isin(labels[kept], positive).astype(int))
    z, reference = null_statistic(rows, anchors[(positive, negative)], method)
    return reference.pvalue(z, "two-sided")
