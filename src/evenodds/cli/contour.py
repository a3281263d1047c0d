"""`evenodds contour`: which noise do these labels have?"""

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from evenodds.cli import options
from evenodds.cli.options import ANCHORS, OUTPUT, TEST, optional
from evenodds.cli.output import check_delivery, deliver, guarded, name_data
from evenodds.errors import InputError

EXAMPLES = """\
evenodds contour patients.csv --label diagnosis --anchors stated.csv
evenodds contour patients.csv --label diagnosis --anchors stated.csv \\
    --positive ill --gate class-conditional --report contour.html"""


@guarded
def run_contour(
    data: options.Data,
    table: options.TableOptions,
    anchors: Path | None = optional(
        ANCHORS,
        "File of cases with the feature columns, and a column 'posterior' with the stated "
        "chance of being positive, such as 0.1, 0.5 and 0.9.",
        "FILE",
    ),
    anchor_column: str | None = optional(
        ANCHORS, "Column of stated posteriors in DATA; empty: no anchor.", "COL"
    ),
    *,
    error: options.AnchorOptions,
    probabilities: Annotated[str | None, typer.Option(hidden=True)] = None,
    engine: Literal["spline", "local"] | None = optional(
        TEST, "spline (default): any number of features; local: up to five."
    ),
    output: options.ShownOptions,
    gate: options.Rung | None = optional(
        OUTPUT, "Exit with 1 if this noise and all simpler ones are rejected."
    ),
) -> None:
    """Test which noise the labels have: none, uniform, class-conditional, or by the features.

    Exit code 0: the test ran, whatever its verdict. 1: a gate failed. 2: bad input.
    """
    from evenodds.cli.input import check_label, data_and_anchors, not_toss_ups, say_positive
    from evenodds.inference.contour.contour_test import climb_on_rows, read_engine, refuse_scores
    from evenodds.report.contour import why_untested

    refuse_scores(probabilities, "--probabilities")
    check_delivery(output, [*data, *([] if anchors is None else [str(anchors)])])
    check_label(table.label, table.formula)
    if anchors is None and anchor_column is None:
        raise InputError(
            "a contour test needs cases of stated posterior: give --anchors FILE with a column "
            "'posterior', or --anchor-column COL."
        )
    with data_and_anchors(data, table, anchors, error, anchor=anchor_column) as (rows, known):
        result = climb_on_rows(rows, known, read_engine(engine))
    order: list[str] = [*get_args(options.Rung), "instance-dependent"]
    reached, failure = result.not_rejected(output.significance), None
    if gate is not None and order.index(reached) > order.index(gate):
        failure = f"--gate {gate} failed: only {reached} noise is not rejected."
    say_positive(rows, table.positive, stated=not_toss_ups(known))
    deliver(result, output, name=name_data(data, rows.label_names[0]), failure=failure)
    if gate is not None and result.rung(reached).contour_pvalue is None:
        # The ladder stopped at a noise that cannot be tested, which is no pass.
        raise InputError(
            f"--gate {gate} cannot be held: {why_untested(result, reached)}, so "
            f"{reached} noise was not tested. Name cases at more posteriors."
        )
