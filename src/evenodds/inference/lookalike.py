"""What simulation says of data that look like the user's: the nearest row of a small atlas.

The atlas ships with the package (``evenodds study atlas`` measures it again). Only worlds that
keep the tests' assumptions are looked up: whether an expert leans, or a boundary bends, cannot
be told from how the data look.
"""

import csv
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evenodds.inference.results import Diagnostic
from evenodds.model.index_shape import index_skewness
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray

ATLAS = Path(__file__).with_name("atlas.csv")
UNGROUPED = ("paper", "rare", "skewed", "many features", "heavy tails", "correlated", "probit")
GROUPED = ("clustered",)
# Settings further away than this are not alike: twice the rows count 0.7, four times the
# anchors 0.7, a tolerance off by 0.05 counts 1, as do 10 % more positives.
ALIKE = 2.0
# A level whose interval lies above this is no level of 5 %.
HELD = 0.08


@dataclass(frozen=True, slots=True)
class DataShape:
    """What can be seen of a data set without knowing its truth."""

    n_rows: int
    n_features: int
    positive_share: float  # of the given labels
    index_skewness: float
    grouped: bool


@dataclass(frozen=True, slots=True)
class AtlasRow:
    """How often a method rejected in one setting."""

    method: str
    world: str
    n_rows: int
    n_anchors: int
    tolerance: float
    alpha: float
    beta: float
    n_features: int
    positive_share: float
    index_skewness: float
    runs: int
    rate: float
    low: float

    @property
    def uniform(self) -> bool:
        """Whether both classes were flipped equally often."""
        return self.alpha == self.beta


def data_shape(rows: Rows, slopes: FloatArray, shift: FloatArray | None) -> DataShape:
    """Return what rows look like, by the slopes of their plain curve; a sample will do."""
    return DataShape(
        n_rows=round(rows.total_weight),
        n_features=rows.n_features,
        positive_share=rows.positive_weight() / rows.total_weight,
        index_skewness=index_skewness(rows, slopes, shift),
        grouped=rows.n_groups is not None,
    )


def lookalike_check(
    method: str, shape: DataShape, n_anchors: int, tolerance: float, rate: float | None
) -> Diagnostic | None:
    """Say how the test, as it is by default, did on the simulated data most like these.

    None if the atlas has nothing like them.

    Without a noise `rate`, as for a curve that has none, the worst level counts.
    """
    worlds = GROUPED if shape.grouped else UNGROUPED
    known = [
        row for row in read_atlas() if row.method == method and row.world in worlds and row.runs
    ]
    levels = [row for row in known if row.uniform]
    if not levels:
        return None

    def distance(row: AtlasRow) -> float:
        return _distance(row, shape, n_anchors, tolerance)

    nearest = min(levels, key=distance)
    if distance(nearest) > ALIKE:
        return None
    alike = [row for row in levels if _same_setting(row, nearest)]
    if rate is None:
        level = max(alike, key=lambda row: row.rate)
    else:
        level = min(alike, key=lambda row: abs(row.alpha - rate))
    found = [row for row in known if not row.uniform and _same_setting(row, level)]
    powers = [
        f"flips of {row.alpha:.0%} of positives and {row.beta:.0%} of negatives in {row.rate:.0%}"
        for row in found
    ]
    message = (
        f"In the simulated data most like these ('{level.world}': {level.n_rows:,} rows, "
        f"{level.n_anchors} anchor{'s' if level.n_anchors > 1 else ''}, {level.alpha:.0%} of both "
        f"classes flipped) this test, two-sided, rejected in {level.rate:.0%} of {level.runs} runs "
        "at 5%"
    )
    if powers:
        message += f"; it found {' and '.join(powers)}"
    concern = level.low > HELD
    message += ": do not use it on data like these." if concern else "."
    return Diagnostic(
        name="lookalike", message=message, concern=concern, statistic=level.rate, pvalue=None
    )


@cache
def read_atlas() -> tuple[AtlasRow, ...]:
    """Return the atlas that ships with the package."""
    with ATLAS.open(encoding="utf-8", newline="") as file:
        return tuple(
            AtlasRow(
                method=row["method"],
                world=row["world"],
                n_rows=int(row["n_rows"]),
                n_anchors=int(row["n_anchors"]),
                tolerance=float(row["tolerance"]),
                alpha=float(row["alpha"]),
                beta=float(row["beta"]),
                n_features=int(row["n_features"]),
                positive_share=float(row["positive_share"]),
                index_skewness=float(row["index_skewness"]),
                runs=int(row["runs"]),
                rate=float(row["rate"]),
                low=float(row["low"]),
            )
            for row in csv.DictReader(file)
        )


def _distance(row: AtlasRow, shape: DataShape, n_anchors: int, tolerance: float) -> float:
    """Return how unlike a setting is, each difference on the scale on which it matters."""
    return math.sqrt(
        math.log(row.n_rows / shape.n_rows) ** 2
        + (math.log(row.n_anchors / max(n_anchors, 1)) / 2) ** 2
        + ((row.tolerance - tolerance) / 0.05) ** 2
        + (math.log(row.n_features / shape.n_features) / 2) ** 2
        + ((row.positive_share - shape.positive_share) / 0.1) ** 2
        + ((row.index_skewness - shape.index_skewness) / 0.5) ** 2
    )


def _same_setting(one: AtlasRow, other: AtlasRow) -> bool:
    """Tell whether two rows differ in their noise alone."""
    return (one.world, one.n_rows, one.n_anchors, one.tolerance) == (
        other.world,
        other.n_rows,
        other.n_anchors,
        other.tolerance,
    )
