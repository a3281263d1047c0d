"""A few of the tries that the commands of this folder make by the hundred."""

import signal
from pathlib import Path

import pytest

from tests.signals.interrupts import PLAN, Ending, end, write_rows
from tests.signals.kills import kill_many

INTERRUPTED = Ending(130, "evenodds: interrupted.\n", 0)
TERMINATED = Ending(143, "", 0)

processes_are_seen = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="processes are counted in /proc"
)


@processes_are_seen
@pytest.mark.parametrize(
    ("moment", "how", "whole_group", "ending"),
    [
        ("starting", signal.SIGINT, True, INTERRUPTED),
        ("reading", signal.SIGINT, True, INTERRUPTED),
        ("reading", signal.SIGTERM, False, TERMINATED),
    ],
)
def test_a_signal_ends_a_test_and_its_workers(tmp_path, moment, how, whole_group, ending):
    assert end(write_rows(tmp_path), moment, how, whole_group=whole_group) == ending


@processes_are_seen
@pytest.mark.parametrize(
    ("how", "ending"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)]
)
def test_a_signal_ends_a_plan_and_its_workers(how, ending):
    assert end(PLAN, "starting", how, whole_group=True) == ending


def test_a_kill_loses_no_answer_that_was_acknowledged(tmp_path):
    assert kill_many(tmp_path, 3)[1] == 0
