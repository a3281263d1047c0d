"""Many tasks, in this process or in several."""

import math
import operator
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest

import evenodds as eo
from evenodds.simulation import parallel
from evenodds.simulation.parallel import THREAD_SETTINGS, carry_out

TASKS = list(range(20))


class StopAfter:
    """Progress that interrupts once this many tasks are done."""

    def __init__(self, most):
        self.most = most

    def __call__(self, done, total):
        if done >= self.most:
            raise KeyboardInterrupt


class FailAt:
    """A task that does not get past a number."""

    def __init__(self, error, number):
        self.error, self.number = error, number

    def __call__(self, task):
        if task == self.number:
            raise self.error
        return task


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_their_tasks(workers):
    done = carry_out(math.factorial, TASKS, workers=workers)
    assert done.results == [math.factorial(task) for task in TASKS]
    assert not done.interrupted


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_rises_to_the_total(workers):
    told = []
    carry_out(abs, TASKS, workers=workers, progress=lambda *so_far: told.append(so_far))
    assert [done for done, _ in told] == list(range(1, len(TASKS) + 1))
    assert {total for _, total in told} == {len(TASKS)}


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_counts_what_tasks_are_worth(workers):
    told = []
    tasks = [range(3), range(3, 10), range(10, 12)]
    progress = lambda *so_far: told.append(so_far)  # noqa: E731
    carry_out(sum, tasks, workers=workers, progress=progress, size=len)
    assert told[-1] == (12, 12)
    assert [done for done, _ in told] == sorted({done for done, _ in told})


def test_no_tasks_are_soon_done():
    assert carry_out(abs, [], workers=2).results == []


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_keeps_what_is_finished(workers):
    done = carry_out(math.factorial, TASKS, workers=workers, progress=StopAfter(3))
    kept = [task for task in TASKS if done.results[task] is not None]
    assert done.interrupted
    assert len(kept) == 3
    assert all(done.results[task] == math.factorial(task) for task in kept)


def test_an_interrupt_before_anything_is_finished_is_passed_on():
    with pytest.raises(KeyboardInterrupt):
        carry_out(FailAt(KeyboardInterrupt(), 0), TASKS)


def test_an_interrupt_waits_until_the_pool_is_built(monkeypatch):
    # One that is half built ends with a traceback of Python's own.
    built = []

    class Interrupted(ProcessPoolExecutor):
        def __init__(self, *given, **named):
            signal.raise_signal(signal.SIGINT)
            super().__init__(*given, **named)
            built.append(self)

    monkeypatch.setattr(parallel, "ProcessPoolExecutor", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        carry_out(abs, [1, 2], workers=2)
    assert len(built) == 1


def test_an_interrupt_within_a_task_keeps_those_before_it():
    done = carry_out(FailAt(KeyboardInterrupt(), 5), TASKS)
    assert done.results == [0, 1, 2, 3, 4] + [None] * 15


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_task_is_passed_on(workers):
    with pytest.raises(ZeroDivisionError):
        carry_out(partial(operator.truediv, 1), [2, 1, 0], workers=workers)


def test_a_worker_that_dies_is_told_of_and_what_to_do(refused):
    with refused(
        "a worker process died, for lack of memory or because it could not load what it was to "
        "do: use fewer workers, and in a script call this under if __name__ == '__main__'.",
        eo.EvenoddsError,
    ):
        carry_out(os._exit, [3, 3, 3], workers=2)


def test_what_cannot_be_sent_to_workers_is_refused(refused):
    with refused("workers cannot be sent what they are to do (") as caught:
        carry_out(lambda task: task, TASKS, workers=2)
    assert str(caught.value).endswith("define it at the top of a module, or use workers=1.")


def test_workers_use_one_thread_each():
    assert carry_out(os.getenv, THREAD_SETTINGS, workers=2).results == ["1", "1", "1"]


@pytest.mark.parametrize("fails", [False, True])
def test_the_environment_is_left_as_it_was(monkeypatch, fails):
    monkeypatch.setenv(THREAD_SETTINGS[0], "7")
    monkeypatch.delenv(THREAD_SETTINGS[1], raising=False)
    before = dict(os.environ)
    if fails:
        with pytest.raises(eo.EvenoddsError):
            carry_out(os._exit, [3], workers=2)
    else:
        carry_out(abs, TASKS, workers=2)
    assert dict(os.environ) == before


SCRIPT = """
import warnings
import evenodds as eo

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    rate = eo.rejection_rate(
        "rare", n_rows=500, n_anchors=2, runs=100_000, batch_size=2, workers=2,
        progress=lambda done, total: print("done", done, flush=True),
    )
    print("runs", rate.runs, "rate", rate.rate, flush=True)
"""


def test_an_interrupt_from_the_keyboard_ends_with_a_partial_rate(tmp_path):
    """As a terminal does it: the signal goes to the parent and to its workers."""
    script = tmp_path / "plan.py"
    script.write_text(SCRIPT, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    for _ in range(10):  # by then both workers are at work
        process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)
    interrupted_at = time.monotonic()
    output, _ = process.communicate(timeout=60)
    words = output.splitlines()[-1].split()
    assert process.returncode == 0
    assert words[0] == "runs"
    assert 20 <= int(words[1]) < 100_000
    assert time.monotonic() - interrupted_at < 30
