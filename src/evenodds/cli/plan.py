"""`evenodds plan`: how many rows and toss-ups a test needs, before they are collected."""

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenodds.cli import options
from evenodds.cli.options import DATA, OUTPUT, PLAN, TEST, argument, option, optional
from evenodds.cli.output import (
    INTERRUPTED,
    check_output,
    guarded,
    progress_bar,
    refuse_given,
    show_plan,
    tell,
)
from evenodds.errors import InputError

if TYPE_CHECKING:
    from evenodds.noise import ClassConditionalNoise
    from evenodds.planning.plan import Plan
    from evenodds.planning.question import Design


EXAMPLES = """\
evenodds plan patients.csv --label diagnosis --rows 5000 --anchors 20 --power 0.8 --runs 0
evenodds plan patients.csv --label diagnosis --scores scores.csv --alpha 0.25 --beta 0.05"""
WORLDS = (
    "paper, rare, skewed, many features, heavy tails, correlated, plateau, probit, quadratic, "
    "clustered, leaning expert, repeated anchors, hard cases"
)
PILOT, LINE, CHECK = "What the plan goes by: one of these", "Cases along a score", "Simulation"


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotOptions:
    """What the columns of pilot data say, and how its labels are flipped."""

    label: Annotated[str | None, option(DATA, "Column of given labels in DATA.", "COL")] = None
    features: options.Features = None
    formula: options.Formula = None
    positive: options.Positive = None
    pilot_alpha: Annotated[
        float | None, option(DATA, "Share of positives flipped in DATA, where known.", "RATE")
    ] = None
    pilot_beta: Annotated[
        float | None, option(DATA, "Share of negatives flipped in DATA, where known.", "RATE")
    ] = None


@guarded
def run_plan(
    data: Annotated[
        str | None,
        argument("Pilot data: CSV, TSV, Parquet or Feather, with --label.", panel=PILOT),
    ] = None,
    world: str | None = optional(PILOT, f"A simulated world instead of DATA: {WORLDS}.", "NAME"),
    variance: float | None = optional(
        PILOT, "The paper's summary number instead: variance with one anchor.", "SIZE"
    ),
    variance_floor: float = optional(
        PILOT, "The part of --variance that more anchors cannot reduce.", "SIZE", default=0.0
    ),
    variance_rows: int | None = optional(PILOT, "Number of rows that --variance is for.", "N"),
    *,
    pilot: PilotOptions,
    rows: int | None = optional(PLAN, "Number of rows.", "N"),
    anchors: int | None = optional(PLAN, "Number of toss-up cases.", "N"),
    alpha: float | None = optional(
        PLAN, "Share of positives labelled negative, to be found.", "RATE"
    ),
    beta: float | None = optional(
        PLAN, "Share of negatives labelled positive, to be found.", "RATE"
    ),
    power: float | None = optional(PLAN, "Probability of finding it.", "SHARE"),
    rate: float = optional(
        PLAN,
        "Flip rate of the better class, where alpha and beta are sought.",
        "RATE",
        default=0.05,
    ),
    scores: str | None = optional(
        LINE,
        "Plan a line test: column of out-of-fold scores in DATA, or a file of them.",
        "COL|FILE",
    ),
    cases: int | None = optional(LINE, "With --scores: number of cases to judge.", "N"),
    kind: options.Kind = None,
    tolerance: options.Tolerance = 0.05,
    shared_tolerance: options.SharedTolerance = None,
    method: options.CurveMethod | None = optional(TEST, "Which test."),
    alternative: options.Alternative = "two-sided",
    significance: options.Significance = 0.05,
    runs: int = optional(
        CHECK, "Simulated data sets to check the formula with; 0 for none.", "N", default=200
    ),
    seed: int = optional(CHECK, "Seed of the simulation.", "N", default=0),
    workers: int = optional(CHECK, "Processes to simulate with.", "N", default=1),
    figure: Path | None = optional(
        OUTPUT, "Write a picture of the plan, as NAME.png and NAME.svg.", "NAME"
    ),
    output_format: options.Format = "text",
) -> None:
    """Work out rows, toss-ups, asymmetry or power: leave out the one you want to know."""
    from evenodds.planning.plan import make_plan
    from evenodds.validation import MOST_RUNS, check_whole, check_workers

    check_whole(runs, "--runs", at_most=MOST_RUNS)
    check_workers(workers, "--workers")
    if scores is not None:
        others: dict[str, Any] = {
            "--features": pilot.features,
            "--formula": pilot.formula,
            "--pilot-alpha": pilot.pilot_alpha,
            "--pilot-beta": pilot.pilot_beta,
            "--world": world,
            "--variance": variance,
            "--rows": rows,
            "--anchors": anchors,
            "--method": method,
            "--figure": figure,
        }
        refuse_given(
            others,
            "does not go with --scores: it plans a line test, which has none. Leave it out.",
        )
        _show_line_plan(
            [] if data is None else [data],
            pilot.label,
            scores,
            output_format,
            n_cases=cases,
            noise=read_noise(alpha, beta),
            power=power,
            rate=rate,
            answers=kind or "probability",
            positive=pilot.positive,
            alternative=alternative,
            significance=significance,
            shared_tolerance=shared_tolerance,
        )
        return
    needless = {"--cases": cases, "--kind": kind}
    refuse_given(
        needless,
        "does not go with a plan without --scores: it plans toss-ups, not cases along a score. "
        "Leave it out.",
    )
    drawing = None if figure is None else _figure_name(figure, data)
    known = _read_variance(variance, variance_floor, variance_rows)
    design = _read_design(_read_pilot(data, pilot), world, known)
    with progress_bar("Simulating the plan") as progress:
        plan = make_plan(
            design,
            n_rows=rows,
            n_anchors=anchors,
            noise=read_noise(alpha, beta),
            power=power,
            rate=rate,
            method=method,
            alternative=alternative,
            tolerance=tolerance,
            shared_tolerance=shared_tolerance,
            significance=significance,
            seed=seed,
            runs=runs,
            workers=workers,
            progress=progress,
        )
    if drawing is not None:
        _draw(plan, drawing)
    show_plan(plan, output_format)
    if plan.interrupted:
        raise typer.Exit(INTERRUPTED)


