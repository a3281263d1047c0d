"""Help: panels, examples that really run, names of two words, completion, worlds by name."""

import os
import re
import shlex
import signal
import subprocess

import pytest
from typer.main import get_command

from evenodds.cli import main, plan, study
from evenodds.simulation.worlds import WORLDS

STUDIES = {
    "study paper": study.PAPER_EXAMPLES,
    "study atlas": study.ATLAS_EXAMPLES,
    "study losses": study.LOSSES_EXAMPLES,
}
EXAMPLES = {name: examples for name, (_, examples) in main.COMMANDS.items()} | STUDIES
ALL = [
    (name, " ".join(line.split()))
    for name, examples in EXAMPLES.items()
    for line in examples.replace("\\\n", "").splitlines()
]
SERVED = [line for name, line in ALL if name == "elicit"]
# Studies run in test_study.py.
OTHERS = [line for name, line in ALL if not name.startswith(("study", "elicit"))]


@pytest.fixture(scope="module")
def played(shell, tmp_path_factory):
    """Return the folder that the demo writes."""
    folder = tmp_path_factory.mktemp("play") / "demo"
    assert shell("demo", "--out", folder).returncode == 0
    return folder


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_command_has_two_examples_in_its_help(command, name):
    lines = [line for one, line in ALL if one == name]
    shown = " ".join(command(name, "-h").stdout.replace("\\\n", "").split())
    assert len(lines) == 2
    assert all(line in shown for line in lines)


@pytest.mark.parametrize("line", OTHERS)
def test_the_examples_run_on_the_files_of_the_demo(command, played, monkeypatch, line):
    monkeypatch.chdir(played)
    done = command(line.removeprefix("evenodds "))
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("line", SERVED)
def test_examples_of_the_page_open_it(script, played, line):
    arguments = [script, *shlex.split(line)[1:], "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(arguments, cwd=played, **pipes) as process:
        opened = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert opened.startswith("Open this address on this computer")
    assert process.returncode == 0


def test_the_test_has_few_options_in_named_panels(command):
    shown = command("test -h").stdout
    options = re.findall(r"^  (--[a-z-]+)", shown, re.MULTILINE)
    assert len(options) == len(set(options)) <= 24
    panels = re.findall(r"^(\S.*):$", shown, re.MULTILINE)
    assert panels[:-2] == ["Data", "Anchors and looked-up labels", "Test", "Output"]
    assert panels[-1].startswith("Examples")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_option_has_its_panel(name):
    group = get_command(main.app)
    found = group.commands.get(name) or group.commands["study"].commands[name.split()[-1]]
    assert all(one.rich_help_panel for one in found.params if not one.hidden)


@pytest.mark.parametrize("asked", ["-h", "--help"])
def test_the_top_lists_commands_of_two_words_with_whole_sentences(command, asked):
    shown = " ".join(command(asked).stdout.split())
    assert "audit plan Tell how many rows to look up, to find flip rates of this size." in shown
    assert "multiclass audit Test the confusion matrix" in shown
    assert "..." not in shown.partition("Commands:")[2]


def test_a_command_of_two_words_is_named_in_its_messages(shell):
    done = shell("audit plan --alpha 0.1")
    assert done.stderr == "evenodds: missing option '--beta' (see evenodds audit plan --help).\n"


@pytest.mark.parametrize(
    ("words", "offered"),
    [("evenodds mul", {"multiclass"}), ("evenodds test x.csv --method ", {"boundary", "wald"})],
)
def test_a_shell_completes_commands_and_choices(script, words, offered):
    settings = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    environment = {**os.environ, "_EVENODDS_COMPLETE": "complete_bash", **settings}
    done = subprocess.run([script], env=environment, capture_output=True, text=True, check=False)
    assert offered <= set(done.stdout.split())
    assert not any(" " in line for line in done.stdout.splitlines())


def test_help_names_every_world():
    assert plan.WORLDS.split(", ") == [*WORLDS]
