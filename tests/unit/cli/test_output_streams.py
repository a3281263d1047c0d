"""Standard streams that are full, closed or narrow, and signals: the exit code stays what it is."""

import os
import signal
import subprocess
import sys

import pytest

from evenodds.files import COPIES
from evenodds.rows.open_table import _as_they_come
from evenodds.simulation import worlds

GOOD = f"test {worlds.PATIENTS} --label {worlds.LABEL} --anchors {worlds.TOSS_UPS} --method wald"
BAD = "test none.csv --label y --method joint"
USAGE = "test --nonsense"


def run(line, redirected="", **environment):
    """Run the command in a shell, with its streams as redirected there."""
    return subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -m evenodds {line} {redirected}'],
        capture_output=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
    )


@pytest.mark.parametrize(
    ("line", "redirected", "code"),
    [
        (BAD, "2>/dev/full", 2),
        (BAD, "2>&-", 2),
        (USAGE, "2>/dev/full", 2),
        (USAGE, "<&- >&- 2>&-", 2),
        (GOOD, "<&- >&- 2>&-", 0),
        (GOOD, ">/dev/full", 2),
        ("-h", ">/dev/full", 2),
        ("test -h", ">/dev/full", 2),
        ("--version", ">/dev/full", 2),
        (f"{GOOD} --gate reject", ">&-", 1),
        ("test - --label y --method joint", "<&-", 2),
    ],
)
def test_streams_do_not_change_the_exit_code(line, redirected, code):
    assert run(line, redirected).returncode == code


@pytest.mark.parametrize(
    "narrow",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (f"{GOOD} --tolerance 0.1", 0, b"+-0.1"),
        ("test none.csv --label y --tolerance é±", 2, b"--tolerance"),
        ("plan --world é", 2, b"world is"),
    ],
)
def test_a_terminal_of_plain_letters_gets_plain_text(narrow, line, code, words):
    done = run(line, **narrow)
    said = done.stdout + done.stderr
    assert (done.returncode, words in said, said.isascii()) == (code, True, True), said


def test_a_link_a_pipe_and_a_device_are_written_to(tmp_path):
    (tmp_path / "link.html").symlink_to("target.html")
    done = run(f"{GOOD} --report {tmp_path}/link.html")
    assert (done.returncode, (tmp_path / "link.html").is_symlink()) == (0, True)
    assert b"</html>" in run(f"{GOOD} --report /dev/stdout", "| cat").stdout
    assert run(f"{GOOD} --report /dev/null").returncode == 0
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("line", ["-h", "--version"])
def test_help_that_cannot_be_written_gets_one_sentence(line):
    assert run(line, ">/dev/full").stderr == b"evenodds: No space left on device.\n"


def test_an_interrupt_while_the_command_loads_gets_one_sentence():
    """Half of the first second is spent there."""
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *others):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from evenodds.__main__ import run\n"
        "run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"evenodds: interrupted.\n")


ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def copying(tmp_path):
    """Start a command that has begun to copy standard input, which does not end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "evenodds", *["test", "-", "--label", "y", "--method", "joint"]],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    process.stdin.write(b"a,y\n" * 100_000)  # more than a pipe holds: some of it has been read
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("how", ENDS)
def test_a_request_to_end_removes_copies_of_data(copying, tmp_path, how):
    assert [path.name.startswith(COPIES) for path in tmp_path.iterdir()] == [True]
    copying.send_signal(how)
    assert copying.wait() == 128 + how
    assert list(tmp_path.iterdir()) == []


def test_what_a_pipe_holds_is_read_without_waiting_for_more():
    """A read that waits to be full does not see a signal that came between its parts."""
    out, into = os.pipe()
    os.write(into, b"a,y\n")
    with os.fdopen(out, "rb") as source, os.fdopen(into, "wb"):
        assert next(_as_they_come(source)) == b"a,y\n"


def test_what_a_killed_command_left_goes_with_the_next_start(copying, tmp_path):
    copying.kill()
    copying.wait()
    assert len(list(tmp_path.iterdir())) == 1
    run("prior 30 100 0.4", TMPDIR=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_start_leaves_the_copies_of_others_that_run(copying, tmp_path):
    run("prior 30 100 0.4", TMPDIR=str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 1
