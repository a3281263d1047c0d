"""A server of a session in a process of its own, and fingers for its page."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

import evenodds as eo
from evenodds.simulation.worlds import two_bells

COMMAND = Path(sys.executable).with_name("evenodds")
TOKEN_AND_HOST = re.compile(r"http://\S+")
TRAP = "<img src=x onerror=\"document.title='caught'\"> <script>document.title='caught'</script>"


class Server:
    """`evenodds elicit`, to be killed and started again."""

    def __init__(self, folder, *, cases=24, repeats=6, out="anchors.parquet", more=()):
        self.folder = folder
        self.arguments = [
            COMMAND, "elicit", "patients.csv", "--label", "diagnosis", "--out", out,
            "--show", "age,dose,note,scan", "--cases", str(cases), "--repeats", str(repeats), *more,
        ]  # fmt: skip
        self.database = "anchors_answers.db" if out == "anchors.parquet" else f"{Path(out).stem}.db"
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            self.arguments,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        return TOKEN_AND_HOST.search(self.process.stdout.readline()).group()

    def kill(self):
        self._end(signal.SIGKILL)

    def interrupt(self):
        return self._end(signal.SIGINT)

    def _end(self, how):
        if self.process is None:
            return None
        self.process.send_signal(how)
        said, _ = self.process.communicate(timeout=30)
        code, self.process = self.process.returncode, None
        return code, said

    def answers(self):
        """Return what is on disk: expert, case and verdict of every standing answer."""
        return self._read('expert, "case", verdict')

    def chances(self):
        """Return where the slider of every standing answer was put; None where it was not."""
        return [chance for (chance,) in self._read("chance")]

    def _read(self, columns):
        with sqlite3.connect(self.folder / self.database) as database:
            query = f"SELECT {columns} FROM answers WHERE undone IS NULL ORDER BY id"
            found = database.execute(query).fetchall()
        database.close()
        return found

    def run(self, *arguments):
        """Run another command in the same folder and return the JSON it writes."""
        done = subprocess.run(
            [COMMAND, *arguments, "--format", "json"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)


def write_patients(folder, *, classes=("healthy", "ill"), note=TRAP):
    """Write rows of the rare world; a note is a trap for pages that trust it."""
    rng = np.random.default_rng(8)
    X, true = two_bells(0.15).draw_rows(800, rng)
    given = eo.ClassConditionalNoise(0.25, 0.05).flip(true, rng)
    patients = {
        "age": X[:, 0],
        "dose": X[:, 1],
        "note": [note] * 800,
        "scan": ["../../secret.png"] * 800,
        "diagnosis": np.where(given, classes[1], classes[0]),
    }
    csv.write_csv(pa.table(patients), folder / "patients.csv")


def begin(page, address, name):
    """Open the page and give a name."""
    page.goto(address)
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Begin").click()
    ready(page)


def ready(page):
    """Wait until the page takes keys."""
    page.wait_for_selector("body[data-listening]")


def number(page):
    """Return which question is open, counted from 1."""
    return int(page.locator("#count").inner_text().split()[0])


def press(page, key, to):
    """Press a key and wait for question `to`."""
    page.keyboard.press(key)
    page.wait_for_function(
        "to => document.getElementById('count')?.textContent.startsWith(`${to} of`)", arg=to
    )
    ready(page)


def case(page):
    """Return what is shown of the case."""
    return page.locator("dl").inner_text()
