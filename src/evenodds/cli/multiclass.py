"""`evenodds multiclass`: are some classes flipped more often than others?"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from evenodds.cli import options
from evenodds.cli.output import Delivery, deliver, guarded, name_data

BETWEEN = "between"
TOLERANCE = 0.05


@guarded
def run_multiclass(
    data: options.Data,
    label: Annotated[
        str | None, typer.Option(help="Column of given labels, three classes or more.")
    ] = None,
    anchors: Annotated[
        Path | None,
        typer.Option(help="File of toss-up cases, with the feature columns and --between."),
    ] = None,
    between: Annotated[
        str,
        typer.Option(help="Column of --anchors that names the split: 'cat | dog', or a class."),
    ] = BETWEEN,
    scheme: Annotated[
        Literal["one-vs-one", "one-vs-rest", "output-codes"],
        typer.Option(help="How the classes are split."),
    ] = "one-vs-one",
    codes: Annotated[
        Path | None,
        typer.Option(help="For output codes: a table of classes (first column) by +1, -1 and 0."),
    ] = None,
    features: options.Features = None,
    formula: options.Formula = None,
    tolerance: options.Tolerance = TOLERANCE,
    shared_tolerance: Annotated[
        float | None,
        typer.Option(
            help="Half-width of the error common to the anchors of a split; default: as wide as "
            "the tolerance."
        ),
    ] = None,
    weight: options.Weight = None,
    group: options.Group = None,
    true: Annotated[
        str | None,
        typer.Option(help="Instead of --anchors: column of true classes, of rows looked up."),
    ] = None,
    given: Annotated[str | None, typer.Option(help="With --true: column of given labels.")] = None,
    significance: options.Significance = 0.05,
    output_format: options.Format = "text",
    gate: Annotated[
        options.Gate | None,
        typer.Option(help="Exit with 1 if the null hypothesis is rejected (reject)."),
    ] = None,
    report: options.Report = None,
) -> None:
    """Test whether some of several classes are flipped more often than others.

    The data are read in memory. With --true and --given instead, the confusion matrix of rows
    whose true class was looked up is tested. Exit code 0: the test ran, whatever its verdict. 1:
    the gate failed. 2: bad input.
    """
    from evenodds.errors import InputError

    if gate == "equivalence":
        raise InputError("--gate equivalence is for two classes; here only --gate reject is known.")
    others = [*data, *([] if anchors is None else [str(anchors)])]
    wanted = Delivery(output_format, significance, others, report, gate)
    if true is not None or given is not None:
        if anchors is not None or label is not None:
            raise InputError(
                "--true and --given test rows that were looked up, without --anchors and --label: "
                "run the two tests one after the other."
            )
        for_toss_ups = {
            "--between": between != BETWEEN,
            "--scheme": scheme != "one-vs-one",
            "--codes": codes is not None,
            "--features": features is not None,
            "--formula": formula is not None,
            "--tolerance": tolerance != TOLERANCE,
            "--shared-tolerance": shared_tolerance is not None,
            "--weight": weight is not None,
            "--group": group is not None,
        }
        needless = [option for option, is_given in for_toss_ups.items() if is_given]
        if needless:
            raise InputError(
                f"{needless[0]} goes with --anchors; --true and --given count rows that were "
                "looked up, each once: leave it out."
            )
        from evenodds.cli.input import confusion_of_file

        deliver(confusion_of_file(data, true, given), wanted, name=name_data(data, given))
        return
    if codes is not None and scheme != "output-codes":
        raise InputError(f"--codes goes with --scheme output-codes, but it is {scheme}.")
    if label is None:
        raise InputError(
            "--label is missing: name the column of given labels; or --true and --given, to test "
            "rows that were looked up."
        )
    if anchors is None:
        raise InputError(
            "--anchors is missing: name a file of toss-up cases, with a column "
            f"{between!r} that says between which classes."
        )
    from evenodds.cli.input import read_codes_file, read_split_anchors_file, split_names
    from evenodds.inference.multiclass.multiclass_test import run_on_class_rows
    from evenodds.rows.classes import read_class_rows

    rows = read_class_rows(
        data[0] if len(data) == 1 else data,
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
    deliver(result, wanted, name=name_data(data, label))
