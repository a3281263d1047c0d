"""Rows and tables whose parts are read and summed by Dask's workers.

Every part fills a copy of one empty sum; eight neighbours are merged at a time, in order, so
that the numbers depend neither on how many workers there are nor on which of them is lost. One
small message comes back. Without a cluster the same tree runs on Dask's own threads.
"""

import copy
import functools
import gc
import logging
import pickle
import sys
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np

from evenodds import __version__
from evenodds.errors import ClusterError, InputError, MissingExtraError
from evenodds.interrupts import ending_for_certain, held_back
from evenodds.rows.base import IntArray, Rows
from evenodds.rows.labels import Facts
from evenodds.rows.memory import drawn
from evenodds.rows.table_rows import (
    PARTS_TO_PEEK_AT,
    BatchReader,
    Sample,
    StreamedRows,
    Summed,
    blocks_of,
)
from evenodds.rows.tables import Part, Progress, Table, V, batches_of, in_runs
from evenodds.validation import check_workers, counted

if TYPE_CHECKING:
    import pyarrow as pa
    from distributed import Client


MERGED_TOGETHER = 8
# What is larger is sent to each worker once, not with each task; but then tasks begin where it
# is, and if they are few, other workers get none.
MOST_BYTES_A_TASK = 64 * 1024


class Mergeable(Protocol):
    """What a task brings back."""

    def merge(self, other: Self) -> None:
        """Add what another task has found in the parts that follow."""


M = TypeVar("M", bound=Mergeable)


def packed(value: Any) -> bytes:
    """Pack what all tasks of a pass need, with the floating-point warnings that are silenced.

    An empty sum is mostly zeros and packs well. Every task unpacks a copy of its own, which it
    may change.
    """
    return zlib.compress(pickle.dumps((value, {**np.geterr()})), level=1)


@dataclass(frozen=True, slots=True)
class There:
    """A call that the task makes which needs its value; a task of its own would cost more."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def reduce_parts(
    fill: Callable[..., M], shared: Any, arguments: Sequence[tuple[Any, ...]], of: str
) -> M:
    """Run ``fill(shared, *arguments)`` for each part, and merge what they return.

    Parameters
    ----------
    fill : callable
        Fills a new sum with one part. It may run more than once, should a worker be lost.
    shared : object
        First argument of all tasks, each of which gets a copy.
    arguments : sequence of tuple
        The other arguments, one tuple a part, in order. A Dask `Delayed` or `There` among
        them, or in a list among them, arrives as its value.
    of : str
        What messages call the data.
    """
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    name = f"evenodds-{fill.__name__}-{uuid.uuid4().hex}"
    waited_for: list[Any] = []

    def given(value: Any) -> Any:
        """Put the key of a `Delayed` in its place, and remember to wait for it."""
        if isinstance(value, list):
            return [given(each) for each in value]
        if isinstance(value, Delayed):
            waited_for.append(value)
            return value.key
        if isinstance(value, There):
            return (value.function, *map(given, value.arguments))
        return value

    # A graph by hand: making a `Delayed` of each task takes longer than many a task.
    layer: dict[Any, Any] = {}
    sent: Any = packed(shared)
    if len(sent) > MOST_BYTES_A_TASK:
        layer[name, "shared"], sent = sent, (name, "shared")
    keys: list[tuple[Any, ...]] = []
    task = functools.partial(_filled, fill)
    for number, one in enumerate(arguments):
        layer[name, 0, number] = (task, sent, *map(given, one))
        keys.append((name, 0, number))
    level = 0
    while len(keys) > 1:
        level += 1
        groups = [keys[i : i + MERGED_TOGETHER] for i in range(0, len(keys), MERGED_TOGETHER)]
        keys = [(name, level, number) for number in range(len(groups))]
        layer.update({key: (merged, group) for key, group in zip(keys, groups, strict=True)})
    graph = HighLevelGraph.from_collections(name, layer, dependencies=waited_for)
    with _clear_when_lost(of):
        found: M = Delayed(keys[0], graph, layer=name).compute()
    return found


def _filled(fill: Callable[..., M], shared: bytes, *arguments: Any) -> M:
    """Fill a sum with one part, under the caller's rules for overflow."""
    value, floating = pickle.loads(zlib.decompress(shared))
    with np.errstate(**floating):
        return fill(value, *arguments)


