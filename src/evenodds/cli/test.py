"""`evenodds test`: is one class flipped more often than the other?"""

from pathlib import Path
from typing import Annotated

import typer

from evenodds.cli.guard import guarded
from evenodds.cli.options import (
    Alternative,
    Calibration,
    Data,
    Drawn,
    Features,
    Format,
    Formula,
    GateCondition,
    Group,
    Label,
    Margin,
    Method,
    Missing,
    MissingValues,
    OutputFormat,
    Positive,
    Probabilities,
    Report,
    Scheduler,
    SharedTolerance,
    Side,
    Significance,
    Tolerance,
    Weight,
    Workers,
)
from evenodds.cli.output import Delivery, check_delivery, deliver, name_data


@guarded
def run_test(
    data: Data,
    label: Label = None,
    anchors: Annotated[
        Path | None, typer.Option(help="File of toss-up cases, with the feature columns.")
    ] = None,
    anchor_column: Annotated[
        str | None,
        typer.Option(help="Column marking toss-ups in the data: true/false, or the posterior."),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            help="File of audited rows that are not in DATA, with columns true and given: more "
            "evidence, with or without toss-ups."
        ),
    ] = None,
    true: Annotated[
        str | None,
        typer.Option(
            help="Column of true labels in DATA, empty where none was looked up: the same evidence "
            "from rows of DATA, each counted once."
        ),
    ] = None,
    sampled_by: Annotated[
        Drawn | None,
        typer.Option(help="With --true: how those rows were chosen, random (default) or given."),
    ] = None,
    features: Features = None,
    formula: Formula = None,
    probabilities: Probabilities = None,
    missing: MissingValues = Missing.refuse,
    tolerance: Tolerance = 0.05,
    shared_tolerance: SharedTolerance = None,
    method: Annotated[Method, typer.Option(help="Which test.")] = Method.boundary,
    weights: Annotated[
        str, typer.Option(help="How anchors are averaged: equal, or optimal if strict.")
    ] = "equal",
    covariance: Annotated[
        str, typer.Option(help="Covariance for --method wald: information or sandwich.")
    ] = "information",
    bandwidth: Annotated[
        float | None,
        typer.Option(help="Of --method local, in spreads of the features; default: chosen."),
    ] = None,
    kernel: Annotated[
        str, typer.Option(help="Of --method local: gaussian or tricube.")
    ] = "gaussian",
    calibration: Annotated[
        Calibration,
        typer.Option(help="What z is compared with; bootstrap is slower and for few rows."),
    ] = Calibration.asymptotic,
    draws: Annotated[int, typer.Option(help="Draws of the bootstrap.")] = 999,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    alternative: Alternative = Side.two_sided,
    positive: Positive = None,
    weight: Weight = None,
    group: Group = None,
    significance: Significance = 0.05,
    output_format: OutputFormat = Format.text,
    gate: GateCondition = None,
    margin: Margin = None,
    flips: Annotated[
        Path | None,
        typer.Option(help="Write how likely each label is flipped, most likely first, as CSV."),
    ] = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    report: Report = None,
) -> None:
    """Test whether the labels of one class are flipped more often than the other's.

    Exit code 0: the test ran, whatever its verdict. 1: a gate failed. 2: bad input.
    """
    from evenodds.cli.flips import check_flips, write_flips
    from evenodds.cli.input import (
        method_settings,
        read_audit,
        read_audited_rows,
        read_inputs,
        read_options,
    )
    from evenodds.cli.output import pass_progress, progress_bar
    from evenodds.errors import InputError
    from evenodds.inference.asymmetry import METHODS, refuse_anchors_on_scores, run_on_rows
    from evenodds.inference.bootstrap import Bootstrap
    from evenodds.inference.method import Known
    from evenodds.rows.dask_sums import workers as connected

    wanted = Delivery(
        output_format=output_format,
        significance=significance,
        margin=margin,
        gate=gate,
        report=report,
    )
    if audit is not None and true is not None:
        raise InputError(
            "give --audit or --true, not both: an audit is of other rows, or of these."
        )
    if true is not None and "-" in data:
        raise InputError("--true reads DATA twice, which standard input cannot: give a file.")
    if sampled_by is not None and true is None:
        raise InputError("--sampled-by goes with --true, the column of true labels in DATA.")
    read = [*data, *(str(path) for path in (anchors, audit) if path is not None)]
    check_delivery(wanted, [*read, *([] if flips is None else [str(flips)])])
    reading = read_options(
        label,
        formula,
        features=features,
        probabilities=probabilities,
        anchor=anchor_column,
        weight=weight,
        group=group,
        true=true,
        positive=positive,
        missing=missing.value,
    )
    if probabilities is not None and (anchors is not None or anchor_column is not None):
        refuse_anchors_on_scores("--probabilities")
    evidence = (anchors, anchor_column, audit, true)
    test = METHODS[method.value]
    if all(each is None for each in evidence) and not test.reads_shape:
        instead = "" if test.why_no_audit else ", or an --audit FILE, or --true COL"
        raise InputError(
            f"--method {method.value} needs toss-up cases: give --anchors FILE or --anchor-column "
            f"COL{instead}. Without any, only --method joint runs, on the shape of the curve alone."
        )
    if flips is not None:
        check_flips(flips, method.value, read)
    with connected(scheduler, workers) as on_workers:
        inputs = read_inputs(
            data, reading, anchors, tolerance, shared_tolerance, on_workers=on_workers
        )
        with (
            pass_progress(inputs.rows),
            progress_bar("Bootstrap", wanted=calibration is Calibration.bootstrap) as progress,
        ):
            settings = method_settings(
                method.value,
                weights=weights,
                covariance=covariance,
                calibration=calibration.value,
                bootstrap=Bootstrap(draws, seed, progress),
                bandwidth=bandwidth,
                kernel=kernel,
            )
            looked_up = None if audit is None else read_audit(audit)
            if true is not None:
                drawn = Drawn.random if sampled_by is None else sampled_by
                looked_up = read_audited_rows(data, true, inputs.rows, drawn.value)
            known = Known(inputs.anchors, looked_up)
            result = run_on_rows(inputs.rows, known, settings, alternative.value)
            if flips is not None:
                write_flips(flips, inputs.rows, result, looked_up)
    deliver(result, wanted, name=name_data(data, reading.columns.label))
