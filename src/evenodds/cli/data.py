"""What the command line reads: a table of rows, and anchors from a file or a column."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError, InputError
from evenodds.rows.anchor_points import STATED, anchor_table, ignored_columns, refuse_labels
from evenodds.rows.cluster.files import read_files
from evenodds.rows.encoding.formula_text import FormulaText
from evenodds.rows.reading import Reading, marked_anchors, read_table
from evenodds.rows.roles import Columns
from evenodds.validation import join_quoted, near_misses

if TYPE_CHECKING:
    from evenodds.rows.streamed import StreamedRows


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a test takes from files."""

    rows: "StreamedRows"
    anchors: Anchors | None


def read_inputs(
    sources: list[str],
    reading: Reading,
    anchors: Path | None,
    tolerance: float,
    shared_tolerance: float | None,
    *,
    on_workers: bool = False,
) -> Inputs:
    """Read and check the files of a test, here or on the workers of a cluster."""
    if anchors is not None and reading.columns.anchor is not None:
        raise InputError("give --anchors or --anchor-column, not both.")
    if on_workers:
        rows: StreamedRows = read_files(sources, reading)
    else:
        rows = read_table(reading.open(sources[0] if len(sources) == 1 else sources), reading)
    settings: dict[str, Any] = {"tolerance": tolerance, "shared_tolerance": shared_tolerance}
    if anchors is not None:
        return Inputs(rows, _from_file(anchors, rows, reading, settings))
    if reading.columns.anchor is not None:
        points, stated = marked_anchors(rows)
        return Inputs(rows, Anchors(points, posterior=stated, **settings))
    return Inputs(rows, None)


def read_options(
    label: str | None,
    formula: str | None,
    *,
    features: str | None = None,
    probabilities: str | None = None,
    anchor: str | None = None,
    weight: str | None = None,
    group: str | None = None,
    true: str | None = None,
    positive: str | None = None,
    missing: Any = "refuse",
) -> Reading:
    """Return what the data is read for; the label may stand on the left of the formula."""
    parsed = None if formula is None else FormulaText(formula)
    if label is None and parsed is not None:
        label = parsed.label
    if label is None:
        raise InputError("--label is missing: name the column of given labels.")
    return Reading(
        columns=Columns(
            label=label,
            features=split_names(features),
            anchor=anchor,
            weight=weight,
            group=group,
            true=true,
        ),
        formula=parsed,
        probabilities=probabilities,
        positive=positive,
        missing=missing,
    )


def split_names(names: str | None, option: str = "--features") -> tuple[str, ...] | None:
    """Return comma-separated names, each once."""
    if names is None:
        return None
    found = tuple(name.strip() for name in names.split(",") if name.strip())
    if not found:
        raise InputError(f"{option} names nothing.")
    twice = {name for name in found if found.count(name) > 1}
    if twice:
        raise InputError(f"{option} names {join_quoted(sorted(twice))} twice.")
    return found


def _from_file(
    path: Path, rows: "StreamedRows", reading: Reading, settings: dict[str, Any]
) -> Anchors:
    """Read anchors, with a posterior and a tolerance of their own where the file has them."""
    table = anchor_table(path)
    needed = rows.reader.encoding.columns
    names = table.column_names
    refuse_labels(names, needed, rows.label_names, path)
    absent = [name for name in needed if name not in names]
    if absent:
        raise AnchorError(
            f"{path} has no column {absent[0]!r}, which the data has; "
            f"{near_misses(absent[0], names)} Use --features to name the columns to use."
        )
    stated = {n: table[n].to_numpy() for n in STATED if n in names and n not in needed}
    known = {*needed, *rows.table.names, *reading.columns.others, *stated}
    unknown = [name for name in names if name not in known]
    whole_table = (reading.columns.features, reading.formula, reading.probabilities)
    if unknown and not any(whole_table):
        near = near_misses(unknown[0], needed)
        raise AnchorError(f"{path} has a column {unknown[0]!r} that the data has not; {near}")
    anchors = Anchors(table.select(list(needed)), **{**settings, **stated})
    beside = [name for name in names if name not in reading.columns.others]
    return anchors.noting(ignored_columns(beside, needed, rows))
