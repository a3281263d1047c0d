"""CSV and TSV files: parsed once, into Arrow batches with one type a column.

The type of a column is taken from the first block of the file. Where a later value does not
fit, whole numbers become floats and anything else that is not a number becomes text; but text
in a column of numbers is refused with its place, since nobody can know what it stands for.
"""

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.errors import InputError
from evenodds.rows.tables.base import Stamp, refuse_repeated, unreadable
from evenodds.validation import LARGEST_WHOLE, refuse_inexact

if TYPE_CHECKING:
    import pyarrow as pa

# The reader runs some thirty blocks ahead.
BLOCK_BYTES = 1024 * 1024
LONGEST_HEADER = 16 * 1024 * 1024
MOST_COLUMNS = 20_000
# A line end by itself, outside of quotes.
BARE_RETURN = re.compile(rb'^(?:[^"\r]|"[^"]*"|\r(?=\n))*+\r')
# How the reader says which value does not fit the type of its column.
MISFIT = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (.+?): invalid value '(.*)'",
    re.DOTALL,
)
# Whole numbers that floating-point ones may skip, and how a misfit says so.
LONG_WHOLE = r"^\s*[-+]?[0-9]{16,}\s*$"
ROUNDED = "exact double"
# What every message on a row of a text file says.
COUNTED = "counted from 1 after the header"
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file with a header, and what messages call it."""

    stamp: Stamp
    delimiter: str
    name: str

    @property
    def kind(self) -> str:
        """Name of the format."""
        return "csv" if self.delimiter == "," else "tsv"

    def names(self) -> tuple[str, ...]:
        """Read the header; refuse one that cannot be what was meant."""
        with self.stamp.guarding(self.kind), self.stamp.path.open("rb") as file:
            line = _first_line(file)
        if not line.strip():
            raise InputError(f"{self.name} cannot be read as {self.kind}: Empty, without a header.")
        if len(line) >= LONGEST_HEADER or line.count(self.delimiter.encode()) >= MOST_COLUMNS:
            n_columns = line.count(self.delimiter.encode()) + 1
            raise InputError(
                f"{self.name} has {n_columns:,} columns or more, but at most {MOST_COLUMNS:,} can "
                "be read: give one row a case and one column a feature, or keep fewer columns."
            )
        try:
            names = _split(line, self.delimiter)
        except csv.Error as error:
            raise InputError(unreadable(Path(self.name), self.kind, error)) from None
        self._refuse_other_separator(names)
        refuse_repeated(names, self.name)
        return names

    def batches(
        self, columns: Sequence[str], types: dict[str, "pa.DataType"]
    ) -> Iterator["pa.RecordBatch"]:
        """Read these columns, with types guessed from the first block where none is given.

        Raises
        ------
        MisfitError
            If a value does not fit the type of its column.
        """
        import pyarrow as pa

        with self.stamp.guarding(self.kind):
            try:
                looked_at: set[str] = set()
                for batch in _open(self, columns, types):
                    self._look_for_rounding(batch, looked_at)
                    yield batch
            except pa.ArrowInvalid as error:
                found = MISFIT.search(str(error))
                if found is None:
                    raise InputError(unreadable(Path(self.name), self.kind, error)) from None
                number, row, kind, value = found.groups()
                raise MisfitError(self, int(number), row, kind, value) from None

    def _look_for_rounding(self, batch: "pa.RecordBatch", looked_at: set[str]) -> None:
        """Look at the text of large numbers once a column: whole ones must not be rounded."""
        import pyarrow as pa
        from pyarrow import compute

        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name in looked_at or not pa.types.is_floating(column.type):
                continue
            largest = compute.max(compute.abs(column)).as_py() or 0.0
            if not largest >= LARGEST_WHOLE:
                continue
            looked_at.add(name)
            for texts in _open(self, [name], {name: pa.string()}):
                whole = texts.filter(compute.match_substring_regex(texts.column(0), LONG_WHOLE))
                if whole.num_rows:
                    value = whole.column(0)[0].as_py()
                    raise MisfitError(self, self.names().index(name), None, ROUNDED, value)

    def _refuse_other_separator(self, names: tuple[str, ...]) -> None:
        others = [mark for mark in SEPARATORS if mark != self.delimiter and mark in names[0]]
        if len(names) == 1 and others:
            raise InputError(
                f"{self.name} has one column only, {names[0]!r}: it seems to be separated by "
                f"{SEPARATORS[others[0]]}, but its kind says {SEPARATORS[self.delimiter]}. Save it "
                f"with {SEPARATORS[self.delimiter]}, or rename it .tsv if it has tabs."
            )


class MisfitError(Exception):
    """A value that does not fit the type its column had so far."""

    def __init__(self, file: TextFile, column: int, row: str | None, kind: str, value: str) -> None:
        super().__init__(value)
        self.file, self.column, self.row, self.kind, self.value = file, column, row, kind, value

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with all that `widened` needs."""
        return MisfitError, (self.file, self.column, self.row, self.kind, self.value)

    def widened(self, text_if_mixed: Collection[str]) -> tuple[str, "pa.DataType"]:
        """Return the column and a type that fits, or refuse text among numbers.

        `text_if_mixed` names columns, such as labels and groups, where both may appear.
        """
        import pyarrow as pa

        name = self.file.names()[self.column]
        if self.kind == ROUNDED and name not in text_if_mixed:
            refuse_inexact(0, int(self.value), f"column {name!r} of {self.file.name}")
        if self.kind == "int64" or (self.kind == "null" and _is_number(self.value)):
            return name, pa.float64()
        if self.kind != "double" or name in text_if_mixed:
            return name, pa.string()
        # The reader counts from 1 and counts the header.
        where = "" if self.row is None else f", first in row {int(self.row) - 1} ({COUNTED})"
        raise InputError(
            f"column {name!r} of {self.file.name} holds text such as {self.value!r} among "
            f"numbers{where}: leave the cell empty if the value is missing, or leave the column "
            "out."
        )


