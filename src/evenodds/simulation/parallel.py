"""Carrying out many independent tasks, one after another or in several processes."""

import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from evenodds.errors import EvenoddsError, InputError
from evenodds.interrupts import held_back, unwinding_when_ended

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]  # runs done, runs in all

# Tasks handed out ahead of time, for each process: enough to keep it busy.
AHEAD = 2
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Finished(Generic[Result]):
    """Results in the order of their tasks; None for those an interrupt left undone."""

    results: list[Result | None]
    interrupted: bool


def in_tasks(runs: int, runs_a_task: int) -> list[range]:
    """Cut the numbers of runs into tasks."""
    starts = range(0, runs, runs_a_task)
    return [range(start, min(start + runs_a_task, runs)) for start in starts]


def carry_out(
    do: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    workers: int = 1,
    progress: Progress | None = None,
    size: Callable[[Task], int] = lambda _: 1,
) -> Finished[Result]:
    """Do every task; an interrupt keeps what is finished.

    Parameters
    ----------
    do : callable
        Must not depend on which tasks were done before it. With several workers it and the
        tasks are sent to other processes, so they must be picklable.
    tasks : sequence
        What to do.
    workers : int
        Number of processes; 1 works in this one.
    progress : callable, optional
        Told how much is done, after every task.
    size : callable
        How much of the whole a task is, for the progress.

    Raises
    ------
    KeyboardInterrupt
        If interrupted before anything was finished.
    """
    results: list[Result | None] = [None] * len(tasks)
    total, done = sum(size(task) for task in tasks), 0
    one_by_one = ((number, do(task)) for number, task in enumerate(tasks))
    finished = one_by_one if workers == 1 else _in_processes(do, tasks, workers=workers)
    try:
        for number, result in finished:
            results[number] = result
            done += size(tasks[number])
            if progress is not None:
                progress(done, total)
    except KeyboardInterrupt:
        if done == 0:
            raise
        return Finished(results, interrupted=True)
    finally:
        finished.close()
    return Finished(results, interrupted=False)


def _in_processes(
    do: Callable[[Task], Result], tasks: Sequence[Task], *, workers: int
) -> Generator[tuple[int, Result], None, None]:
    """Yield results as they come, with no more than a few tasks handed out at a time."""
    # A fresh interpreter for each worker: forking one that runs threads can hang.
    context = multiprocessing.get_context("spawn")
    packed = _pack(do)
    with ExitStack() as stack:
        stack.enter_context(unwinding_when_ended())
        stack.enter_context(_one_thread_each())
        with held_back():  # half built, it would end with a traceback of Python's own
            pool = stack.enter_context(ProcessPoolExecutor(workers, context, _receive, (packed,)))
        waiting = iter(enumerate(tasks))
        running: dict[Future[Any], int] = {}
        try:
            while True:
                for number, task in waiting:
                    # It may start a process. The pool falls apart with a traceback where one dies
                    # while another starts: SIGTERM waits for both.
                    with held_back(signal.SIGTERM):
                        running[pool.submit(_do_received, task)] = number
                    if len(running) >= AHEAD * workers:
                        break
                if not running:
                    return
                ready, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ready:
                    yield running.pop(future), future.result()
        except BrokenProcessPool:
            raise EvenoddsError(
                "a worker process died, for lack of memory or because it could not load what it "
                "was to do: use fewer workers, and in a script call this under "
                "if __name__ == '__main__'."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Keep the linear algebra of new processes to one thread: the processes are the parallelism."""
    before = {name: os.environ.get(name) for name in THREAD_SETTINGS}
    os.environ.update(dict.fromkeys(THREAD_SETTINGS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_received: Callable[[Any], Any] | None = None


def _pack(do: Callable[[Any], Any]) -> bytes:
    """Return what is to be done in a form that other processes can read."""
    try:
        return pickle.dumps(do)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"workers cannot be sent what they are to do ({error}): define it at the top of a "
            "module, or use workers=1."
        ) from None


def _receive(packed: bytes) -> None:
    """Take in, once for each worker, what is to be done to its tasks."""
    global _received  # noqa: PLW0603 - a worker process has no other place to keep it
    if sys.platform == "win32":  # where no process can be started without Ctrl-C
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    else:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _received = pickle.loads(packed)


def _do_received(task: Any) -> Any:
    if _received is None:
        raise RuntimeError("this worker was not told what to do")
    return _received(task)
