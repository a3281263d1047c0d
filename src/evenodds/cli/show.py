"""Results on a terminal: the words of the report, with a little colour."""

import math
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evenodds.report.sheet import Sheet, describe, tabulated

WIDTH = 92
GRID_SETTINGS = ("alpha", "beta", "n_rows", "labels", "n_anchors")


class _PipeFriendlyConsole(Console):
    """Leaves a closed pipe to the command's guard; rich would exit with 1, a failed gate."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def make_console() -> Console:
    """Return a console no wider than comfortable reading."""
    console = _PipeFriendlyConsole(highlight=False, soft_wrap=False)
    console.width = min(console.width, WIDTH)
    return console


def show_sheet(sheet: Sheet) -> None:
    """Print a result: verdict, numbers, what to doubt, what to do."""
    console = make_console()
    if not console.is_terminal:  # a file or a pipe wants neither colour nor padding
        print(describe(sheet))
        return
    console.print(Text(sheet.verdict, style="bold red" if sheet.rejected else "bold"))
    if sheet.facts:
        _print_facts(console, sheet.facts)
    for table in sheet.tables:
        console.print()
        for line in tabulated(table):
            console.print(Text(line), soft_wrap=True)
    _print_list(console, "How far to trust it", sheet.trust, "yellow")
    _print_list(console, "What to doubt", sheet.doubts, "yellow")
    _print_list(console, "What was checked", sheet.passed, "green")
    _print_list(console, "What to do next", sheet.next_steps, "cyan")


def show_paper_rates(rates: dict[str, Any], method: str) -> None:
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


def show_boundary_moves(table: dict[str, Any]) -> None:
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


def _print_facts(console: Console, pairs: list[tuple[str, str]]) -> None:
    table = Table.grid(padding=(0, 2))
    for name, value in pairs:
        table.add_row(Text(name, style="dim"), Text(value))
    console.print()
    console.print(Padding(table, (0, 0, 0, 2), expand=False))


def _print_list(console: Console, title: str, sentences: list[str], style: str) -> None:
    if not sentences:
        return
    console.print()
    console.print(Text(title, style=f"bold {style}"))
    for sentence in sentences:
        grid = Table.grid(padding=(0, 1))
        grid.add_row(Text("  •", style=style), Text(sentence))
        console.print(grid)
