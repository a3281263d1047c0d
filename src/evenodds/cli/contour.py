"""`evenodds contour`: which noise do these labels have?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from evenodds.cli import options
from evenodds.cli.output import Delivery, deliver, guarded, name_data

if TYPE_CHECKING:
    from evenodds.inference.contour.result import ContourTestResult


@guarded
def run_contour(
    data: options.Data,
    label: options.Label = None,
    anchors: Annotated[
        Path | None,
        typer.Option(
            help="File of cases with the feature columns, and a column 'posterior' with the "
            "stated chance of being positive, such as 0.1, 0.5 and 0.9."
        ),
    ] = None,
    anchor_column: Annotated[
        str | None, typer.Option(help="Column of stated posteriors in the data; empty: no anchor.")
    ] = None,
    features: options.Features = None,
    formula: options.Formula = None,
    probabilities: Annotated[str | None, typer.Option(hidden=True)] = None,
    missing: options.Missing = "refuse",
    tolerance: options.Tolerance = 0.05,
    shared_tolerance: options.SharedTolerance = None,
    engine: Annotated[
        Literal["spline", "local"] | None,
        typer.Option(help="spline (default): any number of features; local: up to five."),
    ] = None,
    positive: options.Positive = None,
    weight: options.Weight = None,
    group: options.Group = None,
    significance: options.Significance = 0.05,
    output_format: options.Format = "text",
    gate: Annotated[
        options.Rung | None,
        typer.Option(help="Exit with 1 if this noise, or a simpler one, is all rejected."),
    ] = None,
    scheduler: options.Scheduler = None,
    workers: options.Workers = None,
    report: options.Report = None,
) -> None:
    """Test which noise the labels have: none, uniform, class-conditional, or by the features.

    Exit code 0: the test ran, whatever its verdict. 1: a gate failed. 2: bad input.
    """
    from evenodds.cli.input import check_label, data_and_anchors, split_names
    from evenodds.errors import InputError
    from evenodds.inference.contour.contour_test import climb_on_rows, read_engine, refuse_scores

    refuse_scores(probabilities, "--probabilities")
    others = [*data, *([] if anchors is None else [str(anchors)])]
    wanted = Delivery(output_format, significance, others, report)
    check_label(label, formula)
    if anchors is None and anchor_column is None:
        raise InputError(
            "a contour test needs cases of stated posterior: give --anchors FILE with a column "
            "'posterior', or --anchor-column COL."
        )
    with data_and_anchors(
        data,
        label,
        anchors,
        tolerances=(tolerance, shared_tolerance),
        cluster=(scheduler, workers),
        features=split_names(features),
        formula=formula,
        anchor=anchor_column,
        sample_weight=weight,
        groups=group,
        positive=positive,
        missing=missing,
    ) as (rows, known):
        result = climb_on_rows(rows, known, read_engine(engine))
    failed = gate is not None and _climbed_past(result, gate, significance)
    deliver(result, wanted, name=name_data(data, rows.label_names[0]), failed=failed)
    if gate is not None:
        _refuse_untested(result, gate, significance)


def _refuse_untested(result: "ContourTestResult", gate: str, significance: float) -> None:
    """Refuse to pass a gate because the ladder stopped at a noise that cannot be tested."""
    from evenodds.errors import InputError
    from evenodds.report.contour import why_untested

    reached = result.not_rejected(significance)
    if result.rung(reached).contour_pvalue is None:
        raise InputError(
            f"--gate {gate} cannot be held: {why_untested(result, reached)}, so "
            f"{reached} noise was not tested. Name cases at more posteriors."
        )


def _climbed_past(result: "ContourTestResult", gate: str, significance: float) -> bool:
    """Tell whether the ladder went past a rung."""
    order = [*get_args(options.Rung), "instance-dependent"]
    return order.index(result.not_rejected(significance)) > order.index(gate)
