"""Files for the command line, and two ways to run it: for real, and in this process."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import evenodds as eo


def words(arguments):
    """Split arguments as a shell does, so that a test can write them as one line."""
    return shlex.split(" ".join(map(str, arguments)))


@pytest.fixture(scope="session")
def script():
    """Return the installed command, beside the Python that runs the tests."""
    return Path(sys.executable).with_name("evenodds")


@pytest.fixture(scope="session")
def shell(script):
    """Return a function that runs the installed command in a process of its own."""

    def run(*arguments, **settings):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run(
            [script, *words(arguments)],
            capture_output="stdout" not in settings,
            text=True,
            env=environment,
            check=False,
            timeout=60,
            **settings,
        )

    return run


@pytest.fixture(scope="session")
def command():
    """Return a function that runs the same command in this process, which is quicker."""
    from evenodds.cli.main import app

    def run(*arguments):
        return CliRunner().invoke(app, words(arguments))

    return run


@pytest.fixture(scope="session")
def table(labelled):
    """Return a frame with every kind of column a test can use; the first five rows are toss-ups."""
    rng = np.random.default_rng(11)
    first_five = np.arange(300) < 5
    return pd.DataFrame(
        {
            "age": labelled.X[:, 0],
            "dose": labelled.X[:, 1],
            "diagnosis": np.where(labelled.y, "ill", "healthy"),
            "code": labelled.y,
            "lost": np.where(eo.ClassConditionalNoise(0.4, 0).flip(labelled.y, rng), "ill", "well"),
            "flag": first_five,
            "mark": first_five.astype(int),
            "stated": np.where(first_five, 0.5, np.nan),
            "times": 1 + np.arange(300) % 3,
            "patient": [f"patient {number // 2}" for number in range(300)],
        }
    )


@pytest.fixture(scope="session")
def files(tmp_path_factory, table):
    """Return a folder with that frame as `rows`, and toss-ups in a file of their own."""
    folder = tmp_path_factory.mktemp("files")
    table.to_csv(folder / "rows.csv", index=False)
    table.to_csv(folder / "rows.tsv", index=False, sep="\t")
    table.to_parquet(folder / "rows.parquet")
    table[["age", "dose", "diagnosis"]].to_csv(folder / "plain.csv", index=False)
    toss_ups = pd.DataFrame({"age": [0.0, 1.0, -2.0], "dose": [0.0, -1.0, 2.0]})
    toss_ups.to_csv(folder / "toss_ups.csv", index=False)
    return folder


@pytest.fixture(scope="session")
def anchors(files):
    """Return the option that names the file of toss-ups."""
    return f"--anchors {files}/toss_ups.csv"


@pytest.fixture(scope="session")
def unanchored(files):
    """Return the arguments of a test that lacks its anchors, and the name of its label."""
    return f"test {files}/rows.csv --method wald --features age,dose --label"


@pytest.fixture(scope="session")
def basic(unanchored, anchors):
    """Return the arguments of a test that runs, up to the name of its label."""
    return unanchored.replace("--method", f"{anchors} --method")


@pytest.fixture(scope="session")
def document(command):
    """Return a function that runs the command and reads the JSON it writes."""

    def run(*arguments):
        return json.loads(command(*arguments, "--format", "json").stdout)

    return run
