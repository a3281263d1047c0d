"""A result as text: the verdict first, then the numbers, then what to doubt."""

import textwrap

from evenodds.report.sheet import Sheet, SheetTable

WIDTH = 88


def describe(sheet: Sheet) -> str:
    """Return a result as plain text."""
    tables = [line for table in sheet.tables for line in ("", *tabulated(table))]
    return "\n".join(
        [
            wrapped(sheet.verdict),
            *aligned(sheet.facts),
            *tables,
            *listed("How far to trust it", sheet.trust),
            *listed("What to doubt", sheet.doubts),
            *listed("What was checked", sheet.passed),
            *listed("What to do next", sheet.next_steps),
        ]
    )


def wrapped(text: str) -> str:
    """Break a paragraph into lines."""
    return textwrap.fill(text, WIDTH)


def aligned(pairs: list[tuple[str, str]]) -> list[str]:
    """Return names and values in two columns, or nothing where there are none."""
    width = max((len(name) for name, _ in pairs), default=0)
    lines = [f"  {name:<{width}}  {value}" for name, value in pairs]
    return ["", *lines] if lines else []


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
