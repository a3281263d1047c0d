"""`evenodds scores`: how likely each label is positive, by a model that has not seen it."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from evenodds.cli import options
from evenodds.cli.options import DATA, OUTPUT, option, optional
from evenodds.cli.output import check_output, guarded, pass_progress, tell

if TYPE_CHECKING:
    from evenodds.rows.base import Block, Rows
    from evenodds.validation import FloatArray

COLUMN, FOLDS, MODEL = "score", 5, "Model"
KINDS = (".parquet", ".csv", ".npy")
# What a file of scores is called; any other name is that of a column.
SCORE_FILES = (".parquet", ".pq", ".csv", ".tsv", ".feather", ".arrow", ".npy")
# An AUC below this, or within so many standard errors of 1/2, is said to be poor.
POOR, ERRORS = 0.6, 3.0


EXAMPLES = """\
evenodds scores patients.csv --label diagnosis --out own_scores.parquet
evenodds scores patients.csv --label diagnosis --formula 'poly(marker, 2) + score' \\
    --folds 10 --out own_scores.csv"""
Label = Annotated[
    str | None, option(DATA, "Column of given labels; or on the left of --formula.", "COL")
]


@guarded
def run_scores(
    data: options.Data,
    out: Annotated[
        Path,
        option(OUTPUT, "Scores to write, .parquet, .csv or .npy: one a row, in order.", "FILE"),
    ],
    label: Label = None,
    features: options.Features = None,
    formula: options.Formula = None,
    *,
    own: options.RowOptions,
    folds: int = optional(MODEL, "Parts that the rows are divided into.", "N", default=FOLDS),
    seed: int = optional(MODEL, "Seed of the division.", "N", default=0),
) -> None:
    """Score every row by a ridge logistic regression that has not seen its label.

    What evenodds elicit, cases and line draw cases along. Scores of any other model serve too, if
    no row's score has seen the row's own label.
    """
    from evenodds.cli.input import check_label, split_names
    from evenodds.rows.read import read_data

    check_label(label, formula)
    check_scores_file(out, data)
    rows = read_data(
        data,
        label,
        features=split_names(features),
        formula=formula,
        positive=own.positive,
        sample_weight=own.weight,
        groups=own.group,
    )
    scores = score(rows, folds, seed)
    write_scores(out, scores)
    tell(f"wrote {out}")
    for line in summary(rows, scores, folds):
        print(line)
    asked = shlex.join([*data, "--label", rows.label_names[0], "--scores", str(out)])
    if len(data) == 1 and Path(data[0]).is_file():
        print(f"Next: evenodds elicit {asked} --out answers.json")
    else:
        print(f"Next: evenodds cases {asked} --out cases.csv")


def check_scores_file(path: Path, data: list[str], option: str = "--out") -> None:
    """Refuse, before any work, a file of scores that cannot or must not be written."""
    from evenodds.errors import InputError
    from evenodds.validation import join_quoted

    if path.suffix.lower() not in KINDS:
        raise InputError(f"{option} {path} must end in {join_quoted(KINDS, 'or')}.")
    check_output(path, option, data)


def score(rows: "Rows", folds: int = FOLDS, seed: int = 0) -> "FloatArray":
    """Return the out-of-fold scores of rows, and show how far they have come."""
    import numpy as np

    from evenodds.model.scores import MOST_FOLDS, score_rows
    from evenodds.validation import check_whole

    n_folds = check_whole(folds, "--folds", at_least=2, at_most=MOST_FOLDS)
    rng = np.random.default_rng(check_whole(seed, "--seed"))
    with pass_progress(rows):
        return score_rows(rows, n_folds, rng)


def write_scores(path: Path, scores: "FloatArray") -> None:
    """Write scores, so that they are read back to the last digit."""
    import numpy as np

    from evenodds.files import whole_file, write_csv

    kind = path.suffix.lower()
    if kind == ".csv":
        write_csv(path, [COLUMN], ((repr(value),) for value in scores.tolist()))
        return
    with whole_file(path) as file:
        if kind == ".npy":
            np.save(file.buffer, scores)
        else:
            import pyarrow as pa
            from pyarrow import parquet

            parquet.write_table(pa.table({COLUMN: scores}), file.buffer)


def summary(rows: "Rows", scores: "FloatArray", folds: int = FOLDS) -> list[str]:
    """Say what was scored, and how well the scores tell the given labels apart."""
    area, error = area_under_curve(rows, scores)
    lines = [
        f"{rows.n_rows:,} rows scored in {folds} folds, each by a curve that has not seen its "
        f"label. Out of fold, a row labelled {rows.positive!r} scores above one labelled "
        f"{rows.negative!r} with probability {area:.3f} (AUC)."
    ]
    if area < max(POOR, 0.5 + ERRORS * error):
        lines.append(
            "These scores hardly tell the labels apart. Cases drawn along them give a valid test "
            "that finds large differences only: add features, or score the rows by another model."
        )
    return lines


class _Given:
    """Labels and weights of all rows, each with the number of its first row."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, Any, Any]] = []

    def add(self, block: "Block") -> None:
        weights = None if block.weights is None else block.weights.copy()
        self.parts.append((block.start, block.labels.copy(), weights))

    def merge(self, other: Self) -> None:
        self.parts += other.parts


def area_under_curve(rows: "Rows", scores: "FloatArray") -> tuple[float, float]:
    """Return how often a positive row scores above a negative one, and its error by chance."""
    import numpy as np

    labels, weights = np.empty(len(scores)), np.ones(len(scores))
    for start, part, weight in rows.sum_over_rows(_Given()).parts:
        labels[start : start + len(part)] = part
        if weight is not None:
            weights[start : start + len(part)] = weight
    place = np.unique(scores, return_inverse=True)[1]
    positive = np.bincount(place, weights * labels)
    negative = np.bincount(place, weights * (1 - labels))
    above = float(positive @ (np.cumsum(negative) - negative / 2))
    n_positive, n_negative = int(labels.sum()), int(len(labels) - labels.sum())
    error = float(np.sqrt((len(labels) + 1) / (12 * n_positive * n_negative)))
    return above / float(positive.sum() * negative.sum()), error