def merged(found: Sequence[M]) -> M:
    """Merge neighbours into a new sum: a lost task may need the old ones again."""
    total = copy.deepcopy(found[0])
    for other in found[1:]:
        total.merge(other)
    return total


@contextmanager
def _clear_when_lost(of: str) -> Iterator[None]:
    """Say in plain words that the cluster, or a task time and again, was lost."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        yield
        return
    from concurrent.futures import CancelledError

    from distributed.comm import CommClosedError

    try:
        yield
    except distributed.KilledWorker as error:
        n_killed = error.allowed_failures + 1
        raise ClusterError(
            f"{of} could not be read: one part of it killed {counted(n_killed, 'worker')}, most "
            "likely for want of memory. Give them more, or cut the data into smaller parts."
        ) from None
    except (CancelledError, CommClosedError) as error:
        raise ClusterError(
            f"the Dask cluster went away while {of} was being read "
            f"({type(error).__name__}): start it again, and then this."
        ) from None


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

    def surveyed(self, empty: V, progress: Progress | None = None) -> V:
        survey: V = self.reduced(look, empty)
        if progress is not None:
            progress(self.n_rows, self.n_rows)
        return survey

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
    known = {field.name: getattr(table, field.name) for field in fields(table)}
    return DaskTable(**known, there=table.parts, runs=runs_of(table.parts))


def runs_of(parts: Sequence[Part]) -> tuple[slice, ...]:
    """Put neighbouring parts together until there are few enough tasks."""
    counts = [part.n_rows for part in parts]
    return tuple(in_runs(counts, sum(counts) / MOST_TASKS))


def look(empty: V, parts: Sequence[Part], start: int) -> V:
    """Fill an empty survey with a run of parts."""
    with reading_there(parts):
        for part in parts:
            for number, batch in batches_of(part, start, empty.columns):
                empty.add(number, batch)
            start += part.n_rows
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


class DaskRows(StreamedRows):
    """Rows of a table that are summed where they are read; only sums and samples travel."""

    table: DaskTable

    def __init__(self, table: DaskTable, reader: BatchReader, facts: Facts) -> None:
        super().__init__(table, reader, facts)
        if not table.named:
            self.feature_names = None
        # Where each run of parts begins among the kept rows.
        kept = facts.kept_in(table)
        self._firsts = np.cumsum([0, *(sum(kept[run]) for run in table.runs)])

    def thinned(self, step: int, rng: np.random.Generator) -> Rows:
        if self.held is not None:
            return self.held.thinned(step, rng)
        chosen = drawn(self.n_rows, step, rng)
        places = np.searchsorted(chosen, self._firsts)
        of_runs = {
            number: (chosen[places[number] : places[number + 1]] - first,)
            for number, first in enumerate(self._firsts[:-1])
            if places[number + 1] > places[number]
        }
        return self.table.reduced(gather, self.reader, of_runs).rows(self)

    def peeked(self, step: int, rng: np.random.Generator) -> Rows:
        kept = np.diff(self._firsts).tolist()
        if self.held is not None or len(kept) < PARTS_TO_PEEK_AT:
            return self.thinned(step, rng)
        of_runs = {number: (n_taken,) for number, n_taken in self._peeks(kept, step, rng).items()}
        return self.table.reduced(gather_beginning, self.reader, of_runs).rows(self)


def gather(reader: BatchReader, parts: Sequence[Part], start: int, chosen: IntArray) -> Sample:
    """Copy the chosen rows out of a run of parts, counted among its kept rows."""
    return look(Summed(reader, Sample(chosen)), parts, start).total


def gather_beginning(
    reader: BatchReader, parts: Sequence[Part], start: int, n_wanted: int
) -> Sample:
    """Copy as many rows as wanted from the beginning of a run of parts."""
    found = Sample()
    starts = accumulate((part.n_rows for part in parts), initial=start)
    blocks = (blocks_of(first, part, reader) for first, part in zip(starts, parts, strict=False))
    with reading_there(parts):
        found.fill(n_wanted, chain.from_iterable(blocks))
    return found


# How long a scheduler may take to answer, and its first worker to appear.
SECONDS_TO_ANSWER = 5
SECONDS_FOR_A_WORKER = 10
# Dask has its workers give memory back to the system block by block; taking it again costs more
# than the arithmetic of a pass.
MEMORY = {"MALLOC_TRIM_THRESHOLD_": 64 * 2**20, "MALLOC_MMAP_THRESHOLD_": 32 * 2**20}


@contextmanager
def workers(named: str | int | None = None) -> Iterator[bool]:
    """Have Dask run on these workers while inside, and tell whether there are any.

    Parameters
    ----------
    named : str or int, optional
        How many processes to start on this machine, with one thread each; or the address of a
        running scheduler, such as ``tcp://host:8786``.
    """
    if named is None:
        yield False
        return
    try:
        import distributed  # noqa: F401 - an extra, and slow to load
    except ImportError:
        raise MissingExtraError(
            "--workers needs the 'dask' extra: install evenodds[dask], or leave it out."
        ) from None
    if ":" in str(named):
        with _answering(str(named)) as client:
            _check_workers(client, str(named))
            yield True
        return
    with ending_for_certain(), _started(_count(named)):
        yield True


def _count(named: str | int) -> int:
    """Return how many processes are asked for."""
    try:
        count = int(named)
    except ValueError:
        raise InputError(
            f"--workers is {named!r} but must be a number of processes, or the address of a "
            "scheduler, as tcp://host:8786."
        ) from None
    return check_workers(count, "--workers")


@contextmanager
def _started(count: int) -> Iterator[None]:
    """Run worker processes that only this machine can reach, without a dashboard."""
    import dask
    import distributed

    # After an error or an interrupt nobody waits for Dask's tasks, and each would be logged, some
    # of them when the program ends: only then is this not put back.
    log = logging.getLogger("asyncio")
    level = log.level
    log.setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        try:
            with held_back():
                stack.enter_context(
                    dask.config.set(
                        {f"distributed.nanny.pre-spawn-environ.{k}": v for k, v in MEMORY.items()}
                    )
                )
                # Workers start with one thread for linear algebra each: that is Dask's default.
                cluster = distributed.LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                )
                stack.enter_context(distributed.Client(stack.enter_context(cluster)))
            yield
        finally:
            with held_back():
                stack.close()
    log.setLevel(level)


def _answering(scheduler: str) -> "Client":
    """Connect to a scheduler, or say that it does not answer."""
    from distributed import Client

    refusal: InputError | ClusterError
    try:
        return Client(scheduler, timeout=SECONDS_TO_ANSWER)
    except ValueError as error:
        refusal = InputError(
            f"--workers {scheduler} is no address ({error}): write it as tcp://host:8786."
        )
    except OSError as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        refusal = ClusterError(
            f"no Dask scheduler answers at {scheduler} within {SECONDS_TO_ANSWER} seconds "
            f"({reason}): check the address and that it runs, or give --workers a number, for "
            "processes on this machine."
        )
    # A client that never got through closes itself when it is collected. By chance that may be
    # while another one starts, which holds the lock that closing waits for; so it is done now.
    gc.collect()
    raise refusal


def _check_workers(client: "Client", scheduler: str) -> None:
    """Refuse a cluster without workers, or with workers that lack this very package."""
    try:
        client.wait_for_workers(1, timeout=SECONDS_FOR_A_WORKER)
    except TimeoutError:
        raise ClusterError(
            f"the Dask scheduler at {scheduler} has no workers: start some with 'dask worker "
            f"{scheduler}'."
        ) from None
    try:
        # By a builtin, which every worker has: a function of this package would not arrive.
        versions = client.run(eval, "__import__('evenodds').__version__")
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"the workers of {scheduler} cannot load evenodds ({error}): install evenodds "
            f"{__version__} where they run."
        ) from None
    other = sorted({version for version in versions.values() if version != __version__})
    if other:
        raise ClusterError(
            f"this is evenodds {__version__} but workers of {scheduler} have {other[0]}: install "
            "the same version everywhere."
        )
