"""Ctrl-C and SIGTERM while workers are busy: python -m tests.signals.interrupts [tries]

Every try is a command with two workers, to which a signal is sent: to all of its processes, as a
terminal does, or to the first alone; while it starts its workers, reads, or fits.
"""

import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

COMMAND = Path(sys.executable).with_name("evenodds")
# How many processes must be there, and the seconds that pass then.
MOMENTS = {"starting": (1, 0.0), "reading": (3, 1.0), "fitting": (3, 4.0)}
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
PLAN = "plan --world rare --rows 300 --anchors 5 --alpha 0.3 --beta 0.1 --runs 5000"


class Ending(NamedTuple):
    """How a command ended."""

    code: int
    said: str
    left_behind: int


def write_rows(folder):
    """Write rows of which a test takes most of a minute; return its arguments."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30_000, 2))
    y = rng.random(30_000) < 0.1 + 0.6 / (1 + np.exp(-X.sum(axis=1)))
    rows = pa.table({"age": X[:, 0], "dose": X[:, 1], "ill": y.astype(int)})
    parquet.write_table(rows, folder / "rows.parquet", row_group_size=30)  # a thousand tasks a pass
    (folder / "toss_ups.csv").write_text("age,dose\n0,0\n1,-1\n")
    return f"test {folder}/rows.parquet --label ill --anchors {folder}/toss_ups.csv"


def end(arguments, moment, how, *, whole_group):
    """Start a command with two workers, and send it a signal at a moment."""
    n_others, seconds = MOMENTS[moment]
    process = subprocess.Popen(
        [COMMAND, *arguments.split(), "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell has what it starts in the background ignore Ctrl-C, and so would this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    while process.poll() is None and len(others_of(process.pid)) < n_others:
        time.sleep(0.02)
    time.sleep(seconds)
    (os.killpg if whole_group else os.kill)(process.pid, how)
    _, said = process.communicate(timeout=120)
    for _ in range(50):  # a helper of Python's own goes a moment after its parent
        if not others_of(process.pid):
            break
        time.sleep(0.1)
    return Ending(process.returncode, said, len(others_of(process.pid)))


def others_of(session):
    """Return the living processes of a session but its first."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == session:
            continue
        try:
            state, _, _, of = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(of) == session and state != "Z":
            found.append(int(entry.name))
    return found


def main(tries):
    """Try every signal at every moment; print what came of each, and the sums."""
    wrong = tracebacks = left_behind = number = 0
    with tempfile.TemporaryDirectory() as folder:
        test = write_rows(Path(folder))
        for _, (kind, line), moment, how, whole_group in itertools.product(
            range(tries), (("test", test), ("plan", PLAN)), MOMENTS, CODES, (True, False)
        ):
            found = end(line, moment, how, whole_group=whole_group)
            number += 1
            wrong += found.code != CODES[how]
            tracebacks += "Traceback" in found.said
            left_behind += found.left_behind
            to = "all" if whole_group else "the first"
            print(f"{kind}, {moment}, {how.name} to {to}: exit code {found.code}", flush=True)
            if found.code != CODES[how] or "Traceback" in found.said:
                print(found.said, flush=True)
    print(
        f"{number} signals: {wrong} other exit codes, {tracebacks} tracebacks, "
        f"{left_behind} processes left behind"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