def refuse_other_encoding(schema: "pa.Schema", source: str) -> None:
    """Refuse text that is not UTF-8, which the reader takes for bytes."""
    import pyarrow as pa

    for name, kind in zip(schema.names, schema.types, strict=True):
        if pa.types.is_binary(kind):
            raise InputError(
                f"column {name!r} of {source} holds text that is not UTF-8: save the file with "
                "that encoding."
            )


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _first_line(file: Any) -> bytes:
    """Return the first line that is not blank, read no further than a header can reach."""
    line: bytes = file.readline(LONGEST_HEADER)
    while line in {b"\n", b"\r\n"}:
        line = file.readline(LONGEST_HEADER)
    # A quoted name may hold a line break.
    while line.count(b'"') % 2 and len(line) < LONGEST_HEADER:
        more = file.readline(LONGEST_HEADER)
        if not more:
            break
        line += more
    ended = BARE_RETURN.search(line)
    return line if ended is None else line[: ended.end()]


def _split(line: bytes, delimiter: str) -> tuple[str, ...]:
    text = line.decode("utf-8-sig", errors="replace")
    rows = list(csv.reader(io.StringIO(text, newline=None), delimiter=delimiter))
    return tuple(rows[0]) if rows else ("",)


def _open(file: TextFile, columns: Sequence[str], types: dict[str, "pa.DataType"]) -> Any:
    from pyarrow import csv as reader

    return reader.open_csv(
        file.stamp.path,
        read_options=reader.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
        parse_options=reader.ParseOptions(delimiter=file.delimiter, newlines_in_values=True),
        convert_options=reader.ConvertOptions(
            strings_can_be_null=True,  # an empty cell is no label
            include_columns=list(columns),
            column_types=types,
        ),
    )
