"""The house rules that no linter checks."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "evenodds").rglob("*.py"))
PACKAGES = [path for path in SOURCES if path.name == "__init__.py"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_holds_one_idea(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 700


@pytest.mark.parametrize("path", PACKAGES[1:], ids=lambda path: path.parent.name)
def test_a_package_file_says_what_the_room_is_for_and_no_more(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert len(tree.body) == 1
    assert ast.get_docstring(tree)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", ["utils", "misc", "helpers", "common"])
def test_no_room_for_odds_and_ends(name):
    assert not [path for path in SOURCES if path.stem == name]


def test_imports_point_down():
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
