"""Starting is cheap: CPU time of child processes, best of a few."""

import os
import resource
import subprocess
import sys

from evenodds.simulation.demo import write_files


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


def loaded(*arguments):
    """Return the libraries that a command has loaded when it ends."""
    code = (
        f"import sys; sys.argv = ['evenodds', *{arguments!r}]\n"
        "from evenodds.cli.main import run\n"
        "try: run()\nexcept SystemExit: pass\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return set(done.stderr.split())


def test_help_loads_nothing_heavy():
    assert not {"numpy", "scipy", "pyarrow", "rich.console", "narwhals"} & loaded("--help")


def test_a_file_is_read_without_pandas(tmp_path):
    """PyArrow loads it by itself wherever it is installed: a quarter of a small job."""
    write_files(tmp_path)
    files = str(tmp_path / "patients.csv"), str(tmp_path / "toss_ups.csv")
    found = loaded("test", files[0], "--label", "diagnosis", "--anchors", files[1])
    assert "pyarrow" in found
    assert "pandas" not in found
