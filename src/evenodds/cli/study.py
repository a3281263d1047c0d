"""`evenodds study`: the paper's simulation, level and power over many worlds, and losses."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from evenodds.cli import options
from evenodds.cli.options import OUTPUT, PanelledCommand, option, optional
from evenodds.cli.output import INTERRUPTED, guarded, progress_bar, tell
from evenodds.cli.plan import CHECK as SIMULATION
from evenodds.cli.plan import WORLDS, read_noise
from evenodds.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenodds.noise import ClassConditionalNoise


study = typer.Typer(
    help="Simulations that show how the tests behave.", no_args_is_help=True, rich_markup_mode=None
)
SETTING = "Setting"
GRID_SETTINGS = ("alpha", "beta", "n_rows", "labels", "n_anchors")
PAPER_EXAMPLES = """\
evenodds study paper --out paper --runs 2
evenodds study paper --out rare --world rare --method boundary --runs 2"""
ATLAS_EXAMPLES = """\
evenodds study atlas --out atlas --worlds paper --runs 2
evenodds study atlas --out atlas --worlds paper,rare --runs 2 --workers 2"""
LOSSES_EXAMPLES = """\
evenodds study losses --out losses
evenodds study losses --out losses --seed 1"""


@study.command("paper", cls=PanelledCommand, epilog=PAPER_EXAMPLES)
@guarded
def run_paper(
    out: Annotated[Path, option(OUTPUT, "Folder for figures and tables.", "DIR")],
    method: options.CurveMethod = optional(
        SETTING, "wald is the paper's own; the others on the same data.", default="wald"
    ),
    fourth: bool = optional(
        SETTING, "Also flip 40% of positives and 10% of negatives.", name="--fourth", default=False
    ),
    alpha: float | None = optional(
        SETTING, "Flip this share of positives instead of the paper's.", "RATE"
    ),
    beta: float | None = optional(
        SETTING, "Flip this share of negatives instead of the paper's.", "RATE"
    ),
    world: str = optional(
        SETTING, f"Another world than the paper's, of {WORLDS}.", "NAME", default="paper"
    ),
    runs: int = optional(SIMULATION, "Data sets for each setting.", "N", default=500),
    seed: int = optional(SIMULATION, "Seed of the simulation.", "N", default=0),
    workers: int = optional(SIMULATION, "Processes to simulate with.", "N", default=1),
) -> None:
    """Repeat the study of Poyiadzi et al. (2021): its figures, p-values and rejection rates."""
    from evenodds.inference.asymmetry import CURVE_METHODS
    from evenodds.simulation.worlds import find_world
    from evenodds.study.paper import run_paper_study
    from evenodds.validation import MOST_RUNS, check_whole, check_workers

    test = CURVE_METHODS[method]()
    with progress_bar("Simulating") as progress:
        written, rates, interrupted = run_paper_study(
            out,
            _grid_noises(read_noise(alpha, beta), fourth=fourth),
            world=find_world(world),
            method=test if test.has_rates else None,
            runs=check_whole(runs, "--runs", at_least=1, at_most=MOST_RUNS),
            seed=check_whole(seed, "--seed"),
            workers=check_workers(workers, "--workers"),
            progress=progress,
        )
    _show_paper_rates(rates, method)
    _finish(written, interrupted)


@study.command("atlas", cls=PanelledCommand, epilog=ATLAS_EXAMPLES)
@guarded
def run_atlas(
    out: Annotated[Path, option(OUTPUT, "Folder for figures and tables.", "DIR")],
    extent: Literal["small", "full"] = optional(
        SETTING, "small: what ships with the package; full: every setting.", default="small"
    ),
    worlds: str | None = optional(
        SETTING, f"Worlds, as paper,rare, of {WORLDS}. Default: all.", "NAMES"
    ),
    runs: int = optional(SIMULATION, "Data sets for each setting.", "N", default=200),
    seed: int = optional(SIMULATION, "Seed of the simulation.", "N", default=0),
    workers: int = optional(SIMULATION, "Processes to simulate with.", "N", default=1),
) -> None:
    """Measure level and power of every method over many worlds, as a table and heat maps."""
    from evenodds.cli.input import split_names
    from evenodds.study.atlas import run_atlas_study
    from evenodds.validation import MOST_RUNS, check_whole, check_workers

    with progress_bar("Simulating") as progress:
        written, verdicts, interrupted = run_atlas_study(
            out,
            extent=extent,
            worlds=split_names(worlds, "--worlds"),
            runs=check_whole(runs, "--runs", at_least=1, at_most=MOST_RUNS),
            seed=check_whole(seed, "--seed"),
            workers=check_workers(workers, "--workers"),
            progress=progress,
        )
    for verdict in verdicts:
        print(verdict)
    _finish(written, interrupted)


@study.command("losses", cls=PanelledCommand, epilog=LOSSES_EXAMPLES)
@guarded
def run_losses(
    out: Annotated[Path, option(OUTPUT, "Folder for the figure and the table.", "DIR")],
    seed: int = optional(SIMULATION, "Seed of the samples in the figure.", "N", default=0),
) -> None:
    """Measure how noise moves the boundary of each loss, and what puts it back."""
    from evenodds.study.losses import run_losses_study
    from evenodds.validation import check_whole

    written, table = run_losses_study(out, seed=check_whole(seed, "--seed"))
    _show_boundary_moves(table)
    _finish(written, interrupted=False)


def _show_paper_rates(rates: dict[str, Any], method: str) -> None:
    """Print how often a grid's test rejects exact toss-ups' data at 5%, by rows and toss-ups."""
    exact = rates["tolerance"] == 0
    numbers = sorted(set(rates["n_anchors"].tolist()))
    print(f"Share of runs that reject at 5% ({method}, exact toss-ups):\n")
    print(f"  {'flips':<12}{'rows':>7}  {'labels':<10}" + "".join(f"{k:>7}" for k in numbers))
    settings = zip(*(rates[name].tolist() for name in GRID_SETTINGS), strict=True)
    shares = rates["pvalue_below_0.05"].tolist()
    table: dict[tuple[float, float, int, str], dict[int, float]] = {}
    for (*setting, k), kept, share in zip(settings, exact.tolist(), shares, strict=True):
        if kept:
            table.setdefault(tuple(setting), {})[k] = share
    for (alpha, beta, n, labels), row in table.items():
        cells = "".join(f"{row[k]:>7.3f}" if k in row else f"{'':>7}" for k in numbers)
        print(f"  {alpha:.2f} / {beta:.2f}{n:>8,}  {labels:<10}{cells}")


def _show_boundary_moves(table: dict[str, Any]) -> None:
    """Print how far each loss's boundary lies from the true one, a line for each remedy."""
    worlds, noises = (list(dict.fromkeys(table[name].tolist())) for name in ("world", "noise"))
    names = zip(*(table[name].tolist() for name in ("loss", "remedy", "radius")), strict=True)
    lines = dict.fromkeys(names)
    moves = (table["move"].round(3) + 0.0).reshape(len(lines), len(worlds) * len(noises))
    print("Distance of the boundary of least risk from the true one, endlessly many rows:\n")
    print(f"  {'world':<34}" + "".join(f"{world:>{9 * len(noises)}}" for world in worlds))
    flipped = [noise.split("-")[0] for noise in noises] * len(worlds)
    print(f"  {'loss':<15}{'remedy':<11}{'radius':<8}" + "".join(f"{one:>9}" for one in flipped))
    for (loss, remedy, radius), row in zip(lines, moves.tolist(), strict=True):
        size = "" if math.isinf(radius) else f"{radius:g}"
        cells = "".join(f"{'none':>9}" if math.isinf(move) else f"{move:>+9.3f}" for move in row)
        print(f"  {loss:<15}{remedy:<11}{size:<8}{cells}")


def _grid_noises(
    noise: "ClassConditionalNoise | None", *, fourth: bool
) -> "Sequence[ClassConditionalNoise]":
    """Return the noise asked for, or the paper's three or four."""
    from evenodds.study.paper import FOURTH_NOISE, NOISES

    if noise is not None and fourth:
        raise InputError("give --fourth or --alpha and --beta, not both.")
    if noise is not None:
        return (noise,)
    return (*NOISES, FOURTH_NOISE) if fourth else NOISES


def _finish(written: list[Path], interrupted: bool) -> None:
    """Say which files are there, and stop as interrupted where they hold part of the study."""
    for path in written:
        tell(f"wrote {path}")
    if interrupted:
        tell("evenodds: interrupted; the files hold what was finished.")
        raise typer.Exit(INTERRUPTED)
