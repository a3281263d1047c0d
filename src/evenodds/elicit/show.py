"""How a case is shown: each cell as a person would see it, pictures from one folder."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evenodds.errors import InputError
from evenodds.validation import check_column, join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


# Kinds of picture a browser shows and that cannot carry script: how they begin, how they end.
KINDS = {
    "image/png": (rb"\x89PNG\r\n\x1a\n", (".png",)),
    "image/jpeg": (rb"\xff\xd8\xff", (".jpg", ".jpeg")),
    "image/gif": (rb"GIF8", (".gif",)),
    "image/webp": (rb"RIFF....WEBP", (".webp",)),
}
SUFFIXES = tuple(suffix for _, suffixes in KINDS.values() for suffix in suffixes)
LARGEST = 50_000_000


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that may be shown."""

    path: Path
    kind: str


def looks_like_image(value: object) -> bool:
    """Tell a cell that may name a picture."""
    return isinstance(value, str) and value.lower().endswith(SUFFIXES)


def find_image(value: object, folder: Path) -> Image | None:
    """Return the picture a cell names, if it is one and lies within the folder.

    Links are followed first, so none leads outside; name and content must agree.
    """
    if not isinstance(value, str) or not looks_like_image(value) or "\0" in value:
        return None
    try:
        path = (folder / value).resolve(strict=True)
        inside = path.is_relative_to(folder.resolve(strict=True))
        if not inside or not path.is_file() or path.stat().st_size > LARGEST:
            return None
        with path.open("rb") as file:
            start = file.read(12)
    except OSError:
        return None
    for kind, (beginning, suffixes) in KINDS.items():
        if path.suffix.lower() in suffixes and re.match(beginning, start, re.DOTALL):
            return Image(path, kind)
    return None


Kind = Literal["number", "words", "text", "picture", "missing"]

# Longer than this is read as a text, not as a word beside other words.
LONG = 60
NOT_RECORDED = "not recorded"
NO_PICTURE = "picture not available"
# More columns than this are not shown unless they are named.
MOST_SHOWN = 30
# A column with at most this many values that fixes every label is the label under another name.
FEW_VALUES = 20


@dataclass(frozen=True, slots=True)
class Cell:
    """One thing the expert is shown about a case; `column` is its place among those shown."""

    column: int
    name: str
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Showing:
    """Which columns experts see, and where pictures may come from."""

    columns: tuple[str, ...]
    folder: Path

    def cells(self, table: "pa.Table", row: int) -> list[Cell]:
        """Return a case as it is shown."""
        return [
            self._cell(place, name, table[name][row].as_py())
            for place, name in enumerate(self.columns)
        ]

    def n_without_picture(self, table: "pa.Table", rows: Iterable[int]) -> int:
        """Return how many of these cases name a picture that cannot be shown."""
        return sum(any(cell.text == NO_PICTURE for cell in self.cells(table, row)) for row in rows)

    def _cell(self, place: int, name: str, value: Any) -> Cell:
        # A file's name may tell the label, so neither it nor its path is ever shown.
        if find_image(value, self.folder) is not None:
            return Cell(place, name, "picture", "")
        if looks_like_image(value):
            return Cell(place, name, "missing", NO_PICTURE)
        kind, text = as_words(value)
        return Cell(place, name, kind, text)


def as_words(value: Any) -> tuple[Kind, str]:
    """Return a value in words, and what kind of value it is."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing", NOT_RECORDED
    if isinstance(value, bool):
        return "words", "yes" if value else "no"
    if isinstance(value, int | float | Decimal):
        return "number", _number(value)
    text = str(value).strip()
    if isinstance(value, date):
        # The time of day where there is one.
        by_day = not isinstance(value, datetime) or value.time().replace(microsecond=0) == time()
        text = value.strftime("%Y-%m-%d" if by_day else "%Y-%m-%d %H:%M")
    if not text:
        return "missing", NOT_RECORDED
    return ("text" if len(text) > LONG or "\n" in text else "words"), text


def _number(value: float | Decimal) -> str:
    """Return a number with the digits a person can use."""
    if isinstance(value, int):
        return str(value)
    number = float(value)
    if not math.isfinite(number):
        return str(number)
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    if 1e-3 <= abs(number) < 1e6:
        # Four significant digits, and none before the point is ever lost.
        digits = max(3 - math.floor(math.log10(abs(number))), 0)
        rounded = f"{number:.{digits}f}"
        return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded
    return f"{number:.3g}"


def choose_columns(
    table: "pa.Table", label: str, show: tuple[str, ...], source: object
) -> tuple[str, ...]:
    """Return the columns to show, refusing the label and what gives it away."""
    for name in show:
        check_column(name, table.column_names, source)
    if label in show:
        raise InputError(
            f"--show names {label!r}, the label: experts judge a case without knowing it."
        )
    telling = [name for name in show if _tells_the_label(table, name, label)]
    if telling:
        raise InputError(
            f"{join_quoted(telling)} would give the label away: every value goes with one label "
            "only. Choose what to show with --show."
        )
    return show


def choose_shown(
    table: "pa.Table",
    label: str,
    hidden: Iterable[str],
    show: tuple[str, ...] | None,
    source: object,
) -> tuple[str, ...]:
    """Return the columns to show of cases along a score: those named, or all but the hidden."""
    never = [label, *hidden]
    if show is None:
        show = tuple(name for name in table.column_names if name not in never)
        if not 0 < len(show) <= MOST_SHOWN:
            raise InputError(
                f"{source} has {len(show)} columns that could be shown: name with --show what an "
                "expert judges a case by."
            )
    telling = [name for name in hidden if name in show and name in table.column_names]
    if telling:
        raise InputError(
            f"--show names {telling[0]!r}, which holds scores, weights or groups: experts judge a "
            "case without them."
        )
    return choose_columns(table, label, show, source)


def _tells_the_label(table: "pa.Table", name: str, label: str) -> bool:
    """Tell a copy of the label: few values, each with one label throughout."""
    import pyarrow as pa

    if pa.types.is_nested(table[name].type):
        return False
    n_values = len(table[name].unique())
    if n_values > min(FEW_VALUES, table.num_rows / 5):
        return False
    pairs = table.select([name, label]).group_by([name, label]).aggregate([])
    return len(pairs) == n_values
