"""`evenodds test`: is one class flipped more often than the other?"""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenodds.cli.guard import GATE_FAILED, guarded

if TYPE_CHECKING:
    from evenodds.inference.results import AsymmetryTestResult


class Method(StrEnum):
    """Tests by name."""

    boundary = "boundary"
    joint = "joint"
    wald = "wald"


class Side(StrEnum):
    """Alternative hypotheses by name."""

    two_sided = "two-sided"
    greater = "greater"
    less = "less"


class Calibration(StrEnum):
    """Ways to calibrate by name."""

    asymptotic = "asymptotic"
    bootstrap = "bootstrap"


class Format(StrEnum):
    """Output formats by name."""

    text = "text"
    json = "json"


class Missing(StrEnum):
    """What to do with rows that lack a value."""

    refuse = "refuse"
    drop = "drop"


class Gate(StrEnum):
    """Conditions that make the command fail, for pipelines."""

    reject = "reject"
    equivalence = "equivalence"


@guarded
def run_test(
    data: Annotated[
        list[str],
        typer.Argument(
            help="One row a case: CSV, TSV, Parquet, Feather or .npz files, a folder or a quoted "
            "glob of them, or - for CSV on standard input."
        ),
    ],
    label: Annotated[
        str | None, typer.Option(help="Column of given labels; or on the left of --formula.")
    ] = None,
    anchors: Annotated[
        Path | None, typer.Option(help="File of toss-up cases, with the feature columns.")
    ] = None,
    anchor_column: Annotated[
        str | None,
        typer.Option(help="Column marking toss-ups in the data: true/false, or the posterior."),
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="Feature columns, as a,b,c. Default: all others.")
    ] = None,
    formula: Annotated[
        str | None,
        typer.Option(help="Features by a formula: 'log1p(size) + poly(age, 2) + C(site)'."),
    ] = None,
    probabilities: Annotated[
        str | None,
        typer.Option(help="Column of out-of-sample predicted probabilities, the only feature."),
    ] = None,
    missing: Annotated[
        Missing, typer.Option(help="What to do with rows that lack a value.")
    ] = Missing.refuse,
    tolerance: Annotated[
        float, typer.Option(help="Half-width of the expert's error on each anchor; 0 is strict.")
    ] = 0.05,
    shared_tolerance: Annotated[
        float, typer.Option(help="Half-width of the error common to all anchors.")
    ] = 0.0,
    method: Annotated[Method, typer.Option(help="Which test.")] = Method.boundary,
    weights: Annotated[
        str, typer.Option(help="How anchors are averaged: equal, or optimal if strict.")
    ] = "equal",
    covariance: Annotated[
        str, typer.Option(help="Covariance for --method wald: information or sandwich.")
    ] = "information",
    calibration: Annotated[
        Calibration,
        typer.Option(help="What z is compared with; bootstrap is slower and for few rows."),
    ] = Calibration.asymptotic,
    draws: Annotated[int, typer.Option(help="Draws of the bootstrap.")] = 999,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    alternative: Annotated[
        Side, typer.Option(help="greater: negatives are flipped more; less: positives are.")
    ] = Side.two_sided,
    positive: Annotated[str | None, typer.Option(help="The positive label.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of frequency weights.")] = None,
    group: Annotated[
        str | None, typer.Option(help="Column of groups: rows of one patient or annotator.")
    ] = None,
    significance: Annotated[float, typer.Option(help="Significance level.")] = 0.05,
    output_format: Annotated[
        Format, typer.Option("--format", help="Output for people or for programs.")
    ] = Format.text,
    gate: Annotated[
        Gate | None,
        typer.Option(
            help="Exit with 1 if uniform noise is rejected (reject), or if the asymmetry is not "
            "shown to be within the margin (equivalence)."
        ),
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="Margin for --gate equivalence, such as 0.05.")
    ] = None,
    flips: Annotated[
        Path | None,
        typer.Option(help="Write how likely each label is flipped, most likely first, as CSV."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Dask scheduler whose workers read the data, as tcp://host:8786."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes on this machine that read the data (Dask).")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write a report as one HTML file: verdict, figures, checks, formulas."),
    ] = None,
) -> None:
    """Test whether the labels of one class are flipped more often than the other's.

    Exit code 0: the test ran, whatever its verdict. 1: a gate failed. 2: bad input.
    """
    from evenodds.cli.data import read_inputs, read_options  # noqa: PLC0415 - keeps help quick
    from evenodds.cli.flips import check_flips, write_flips  # noqa: PLC0415
    from evenodds.cli.methods import method_settings  # noqa: PLC0415
    from evenodds.cli.outputs import check_output  # noqa: PLC0415
    from evenodds.cli.progress import pass_progress, progress_bar  # noqa: PLC0415
    from evenodds.errors import InputError  # noqa: PLC0415
    from evenodds.inference.asymmetry import run_on_rows  # noqa: PLC0415
    from evenodds.inference.bootstrap import Bootstrap  # noqa: PLC0415
    from evenodds.rows.cluster import connecting  # noqa: PLC0415

    _check_options(significance, gate, margin)
    reading = read_options(
        label,
        formula,
        features=features,
        probabilities=probabilities,
        anchor=anchor_column,
        weight=weight,
        group=group,
        positive=positive,
        missing=missing.value,
    )
    if anchors is None and anchor_column is None and method is not Method.joint:
        raise InputError(
            f"--method {method.value} needs toss-up cases: give --anchors FILE or --anchor-column "
            "COL. Without any, only --method joint runs, on the shape of the curve alone."
        )
    named = [*data, *([] if anchors is None else [str(anchors)])]
    if flips is not None:
        check_flips(flips, method.value, named)
    if report is not None:
        check_output(report, "--report", [*named, *([] if flips is None else [str(flips)])])
    with connecting.workers(scheduler, workers) as on_workers:
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
            )
            result = run_on_rows(inputs.rows, inputs.anchors, settings, alternative.value)
            if flips is not None:
                write_flips(flips, inputs.rows, result)
    if report is not None:
        from evenodds.cli.report import report_file  # noqa: PLC0415 - drawing is slow to load

        name = f"{', '.join(Path(part).name for part in data)}: {reading.columns.label}"
        report_file(report, result, name=name, significance=significance, margin=margin)
    if output_format is Format.json:
        typer.echo(json.dumps(as_json(result, significance, margin), indent=2, default=str))
    else:
        from evenodds.cli.show import show_result  # noqa: PLC0415 - rich is slow to load

        show_result(result, significance)
    if gate is not None and not _gate_holds(result, gate, significance, margin):
        raise typer.Exit(GATE_FAILED)


