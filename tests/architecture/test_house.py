"""The house rules that no linter checks."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.census import (
    LOOKS_UP,
    circles,
    code_lines,
    files_walked,
    imports,
    modules,
    one_call,
    one_command,
)

REPOSITORY = Path(__file__).parents[2]
MODULES = modules()
LONGEST = 700
SMALL = 40


def _lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_module_is_too_long_to_read():
    assert not [name for name, path in MODULES.items() if _lines(path) > LONGEST]


def test_what_is_small_and_used_once_lives_with_its_user():
    graph = imports()
    lonely = []
    for name, path in MODULES.items():
        users = [user for user, used in graph.items() if name in used]
        neighbours = [user for user in users if user.rpartition(".")[0] == name.rpartition(".")[0]]
        command = "\nEXAMPLES = " in path.read_text(encoding="utf-8")  # a file each, however small
        if (
            path.name != "__init__.py"
            and not command
            and code_lines(path) < SMALL
            and len(users) == 1 == len(neighbours)
        ):
            lonely.append(name)
    assert not lonely


def test_a_package_file_says_what_the_room_is_for_and_no_more():
    for name, path in MODULES.items():
        if path.name == "__init__.py" and name != "evenodds":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            assert len(tree.body) == 1, name
            assert ast.get_docstring(tree), name


def test_every_module_says_what_it_is():
    for name, path in MODULES.items():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), name


def test_no_room_for_odds_and_ends():
    assert not {path.stem for path in MODULES.values()} & {"utils", "misc", "helpers", "common"}


def test_tests_are_named_after_their_modules():
    folder = REPOSITORY / "tests" / "unit"
    astray = []
    for path in folder.rglob("test_*.py"):
        room = path.parent.relative_to(folder)
        room = room.parent if room.name == "dask" else room  # these share their cluster
        stem = path.stem.removeprefix("test_")
        names = {one.stem for one in (REPOSITORY / "src" / "evenodds" / room).glob("*.py")}
        if not any(stem == name or stem.startswith(f"{name}_") for name in names - {"__init__"}):
            astray.append(str(path.relative_to(folder)))
    assert astray == ["test_exports.py"]


def test_imports_do_not_run_in_circles():
    graph = imports()
    graph[LOOKS_UP] = {name for name in graph[LOOKS_UP] if ".report" not in name}
    assert not circles(graph)


@pytest.mark.parametrize(("job", "files"), [(one_command, 40), (one_call, 30)])
def test_one_test_is_a_short_walk(job, files):
    assert len(files_walked(job)) <= files


def test_imports_point_down():
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    found = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
