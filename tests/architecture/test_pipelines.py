"""The GitHub Action and the pre-commit hook, run as their tools run them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from evenodds.simulation.worlds import LABEL, PATIENTS, TOSS_UPS

REPOSITORY = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
COMMAND = f"test {PATIENTS} --label {LABEL} --anchors {TOSS_UPS}"
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def run_action(tmp_path):
    """Return a function that runs the action's last step as a runner does."""
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
    step = next(step for step in action["runs"]["steps"] if step.get("id") == "run")
    script = tmp_path / "step.sh"
    script.write_text(step["run"], encoding="utf-8")

    def run(arguments):
        files = {name: tmp_path / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        environment = {**ENVIRONMENT, "ARGUMENTS": arguments, **files}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", script]
        found = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        return found, *(path.read_text(encoding="utf-8") for path in files.values())

    return run


@pytest.mark.parametrize(
    ("arguments", "code", "verdict", "said"),
    [
        (COMMAND, 0, "passed", "Uniform noise is strongly rejected"),
        (f"{COMMAND} --gate reject", 1, "a gate failed", "Uniform noise is strongly rejected"),
        ("prior", 2, "bad input", "(see evenodds prior --help)"),
        ("contour 'two words.csv' --label y --anchors none", 2, "bad input", "two words.csv"),
        ("test 'open", 2, "bad input", "No closing quotation"),
        ("audit plan --alpha .1 --beta .2; echo no", 2, "bad input", "evenodds"),
        ("contour $(touch made) --label y --anchors none", 2, "bad input", "$(touch"),
    ],
)
def test_the_action_has_the_exit_code_and_a_summary(
    run_action, tmp_path, arguments, code, verdict, said
):
    found, summary, output = run_action(arguments)
    assert (found.returncode, output) == (code, f"exit-code={code}\n")
    assert summary.startswith(f"### evenodds: {verdict}\n\n    ")
    assert said in summary
    assert said in found.stdout
    assert all(line.startswith("    ") for line in summary.rstrip().splitlines()[2:])
    assert not (tmp_path / "made").exists()


def test_summaries_of_two_steps_are_kept(run_action):
    run_action("prior")
    assert run_action("prior")[1].count("### evenodds") == 2


def git(folder, *words):
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def pre_commit(folder, home, *words, **more):
    return subprocess.run(
        [BIN / "pre-commit", *words],
        cwd=folder,
        env={**ENVIRONMENT, "PRE_COMMIT_HOME": str(home), **more},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_manifest_of_hooks_is_valid(tmp_path):
    manifest = REPOSITORY / ".pre-commit-hooks.yaml"
    found = pre_commit(tmp_path, tmp_path, "validate-manifest", manifest)
    assert found.returncode == 0, found.stdout


@pytest.fixture
def run_hook(tmp_path):
    """Return a function that commits a file under the hook, and the summary it may write to."""
    summary = tmp_path / "summary.md"

    def run(gate, file, place=summary):
        # The hook itself, but for its language: here evenodds is installed already.
        hooks = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
        hook = {**hooks[0], "language": "system", "args": [*COMMAND.split(), *gate]}
        repos = {"repos": [{"repo": "local", "hooks": [hook]}]}
        (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(repos), encoding="utf-8")
        (tmp_path / file).write_text("changed\n", encoding="utf-8")
        git(tmp_path, "init", "-q")
        git(tmp_path, "add", file, ".pre-commit-config.yaml")
        found = pre_commit(tmp_path, tmp_path / "home", "run", GITHUB_STEP_SUMMARY=str(place))
        return found, summary.read_text(encoding="utf-8") if summary.exists() else None

    return run


@pytest.mark.parametrize(
    ("gate", "file", "code", "said", "verdict"),
    [
        (["--gate", "reject"], "labels.csv", 1, "Uniform noise is strongly rejected", "a gate"),
        ([], "labels.csv", 0, "Passed", "passed"),
        (["--gate", "reject"], "notes.txt", 0, "Skipped", None),
    ],
)
def test_the_hook_fails_with_a_gate_where_a_table_has_changed(
    run_hook, gate, file, code, said, verdict
):
    found, summary = run_hook(gate, file)
    assert (found.returncode, said in found.stdout) == (code, True), found.stdout
    if verdict is None:
        assert summary is None
    else:
        assert summary.startswith(f"### evenodds: {verdict}")
        assert "    Uniform noise is strongly rejected" in summary


def test_the_hook_writes_no_summary_where_there_is_no_place_for_one(run_hook):
    found, summary = run_hook([], "labels.csv", place="")
    assert (found.returncode, summary) == (0, None)
