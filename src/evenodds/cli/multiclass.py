"""`evenodds multiclass` and `multiclass audit`: are some classes flipped more often than others?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from evenodds.cli import options
from evenodds.cli.options import ANCHORS, DATA, OUTPUT, TEST, option, optional
from evenodds.cli.output import check_delivery, deliver, guarded, name_data
from evenodds.errors import InputError

EXAMPLES = """\
evenodds multiclass animals.csv --label given --anchors between.csv
evenodds multiclass animals.csv --label given --anchors rest.csv \\
    --scheme one-vs-rest --report animals.html"""
AUDIT_EXAMPLES = """\
evenodds multiclass audit looked_up.csv --true true --given given
evenodds multiclass audit looked_up.csv --true true --given given --format json"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOptions(options.ShownOptions):
    """How a result about several classes is read, handed over and held to a condition."""

    gate: Annotated[
        Literal["reject"] | None, option(OUTPUT, "Exit with 1 if the null hypothesis is rejected.")
    ] = None


@guarded
def run_multiclass(
    data: options.Data,
    label: options.GivenLabel,
    anchors: Annotated[
        Path,
        option(ANCHORS, "File of toss-up cases, with the feature columns and --between.", "FILE"),
    ],
    features: options.Features = None,
    formula: options.Formula = None,
    weight: options.Weight = None,
    group: options.Group = None,
    between: str = optional(
        ANCHORS,
        "Column of --anchors that names the split: 'cat | dog', or a class.",
        "COL",
        default="between",
    ),
    tolerance: options.Tolerance = 0.05,
    shared_tolerance: float | None = optional(
        ANCHORS,
        "Half-width of the error common to the anchors of a split; default: as wide as the "
        "tolerance.",
        "WIDTH",
    ),
    scheme: Literal["one-vs-one", "one-vs-rest", "output-codes"] = optional(
        TEST, "How the classes are split.", default="one-vs-one"
    ),
    codes: Path | None = optional(
        TEST, "For output codes: a table of classes (first column) by +1, -1 and 0.", "FILE"
    ),
    *,
    output: ClassOptions,
) -> None:
    """Test whether some of several classes are flipped more often than others.

    The data are read in memory. evenodds multiclass audit tests rows whose true class was looked
    up.

    Exit code 0: the test ran, whatever its verdict. 1: the gate failed. 2: bad input.
    """
    from evenodds.cli.input import one_source, read_codes_file, read_split_anchors_file, split_names
    from evenodds.inference.multiclass.multiclass_test import run_on_class_rows
    from evenodds.rows.read import read_class_rows

    check_delivery(output, [*data, str(anchors), *([] if codes is None else [str(codes)])])
    if codes is not None and scheme != "output-codes":
        raise InputError(f"--codes goes with --scheme output-codes, but it is {scheme}.")
    rows = read_class_rows(
        one_source(data),
        label,
        sample_weight=weight,
        groups=group,
        formula=formula,
        features=split_names(features),
    )
    points = read_split_anchors_file(
        anchors, between, rows, tolerance=tolerance, shared_tolerance=shared_tolerance
    )
    matrix = None if codes is None else read_codes_file(codes, rows)
    result = run_on_class_rows(rows, points, scheme, codes=matrix)
    deliver(result, output, name=name_data(data, label))


@guarded
def run_class_audit(
    data: options.Data,
    true: Annotated[
        str, option(DATA, "Column of true classes; empty where nobody looked it up.", "COL")
    ],
    given: options.GivenLabel,
    output: ClassOptions,
) -> None:
    """Test the confusion matrix of rows whose true class was looked up.

    Exit code 0: the test ran, whatever its verdict. 1: the gate failed. 2: bad input.
    """
    from evenodds.cli.input import confusion_of_file

    check_delivery(output, data)
    deliver(confusion_of_file(data, true, given), output, name=name_data(data, given))
