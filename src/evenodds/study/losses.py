"""The study of losses as files: where each puts the boundary, and a picture of it."""

from pathlib import Path
from typing import Any

from evenodds.report.style import save_figure
from evenodds.study.remedies import remedies_table
from evenodds.study.restored_figure import restored_figure
from evenodds.study.tables import make_folder, write_csv


def run_losses_study(out: Path, *, seed: int = 0) -> tuple[list[Path], dict[str, Any]]:
    """Measure what noise does to boundaries and what puts them back, and write it to a folder.

    Returns the files written, and the moves of the boundaries as columns.
    """
    make_folder(out)
    table = remedies_table()
    written = [write_csv(out / "boundary_moves.csv", table)]
    written += save_figure(restored_figure(seed=seed), out / "restored_boundaries")
    return written, table
