"""What a sheet shows of drawn rows, set against the data, to notice rows sorted since."""

import math
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.errors import InputError
from evenodds.inference.cases.judged import ROW, STATED, is_nothing
from evenodds.rows.anchor_points import whole
from evenodds.rows.open_table import open_table

if TYPE_CHECKING:
    import pyarrow as pa

# A spreadsheet keeps so many digits of a number, or those that it shows.
DIGITS = 1e-5
# Somebody who judges may correct a text here and there; a shorter one with digits may be a date.
MOST_TEXTS, SHORT = 0.1, 25


def read_shown(path: str | Path) -> "pa.Table":
    """Read the numbers of rows in a sheet, and all that it has beside the answers."""
    mixed: set[str] = set()

    def choose(names: tuple[str, ...]) -> tuple[str, ...]:
        mixed.update(names)
        return names

    table = whole(open_table(path, choose, text_if_mixed=mixed))
    kept = [name for name in table.column_names if not name.lower().startswith(STATED)]
    return table.select(kept)


def refuse_other_rows(path: str | Path, shown: "pa.Table", data: "pa.Table", source: str) -> None:
    """Refuse a sheet that shows other values of its rows than the data have."""
    numbers = shown[ROW].to_pylist()
    answered = [place for place, number in enumerate(numbers) if not is_nothing(number)]
    rows = [int(float(numbers[place])) - 1 for place in answered]
    for name in shown.column_names:
        if name == ROW or name not in data.column_names:
            continue
        told = shown[name].take(answered).to_pylist()
        values = data[name].take(rows).to_pylist()
        same = [_same(one, value) for one, value in zip(told, values, strict=True)]
        texts = any(isinstance(value, str) for value in values)
        if same.count(False) > (MOST_TEXTS * len(same) if texts else 0):
            place = same.index(False)
            raise InputError(
                f"{path} shows {name!r} of row {rows[place] + 1} as {told[place]!r} but {source} "
                f"has {values[place]!r} there: give the data in the order they were drawn from, "
                "and a sheet whose columns were sorted together, if at all."
            )


def _same(told: Any, value: Any) -> bool | None:
    """Tell whether a cell shows a value of the data; None where a spreadsheet may write it anew."""
    if is_nothing(told) or is_nothing(value):
        return None
    words, own = (" ".join(str(one).lstrip("'").casefold().split()) for one in (told, value))
    if words == own:
        return True
    if isinstance(value, bool):
        return False if words in ("true", "false") else None
    number, shown = _number(own), _number(words)
    if number is not None:
        return None if shown is None else _close(shown, number)
    # Dates among them, which a spreadsheet writes in many ways.
    short = len(own) < SHORT and any(letter.isdigit() for letter in own)
    return None if short or isinstance(value, (date, time, timedelta)) else False


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _close(told: float, number: float) -> bool:
    """Tell whether a number was rounded to another."""
    exponent = Decimal(repr(told)).normalize().as_tuple().exponent if math.isfinite(told) else 0
    half = 0.5 * 10.0 ** min(int(exponent), 0)
    return math.isclose(told, number, rel_tol=DIGITS, abs_tol=half)
