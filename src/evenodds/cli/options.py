"""Options that several commands share, worded once, and help: options by panel, then examples.

Those that go together are a record.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

Method = Literal["boundary", "joint", "local", "wald"]
CurveMethod = Literal["boundary", "joint", "wald"]  # those that fit one curve to all rows
Drawn = Literal["random", "true", "given"]  # how audited rows were chosen
Rung = Literal["clean", "uniform", "class-conditional"]  # noise a pipeline may insist on
Gate = Literal["reject", "equivalence"]
AnswerKind = Literal["probability", "looked-up"]  # what an expert states of a case

# The panels of a command's help.
DATA, ANCHORS, TEST, OUTPUT = "Data", "Anchors and looked-up labels", "Test", "Output"
CASES, PLAN = "Cases", "Plan"


def option(panel: str, text: str, metavar: str | None = None, name: str | None = None) -> Any:
    """Return an option of a panel; without a metavar its type or its choices are shown."""
    names = [] if name is None else [name]
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel=panel)


def optional(
    panel: str,
    text: str,
    metavar: str | None = None,
    *,
    name: str | None = None,
    default: Any = None,
) -> Any:
    """Return an option that one command alone has, and what it is where it is left out."""
    names = [] if name is None else [name]
    return typer.Option(default, *names, help=text, metavar=metavar, rich_help_panel=panel)


def argument(text: str, metavar: str = "DATA", panel: str = DATA) -> Any:
    """Return an argument, which has no name."""
    return typer.Argument(metavar=metavar, help=text, rich_help_panel=panel)


Data = Annotated[
    list[str],
    argument(
        "One row a case: CSV, TSV, Parquet, Feather or .npz files, a folder or a quoted glob of "
        "them, or - for CSV on standard input."
    ),
]
GivenLabel = Annotated[str, option(DATA, "Column of given labels.", "COL")]
LabelOrFormula = Annotated[
    str | None, option(DATA, "Column of given labels; or on the left of --formula.", "COL")
]
Features = Annotated[
    str | None, option(DATA, "Feature columns, as a,b,c. Default: all others.", "COLS")
]
Formula = Annotated[
    str | None,
    option(DATA, "Features by a formula: 'log1p(size) + poly(age, 2) + C(site)'.", "FORMULA"),
]
Positive = Annotated[
    str | None,
    option(
        DATA, "The positive label. Default: 1, true, or the later in alphabetical order.", "LABEL"
    ),
]
Weight = Annotated[str | None, option(DATA, "Column of frequency weights.", "COL")]
Group = Annotated[
    str | None, option(DATA, "Column of groups: rows of one patient or annotator.", "COL")
]
Scores = Annotated[
    str,
    option(
        DATA,
        "Column of out-of-fold scores, or a file of them (.parquet, .csv, .npy), as evenodds "
        "scores writes one.",
        "COL|FILE",
    ),
]
CasesFormat = Annotated[
    Literal["csv", "label-studio", "prodigy"],
    option(
        OUTPUT, "A sheet, or tasks for Label Studio (.json), Prodigy (.jsonl).", name="--format"
    ),
]
Kind = Annotated[
    AnswerKind | None,
    option(CASES, "Whether answers are stated probabilities, or the looked-up truth."),
]
Tolerance = Annotated[
    float,
    option(ANCHORS, "Half-width of the expert's error on each anchor; 0 is strict.", "WIDTH"),
]
SharedTolerance = Annotated[
    float | None,
    option(
        ANCHORS,
        "Half-width of the error common to all anchors; default: as wide as the tolerance. "
        "0 claims that the expert never leans.",
        "WIDTH",
    ),
]
Alternative = Annotated[
    Literal["two-sided", "greater", "less"],
    option(TEST, "greater: negatives are flipped more; less: positives are."),
]
Significance = Annotated[float, option(TEST, "Significance level.", "LEVEL")]
Format = Annotated[
    Literal["text", "json"], option(OUTPUT, "For people or for programs.", name="--format")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions:
    """What else the columns of a table say of its rows."""

    positive: Positive = None
    weight: Weight = None
    group: Group = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """A table whose columns are features, for a test at anchors."""

    label: LabelOrFormula = None
    features: Features = None
    formula: Formula = None
    positive: Positive = None
    missing: Annotated[
        Literal["refuse", "drop"], option(DATA, "What to do with rows that lack a value.")
    ] = "refuse"
    weight: Weight = None
    group: Group = None
    workers: Annotated[
        str | None,
        option(
            DATA,
            "Dask workers that read the data: a number of processes on this machine, or the "
            "address of a scheduler, as tcp://host:8786.",
            "N|ADDRESS",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorOptions:
    """How well anchors are known."""

    tolerance: Tolerance = 0.05
    shared_tolerance: SharedTolerance = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOptions:
    """How a result is read and handed over."""

    significance: Significance = 0.05
    output_format: Format = "text"
    report: Annotated[
        Path | None,
        option(
            OUTPUT, "Write a report as one HTML file: verdict, figures, checks, formulas.", "FILE"
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedOptions(ShownOptions):
    """The same, held to a condition."""

    gate: Annotated[
        Gate | None,
        option(
            OUTPUT,
            "Exit with 1 if uniform noise is rejected (reject), or if the asymmetry is not shown "
            "to be within the margin (equivalence).",
        ),
    ] = None
    margin: Annotated[
        float | None,
        option(
            OUTPUT,
            "Show whether the asymmetry is smaller than this, such as 0.05; the margin of "
            "--gate equivalence.",
            "SIZE",
        ),
    ] = None


class PanelledCommand(TyperCommand):
    """A command whose help has its options by panel; its epilog is lines to type.

    Plain text, as rich's boxes would cost a terminal of 80 columns a tenth of its width.
    """

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the name in the line of usage."""
        return ["[OPTIONS]", *(_named(one) for one in self.get_params(ctx) if _is_argument(one))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options of each panel, those of none last."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is not None:
                name = _named(one) if _is_argument(one) else record[0]
                panel = getattr(one, "rich_help_panel", None) or "Options"
                panels.setdefault(panel, []).append((name, record[1]))
        for title, records in panels.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, unbroken so that they can be copied."""
        if self.epilog:
            with formatter.section("Examples, on the files of evenodds demo --out DIR"):
                for line in self.epilog.splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _named(argument: Any) -> str:
    """Return an argument as it is written in help."""
    return f"{argument.metavar}{'...' if argument.nargs == -1 else ''}"
