"""Options that several commands share, worded once, and the choices they offer."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Method = Literal["boundary", "joint", "local", "wald"]
CurveMethod = Literal["boundary", "joint", "wald"]  # those that fit one curve to all rows
Drawn = Literal["random", "true", "given"]  # how audited rows were chosen
Rung = Literal["clean", "uniform", "class-conditional"]  # noise a pipeline may insist on
Gate = Literal["reject", "equivalence"]
AnswerKind = Literal["probability", "looked-up"]  # what an expert states of a case

Data = Annotated[
    list[str],
    typer.Argument(
        help="One row a case: CSV, TSV, Parquet, Feather or .npz files, a folder or a quoted "
        "glob of them, or - for CSV on standard input."
    ),
]
Label = Annotated[
    str | None, typer.Option(help="Column of given labels; or on the left of --formula.")
]
Features = Annotated[
    str | None, typer.Option(help="Feature columns, as a,b,c. Default: all others.")
]
Formula = Annotated[
    str | None,
    typer.Option(help="Features by a formula: 'log1p(size) + poly(age, 2) + C(site)'."),
]
Probabilities = Annotated[
    str | None,
    typer.Option(help="Column of predicted probabilities, the only feature; not with toss-ups."),
]
Scores = Annotated[
    str,
    typer.Option(
        help="Column of out-of-fold scores, or a file of them (.parquet, .csv, .npy), as evenodds "
        "scores writes one."
    ),
]
CasesFormat = Annotated[
    Literal["csv", "label-studio", "prodigy"],
    typer.Option("--format", help="A sheet, or tasks for Label Studio (.json), Prodigy (.jsonl)."),
]
Kind = Annotated[
    AnswerKind | None,
    typer.Option(help="Whether answers are stated probabilities, or the looked-up truth."),
]
Missing = Annotated[
    Literal["refuse", "drop"], typer.Option(help="What to do with rows that lack a value.")
]
Tolerance = Annotated[
    float, typer.Option(help="Half-width of the expert's error on each anchor; 0 is strict.")
]
SharedTolerance = Annotated[
    float | None,
    typer.Option(
        help="Half-width of the error common to all anchors; default: as wide as the tolerance. "
        "0 claims that the expert never leans."
    ),
]
Alternative = Annotated[
    Literal["two-sided", "greater", "less"],
    typer.Option(help="greater: negatives are flipped more; less: positives are."),
]
Positive = Annotated[str | None, typer.Option(help="The positive label.")]
Weight = Annotated[str | None, typer.Option(help="Column of frequency weights.")]
Group = Annotated[
    str | None, typer.Option(help="Column of groups: rows of one patient or annotator.")
]
Significance = Annotated[float, typer.Option(help="Significance level.")]
Format = Annotated[
    Literal["text", "json"],
    typer.Option("--format", help="Output for people or for programs."),
]
GateCondition = Annotated[
    Gate | None,
    typer.Option(
        help="Exit with 1 if uniform noise is rejected (reject), or if the asymmetry is not "
        "shown to be within the margin (equivalence)."
    ),
]
Margin = Annotated[float | None, typer.Option(help="Margin for --gate equivalence, such as 0.05.")]
Scheduler = Annotated[
    str | None,
    typer.Option(help="Dask scheduler whose workers read the data, as tcp://host:8786."),
]
Workers = Annotated[
    int | None, typer.Option(help="Processes on this machine that read the data (Dask).")
]
Report = Annotated[
    Path | None,
    typer.Option(help="Write a report as one HTML file: verdict, figures, checks, formulas."),
]