def _show_line_plan(
    data: list[str], label: str | None, scores: str, output_format: str, **asked: Any
) -> None:
    """Plan a line test from scores at hand."""
    from evenodds.cli.scored import read_scored
    from evenodds.planning.line_plan import line_plan

    if not data or label is None:
        raise InputError("--scores needs DATA and --label: the labels that the scores foretell.")
    read = read_scored(data, label, scores, options.RowOptions(positive=asked.pop("positive")))
    if asked["n_cases"] is asked["power"] is None:
        asked["power"] = 0.8
    found = line_plan(read.scores, read.labels, positive=read.positive, **asked)
    show_plan(found, output_format)


def _read_design(pilot: "Design | None", world: str | None, variance: "Design | None") -> "Design":
    """Return what the plan goes by, which must be one thing."""
    given = [design for design in (pilot, world, variance) if design is not None]
    if len(given) != 1:
        raise InputError(
            "plan needs one of: pilot data (DATA --label COL), --world NAME, --variance SIZE; "
            f"{len(given)} are given."
        )
    return given[0]


def _read_pilot(data: str | None, pilot: PilotOptions) -> "Design | None":
    """Return the world of pilot data."""
    from evenodds.cli.input import split_names
    from evenodds.errors import ImprecisionWarning
    from evenodds.rows.read import read_data
    from evenodds.simulation.own_data import world_of_rows

    if data is None:
        if any(value is not None for value in asdict(pilot).values()):
            raise InputError(
                "--label, --features, --formula, --positive, --pilot-alpha and --pilot-beta go "
                "with DATA, a pilot file."
            )
        return None
    if pilot.label is None and pilot.formula is None:
        raise InputError(f"{data} needs --label: which column holds the labels?")
    rows = read_data(
        data,
        pilot.label,
        features=split_names(pilot.features),
        formula=pilot.formula,
        positive=pilot.positive,
    )
    with warnings.catch_warnings():
        # The warning's advice is for Python: here the rates have other names.
        warnings.simplefilter("error", ImprecisionWarning)
        try:
            rates = {"alpha": pilot.pilot_alpha, "beta": pilot.pilot_beta}
            return world_of_rows(rows, **rates, name=Path(data).name)
        except ImprecisionWarning:
            raise InputError(
                f"{data} has too few rows, or too cleanly separated ones, to tell how often its "
                "labels are flipped: give --pilot-alpha and --pilot-beta, or more rows."
            ) from None


def _read_variance(variance: float | None, floor: float, n_rows: int | None) -> "Design | None":
    """Return the paper's summary numbers."""
    from evenodds.planning.expected_data import AnchorVariance

    if variance is not None:
        return AnchorVariance(single=variance, floor=floor, n_rows=n_rows)
    if floor or n_rows is not None:
        raise InputError("--variance-floor and --variance-rows go with --variance.")
    return None


def read_noise(alpha: float | None, beta: float | None) -> "ClassConditionalNoise | None":
    """Return the noise to be found, if it is given."""
    from evenodds.noise import ClassConditionalNoise

    if alpha is None and beta is None:
        return None
    if alpha is None or beta is None:
        raise InputError("give --alpha and --beta together, or neither to have them worked out.")
    return ClassConditionalNoise(alpha, beta)


def _figure_name(path: Path, data: str | None) -> Path:
    """Return the name of a picture without its kind; refuse one that cannot be written."""
    if not path.name:
        raise InputError(f"--figure {path} is no name of a file: name one, as NAME.png.")
    name = path.with_suffix("") if path.suffix in (".png", ".svg") else path
    for kind in (".png", ".svg"):
        check_output(name.with_name(f"{name.name}{kind}"), "--figure", [data] if data else [])
    return name


def _draw(plan: "Plan", name: Path) -> None:
    """Write the picture of a plan."""
    from evenodds.report.figures import plan_figure
    from evenodds.report.style import save_figure

    for written in save_figure(plan_figure(plan), name):
        tell(f"wrote {written}")
