"""How large the house is, how far one test walks through it, and whether imports run in circles.

``python -m tests.architecture.census`` prints it.
"""

import ast
import contextlib
import io
import os
import sys
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import evenodds as eo

ROOT = Path(__file__).parents[2] / "src"
HOUSE = ROOT / "evenodds"
NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# A result looks its presenter up when it is shown: the one circle, broken at this place.
LOOKS_UP = "evenodds.inference.results"


def modules() -> dict[str, Path]:
    """Return every module by its dotted name."""
    found = {}
    for path in sorted(HOUSE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def code_lines(path: Path) -> int:
    """Count lines that are neither blank nor comment nor docstring."""
    text = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            first = node.body[0]
            lines.difference_update(range(first.lineno, (first.end_lineno or 0) + 1))
    return len(lines)


def imports() -> dict[str, set[str]]:
    """Return which modules each imports, wherever the import stands."""
    known = modules()
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        graph[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in known:
                inner = {f"{node.module}.{one.name}" for one in node.names} & set(known)
                graph[name] |= inner or {node.module}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return groups of modules that import each other, over however many steps."""
    reached = {start: set(_walk(graph, start)) for start in graph}
    groups = {
        tuple(sorted(other for other in reached[start] if start in reached[other]))
        for start in graph
        if start in reached[start]
    }
    return [list(group) for group in sorted(groups)]


def _walk(graph: dict[str, set[str]], start: str) -> Iterator[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            yield name
            waiting.extend(graph[name])


def files_walked(job: Callable[[], Any]) -> set[str]:
    """Return the files of the package in which a job calls functions, all being loaded."""
    job()
    seen: set[str] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name not in ("<module>", "<genexpr>"):
            seen.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
    return {
        str(Path(name).relative_to(HOUSE)) for name in seen if name.startswith(str(HOUSE) + os.sep)
    }


def one_command() -> None:
    """Run `evenodds test` on the bundled data, in this process, in silence."""
    from evenodds.cli.main import app
    from evenodds.simulation.worlds import LABEL, PATIENTS, TOSS_UPS

    words = ["test", str(PATIENTS), "--label", LABEL, "--anchors", str(TOSS_UPS)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        app(words, standalone_mode=False)


def one_call() -> None:
    """Run `asymmetry_test` on arrays."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = (X.sum(axis=1) + rng.logistic(size=500) > 0).astype(int)
    eo.asymmetry_test(X, y, eo.Anchors([[1.0, -1.0], [-1.0, 1.0]]))


def main() -> None:
    """Print the census."""
    sizes = {name: code_lines(path) for name, path in modules().items()}
    print(f"{len(sizes)} modules, {sum(sizes.values()):,} code lines", end="")
    print(f", {sum(sizes.values()) / len(sizes):.0f} a module")
    for title, job in (("evenodds test", one_command), ("asymmetry_test", one_call)):
        walked = files_walked(job)
        print(f"{title} walks through {len(walked)} files: {', '.join(sorted(walked))}")
    graph = imports()
    graph[LOOKS_UP] = {name for name in graph[LOOKS_UP] if ".report" not in name}
    print(f"circles of imports: {circles(graph) or 'none'}")


if __name__ == "__main__":
    main()
