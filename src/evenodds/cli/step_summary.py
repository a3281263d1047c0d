"""Run evenodds, and add what it said to the summary of a pipeline's step where there is one.

The GitHub Action and the pre-commit hook both run this. The place is ``GITHUB_STEP_SUMMARY``, which
a hook has too when it runs in a workflow; elsewhere nothing is written.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from evenodds.cli.output import BAD_INPUT, GATE_FAILED

VERDICTS = {0: "passed", GATE_FAILED: "a gate failed", BAD_INPUT: "bad input"}
QUOTED = "--quoted"  # the next argument is a whole command line, quoted as in a shell


def main(arguments: list[str]) -> int:
    """Run evenodds with these arguments, and return its exit code."""
    try:
        words = shlex.split(arguments[1]) if arguments[:1] == [QUOTED] else arguments
    except ValueError as error:
        code, said = BAD_INPUT, f"evenodds: {error} in {arguments[1]}\n".encode()
    else:
        command = [sys.executable, "-m", "evenodds", *words]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        code, said = done.returncode, done.stdout
    sys.stdout.buffer.write(said)
    sys.stdout.flush()
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if place:
        verdict = VERDICTS.get(code, f"did not finish (exit code {code})")
        # What is indented is shown as it is, whatever the data calls its columns and labels.
        lines = [f"    {line}" for line in said.decode("utf-8", "replace").splitlines()]
        with Path(place).open("a", encoding="utf-8") as file:
            file.write("\n".join([f"### evenodds: {verdict}", "", *lines, "", ""]))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
