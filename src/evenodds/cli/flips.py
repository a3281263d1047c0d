"""Which labels look flipped, ranked for an expert to look at."""

import csv
from pathlib import Path

import numpy as np

from evenodds.cli.data import Inputs
from evenodds.cli.outputs import check_output
from evenodds.errors import InputError
from evenodds.files import whole_file
from evenodds.inference.results import AsymmetryTestResult
from evenodds.model.robust import fit_robust
from evenodds.rows.labels import read_labels
from evenodds.rows.source import read_rows


def check_flips(path: Path, method: str, inputs: tuple[Path | None, ...]) -> None:
    """Refuse, before any work, a file that cannot or must not be written."""
    if method == "wald":
        raise InputError("--flips needs flip rates, which --method wald does not estimate.")
    check_output(path, "--flips", inputs)


def write_flips(path: Path, inputs: Inputs, result: AsymmetryTestResult) -> None:
    """Write row number, given label and probability of being flipped, most likely first."""
    rows = read_rows(
        inputs.features, inputs.labels, positive=result.positive, sample_weight=inputs.weights
    )
    curve = fit_robust(rows, alpha=result.alpha, beta=result.beta)
    features = np.column_stack(
        [np.asarray(column, dtype=np.float64) for column in inputs.features.columns]
    )
    given = np.asarray(inputs.labels)
    chances = curve.flip_probability(
        features, read_labels(given, result.positive).block(slice(None))
    )
    order = np.argsort(-chances, kind="stable")
    with whole_file(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["row", "label", "flip_probability"])
        for row in order:
            writer.writerow([int(inputs.row_numbers[row]), given[row], f"{chances[row]:.6f}"])
