"""Follow docs/start.md from nothing: a new environment, its install, its commands, then own files.

python -m tests.fresh_start     # three minutes; pip needs an index of packages
"""

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tests.pages.run import DOCS

INSTALL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Own rows with a number for each and a hole, made of those of the demo, and other names.
OWN_FILES = """\
evenodds demo --out first >demo.txt && cp first/toss_ups.csv own_toss_ups.csv
sed -e 's/healthy/No/; s/diagnosis/sick/; 4s/^[^,]*,/,/' first/patients.csv | nl -ba -s, -v0 |
    sed -e 's/^ *//; 1s/^0/id/' >own.csv && head -1 own.csv"""
OWN = "evenodds test own.csv --label sick --anchors own_toss_ups.csv"
# What a newcomer does after the page, and what the answer must hold.
TRIED = {
    OWN_FILES: "id,marker,score,sick",
    OWN: "own_toss_ups.csv has no column 'id', which the data has",
    f"{OWN} --features marker,score": "own.csv has 1 missing value, the first in row 3",
    f"{OWN} --features marker,score --missing drop --report own.html": "Uniform noise is strongly",
    "ls": "own.html",
}


def follow(folder: Path) -> list[str]:
    """Return what went otherwise than the first page says, in an environment of its own."""
    venv.create(folder / "env", with_pip=True)
    beside = str(folder / "env" / "bin")
    environment = {**os.environ, "PATH": os.pathsep.join([beside, os.environ["PATH"]])}
    environment.pop("PYTHONPATH", None)
    install = INSTALL.search((DOCS / "start.md").read_text(encoding="utf-8"))[1]
    told = {install: "evenodds 0.", "python -m tests.pages docs/start.md && echo alike": "alike"}
    wrong = []
    for command, wanted in {**told, **TRIED}.items():
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=DOCS.parent if command in told else folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if wanted not in " ".join(done.stdout.split()):
            wrong.append(f"$ {command}\n{done.stdout}")
    return wrong


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit("\n".join(follow(Path(temporary))) or 0)
