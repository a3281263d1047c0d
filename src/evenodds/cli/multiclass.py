"""`evenodds multiclass`: are some classes flipped more often than others?"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenodds.cli.choices import Format, Gate
from evenodds.cli.deliver import Delivery, check_delivery, deliver
from evenodds.cli.guard import guarded
from evenodds.cli.options import (
    Features,
    Group,
    OutputFormat,
    Report,
    Significance,
    Tolerance,
    Weight,
)

if TYPE_CHECKING:
    from evenodds.anchors import Anchors
    from evenodds.inference.multiclass.codes import OutputCodes
    from evenodds.rows.classes import ClassRows


class SchemeName(StrEnum):
    """Ways to split the classes, by name."""

    one_vs_one = "one-vs-one"
    one_vs_rest = "one-vs-rest"
    output_codes = "output-codes"


@guarded
def run_multiclass(
    data: Annotated[
        list[str],
        typer.Argument(
            help="One row a case: CSV, TSV, Parquet, Feather or .npz files, a folder or a quoted "
            "glob of them, or - for CSV on standard input. Read in memory."
        ),
    ],
    label: Annotated[
        str | None, typer.Option(help="Column of given labels, three classes or more.")
    ] = None,
    anchors: Annotated[
        Path | None,
        typer.Option(help="File of toss-up cases, with the feature columns and --between."),
    ] = None,
    between: Annotated[
        str,
        typer.Option(help="Column of --anchors that names the split: 'cat | dog', or a class."),
    ] = "between",
    scheme: Annotated[SchemeName, typer.Option(help="How the classes are split.")] = (
        SchemeName.one_vs_one
    ),
    codes: Annotated[
        Path | None,
        typer.Option(help="For output codes: a table of classes (first column) by +1, -1 and 0."),
    ] = None,
    features: Features = None,
    formula: Annotated[
        str | None, typer.Option(help="Features by a formula: 'poly(age, 2) + C(site)'.")
    ] = None,
    tolerance: Tolerance = 0.05,
    shared_tolerance: Annotated[
        float, typer.Option(help="Half-width of the error common to the anchors of a split.")
    ] = 0.0,
    weight: Weight = None,
    group: Group = None,
    true: Annotated[
        str | None,
        typer.Option(help="Instead of --anchors: column of true classes, of rows looked up."),
    ] = None,
    given: Annotated[str | None, typer.Option(help="With --true: column of given labels.")] = None,
    significance: Significance = 0.05,
    output_format: OutputFormat = Format.text,
    gate: Annotated[
        Gate | None, typer.Option(help="Exit with 1 if the null hypothesis is rejected (reject).")
    ] = None,
    report: Report = None,
) -> None:
    """Test whether some of several classes are flipped more often than others.

    With --true and --given instead, the confusion matrix of rows whose true class was looked
    up is tested. Exit code 0: the test ran, whatever its verdict. 1: the gate failed. 2: bad
    input.
    """
    from evenodds.errors import InputError  # noqa: PLC0415 - keeps help quick

    if gate is Gate.equivalence:
        raise InputError("--gate equivalence is for two classes; here only --gate reject is known.")
    wanted = Delivery(
        output_format=output_format,
        significance=significance,
        gate=gate,
        report=report,
    )
    named = [*data, *([] if anchors is None else [str(anchors)])]
    check_delivery(wanted, named)
    source = data[0] if len(data) == 1 else data
    title = ", ".join(Path(part).name for part in data)
    if true is not None or given is not None:
        if anchors is not None or label is not None:
            raise InputError(
                "--true and --given test rows that were looked up, without --anchors and --label: "
                "run the two tests one after the other."
            )
        deliver(_confusion(source, true, given), wanted, name=f"{title}: {given}")
        return
    if label is None:
        raise InputError(
            "--label is missing: name the column of given labels; or --true and --given, to test "
            "rows that were looked up."
        )
    if anchors is None:
        raise InputError(
            "--anchors is missing: name a file of toss-up cases, with a column "
            f"{between!r} that says between which classes."
        )
    from evenodds.cli.data import split_names  # noqa: PLC0415
    from evenodds.inference.multiclass.front_door import run_on_class_rows  # noqa: PLC0415
    from evenodds.rows.classes import read_class_rows  # noqa: PLC0415

    rows = read_class_rows(
        source,
        label,
        sample_weight=weight,
        groups=group,
        formula=formula,
        features=split_names(features),
    )
    points = _split_anchors(
        anchors, between, rows, tolerance=tolerance, shared_tolerance=shared_tolerance
    )
    matrix = None if codes is None else _codes(codes, rows)
    result = run_on_class_rows(rows, points, scheme.value, codes=matrix)
    deliver(result, wanted, name=f"{title}: {label}")


def _confusion(source: Any, true: str | None, given: str | None) -> Any:
    """Test the confusion matrix of a file."""
    from evenodds.errors import InputError  # noqa: PLC0415 - keeps help quick
    from evenodds.inference.multiclass.confusion import confusion_test  # noqa: PLC0415
    from evenodds.rows.anchor_points import whole  # noqa: PLC0415
    from evenodds.rows.tables.opening import open_table  # noqa: PLC0415
    from evenodds.validation import near_misses  # noqa: PLC0415

    if true is None or given is None:
        absent = "--true" if true is None else "--given"
        raise InputError(f"{absent} is missing: name the column of {absent[2:]} labels.")
    table = whole(open_table(source))
    for name in (true, given):
        if name not in table.column_names:
            raise InputError(
                f"there is no column {name!r}; {near_misses(name, table.column_names)}"
            )
    looked_up = table.filter(table[true].is_valid())
    return confusion_test(looked_up[true].to_pylist(), looked_up[given].to_pylist())


def _split_anchors(
    path: Path, between: str, rows: "ClassRows", **settings: float
) -> dict[str, "Anchors"]:
    """Read the anchors of all splits from one file."""
    from evenodds.anchors import Anchors  # noqa: PLC0415 - keeps help quick
    from evenodds.errors import AnchorError  # noqa: PLC0415
    from evenodds.rows.anchor_points import STATED, whole  # noqa: PLC0415
    from evenodds.rows.tables.opening import open_table  # noqa: PLC0415
    from evenodds.validation import near_misses  # noqa: PLC0415

    table = whole(open_table(path))
    names = table.column_names
    if between not in names:
        raise AnchorError(
            f"{path} has no column {between!r} to say between which classes each toss-up is; "
            f"{near_misses(between, names)} Name it by --between."
        )
    source = rows.rows
    needed = source.feature_names if source.encoding is None else source.encoding.columns
    absent = [name for name in needed or () if name not in names]
    if absent:
        raise AnchorError(
            f"{path} has no column {absent[0]!r}, which the data has; "
            f"{near_misses(absent[0], names)} Use --features to name the columns to use."
        )
    keys = [str(key) for key in table[between].to_pylist()]
    found = {}
    for key in dict.fromkeys(keys):
        own = table.take([place for place, other in enumerate(keys) if other == key])
        stated = {name: own[name].to_numpy() for name in STATED if name in names}
        found[key] = Anchors(own.select(list(needed or ())), **{**settings, **stated})
    return found


def _codes(path: Path, rows: "ClassRows") -> "OutputCodes":
    """Read a code matrix whose first column names the classes."""
    import numpy as np  # noqa: PLC0415 - keeps help quick

    from evenodds.errors import InputError  # noqa: PLC0415
    from evenodds.inference.multiclass.codes import OutputCodes  # noqa: PLC0415
    from evenodds.rows.anchor_points import whole  # noqa: PLC0415
    from evenodds.rows.tables.opening import open_table  # noqa: PLC0415
    from evenodds.validation import join_quoted  # noqa: PLC0415

    table = whole(open_table(path))
    places = [rows.classes.number(name) for name in table.column(0).to_pylist()]
    known = [place for place in places if place is not None]
    if len(known) < len(places) or sorted(known) != list(range(len(rows.classes.names))):
        raise InputError(
            f"the first column of {path} must name every class once: "
            f"{join_quoted(rows.classes.names)}."
        )
    entries = np.column_stack([table.column(n).to_numpy() for n in range(1, table.num_columns)])
    return OutputCodes(entries[np.argsort(known)])
