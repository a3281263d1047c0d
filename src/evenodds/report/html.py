"""The report: one HTML file that needs nothing else, a minute's reading first."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evenodds.files import whole_file
from evenodds.inference.results import AsymmetryTestResult
from evenodds.report.assumptions import assumptions
from evenodds.report.captions import Caption, caption
from evenodds.report.figures import PICTURES, draw, lead_picture
from evenodds.report.reproduce import python_call
from evenodds.report.svg import inline_svg
from evenodds.report.text import facts
from evenodds.report.verdict import headline, next_steps, show_interval, show_pvalue, verdict
from evenodds.report.view import View

QUESTION = "Is one class flipped more often than the other?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a result comes from, as far as its user wants that told.

    Attributes
    ----------
    name : str or None
        Of the data.
    command : str or None
        Command line that made it.
    """

    name: str | None = None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure on the page: its question, its picture, its words."""

    kind: str
    question: str
    svg: Markup
    caption: Caption


def write_report(
    result: AsymmetryTestResult, path: str | Path, view: View, source: Source | None = None
) -> Path:
    """Write the report of a result; the file appears whole or not at all."""
    page = render_report(result, view, source or Source())
    target = Path(path)
    with whole_file(target) as file:
        file.write(page)
    return target


def render_report(result: AsymmetryTestResult, view: View, source: Source) -> str:
    """Return the report as one HTML page."""
    lead = lead_picture(result)
    others = [kind for kind, picture in PICTURES.items() if not picture.why_not(result)]
    others.remove(lead)
    return (
        _templates()
        .get_template("report.html")
        .render(
            _minute(result, view, prefix=""),
            source=source,
            figures=[_drawn(result, kind, view, "") for kind in others],
            not_drawn=[
                f"{picture.question} Not drawn: {picture.why_not(result)}."
                for picture in PICTURES.values()
                if picture.why_not(result)
            ],
            numbers=_numbers(result, view),
            assumptions=assumptions(result),
            settings=_settings(result, view),
            python=python_call(result),
        )
    )


def first_section(result: AsymmetryTestResult, view: View) -> str:
    """Return the minute's reading alone, for a notebook."""
    # Ids of several results in one notebook must differ.
    prefix = f"r{hash((result.statistic, result.n_rows, result.asymmetry)) & 0xFFFFFFFF:08x}-"
    return _templates().get_template("notebook.html").render(_minute(result, view, prefix))


@cache
def _templates() -> Environment:
    """Return the templates; whatever they are given is escaped."""
    return Environment(
        loader=PackageLoader("evenodds.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _minute(result: AsymmetryTestResult, view: View, prefix: str) -> dict[str, Any]:
    """Return what the first section is made of."""
    interval = result.confidence_interval(1 - view.significance)
    rejected = result.pvalue < view.significance
    return {
        "result": result,
        "view": view,
        "question": QUESTION,
        "headline": headline(result, view.significance, view.margin),
        "verdict": verdict(result, view.significance),
        "rejected": rejected,
        "pvalue": show_pvalue(result.pvalue),
        "interval": f"{interval.level:.0%} interval {show_interval(interval)}",
        "doubts": [check.message for check in result.diagnostics if check.concern],
        "next_steps": next_steps(result, view.significance),
        "lead": _drawn(result, lead_picture(result), view, prefix),
    }


def _drawn(result: AsymmetryTestResult, kind: str, view: View, prefix: str) -> Drawn:
    """Draw one figure for the page."""
    words, question = caption(result, kind, view), PICTURES[kind].question
    svg = inline_svg(
        draw(result, kind, view, titled=False),
        name=f"{prefix}{kind}",
        title=question,
        description=words.finding,
    )
    return Drawn(kind, question, Markup(svg), words)


def _numbers(result: AsymmetryTestResult, view: View) -> list[tuple[str, list[str]]]:
    """Return the facts of the text, those of one name together, and the equivalence test."""
    gathered: list[tuple[str, list[str]]] = []
    for name, value in facts(result, view.significance):
        if name:
            gathered.append((name, [value]))
        else:
            gathered[-1][1].append(value)
    shown = result.equivalence(view.margin)
    words = f"size below {view.margin:g}: {show_pvalue(shown.pvalue)}"
    gathered.insert(4, ("equivalence", [words]))
    return gathered


def _settings(result: AsymmetryTestResult, view: View) -> list[tuple[str, str]]:
    """Return what the result was made and read with."""
    return [
        ("method", result.method),
        *result.settings.items(),
        ("alternative", result.alternative),
        ("significance", f"{view.significance:g}"),
        ("margin", f"{view.margin:g}"),
        ("positive label", repr(result.positive)),
        ("negative label", repr(result.negative)),
        *((f"version of {name}", version) for name, version in result.versions.items()),
    ]
