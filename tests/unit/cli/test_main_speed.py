"""Starting is cheap: CPU time of child processes, best of a few."""

import os
import resource
import subprocess
import sys

import pytest


def cpu_seconds(*arguments, repeats=3):
    """Return the least CPU time, user and system, of a child process."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    times = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(arguments, check=True, capture_output=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_help_is_quick(script):
    assert cpu_seconds(script, "--help") <= 0.3


def test_importing_costs_hardly_more_than_numpy():
    ours = cpu_seconds(sys.executable, "-c", "import evenodds", repeats=5)
    assert ours <= 1.15 * cpu_seconds(sys.executable, "-c", "import numpy", repeats=5)


@pytest.mark.parametrize("module", ["numpy", "scipy", "pyarrow", "rich.console", "narwhals"])
def test_help_loads_nothing_heavy(module):
    code = (
        "import sys; sys.argv = ['evenodds', '--help']\n"
        "from evenodds.cli.main import run\n"
        "try: run()\nexcept SystemExit: pass\n"
        f"sys.exit({module!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0
