"""Which labels look flipped, ranked for an expert to look at."""

from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from evenodds.cli.output import check_output
from evenodds.errors import InputError
from evenodds.files import write_csv
from evenodds.inference.asymmetry import METHODS
from evenodds.model.robust import RobustCurve, fit_robust
from evenodds.rows.base import Block, Rows

if TYPE_CHECKING:
    from evenodds.inference.audit.as_evidence import Audit
    from evenodds.inference.results import AsymmetryTestResult


class FlipChances:
    """How likely each label is flipped, with the number of its row and whether it is positive."""

    def __init__(self, curve: RobustCurve) -> None:
        self.curve = curve
        self.rows: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
        self.labels: list[np.ndarray[tuple[int], np.dtype[np.bool_]]] = []
        self.chances: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []

    def add(self, block: Block) -> None:
        numbered = block.start + np.arange(len(block.labels))
        self.rows.append(numbered if block.numbers is None else block.numbers)
        self.labels.append(block.labels == 1)
        self.chances.append(self.curve.flip_probability(block.features, block.labels))

    def merge(self, other: Self) -> None:
        self.rows += other.rows
        self.labels += other.labels
        self.chances += other.chances


def check_flips(path: Path, method: str, inputs: list[str]) -> None:
    """Refuse, before any work, a file that cannot or must not be written."""
    test = METHODS[method]
    if not test.has_rates:
        lacking = "flip rates" if test.fits_curve else "a curve through all rows"
        raise InputError(
            f"--flips needs {lacking}, which --method {method} does not estimate: use --method "
            "boundary."
        )
    check_output(path, "--flips", inputs)


def write_flips(
    path: Path, rows: Rows, result: "AsymmetryTestResult", audit: "Audit | None" = None
) -> None:
    """Write row number (from 1), given label and probability of being flipped, most likely first.

    Rows that were audited are left out: whether they are flipped is known.
    """
    if result.withheld:
        raise InputError(
            f"--flips needs flip rates, but these data cannot tell: {result.withheld}."
        )
    curve = fit_robust(rows, alpha=result.alpha, beta=result.beta)
    found = rows.unheld().sum_over_rows(FlipChances(curve))
    chances, numbered = np.concatenate(found.chances), np.concatenate(found.rows)
    given = np.concatenate(found.labels)
    known = np.isin(numbered, [] if audit is None or audit.rows is None else audit.rows)
    order = np.argsort(-chances, kind="stable")
    ranked = order[~known[order]]
    labels = np.array([rows.negative, rows.positive], dtype=object)[given[ranked].astype(int)]
    written = (f"{chance:.6f}" for chance in chances[ranked])
    columns = zip(numbered[ranked] + 1, labels, written, strict=True)
    write_csv(path, ["row", "label", "flip_probability"], columns)
