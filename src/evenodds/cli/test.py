"""`evenodds test`: is one class flipped more often than the other?"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from evenodds.cli import options
from evenodds.cli.output import Delivery, deliver, guarded, name_data, progress_bar


@guarded
def run_test(
    data: options.Data,
    label: options.Label = None,
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
        options.Drawn | None,
        typer.Option(help="With --true: how those rows were chosen, random (default) or given."),
    ] = None,
    features: options.Features = None,
    formula: options.Formula = None,
    probabilities: options.Probabilities = None,
    missing: options.Missing = "refuse",
    tolerance: options.Tolerance = 0.05,
    shared_tolerance: options.SharedTolerance = None,
    method: Annotated[options.Method, typer.Option(help="Which test.")] = "boundary",
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
        Literal["asymptotic", "bootstrap"],
        typer.Option(help="What z is compared with; bootstrap is slower and for few rows."),
    ] = "asymptotic",
    draws: Annotated[int, typer.Option(help="Draws of the bootstrap.")] = 999,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    alternative: options.Alternative = "two-sided",
    positive: options.Positive = None,
    weight: options.Weight = None,
    group: options.Group = None,
    significance: options.Significance = 0.05,
    output_format: options.Format = "text",
    gate: options.GateCondition = None,
    margin: options.Margin = None,
    flips: Annotated[
        Path | None,
        typer.Option(help="Write how likely each label is flipped, most likely first, as CSV."),
    ] = None,
    scheduler: options.Scheduler = None,
    workers: options.Workers = None,
    report: options.Report = None,
) -> None:
    """Test whether the labels of one class are flipped more often than the other's.

    Exit code 0: the test ran, whatever its verdict. 1: a gate failed. 2: bad input.
    """
    from evenodds.cli.flips import check_flips, write_flips
    from evenodds.cli.input import (
        check_label,
        data_and_anchors,
        method_settings,
        read_audit,
        read_audited_rows,
        split_names,
    )
    from evenodds.errors import InputError
    from evenodds.inference.asymmetry import METHODS, refuse_anchors_on_scores, run_on_rows
    from evenodds.inference.bootstrap import Bootstrap
    from evenodds.inference.method import Known

    if audit is not None and true is not None:
        raise InputError(
            "give --audit or --true, not both: an audit is of other rows, or of these."
        )
    if true is not None and "-" in data:
        raise InputError("--true reads DATA twice, which standard input cannot: give a file.")
    if sampled_by is not None and true is None:
        raise InputError("--sampled-by goes with --true, the column of true labels in DATA.")
    read = [*data, *(str(path) for path in (anchors, audit) if path is not None)]
    others = [*read, *([] if flips is None else [str(flips)])]
    wanted = Delivery(output_format, significance, others, report, gate, margin)
    check_label(label, formula)
    if probabilities is not None and (anchors is not None or anchor_column is not None):
        refuse_anchors_on_scores("--probabilities")
    evidence = (anchors, anchor_column, audit, true)
    test = METHODS[method]
    if all(each is None for each in evidence) and not test.reads_shape:
        instead = "" if test.why_no_audit else ", or an --audit FILE, or --true COL"
        raise InputError(
            f"--method {method} needs toss-up cases: give --anchors FILE or --anchor-column "
            f"COL{instead}. Without any, only --method joint runs, on the shape of the curve alone."
        )
    if flips is not None:
        check_flips(flips, method, read)
    with (
        data_and_anchors(
            data,
            label,
            anchors,
            tolerances=(tolerance, shared_tolerance),
            cluster=(scheduler, workers),
            features=split_names(features),
            formula=formula,
            probabilities=probabilities,
            anchor=anchor_column,
            sample_weight=weight,
            groups=group,
            true=true,
            positive=positive,
            missing=missing,
        ) as (rows, known),
        progress_bar("Bootstrap", wanted=calibration == "bootstrap") as progress,
    ):
        settings = method_settings(
            method,
            weights=weights,
            covariance=covariance,
            calibration=calibration,
            bootstrap=Bootstrap(draws, seed, progress),
            bandwidth=bandwidth,
            kernel=kernel,
        )
        looked_up = None if audit is None else read_audit(audit)
        if true is not None:
            looked_up = read_audited_rows(data, true, rows, sampled_by or "random")
        result = run_on_rows(rows, Known(known, looked_up), settings, alternative)
        if flips is not None:
            write_flips(flips, rows, result, looked_up)
    deliver(result, wanted, name=name_data(data, rows.label_names[0]))
