"""Files that a test of several classes reads beside its rows: toss-ups, codes, looked-up rows."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenodds.anchors import Anchors
from evenodds.cli.audited import audit_notes, read_audit_file
from evenodds.errors import AnchorError, InputError
from evenodds.inference.multiclass.codes import OutputCodes
from evenodds.inference.multiclass.confusion import confusion_of
from evenodds.inference.multiclass.confusion_result import ConfusionTestResult
from evenodds.rows.anchor_points import STATED, ignored_columns, refuse_labels, whole
from evenodds.rows.classes import ClassRows
from evenodds.rows.tables.opening import open_table
from evenodds.rows.values import is_missing_in, kind_of
from evenodds.validation import join_quoted, near_misses

if TYPE_CHECKING:
    import pyarrow as pa


def read_split_anchors_file(
    path: Path, between: str, rows: ClassRows, **settings: float | None
) -> dict[str, Anchors]:
    """Read the anchors of all splits from one file."""
    table = whole(open_table(path)).combine_chunks()
    names = table.column_names
    if between not in names:
        raise AnchorError(
            f"{path} has no column {between!r} to say between which classes each toss-up is; "
            f"{near_misses(between, names)} Name it by --between."
        )
    source = rows.rows
    needed = source.feature_names if source.encoding is None else source.encoding.columns
    refuse_labels(names, needed or (), source.label_names, path)
    absent = [name for name in needed or () if name not in names]
    if absent:
        raise AnchorError(
            f"{path} has no column {absent[0]!r}, which the data has; "
            f"{near_misses(absent[0], names)} Use --features to name the columns to use."
        )
    stated = [name for name in STATED if name in names]
    _refuse_holes(table, path, [between, *(needed or ()), *stated])
    words = [name for name in needed or () if kind_of(table[name].type) == "text"]
    if words and source.encoding is None:
        raise AnchorError(
            f"column {words[0]!r} of {path} holds text, where the data has numbers: give each "
            "toss-up the same features as the rows."
        )
    others = [name for name in names if name != between]
    ignored = ignored_columns(others, needed or (), source)
    keys = [str(key) for key in table[between].to_pylist()]
    found = {}
    for key in dict.fromkeys(keys):
        own = table.take([place for place, other in enumerate(keys) if other == key])
        told = {name: own[name].to_numpy() for name in stated}
        points = Anchors(own.select(list(needed or ())), **{**settings, **told})
        found[key] = points.noting(ignored)
    return found


def _refuse_holes(table: "pa.Table", path: Path, columns: Sequence[str]) -> None:
    """Refuse missing values, with the row of the file."""
    for name in columns:
        missing = is_missing_in(table[name].combine_chunks())
        if missing.any():
            raise AnchorError(
                f"column {name!r} of {path} has {int(missing.sum())} missing value(s), the first "
                f"in row {int(np.argmax(missing))}: fill it in, or leave that toss-up out."
            )


def read_codes_file(path: Path, rows: ClassRows) -> OutputCodes:
    """Read a code matrix whose first column names the classes."""
    table = whole(open_table(path))
    places = [rows.classes.number(name) for name in table.column(0).to_pylist()]
    known = [place for place in places if place is not None]
    if len(known) < len(places) or sorted(known) != list(range(len(rows.classes.names))):
        raise InputError(
            f"the first column of {path} must name every class once: "
            f"{join_quoted(rows.classes.names)}."
        )
    if table.num_columns < 2:
        raise InputError(
            f"{path} has the column of classes only: add a column of +1, -1 and 0 for each split."
        )
    for name in table.column_names[1:]:
        if kind_of(table[name].type) != "number" or table[name].null_count:
            raise InputError(
                f"column {name!r} of {path} must hold +1, -1 or 0 for every class, and nothing "
                "else."
            )
    entries = np.column_stack([table.column(n).to_numpy() for n in range(1, table.num_columns)])
    return OutputCodes(entries[np.argsort(known)])


def confusion_of_file(
    sources: Sequence[str], true: str | None, given: str | None
) -> ConfusionTestResult:
    """Test the confusion matrix of a file."""
    if true is None or given is None:
        absent = "--true" if true is None else "--given"
        raise InputError(f"{absent} is missing: name the column of {absent[2:]} labels.")
    if true == given:
        raise InputError(
            f"--true and --given both name the column {true!r}: name that of looked-up classes and "
            "that of given labels."
        )
    rows = read_audit_file(sources, true, given)
    called = (f"column {true!r}", f"column {given!r}")
    result = confusion_of(rows.true, rows.given[rows.audited], called=called)
    return replace(result, diagnostics=audit_notes(rows))
