"""`evenodds study`: the paper's simulation, level and power over many worlds, and losses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from evenodds.cli import options
from evenodds.cli.output import INTERRUPTED, guarded, tell
from evenodds.cli.plan import read_noise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenodds.noise import ClassConditionalNoise


study = typer.Typer(
    help="Simulations that show how the tests behave.", no_args_is_help=True, rich_markup_mode=None
)


@study.command("paper")
@guarded
def run_paper(
    out: Annotated[Path, typer.Option(help="Folder for figures and tables.")],
    method: Annotated[
        options.CurveMethod,
        typer.Option(help="wald is the paper's own; the others on the same data."),
    ] = "wald",
    fourth: Annotated[
        bool, typer.Option("--fourth", help="Also flip 40 % of positives and 10 % of negatives.")
    ] = False,
    alpha: Annotated[
        float | None, typer.Option(help="Flip this share of positives instead of the paper's.")
    ] = None,
    beta: Annotated[
        float | None, typer.Option(help="Flip this share of negatives instead of the paper's.")
    ] = None,
    world: Annotated[
        str, typer.Option(help="Another world than the paper's, such as rare or skewed.")
    ] = "paper",
    runs: Annotated[int, typer.Option(help="Data sets for each setting.")] = 500,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes to simulate with.")] = 1,
) -> None:
    """Repeat the study of Poyiadzi et al. (2021): its figures, p-values and rejection rates."""
    from evenodds.cli.output import progress_bar
    from evenodds.inference.asymmetry import CURVE_METHODS
    from evenodds.simulation.worlds import find_world
    from evenodds.study.paper import run_paper_study
    from evenodds.validation import MOST_RUNS, MOST_WORKERS, check_whole

    test = CURVE_METHODS[method]()
    with progress_bar("Simulating") as progress:
        written, rates, interrupted = run_paper_study(
            out,
            _grid_noises(read_noise(alpha, beta), fourth=fourth),
            world=find_world(world),
            method=test if test.has_rates else None,
            runs=check_whole(runs, "--runs", at_least=1, at_most=MOST_RUNS),
            seed=check_whole(seed, "--seed"),
            workers=check_whole(workers, "--workers", at_least=1, at_most=MOST_WORKERS),
            progress=progress,
        )
    from evenodds.cli.show import show_paper_rates

    show_paper_rates(rates, method)
    _finish(written, interrupted)


@study.command("atlas")
@guarded
def run_atlas(
    out: Annotated[Path, typer.Option(help="Folder for figures and tables.")],
    extent: Annotated[
        Literal["small", "full"],
        typer.Option(help="small: what ships with the package; full: every setting."),
    ] = "small",
    worlds: Annotated[
        str | None, typer.Option(help="Worlds, as paper,rare. Default: all of them.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Data sets for each setting.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes to simulate with.")] = 1,
) -> None:
    """Measure level and power of every method over many worlds, as a table and heat maps."""
    from evenodds.cli.input import split_names
    from evenodds.cli.output import progress_bar
    from evenodds.study.atlas import run_atlas_study
    from evenodds.validation import MOST_RUNS, MOST_WORKERS, check_whole

    with progress_bar("Simulating") as progress:
        written, verdicts, interrupted = run_atlas_study(
            out,
            extent=extent,
            worlds=split_names(worlds, "--worlds"),
            runs=check_whole(runs, "--runs", at_least=1, at_most=MOST_RUNS),
            seed=check_whole(seed, "--seed"),
            workers=check_whole(workers, "--workers", at_least=1, at_most=MOST_WORKERS),
            progress=progress,
        )
    for verdict in verdicts:
        print(verdict)
    _finish(written, interrupted)


@study.command("losses")
@guarded
def run_losses(
    out: Annotated[Path, typer.Option(help="Folder for the figure and the table.")],
    seed: Annotated[int, typer.Option(help="Seed of the samples in the figure.")] = 0,
) -> None:
    """Measure how noise moves the boundary of each loss, and what puts it back."""
    from evenodds.study.losses import run_losses_study
    from evenodds.validation import check_whole

    written, table = run_losses_study(out, seed=check_whole(seed, "--seed"))
    from evenodds.cli.show import show_boundary_moves

    show_boundary_moves(table)
    _finish(written, interrupted=False)


def _grid_noises(
    noise: "ClassConditionalNoise | None", *, fourth: bool
) -> "Sequence[ClassConditionalNoise]":
    """Return the noise asked for, or the paper's three or four."""
    from evenodds.errors import InputError
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
