"""`evenodds contour`: which noise do these labels have?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenodds.cli.guard import guarded
from evenodds.cli.options import (
    Data,
    Engine,
    Features,
    Format,
    Formula,
    Group,
    Label,
    Missing,
    MissingValues,
    OutputFormat,
    Positive,
    Report,
    Rung,
    Scheduler,
    SharedTolerance,
    Significance,
    Tolerance,
    Weight,
    Workers,
)
from evenodds.cli.output import Delivery, check_delivery, deliver, name_data

if TYPE_CHECKING:
    from evenodds.inference.contour.result import ContourTestResult


@guarded
def run_contour(
    data: Data,
    label: Label = None,
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
    features: Features = None,
    formula: Formula = None,
    probabilities: Annotated[str | None, typer.Option(hidden=True)] = None,
    missing: MissingValues = Missing.refuse,
    tolerance: Tolerance = 0.05,
    shared_tolerance: SharedTolerance = None,
    engine: Annotated[
        Engine | None,
        typer.Option(help="spline (default): any number of features; local: up to five."),
    ] = None,
    positive: Positive = None,
    weight: Weight = None,
    group: Group = None,
    significance: Significance = 0.05,
    output_format: OutputFormat = Format.text,
    gate: Annotated[
        Rung | None,
        typer.Option(help="Exit with 1 if this noise, or a simpler one, is all rejected."),
    ] = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    report: Report = None,
) -> None:
    """Test which noise the labels have: none, uniform, class-conditional, or by the features.

    Exit code 0: the test ran, whatever its verdict. 1: a gate failed. 2: bad input.
    """
    from evenodds.cli.input import read_inputs, read_options
    from evenodds.cli.output import pass_progress
    from evenodds.errors import InputError
    from evenodds.inference.contour.contour_test import climb_on_rows, read_engine, refuse_scores
    from evenodds.rows.dask_sums import workers as connected

    refuse_scores(probabilities, "--probabilities")
    wanted = Delivery(output_format=output_format, significance=significance, report=report)
    check_delivery(wanted, [*data, *([] if anchors is None else [str(anchors)])])
    reading = read_options(
        label,
        formula,
        features=features,
        anchor=anchor_column,
        weight=weight,
        group=group,
        positive=positive,
        missing=missing.value,
    )
    if anchors is None and anchor_column is None:
        raise InputError(
            "a contour test needs cases of stated posterior: give --anchors FILE with a column "
            "'posterior', or --anchor-column COL."
        )
    with connected(scheduler, workers) as on_workers:
        inputs = read_inputs(
            data, reading, anchors, tolerance, shared_tolerance, on_workers=on_workers
        )
        with pass_progress(inputs.rows):
            chosen = read_engine(None if engine is None else engine.value)
            result = climb_on_rows(inputs.rows, inputs.anchors, chosen)
    failed = gate is not None and _climbed_past(result, gate, significance)
    deliver(result, wanted, name=name_data(data, reading.columns.label), failed=failed)
    if gate is not None:
        _refuse_untested(result, gate, significance)


def _refuse_untested(result: "ContourTestResult", gate: Rung, significance: float) -> None:
    """Refuse to pass a gate because the ladder stopped at a noise that cannot be tested."""
    from evenodds.errors import InputError
    from evenodds.report.contour import why_untested

    reached = result.not_rejected(significance)
    if result.rung(reached).contour_pvalue is None:
        raise InputError(
            f"--gate {gate.value} cannot be held: {why_untested(result, reached)}, so "
            f"{reached} noise was not tested. Name cases at more posteriors."
        )


def _climbed_past(result: "ContourTestResult", gate: Rung, significance: float) -> bool:
    """Tell whether the ladder went past a rung."""
    order = [*(rung.value for rung in Rung), "instance-dependent"]
    return order.index(result.not_rejected(significance)) > order.index(gate.value)
