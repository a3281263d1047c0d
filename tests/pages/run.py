"""Run a page: its Python and its commands, in order, in one folder.

Blocks marked `python` are doctests and share their names; blocks marked `console` go to a shell,
a line a command, and what follows is its output, with `...` for what is left out. Other blocks
(`sh` for what is installed, `text`) are only read. Needs nothing but evenodds, so that a fresh
environment can run the first page.
"""

import doctest
import os
import re
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "start.md", *sorted((DOCS / "tutorials").glob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_page(page: Path, folder: Path) -> list[str]:
    """Return what differs from the page when its blocks are run in a folder: nothing, if right."""
    text, names, wrong = page.read_text(encoding="utf-8"), {}, []
    with chdir(folder):
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 1
            told = _run_python(block[2], names, page, line) if block[1] == "python" else None
            wrong += run_commands(block[2]) if told is None else told
    return [f"{page.name}: {each}" for each in wrong]


def _run_python(code: str, names: dict, page: Path, line: int) -> list[str]:
    """Run a block of Python, which leaves its names for those after it."""
    test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), line)
    test.globs = names
    told: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append, clear_globs=False)
    return told


def run_commands(block: str) -> list[str]:
    """Run the commands of a block; one may fail only if the page shows our own complaint."""
    beside = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": os.pathsep.join([beside, os.environ["PATH"]])}
    environment.pop("COLUMNS", None)
    wrong = []
    for command, wanted in COMMAND.findall(block):
        done = subprocess.run(
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            check=False,
        )
        same = doctest.OutputChecker().check_output(wanted, done.stdout, FLAGS)
        if not same or (done.returncode and not wanted.startswith("evenodds: ")):
            wrong.append(f"$ {command}\nexit code {done.returncode}\n{done.stdout}")
    return wrong
