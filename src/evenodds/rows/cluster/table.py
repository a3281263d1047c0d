"""A table whose parts are read by Dask's workers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenodds.errors import ClusterError, InputError
from evenodds.rows.cluster.tree import M, reduce_parts
from evenodds.rows.tables.base import Part, Table, V, batches_of

if TYPE_CHECKING:
    import pyarrow as pa

# A task costs the scheduler about a millisecond: with more, many workers would wait for it.
MOST_TASKS = 1024


@dataclass(frozen=True)
class Placed:
    """A part as far as this process knows it."""

    n_rows: int
    source: str = "X"

    def batches(self, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        """Refuse: what is here is only its place."""
        raise TypeError("a part of a Dask table is read by its workers only")


@dataclass(frozen=True)
class DaskTable(Table):
    """A table that is never read here.

    Attributes
    ----------
    there : tuple
        For each part what becomes it on a worker: the part itself, a Dask `Delayed`, or the
        call that makes it.
    runs : tuple of slice
        Parts that one task reads.
    named : bool
        Whether columns have names of their own; else these are numbers.
    """

    there: tuple[Any, ...] = ()
    runs: tuple[slice, ...] = ()
    named: bool = True

    def surveyed(self, empty: V) -> V:
        survey: V = self.reduced(look, empty)
        return survey

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, "pa.RecordBatch"]]:
        raise TypeError("a Dask table is read by its workers only")

    def reduced(
        self,
        fill: Callable[..., M],
        shared: Any,
        details: Mapping[int, tuple[Any, ...]] | None = None,
    ) -> M:
        """Run ``fill(shared, parts, start, ...)`` on the workers and merge what they return.

        Parameters
        ----------
        fill : callable
            Reads a run of parts, the first row of which has the number `start`.
        shared : object
            What all tasks need.
        details : mapping, optional
            More arguments for some runs, by their number; the others are left out.
        """
        starts = [start for start, _ in self.starts()]
        more = dict.fromkeys(range(len(self.runs)), ()) if details is None else details
        arguments = [
            (list(self.there[run]), starts[run.start], *more[number])
            for number, run in enumerate(self.runs)
            if number in more
        ]
        return reduce_parts(fill, shared, arguments, self.name)


def spread(table: Table) -> DaskTable:
    """Have the files of a table read by workers."""
    return DaskTable(
        name=table.name,
        schema=table.schema,
        parts=table.parts,
        counted=table.counted,
        all_names=table.all_names,
        there=table.parts,
        runs=in_runs(table.parts),
    )


def in_runs(parts: Sequence[Part]) -> tuple[slice, ...]:
    """Put neighbouring parts together until there are few enough tasks."""
    enough = sum(part.n_rows for part in parts) / MOST_TASKS
    runs: list[slice] = []
    first, n_rows = 0, 0
    for number, part in enumerate(parts, start=1):
        n_rows += part.n_rows
        if n_rows >= enough or number == len(parts):
            runs.append(slice(first, number))
            first, n_rows = number, 0
    return tuple(runs)


def look(empty: V, parts: Sequence[Part], start: int) -> V:
    """Fill an empty survey with a run of parts."""
    with reading_there(parts):
        for part in parts:
            for batch in batches_of(part, empty.columns):
                empty.add(start, batch)
                start += batch.num_rows
    return empty


@contextmanager
def reading_there(files: Sequence[Any]) -> Iterator[None]:
    """Say which worker it is that cannot see a file."""
    try:
        yield
    except InputError:
        for file in files:
            stamp = getattr(file, "stamp", None)
            if stamp is not None and not stamp.path.exists():
                raise ClusterError(
                    f"{_who()} finds no file {stamp.path}: put the data where every worker can "
                    "read it under the same path, such as a folder they share."
                ) from None
        raise


def _who() -> str:
    """Name the worker this runs on."""
    from distributed import get_worker

    try:
        return f"the worker at {get_worker().address}"
    except ValueError:
        return "this process"
