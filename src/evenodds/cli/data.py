"""What the command line reads: a table of rows, and anchors from a file or a column."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError, InputError
from evenodds.rows.missing import refuse_missing
from evenodds.rows.source import read_rows
from evenodds.validation import join_quoted, near_misses

if TYPE_CHECKING:
    import pyarrow as pa

# Columns of an anchors file that are not features but what the expert states.
STATED = ("posterior", "tolerance", "shared_tolerance")

READERS = (".csv", ".tsv", ".txt", ".parquet", ".pq")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a test takes from files."""

    features: "pa.Table"
    labels: Any
    weights: Any
    groups: Any
    anchors: Anchors | None
    row_numbers: Any  # of the rows in the file, counted from 0
    n_anchor_rows: int  # rows taken out of the data because they are anchors


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns of the table play which part."""

    label: str
    features: tuple[str, ...] | None = None
    anchor: str | None = None
    weight: str | None = None
    group: str | None = None

    def others(self) -> set[str]:
        """Return the columns that are not features."""
        named = (self.label, self.anchor, self.weight, self.group)
        return {name for name in named if name is not None}


def read_inputs(
    data: Path,
    columns: Columns,
    anchors: Path | None,
    tolerance: float,
    shared_tolerance: float,
) -> Inputs:
    """Read and check the files of a test."""
    if anchors is not None and columns.anchor is not None:
        raise InputError("give --anchors or --anchor-column, not both.")
    table = read_table(data)
    for name in (columns.label, columns.anchor, columns.weight, columns.group):
        if name is not None:
            _check_column(table, name, data)
    features = _choose_features(table, columns, data)
    settings: dict[str, Any] = {"tolerance": tolerance, "shared_tolerance": shared_tolerance}
    known, is_anchor = None, np.zeros(table.num_rows, dtype=bool)
    if anchors is not None:
        known = _anchors_from_file(anchors, features, columns, settings)
    elif columns.anchor is not None:
        known, is_anchor = _anchors_from_column(table, columns.anchor, features, settings)
    if is_anchor.any():
        # Row numbers in messages are those of the file, so look before rows are taken out.
        refuse_missing(read_rows(table.select(features), np.arange(table.num_rows) % 2))
    kept = table.filter(~is_anchor)
    return Inputs(
        features=kept.select(features),
        labels=kept[columns.label].to_numpy(),
        weights=None if columns.weight is None else kept[columns.weight].to_numpy(),
        groups=None if columns.group is None else kept[columns.group].to_numpy(),
        anchors=known,
        row_numbers=np.flatnonzero(~is_anchor),
        n_anchor_rows=int(is_anchor.sum()),
    )


def read_table(path: Path) -> "pa.Table":
    """Read a CSV, TSV or Parquet file."""
    import pyarrow as pa  # noqa: PLC0415 - help and version do without it

    kind = path.suffix.lower()
    if kind not in READERS:
        raise InputError(f"{path} is not a table: give one of {join_quoted(READERS, 'or', 8)}.")
    if not path.is_file():
        raise InputError(f"there is no file {path}.")
    try:
        table = _read(path, kind)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} cannot be read as {kind[1:]}: {reason}") from None
    if table.num_rows == 0 or table.num_columns == 0:
        raise InputError(f"{path} has no rows: give a table with a header and data.")
    return table


def _read(path: Path, kind: str) -> "pa.Table":
    if kind in {".parquet", ".pq"}:
        from pyarrow import parquet  # noqa: PLC0415

        return parquet.read_table(path)
    from pyarrow import csv  # noqa: PLC0415

    delimiter = "," if kind == ".csv" else "\t"
    return csv.read_csv(
        path,
        parse_options=csv.ParseOptions(delimiter=delimiter),
        convert_options=csv.ConvertOptions(strings_can_be_null=True),  # an empty cell is no label
    )


def _check_column(table: "pa.Table", name: str, path: Path) -> None:
    if name not in table.column_names:
        raise InputError(f"{path} has no column {name!r}; {near_misses(name, table.column_names)}")


def _choose_features(table: "pa.Table", columns: Columns, path: Path) -> list[str]:
    """Return the named features, or every column that plays no other part."""
    repeated = {name for name in table.column_names if table.column_names.count(name) > 1}
    if repeated:
        raise InputError(f"{path} has more than one column named {join_quoted(sorted(repeated))}.")
    if columns.features is None:
        rest = [name for name in table.column_names if name not in columns.others()]
        if not rest:
            raise InputError(
                f"{path} has no feature columns beside {join_quoted(columns.others())}."
            )
        return rest
    if not columns.features:
        raise InputError("--features names no column.")
    twice = {name for name in columns.features if columns.features.count(name) > 1}
    if twice:
        raise InputError(f"--features names {join_quoted(sorted(twice))} twice.")
    for name in columns.features:
        _check_column(table, name, path)
        if name in columns.others():
            raise InputError(f"column {name!r} is named as a feature and for another part too.")
    return list(columns.features)


def _anchors_from_file(
    path: Path, features: list[str], columns: Columns, settings: dict[str, Any]
) -> Anchors:
    """Read anchors, with a posterior and a tolerance of their own where the file has them."""
    table = read_table(path)
    absent = [name for name in features if name not in table.column_names]
    if absent:
        near = near_misses(absent[0], table.column_names)
        raise AnchorError(
            f"{path} has no column {absent[0]!r}, which the data has; {near} "
            "Use --features to name the columns to use."
        )
    stated = {
        n: table[n].to_numpy() for n in STATED if n in table.column_names and n not in features
    }
    known = {*features, *columns.others(), *stated}
    unknown = [n for n in table.column_names if n not in known]
    if unknown and columns.features is None:
        near = near_misses(unknown[0], features)
        raise AnchorError(f"{path} has a column {unknown[0]!r} that the data has not; {near}")
    return Anchors(table.select(features), **{**settings, **stated})


def _anchors_from_column(
    table: "pa.Table", name: str, features: list[str], settings: dict[str, Any]
) -> tuple[Anchors, Any]:
    """Read anchors marked in the data; return them and which rows they are."""
    import pyarrow as pa  # noqa: PLC0415 - help and version do without it

    column = table[name]
    if pa.types.is_boolean(column.type) or _is_zero_one(column):
        marked = column.cast(pa.bool_()).fill_null(False).to_numpy()
        stated = np.full(int(marked.sum()), 0.5)
    elif pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        posteriors = column.cast(pa.float64()).to_numpy()
        marked = ~np.isnan(posteriors)
        stated = posteriors[marked]
    else:
        raise AnchorError(
            f"column {name!r} holds {column.type} values: mark anchors by true and false, or by "
            "the stated posterior (empty elsewhere)."
        )
    if not marked.any():
        raise AnchorError(f"column {name!r} marks no row as an anchor.")
    if marked.all():
        raise AnchorError(f"column {name!r} marks every row as an anchor: none are left to test.")
    points = table.filter(marked).select(features)
    return Anchors(points, posterior=stated, **settings), marked


def _is_zero_one(column: Any) -> bool:
    """Tell a column of zeros and ones, which is true and false in a CSV file."""
    import pyarrow as pa  # noqa: PLC0415 - help and version do without it

    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return numeric and set(column.unique().to_pylist()) <= {0, 1, None}
