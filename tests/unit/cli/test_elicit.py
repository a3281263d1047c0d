"""`evenodds elicit`: what it says, writes and refuses; a browser drives it elsewhere."""

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

import pytest


@pytest.fixture
def plan(tmp_path, files):
    """Return the arguments of a session about a copy of the data."""
    return f"elicit {files}/plain.csv --label diagnosis --out {tmp_path}/anchors.csv --cases 12"


@pytest.fixture
def served(script, plan):
    """Start the command for real; return its process and its address."""
    server = subprocess.Popen(
        [script, *plan.split(), "--repeats", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    address = re.search(r"http://\S+", server.stdout.readline()).group()
    yield server, address
    server.kill()
    server.communicate()


def answer(address, number):
    """Call the case that is open a toss-up."""
    origin = "/".join(address.split("/")[:3])
    with urllib.request.urlopen(f"{address}sit/Ada") as page:
        case = re.search(r'name="case" value="(\d+)"', page.read().decode()).group(1)
    body = urllib.parse.urlencode({"number": number, "case": case, "verdict": "toss-up"}).encode()
    request = urllib.request.Request(f"{address}sit/Ada/answer", body, {"Origin": origin})
    urllib.request.urlopen(request).close()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_sitting_and_writes_the_files(served, tmp_path, document, files, how):
    server, address = served
    for number in range(4):
        answer(address, number)
    server.send_signal(how)
    said, wrote = server.communicate(timeout=30)
    assert server.returncode == 0
    assert "4 toss-ups found." in said
    assert f"Next: evenodds test {files}/plain.csv --label diagnosis --anchors" in said
    assert f"wrote {tmp_path}/anchors.csv" in wrote
    result = document(f"test {files}/plain.csv --label diagnosis --anchors {tmp_path}/anchors.csv")
    assert (result["n_anchors"], result["n_rows"]) == (4, 300)


def test_a_test_takes_the_shared_tolerance_that_a_file_states(files, tmp_path, document):
    toss_ups = "age,dose,shared_tolerance\n0,0,{0}\n1,-1,{0}\n"
    pvalues = []
    for number, shared in enumerate((0, 0.2)):
        (tmp_path / f"{number}.csv").write_text(toss_ups.format(shared))
        told = f"test {files}/plain.csv --label diagnosis --anchors {tmp_path}/{number}.csv"
        pvalues.append(document(told)["pvalue"])
    said = f"test {files}/plain.csv --label diagnosis --anchors {tmp_path}/0.csv"
    (tmp_path / "0.csv").write_text("age,dose\n0,0\n1,-1\n")
    assert pvalues[0] < pvalues[1] == document(f"{said} --shared-tolerance 0.2")["pvalue"]


def test_it_listens_on_this_machine_only(served):
    _, address = served
    port = urllib.parse.urlsplit(address).port
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    own = next((a for a in _own_addresses() if not a.startswith("127.")), None)
    if own is not None:
        with pytest.raises(ConnectionRefusedError), socket.create_connection((own, port), 5):
            pass


def _own_addresses():
    """Return this machine's addresses in the networks it is part of."""
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    except OSError:
        return []
    return [entry[4][0] for entry in found]


def test_a_wrong_token_gets_403(served):
    _, address = served
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(address.replace(address.split("/")[3], "wrong"))


def test_files_are_written_from_answers_without_a_server(served, command, plan, tmp_path):
    server, address = served
    answer(address, 0)
    server.kill()
    server.wait()
    result = command(f"{plan} --export")
    assert (result.exit_code, "1 toss-up found." in result.stdout) == (0, True)
    assert (tmp_path / "anchors_answers.csv").read_text().count("\n") == 2


def test_the_start_warns_of_what_experts_see_beyond_the_test(script, plan, tmp_path):
    server = subprocess.Popen(
        [script, *plan.split(), "--features", "age", "--show", "age,dose"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    server.stdout.readline()
    server.send_signal(signal.SIGINT)
    said, told = server.communicate(timeout=30)
    warning = "Warning: experts are shown 'dose', which the test does not use."
    assert told.startswith("Reading the data and choosing cases ...\n" + warning)
    assert f"  {warning}" in said


def test_a_port_that_is_taken_is_named(command, plan, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = command(f"{plan} --port {port}")
    assert result.exit_code == 2
    assert f"port {port} cannot be used: Address already in use. Leave --port out" in result.stderr
    assert [*tmp_path.iterdir()] == []  # no session has begun


def test_a_port_that_cannot_be_is_named(command, plan, tmp_path):
    result = command(f"{plan} --port 70000")
    assert [*tmp_path.iterdir()] == []
    assert "--port is 70000 but must be at least 0 and at most 65535." in result.stderr


def test_exporting_before_anyone_answered_is_refused(command, plan):
    result = command(f"{plan} --export")
    assert (result.exit_code, "there are no answers yet" in result.stderr) == (2, True)


def test_without_the_extra_it_says_what_to_install(plan):
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        f"sys.argv = ['evenodds', *{plan.split()!r}]\n"
        "from evenodds.cli.main import run; run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "needs the 'web' extra: install evenodds[web]." in done.stderr


@pytest.mark.parametrize("out", ["held.json", "held.csv"])
def test_a_file_of_something_else_is_not_overwritten(command, files, tmp_path, out):
    held = tmp_path / out
    held.write_text("mine")
    told = f"elicit {files}/plain.csv --label diagnosis --out {held} --export"
    done = command(told)
    assert done.exit_code == 2
    assert f"{held} is there already, and no session of" in done.stderr
    assert held.read_text() == "mine"
