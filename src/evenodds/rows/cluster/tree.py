"""One reduction tree a pass: parts are summed where they are read, and merged on the way back.

Every part fills a copy of one empty sum; eight neighbours are merged at a time, in order, so
that the numbers depend neither on how many workers there are nor on which of them is lost. One
small message comes back. Without a cluster the same tree runs on Dask's own threads.
"""

import copy
import functools
import pickle
import sys
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from evenodds.errors import ClusterError

MERGED_TOGETHER = 8
# What is larger is sent to each worker once, not with each task; but then tasks begin where it
# is, and if they are few, other workers get none.
MOST_BYTES_A_TASK = 64 * 1024


class Mergeable(Protocol):
    """What a task brings back."""

    def merge(self, other: Self) -> None:
        """Add what another task has found in the parts that follow."""


M = TypeVar("M", bound=Mergeable)


@dataclass(frozen=True, slots=True)
class Packed:
    """What all tasks of a pass need, as bytes: an empty sum is mostly zeros and packs well.

    Every task unpacks a copy of its own, which it may change.
    """

    packed: bytes

    @classmethod
    def of(cls, value: Any) -> "Packed":
        """Pack a value, with the floating-point warnings that the caller has silenced."""
        return cls(zlib.compress(pickle.dumps((value, {**np.geterr()})), level=1))

    def unpacked(self) -> tuple[Any, dict[str, Any]]:
        """Return the value and the warnings."""
        value, floating = pickle.loads(zlib.decompress(self.packed))
        return value, floating


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
    packed: Any = Packed.of(shared)
    if len(packed.packed) > MOST_BYTES_A_TASK:
        layer[name, "shared"], packed = packed, (name, "shared")
    keys: list[tuple[Any, ...]] = []
    task = functools.partial(_filled, fill)
    for number, one in enumerate(arguments):
        layer[name, 0, number] = (task, packed, *map(given, one))
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


def _filled(fill: Callable[..., M], shared: Packed, *arguments: Any) -> M:
    """Fill a sum with one part, under the caller's rules for overflow."""
    value, floating = shared.unpacked()
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
            f"{of} could not be read: one part of it killed {n_killed} "
            f"worker{'s' if n_killed > 1 else ''}, most likely for want of memory. Give them "
            "more, or cut the data into smaller parts."
        ) from None
    except (CancelledError, CommClosedError) as error:
        raise ClusterError(
            f"the Dask cluster went away while {of} was being read "
            f"({type(error).__name__}): start it again, and then this."
        ) from None
