"""Progress on a terminal: a bar with the time left."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenodds.rows.streamed import StreamedRows


@contextmanager
def progress_bar(what: str, *, wanted: bool = True) -> Iterator[Callable[[int, int], None] | None]:
    """Yield what to tell the progress to; None where nobody watches."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def pass_progress(rows: "StreamedRows") -> Iterator[None]:
    """Show how far the current pass has come, on a terminal only, and only where rows stream."""
    if rows.held is not None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Pass 1", total=rows.table.n_rows)
        n_passes, seen = 1, 0

        def show(done: int, total: int) -> None:
            nonlocal n_passes, seen
            if done <= seen:
                n_passes += 1
            seen = done
            bar.update(task, description=f"Pass {n_passes}", completed=done, total=total)

        rows.progress = show
        try:
            yield
        finally:
            rows.progress = None
