"""A result as text: the verdict first, then the numbers, then what to doubt."""

import textwrap

from evenodds.inference.prior import PriorTestResult
from evenodds.report.sheet import Sheet, SheetTable
from evenodds.report.wording import prior_verdict

WIDTH = 88


def describe(sheet: Sheet) -> str:
    """Return a result as plain text."""
    tables = [line for table in sheet.tables for line in ("", *tabulated(table))]
    return "\n".join(
        [
            wrapped(sheet.verdict),
            "",
            *aligned(sheet.facts),
            *tables,
            *listed("What to doubt", sheet.doubts),
            *listed("What was checked", sheet.passed),
            *listed("What to do next", sheet.next_steps),
        ]
    )


def describe_prior(result: PriorTestResult, significance: float = 0.05) -> str:
    """Return a prior test as plain text."""
    lines = [wrapped(prior_verdict(result, significance)), "", *aligned(prior_facts(result))]
    return "\n".join(lines)


def prior_facts(result: PriorTestResult) -> list[tuple[str, str]]:
    """Return the numbers of a prior test, named for a reader."""
    error = f" ± {result.prior_standard_error:g}" if result.prior_standard_error else ""
    lines = [
        ("null", result.null),
        ("labels", f"{result.n_positive:,} of {result.n_rows:,} positive"),
        ("share", f"{result.noisy_prior:.4f} observed, {result.prior:g}{error} stated"),
        ("p-value", f"{result.pvalue:.4g}"),
    ]
    if result.noise_rate is not None:
        lines.append(("noise rate", f"{result.noise_rate:.3f}, if the noise is uniform"))
    if result.asymmetry is not None:
        lines.append(("asymmetry", f"beta - alpha = {result.asymmetry:+.3f}"))
    return lines


def wrapped(text: str) -> str:
    """Break a paragraph into lines."""
    return textwrap.fill(text, WIDTH)


def aligned(pairs: list[tuple[str, str]]) -> list[str]:
    """Return names and values in two columns."""
    width = max(len(name) for name, _ in pairs)
    return [f"  {name:<{width}}  {value}" for name, value in pairs]


def tabulated(table: SheetTable) -> list[str]:
    """Return a titled table: names to the left, numbers to the right."""
    columns = list(zip(table.header, *table.rows, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns]
    lines = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (table.header, *table.rows)
    ]
    return [f"{table.title}:", *(f"  {line}".rstrip() for line in lines)]


def listed(title: str, sentences: list[str]) -> list[str]:
    """Return a titled list, or nothing where there is nothing to list."""
    if not sentences:
        return []
    bullets = [
        textwrap.fill(sentence, WIDTH, initial_indent="  - ", subsequent_indent="    ")
        for sentence in sentences
    ]
    return ["", f"{title}:", *bullets]
