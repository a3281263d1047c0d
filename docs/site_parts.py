"""Parts of pages that the package itself writes: help, figures, fields of the JSON."""

import json
from pathlib import Path

DOCS = Path(__file__).parent
GALLERY = DOCS / "gallery"
# One result for each figure; every kind of every one of them is drawn.
SHOWN = {
    "boundary_rejects": "asymmetry_test",
    "line_leans": "line_test",
    "audit_random": "audit_test",
    "annotators": "annotator_audit",
    "shares_by_group": "corrected_share",
    "contour_leans": "contour_test",
    "multiclass": "multiclass_test",
    "confusion": "confusion_test",
}


def command_line() -> str:
    """Return the help of every command, as a terminal shows it."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from evenodds.cli.main import app

    parts = []
    runner, group = CliRunner(), get_command(app)
    for words in _commands(group, []):
        shown = runner.invoke(app, [*words, "--help"], env={"COLUMNS": "88", "TERM": "dumb"})
        if shown.exit_code:
            raise RuntimeError(f"evenodds {' '.join(words)} --help failed: {shown.output}")
        title = " ".join(["evenodds", *words])
        text = shown.output.replace("root ", "evenodds ", 1).strip()
        parts.append(f"## {title}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def _commands(group, before):
    """Yield the words of every command, those inside groups too."""
    yield before
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, [*before, name])
        else:
            yield [*before, name]


def gallery() -> str:
    """Draw every figure, and return them under the questions they answer."""
    from evenodds.report.html import drawable
    from evenodds.report.sheet import View, sheet_of

    GALLERY.mkdir(exist_ok=True)
    parts = []
    for title, result in _results():
        sheet = sheet_of(result, View())
        parts.append(f"## {title}\n")
        for kind in drawable(sheet):
            file = GALLERY / f"{title.replace(' ', '_')}_{kind}.svg"
            result.plot(kind).savefig(file)
            question, caption = sheet.pictures[kind].question, sheet.caption(kind)
            parts.append(
                f"### {question}\n\n`result.plot({kind!r})`\n\n"
                f"![{caption.finding}](gallery/{file.name})\n\n"
                f"{caption.reading} *Here:* {caption.finding}\n"
            )
    return "\n".join(parts)


def _results():
    """Yield results to draw, by what makes them."""
    from tests.snapshots.results import MAKERS

    from evenodds import ClassConditionalNoise
    from evenodds.planning.plan import make_plan
    from evenodds.simulation.worlds import two_bells

    for name, test in SHOWN.items():
        yield test, MAKERS[name]()
    noise = ClassConditionalNoise(alpha=0.2, beta=0.1)
    yield "evenodds plan", make_plan(two_bells(), n_rows=2000, n_anchors=8, noise=noise)


def json_fields() -> str:
    """Return the fields of every result's record, from its schema."""
    parts = []
    for path in sorted((DOCS / "schema").glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        rows = [
            f"| `{name}` | {_in_words(shape)} |"
            for name, shape in schema["properties"].items()
            if name in schema["required"]
        ]
        title = f"## {schema['title']}\n\n{schema['description']} File `{path.name}`.\n"
        parts += [title, "| field | holds |", "|---|---|", *rows, ""]
    return "\n".join(parts)


def _in_words(shape: dict) -> str:
    """Return what a field may hold."""
    if "$ref" in shape:
        return shape["$ref"].rsplit("/", 1)[1]
    if "anyOf" in shape:
        return " or ".join(map(_in_words, shape["anyOf"]))
    if "enum" in shape:
        return ", ".join(f"`{value}`" for value in shape["enum"])
    if "const" in shape:
        return f"`{shape['const']}`"
    kind = shape.get("type", "any value")
    if kind == "array":
        inside = shape.get("prefixItems")
        return f"list of {len(inside)}" if inside else f"list: {_in_words(shape['items'])}"
    return " or ".join(kind) if isinstance(kind, list) else kind


PARTS = {"command_line": command_line, "gallery": gallery, "json": json_fields}