def as_json(
    result: "AsymmetryTestResult", significance: float, margin: float | None = None
) -> dict[str, Any]:
    """Return the documented JSON of a test."""
    from dataclasses import asdict  # noqa: PLC0415

    from evenodds.report.verdict import verdict  # noqa: PLC0415 - keeps help quick

    document = result.to_dict()
    document["confidence_interval"] = asdict(result.confidence_interval(1 - significance))
    document["significance"] = significance
    document["reject"] = result.pvalue < significance
    document["verdict"] = verdict(result, significance)
    if margin is not None:
        document["equivalence"] = asdict(result.equivalence(margin))
    return document


def _check_options(significance: float, gate: Gate | None, margin: float | None) -> None:
    from evenodds.errors import InputError  # noqa: PLC0415 - keeps help quick
    from evenodds.validation import check_between  # noqa: PLC0415

    check_between(significance, "--significance", 0, 1, closed="neither")
    if margin is not None:
        check_between(margin, "--margin", 0, 1, closed="neither")
    if gate is Gate.equivalence and margin is None:
        raise InputError("--gate equivalence needs --margin: how large an asymmetry is harmless?")


def _gate_holds(
    result: "AsymmetryTestResult", gate: Gate, significance: float, margin: float | None
) -> bool:
    """Tell whether the gate's condition is met."""
    if gate is Gate.reject:
        return result.pvalue >= significance
    return margin is not None and result.equivalence(margin).pvalue < significance
